"""Curves of time: time scaling of a path, splines through points, and sequences of straight segments.

Time scaling is s(t) from 0 to 1:

    uniform       constant speed, with a jump of speed at both ends
    trapezoidal   ramps of constant acceleration at both ends
    cubic         3 σ² - 2 σ³, σ = t/T: at rest at both ends
    quintic       10 σ³ - 15 σ⁴ + 6 σ⁵: at rest and without acceleration at both ends

Curves through points start and end at rest (quintic splines also without acceleration). A spline passes the inner points
without stopping: cubic with continuous acceleration, quintic with four continuous derivatives. Each straight segment has its
own time scaling, so that all but the uniform one stop at every point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.interpolate import PPoly, make_interp_spline

from appell.checks import require_choice, require_in_range, require_positive
from appell.errors import ArgumentError

POLYNOMIALS = {
    "uniform": ((1.0, 0.0), 1.0, 0.0),
    "cubic": ((-2.0, 3.0, 0.0, 0.0), 1.5, 6.0),
    "quintic": ((6.0, -15.0, 10.0, 0.0, 0.0, 0.0), 1.875, 10.0 / math.sqrt(3.0)),
}
"""Coefficients in σ = t/T, highest power first; maximum speed times T; maximum acceleration times T²."""
PROFILES = (*POLYNOMIALS, "trapezoidal")
SPLINES = {"cubic": 3, "quintic": 5}
STRAIGHT = ("trapezoidal", "uniform")
TIMING_RANGE = (1e-30, 1e30)
"""Durations, speeds and accelerations whose fifth powers are numbers."""


class CurveState(NamedTuple):
    """A value and its first two time derivatives, of the same shape."""

    x: np.ndarray
    xd: np.ndarray
    xdd: np.ndarray


@dataclass(frozen=True, eq=False)
class Curve:
    """A piecewise polynomial from time 0, constant before its first and after its last break."""

    polynomial: PPoly

    @property
    def duration(self) -> float:
        """End of the curve. [s]"""
        return float(self.polynomial.x[-1])

    @property
    def breaks(self) -> np.ndarray:
        """Ends of the polynomials, from 0. [s]"""
        return self.polynomial.x

    def __call__(self, t: float | np.ndarray) -> CurveState:
        """Value and its first two derivatives at times (...): each (..., shape of x)."""
        time = np.asarray(t, dtype=float)
        if not np.isfinite(time).all():
            raise ArgumentError(f"t is {time[~np.isfinite(time)][0]}, expected finite times.")
        inside = np.clip(time, 0.0, self.duration)
        x, xd, xdd = (self.polynomial(inside, order) for order in range(3))
        moving = (inside == time).reshape(time.shape + (1,) * (x.ndim - time.ndim))
        return CurveState(x, moving * xd, moving * xdd)


def time_scaling(
    profile: str, duration: float | None = None, speed: float | None = None, acceleration: float | None = None
) -> Curve:
    """s(t) of a profile with a duration [s], or the shortest one within a maximum ds/dt [1/s] and d²s/dt² [1/s²]."""
    require_choice("profile", profile, PROFILES)
    timing = {"duration": duration, "speed": speed, "acceleration": acceleration}
    given = {name: require_positive(name, value) for name, value in timing.items() if value is not None}
    for name, value in given.items():
        require_in_range(name, value, *TIMING_RANGE)
    if not given:
        raise ArgumentError(f"profile {profile!r} needs a duration, or a maximum speed or acceleration.")
    if profile == "trapezoidal":
        return _trapezoid(*_trapezoid_times(duration, speed, acceleration))
    if profile == "uniform" and acceleration is not None:
        raise ArgumentError("profile 'uniform' has no accelerations to limit. Use 'trapezoidal', 'cubic' or 'quintic'.")
    coefficients, max_speed, max_acceleration = POLYNOMIALS[profile]
    shortest = max(
        max_speed / speed if speed else 0.0, math.sqrt(max_acceleration / acceleration) if acceleration else 0.0
    )
    T, degree = shortest if duration is None else duration, len(coefficients) - 1
    if shortest * (1.0 - 1e-12) > T:
        raise ArgumentError(
            f"profile {profile!r} exceeds the speed or acceleration in {T:g} s: it takes {shortest:g} s."
        )
    return Curve(PPoly([[c / T ** (degree - k)] for k, c in enumerate(coefficients)], [0.0, T]))


def _trapezoid(T: float, ramp: float) -> Curve:
    """Ramps of equal acceleration at both ends; a triangle where full speed is not reached."""
    speed = 1.0 / (T - ramp)
    a = speed / ramp
    if T - 2.0 * ramp < 1e-12 * T:  # a triangle
        return Curve(PPoly([[0.5 * a, -0.5 * a], [0.0, speed], [0.0, 0.5]], [0.0, ramp, T]))
    rise = 0.5 * speed * ramp
    coefficients = [[0.5 * a, 0.0, -0.5 * a], [0.0, speed, speed], [0.0, rise, 1.0 - rise]]
    return Curve(PPoly(coefficients, [0.0, ramp, T - ramp, T]))


def _trapezoid_times(T: float | None, v: float | None, a: float | None) -> tuple[float, float]:
    """Duration and length of a ramp. With speed v and acceleration a:  T = 1/v + v/a,  ramp = v/a. [s]"""
    if T is None:
        if v is None or a is None:
            missing = "an acceleration" if a is None else "a speed"
            raise ArgumentError(f"profile 'trapezoidal' also needs {missing}, or a duration.")
        v = min(v, math.sqrt(a))
        return 1.0 / v + v / a, v / a
    if v is not None and a is not None:
        raise ArgumentError("profile 'trapezoidal' takes two of duration, speed and acceleration, not three.")
    if v is not None:
        ramp = T - 1.0 / v
        if not 0.0 < ramp <= 0.5 * T * (1.0 + 1e-12):
            raise ArgumentError(f"speed x duration is {v * T:g} times the length, expected more than 1 and at most 2.")
        return T, min(ramp, 0.5 * T)
    if a is not None:
        square = T * T - 4.0 / a
        if square < -1e-12 * T * T:
            raise ArgumentError(
                f"the path cannot be traversed in {T:g} s with this acceleration: it takes {2 / math.sqrt(a):g} s."
            )
        return T, 0.5 * (T - math.sqrt(max(square, 0.0)))
    return T, 0.25 * T


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
