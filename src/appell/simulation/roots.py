"""Times at which gaps close, on the interpolant of one integrator step.

A step is divided into `SUBDIVISIONS` equal intervals. A gap closes in an interval if it is negative at its end, or if it falls
at its start, rises at its end and is negative at the minimum between. Gaps with more than one extremum per interval are below
the resolution of the integrator. A gap that is slightly negative at the start of the step, because its contact has just opened,
closes when it decreases further.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

SUBDIVISIONS = 8
GRAZING_DEPTH = 1e-12
"""Penetrations up to this depth are grazing, without impact. [m]"""
TIME_TOL = 1e-14
"""Tolerance of event times on the interpolant. [s]"""

Gaps = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Gaps and their rates (N, c) at the times (N,)."""


def first_crossing(gaps: Gaps, start: float, end: float, candidates: np.ndarray) -> float | None:
    """The first time in the step at which one of the candidate contacts (mask, (c,)) closes, or None."""
    times = np.linspace(start, end, SUBDIVISIONS + 1)
    gap, rate = gaps(times)
    floor = np.minimum(gap[0], 0.0) - GRAZING_DEPTH
    below = gap[1:] < floor
    dips = (rate[:-1] < 0.0) & (rate[1:] > 0.0)
    if dips.any():
        dips &= _lower_bounds(gap, rate, times) < 0.0
    hits = (below | dips) & candidates
    for i in np.flatnonzero(hits.any(axis=1)).tolist():
        fall = np.where(below[i], gap[i] - gap[i + 1], np.inf)
        first, later = None, np.zeros_like(candidates)
        # the one that closes first by its chord is searched for first
        for c in sorted(np.flatnonzero(hits[i]).tolist(), key=lambda c: gap[i, c] / fall[c]):
            if later[c]:
                continue
            time = _closing_time(gaps, c, float(floor[c]), float(times[i]), float(times[i + 1]), bool(below[i, c]))
            if time is not None and (first is None or time < first):
                first, (gap_then, rate_then) = time, gaps(np.array([time]))
                later = (gap_then[0] > 0.0) & ~(dips[i] & (rate_then[0] > 0.0))
        if first is not None:
            return first
    return None


def _lower_bounds(gap: np.ndarray, rate: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Intersections of the tangents at both ends of all intervals: below every convex gap that falls and then rises.

    Half of the height of the ends is subtracted, for gaps that are not quite convex.
    """
    h, rate_change = np.diff(times)[:, None], rate[:-1] - rate[1:]
    intersection = (gap[1:] - gap[:-1] - rate[1:] * h) / np.where(rate_change == 0.0, 1.0, rate_change)
    return gap[:-1] + rate[:-1] * np.clip(intersection, 0.0, h) - 0.5 * np.maximum(gap[:-1], gap[1:])


def _closing_time(gaps: Gaps, c: int, floor: float, a: float, b: float, below: bool) -> float | None:
    """The time in [a, b] at which contact c closes; of one that is closed already, when it falls to the floor."""

    def gap(t: float) -> float:
        return float(gaps(np.array([t]))[0][0, c])

    def rate(t: float) -> float:
        return float(gaps(np.array([t]))[1][0, c])

    if not below:
        b = root(rate, a, b)
        if gap(b) >= floor:
            return None
    if rate(a) > 0.0 and rate(b) < 0.0:  # it rises first: search only where it falls
        a = root(rate, a, b)
    target = floor if gap(a) <= GRAZING_DEPTH else 0.0  # closed already: zero is within rounding errors
    return root(lambda t: gap(t) - target, a, b)


def root(function: Callable[[float], float], a: float, b: float) -> float:
    """A zero of a function in [a, b]; the end nearest to zero if rounding hides the change of sign.

    Values between that are not finite count as that at b.
    """
    at_a, at_b = function(a), function(b)
    if at_a * at_b > 0.0:
        return a if abs(at_a) < abs(at_b) else b

    def value(t: float) -> float:
        found = function(t)
        return found if math.isfinite(found) else at_b

    return float(brentq(value, a, b, xtol=TIME_TOL))  # type: ignore[arg-type]


def first_true(test: Callable[[float], bool], a: float, b: float) -> float:
    """The time between a and b, where the test holds, from which on it holds; a where it does so from the start."""
    if test(a):
        return a
    while b - a > TIME_TOL * max(1.0, abs(b)):
        middle = 0.5 * (a + b)
        a, b = (a, middle) if test(middle) else (middle, b)
    return b
