"""Curves through points: splines, and sequences of straight segments.

Curves start and end at rest (quintic splines also without acceleration). A spline passes the inner points without stopping:
cubic with continuous acceleration, quintic with four continuous derivatives. Each straight segment has its own time scaling
of `profiles`, so that all but the uniform one stop at every point.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from scipy.interpolate import PPoly, make_interp_spline

from appell.checks import require_choice
from appell.errors import ArgumentError
from appell.kinematics.trajectories.profiles import time_scaling
from appell.kinematics.trajectories.reference import Curve

SPLINES = {"cubic": 3, "quintic": 5}
STRAIGHT = ("trapezoidal", "uniform")


def spline(points: np.ndarray, times: np.ndarray, profile: str) -> Curve:
    """The spline through points (k, n) at increasing times (k,) from 0, at rest at both ends."""
    degree = SPLINES[profile]
    at_rest = [(order, np.zeros(points.shape[1])) for order in range(1, degree // 2 + 1)]
    curve = make_interp_spline(times, points, k=degree, bc_type=(at_rest, at_rest))
    taylor = [curve(times[:-1], order) / math.factorial(order) for order in range(degree, -1, -1)]
    return Curve(PPoly(np.stack(taylor), times))


def straight(points: np.ndarray, scalings: list[Curve]) -> Curve:
    """Straight segments between points (k, n), each with its own time scaling."""
    breaks, pieces = [np.zeros(1)], []
    degree = max(len(s.polynomial.c) for s in scalings)
    for (a, b), s in zip(pairwise(points), scalings, strict=True):
        c = np.multiply.outer(s.polynomial.c, b - a)
        c[-1] += a
        pieces.append(np.pad(c, ((degree - len(c), 0), (0, 0), (0, 0))))
        breaks.append(breaks[-1][-1] + s.breaks[1:])
    return Curve(PPoly(np.concatenate(pieces, axis=1), np.concatenate(breaks)))


def through(
    points: np.ndarray,
    times: np.ndarray | None,
    duration: float | None,
    speed: np.ndarray | float | None,
    acceleration: np.ndarray | float | None,
    profile: str,
    measure,
) -> Curve:
    """A curve through points (k, n) at given times, in a given duration, or as fast as speed and acceleration allow.

    `measure(x)` gives for steps or rates (..., n) the quantities (..., m) that speed and acceleration limit.
    """
    require_choice("profile", profile, (*SPLINES, *STRAIGHT))
    steps = measure(np.diff(points, axis=0))
    lengths = steps.max(axis=-1)
    if not (lengths > 0.0).all():
        k = int(np.argmin(lengths))
        raise ArgumentError(f"points {k} and {k + 1} are equal. Leave one out.")
    if times is not None:
        if duration is not None or speed is not None or acceleration is not None:
            raise ArgumentError("`times` already fixes the timing; leave out duration, speed and acceleration.")
        times = require_times(times, len(points))
        if profile in SPLINES and len(points) > 2:
            return spline(points, times, profile)
        return straight(points, [time_scaling(profile, float(span)) for span in np.diff(times)])
    if profile in SPLINES and len(points) > 2:
        return _timed_spline(points, steps, duration, speed, acceleration, profile, measure)
    spans = [None if duration is None else duration * float(length / lengths.sum()) for length in lengths]
    return straight(points, [
        time_scaling(profile, span, _max_rate(speed, step), _max_rate(acceleration, step))
        for span, step in zip(spans, steps, strict=True)
    ])  # fmt: skip


def require_times(times: np.ndarray, count: int) -> np.ndarray:
    """Increasing times of `count` points, from 0."""
    times = np.asarray(times, dtype=float)
    if times.shape != (count,):
        raise ArgumentError(f"times has shape {times.shape}, expected ({count},): one for each point.")
    if times[0] != 0.0 or not (np.diff(times) > 0.0).all() or not np.isfinite(times).all():
        raise ArgumentError(f"times are {times.tolist()}, expected increasing numbers from 0.")
    return times


def _max_rate(limit, step: np.ndarray) -> float | None:
    """The largest rate of s at which no quantity of a step exceeds its limit."""
    if limit is None:
        return None
    return float(np.min(np.broadcast_to(limit, step.shape)[step > 0.0] / step[step > 0.0]))


def _timed_spline(points, steps, duration, speed, acceleration, profile, measure) -> Curve:
    """Knot spacing proportional to the distances, scaled until speed and acceleration are within the limits."""
    if duration is None and speed is None and acceleration is None:
        raise ArgumentError(f"profile {profile!r} needs times, a duration, or a maximum speed or acceleration.")
    lengths = (steps if speed is None else steps / speed).max(axis=-1)
    unit = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()
    curve = spline(points, unit, profile)  # in one second
    _, xd, xdd = curve(dense(curve.breaks))
    shortest = max(
        0.0 if speed is None else float(np.max(measure(xd) / speed)),
        0.0 if acceleration is None else math.sqrt(np.max(measure(xdd) / acceleration)),
    )
    if duration is not None and duration < shortest * (1.0 - 1e-12):
        raise ArgumentError(f"the limits do not allow {duration:g} s for these points: it takes {shortest:g} s.")
    return spline(points, unit * (shortest if duration is None else duration), profile)


def dense(breaks: np.ndarray, count: int = 200) -> np.ndarray:
    """`count` times per piece, and all breaks."""
    return np.unique(np.concatenate([np.linspace(a, b, count + 1) for a, b in pairwise(breaks)]))
