"""Time scaling of a path: s(t) from 0 to 1.

    uniform       constant speed, with a jump of speed at both ends
    trapezoidal   ramps of constant acceleration at both ends
    cubic         3 σ² - 2 σ³, σ = t/T: at rest at both ends
    quintic       10 σ³ - 15 σ⁴ + 6 σ⁵: at rest and without acceleration at both ends

To add a polynomial one, list it in POLYNOMIALS.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.interpolate import PPoly

from appell.checks import require_choice, require_positive
from appell.errors import ArgumentError
from appell.kinematics.trajectories.reference import Curve

POLYNOMIALS = {
    "uniform": ((1.0, 0.0), 1.0, 0.0),
    "cubic": ((-2.0, 3.0, 0.0, 0.0), 1.5, 6.0),
    "quintic": ((6.0, -15.0, 10.0, 0.0, 0.0, 0.0), 1.875, 10.0 / math.sqrt(3.0)),
}
"""Coefficients in σ = t/T, highest power first; maximum speed times T; maximum acceleration times T²."""
PROFILES = (*POLYNOMIALS, "trapezoidal")


class TimingSpec(NamedTuple):
    """Duration [s], maximum speed [1/s] and acceleration [1/s²] of s(t), as far as given."""

    duration: float | None
    speed: float | None
    acceleration: float | None


def time_scaling(
    profile: str, duration: float | None = None, speed: float | None = None, acceleration: float | None = None
) -> Curve:
    """s(t) of a profile with a duration [s], or the shortest one within a maximum ds/dt [1/s] and d²s/dt² [1/s²]."""
    require_choice("profile", profile, PROFILES)
    timing = TimingSpec(duration, speed, acceleration)
    for name, value in timing._asdict().items():
        if value is not None:
            require_positive(name, value)
    if timing == (None, None, None):
        raise ArgumentError(f"profile {profile!r} needs a duration, or a maximum speed or acceleration.")
    if profile == "trapezoidal":
        return _trapezoid(*_trapezoid_times(timing))
    if profile == "uniform" and acceleration is not None:
        raise ArgumentError("profile 'uniform' has no accelerations to limit. Use 'trapezoidal', 'cubic' or 'quintic'.")
    coefficients, max_speed, max_acceleration = POLYNOMIALS[profile]
    T, degree = _duration(timing, max_speed, max_acceleration, profile), len(coefficients) - 1
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


def _duration(timing: TimingSpec, max_speed: float, max_acceleration: float, profile: str) -> float:
    """T with maxima max_speed / T and max_acceleration / T² as specified or less."""
    shortest = max(
        max_speed / timing.speed if timing.speed else 0.0,
        math.sqrt(max_acceleration / timing.acceleration) if timing.acceleration else 0.0,
    )
    if timing.duration is None:
        return shortest
    if timing.duration < shortest * (1.0 - 1e-12):
        raise ArgumentError(
            f"profile {profile!r} exceeds the speed or acceleration in {timing.duration:g} s: it takes {shortest:g} s."
        )
    return timing.duration


def _trapezoid_times(timing: TimingSpec) -> tuple[float, float]:
    """Duration and length of a ramp. With speed v and acceleration a:  T = 1/v + v/a,  ramp = v/a. [s]"""
    T, v, a = timing
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
