"""Curves through points: splines, and straight pieces one after the other.

The first and last point are passed at rest (the quintic spline also without acceleration). A spline passes the others without
stopping: cubic with continuous acceleration, quintic with four continuous derivatives. Straight pieces have a law of
`appell.trajectories.profiles` each, so those that begin and end at rest stop at every point.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from appell.errors import ArgumentError, unknown_name_message
from appell.kinematics.trajectories.piecewise import Piecewise
from appell.kinematics.trajectories.profiles import law

SPLINES = {"cubic": 3, "quintic": 5}
STRAIGHT = ("trapezoidal", "uniform")


def spline(points: np.ndarray, times: np.ndarray, profile: str) -> Piecewise:
    """The spline through points (k, n) at increasing times (k,) from 0, at rest at both ends."""
    from scipy.interpolate import make_interp_spline

    degree = SPLINES[profile]
    rest = [(order, np.zeros(points.shape[1])) for order in range(1, degree // 2 + 1)]
    curve = make_interp_spline(times, points, k=degree, bc_type=(rest, rest))
    taylor = [curve(times[:-1], order) / math.factorial(order) for order in range(degree + 1)]
    return Piecewise(times, np.stack(taylor, axis=1))


def straight(points: np.ndarray, laws: list[Piecewise]) -> Piecewise:
    """Straight pieces from point to point, (k, n), each passed by its own law."""
    breaks, rows = [np.zeros(1)], []
    degree = max(each.coefficients.shape[1] for each in laws)
    for (a, b), each in zip(pairwise(points), laws, strict=True):
        c = np.multiply.outer(each.coefficients, b - a)
        c[:, 0] += a
        rows.append(np.pad(c, ((0, 0), (0, degree - c.shape[1]), (0, 0))))
        breaks.append(breaks[-1][-1] + each.breaks[1:])
    return Piecewise(np.concatenate(breaks), np.concatenate(rows))


def through(
    points: np.ndarray,
    times: np.ndarray | None,
    duration: float | None,
    speed: np.ndarray | float | None,
    acceleration: np.ndarray | float | None,
    profile: str,
    measure,
) -> Piecewise:
    """A curve through points (k, n) at given times, in a given duration, or as fast as speed and acceleration allow.

    `measure(x)` gives for steps or rates (..., n) the quantities (..., m) that speed and acceleration limit.
    """
    if profile not in (*SPLINES, *STRAIGHT):
        raise ArgumentError(unknown_name_message("profile", profile, (*SPLINES, *STRAIGHT)))
    splined = profile in SPLINES and len(points) > 2
    steps = measure(np.diff(points, axis=0))
    if not (steps.max(axis=-1) > 0.0).all():
        twin = int(np.argmin(steps.max(axis=-1)))
        raise ArgumentError(f"points {twin} and {twin + 1} are the same. Leave one out.")
    if times is not None:
        if duration is not None or speed is not None or acceleration is not None:
            raise ArgumentError("times say everything about the pace; leave out duration, speed and acceleration.")
        times = checked_times(times, len(points))
        if splined:
            return spline(points, times, profile)
        return straight(points, [law(profile, float(span)) for span in np.diff(times)])
    if not splined:
        return _paced_pieces(points, steps, duration, speed, acceleration, profile)
    return _paced_spline(points, steps, duration, speed, acceleration, profile, measure)


def checked_times(times: np.ndarray, count: int) -> np.ndarray:
    """Times of the points: as many, increasing, from 0."""
    times = np.asarray(times, dtype=float)
    if times.shape != (count,):
        raise ArgumentError(f"times has shape {times.shape}, expected ({count},): one for each point.")
    if times[0] != 0.0 or not (np.diff(times) > 0.0).all() or not np.isfinite(times).all():
        raise ArgumentError(f"times are {times.tolist()}, expected increasing numbers from 0.")
    return times


def _paced_pieces(points, steps, duration, speed, acceleration, profile) -> Piecewise:
    """Every piece as fast as allowed, or the duration shared out by length."""
    lengths = steps.max(axis=-1)
    spans = [None if duration is None else duration * float(length / lengths.sum()) for length in lengths]
    return straight(points, [
        law(profile, span, _least(speed, step), _least(acceleration, step))
        for span, step in zip(spans, steps, strict=True)
    ])  # fmt: skip


def _least(limit, step: np.ndarray) -> float | None:
    """The greatest rate of s at which no quantity of a step passes its limit."""
    if limit is None:
        return None
    return float(np.min(np.broadcast_to(limit, step.shape)[step > 0.0] / step[step > 0.0]))


def _paced_spline(points, steps, duration, speed, acceleration, profile, measure) -> Piecewise:
    """Knots at distances as the lengths between the points; slowed down until the greatest values are those allowed."""
    if duration is None and speed is None and acceleration is None:
        raise ArgumentError(f"profile {profile!r} needs times, a duration, or a speed or acceleration to keep.")
    lengths = (steps if speed is None else steps / speed).max(axis=-1)
    unit = np.concatenate([[0.0], np.cumsum(lengths)]) / lengths.sum()
    curve = spline(points, unit, profile)  # in one second
    _, xd, xdd = curve(dense(curve.breaks))
    least = max(
        0.0 if speed is None else float(np.max(measure(xd) / speed)),
        0.0 if acceleration is None else math.sqrt(np.max(measure(xdd) / acceleration)),
    )
    if duration is not None and duration < least * (1.0 - 1e-12):
        raise ArgumentError(f"the points cannot be passed in {duration:g} s with these limits: it takes {least:g} s.")
    return spline(points, unit * (least if duration is None else duration), profile)


def dense(breaks: np.ndarray, count: int = 200) -> np.ndarray:
    """So many times in every piece, and all breaks."""
    return np.unique(np.concatenate([np.linspace(a, b, count + 1) for a, b in pairwise(breaks)]))
