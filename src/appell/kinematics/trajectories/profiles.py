"""Time scaling of a path: s(t) from 0 to 1.

    uniform       constant speed, with a jump of speed at both ends
    trapezoidal   ramps of constant acceleration at both ends
    cubic         3 σ² - 2 σ³, σ = t/T: at rest at both ends
    quintic       10 σ³ - 15 σ⁴ + 6 σ⁵: at rest and without acceleration at both ends

To add one: write a function of a `TimingSpec` that returns a `Curve`, list it in PROFILES.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from scipy.interpolate import PPoly

from appell.checks import require_choice, require_positive
from appell.errors import ArgumentError
from appell.kinematics.trajectories.reference import Curve


class TimingSpec(NamedTuple):
    """Duration [s], maximum speed [1/s] and acceleration [1/s²] of s(t), as far as given."""

    duration: float | None
    speed: float | None
    acceleration: float | None


def uniform(timing: TimingSpec) -> Curve:
    """Constant speed."""
    if timing.acceleration is not None:
        raise ArgumentError("profile 'uniform' has no accelerations to limit. Use 'trapezoidal', 'cubic' or 'quintic'.")
    return _polynomial(_duration(timing, 1.0, 0.0, "uniform"), [1.0, 0.0])


def cubic(timing: TimingSpec) -> Curve:
    """3 σ² - 2 σ³; maximum speed 3/2 / T, maximum acceleration 6 / T²."""
    return _polynomial(_duration(timing, 1.5, 6.0, "cubic"), [-2.0, 3.0, 0.0, 0.0])


def quintic(timing: TimingSpec) -> Curve:
    """10 σ³ - 15 σ⁴ + 6 σ⁵; maximum speed 15/8 / T, maximum acceleration 10/√3 / T²."""
    duration = _duration(timing, 1.875, 10.0 / math.sqrt(3.0), "quintic")
    return _polynomial(duration, [6.0, -15.0, 10.0, 0.0, 0.0, 0.0])


def trapezoidal(timing: TimingSpec) -> Curve:
    """Ramps of equal acceleration at both ends; a triangle where full speed is not reached."""
    T, ramp = _trapezoid(timing)
    speed = 1.0 / (T - ramp)
    a = speed / ramp
    if T - 2.0 * ramp < 1e-12 * T:  # a triangle
        return Curve(PPoly([[0.5 * a, -0.5 * a], [0.0, speed], [0.0, 0.5]], [0.0, ramp, T]))
    rise = 0.5 * speed * ramp
    coefficients = [[0.5 * a, 0.0, -0.5 * a], [0.0, speed, speed], [0.0, rise, 1.0 - rise]]
    return Curve(PPoly(coefficients, [0.0, ramp, T - ramp, T]))


PROFILES: dict[str, Callable[[TimingSpec], Curve]] = {
    "uniform": uniform, "trapezoidal": trapezoidal, "cubic": cubic, "quintic": quintic,
}  # fmt: skip


def time_scaling(
    profile: str, duration: float | None = None, speed: float | None = None, acceleration: float | None = None
) -> Curve:
    """s(t) of a profile with a duration [s], or the shortest one within a maximum ds/dt [1/s] and d²s/dt² [1/s²]."""
    require_choice("profile", profile, PROFILES)
    for name, value in (("duration", duration), ("speed", speed), ("acceleration", acceleration)):
        if value is not None:
            require_positive(name, value)
    if duration is None and speed is None and acceleration is None:
        raise ArgumentError(f"profile {profile!r} needs a duration, or a maximum speed or acceleration.")
    return PROFILES[profile](TimingSpec(duration, speed, acceleration))


def _polynomial(T: float, coefficients: list[float]) -> Curve:
    """The polynomial in σ = t/T, highest power first."""
    degree = len(coefficients) - 1
    return Curve(PPoly([[c / T ** (degree - k)] for k, c in enumerate(coefficients)], [0.0, T]))


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


def _trapezoid(timing: TimingSpec) -> tuple[float, float]:
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
