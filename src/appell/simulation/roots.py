"""When does a gap first close? Times on the interpolant of one step of an integrator.

A step is looked at in `PIECES` equal pieces. A gap closes in a piece if it is negative at its end, or if it falls at its
beginning and rises at its end and is negative at the lowest point between. Gaps that turn more often than once in a
piece are finer than the integrator itself resolves. A gap that is slightly negative when the step begins, because its
contact has just opened, closes when it gets more so.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

PIECES = 8
GRAZE = 1e-12
"""A gap that gets no deeper than this only grazes the wall, which is no impact. [m]"""
TIME = 1e-14
"""To what the time of an impact is located on the interpolant. [s]"""

Gaps = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Gaps and their rates (N, c) at the times (N,)."""


def first_crossing(gaps: Gaps, start: float, end: float, watched: np.ndarray) -> float | None:
    """The first time in the step at which a watched contact closes, or None.

    Args:
        watched: mask of the contacts, (c,).
    """
    times = np.linspace(start, end, PIECES + 1)
    gap, rate = gaps(times)
    floor = np.minimum(gap[0], 0.0) - GRAZE
    for i in range(PIECES):
        below = gap[i + 1] < floor
        dips = (rate[i] < 0.0) & (rate[i + 1] > 0.0) & (_lowest(gap, rate, i, times[i + 1] - times[i]) < 0.0)
        found = [
            _closing(gaps, c, float(floor[c]), times[i], times[i + 1], bool(below[c]))
            for c in np.flatnonzero((below | dips) & watched).tolist()
        ]
        closing = [time for time in found if time is not None]
        if closing:
            return min(closing)
    return None


def _lowest(gap: np.ndarray, rate: np.ndarray, i: int, h: float) -> np.ndarray:
    """Where the tangents at both ends of a piece meet: below every gap that falls and then rises, bending one way.

    Half of the height of the ends is taken off, for gaps that do not quite bend one way.
    """
    turn = rate[i] - rate[i + 1]
    when = (gap[i + 1] - gap[i] - rate[i + 1] * h) / np.where(turn == 0.0, 1.0, turn)
    return gap[i] + rate[i] * np.clip(when, 0.0, h) - 0.5 * np.maximum(gap[i], gap[i + 1])


def _closing(gaps: Gaps, c: int, floor: float, a: float, b: float, below: bool) -> float | None:
    """The time in [a, b] at which contact c closes; one that is closed already, when it sinks to the floor."""

    def gap(t: float) -> float:
        return float(gaps(np.array([t]))[0][0, c])

    def rate(t: float) -> float:
        return float(gaps(np.array([t]))[1][0, c])

    if not below:
        b = root(rate, a, b)
        if gap(b) >= floor:
            return None
    if rate(a) > 0.0 and rate(b) < 0.0:  # it rises first: look only where it falls
        a = root(rate, a, b)
    wanted = floor if gap(a) <= GRAZE else 0.0  # where it is closed already the rounding of zero decides nothing
    return root(lambda t: gap(t) - wanted, a, b)


def root(function: Callable[[float], float], a: float, b: float) -> float:
    """Where a function is zero between two times; the time nearest to it if rounding has taken the change of sign."""
    at_a, at_b = function(a), function(b)
    if at_a * at_b > 0.0:
        return a if abs(at_a) < abs(at_b) else b
    return float(brentq(function, a, b, xtol=TIME))  # type: ignore[arg-type]
