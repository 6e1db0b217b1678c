"""How a way is passed in time: laws s(t) from 0 to 1.

    uniform       constant speed from the first to the last moment; it starts and stops with a jump of speed
    trapezoidal   ramps of constant acceleration at both ends
    cubic         3 σ² - 2 σ³, σ = t/T: at rest at both ends
    quintic       10 σ³ - 15 σ⁴ + 6 σ⁵: at rest and without acceleration at both ends

To add one: write a function of a `Wish` that returns a `Piecewise`, list it in PROFILES.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from appell.errors import ArgumentError, unknown_name_message
from appell.kinematics.trajectories.piecewise import Piecewise


class Wish(NamedTuple):
    """What is asked of a law: its duration [s], its greatest speed [1/s] and acceleration [1/s²], as far as given."""

    duration: float | None
    speed: float | None
    acceleration: float | None


def uniform(wish: Wish) -> Piecewise:
    """Constant speed."""
    if wish.acceleration is not None:
        raise ArgumentError("profile 'uniform' has no accelerations to limit. Use 'trapezoidal', 'cubic' or 'quintic'.")
    return _polynomial(_smooth_duration(wish, 1.0, 0.0, "uniform"), [0.0, 1.0])


def cubic(wish: Wish) -> Piecewise:
    """3 σ² - 2 σ³; greatest speed 3/2 / T, greatest acceleration 6 / T²."""
    return _polynomial(_smooth_duration(wish, 1.5, 6.0, "cubic"), [0.0, 0.0, 3.0, -2.0])


def quintic(wish: Wish) -> Piecewise:
    """10 σ³ - 15 σ⁴ + 6 σ⁵; greatest speed 15/8 / T, greatest acceleration 10/√3 / T²."""
    duration = _smooth_duration(wish, 1.875, 10.0 / math.sqrt(3.0), "quintic")
    return _polynomial(duration, [0.0, 0.0, 0.0, 10.0, -15.0, 6.0])


def trapezoidal(wish: Wish) -> Piecewise:
    """Ramps of equal acceleration at both ends; without room for full speed, a triangle."""
    T, ramp = _trapezoid(wish)
    speed = 1.0 / (T - ramp)
    a = speed / ramp
    if T - 2.0 * ramp < 1e-12 * T:  # a triangle
        return Piecewise(np.array([0.0, ramp, T]), np.array([[0.0, 0.0, 0.5 * a], [0.5, speed, -0.5 * a]]))
    rise = 0.5 * speed * ramp
    pieces = [[0.0, 0.0, 0.5 * a], [rise, speed, 0.0], [1.0 - rise, speed, -0.5 * a]]
    return Piecewise(np.array([0.0, ramp, T - ramp, T]), np.array(pieces))


PROFILES: dict[str, Callable[[Wish], Piecewise]] = {
    "uniform": uniform, "trapezoidal": trapezoidal, "cubic": cubic, "quintic": quintic,
}  # fmt: skip


def law(
    profile: str, duration: float | None = None, speed: float | None = None, acceleration: float | None = None
) -> Piecewise:
    """The law s(t) of a profile that takes this duration [s], or the least one that keeps speed and acceleration.

    Args:
        profile: `"uniform"`, `"trapezoidal"`, `"cubic"` or `"quintic"`.
        speed, acceleration: greatest values of ds/dt [1/s] and d²s/dt² [1/s²].

    Example:
        >>> law("quintic", duration=2.0)(1.0).x.item()
        0.5
        >>> law("trapezoidal", speed=0.5, acceleration=1.0).duration
        2.5
    """
    if profile not in PROFILES:
        raise ArgumentError(unknown_name_message("profile", profile, PROFILES))
    for name, value in (("duration", duration), ("speed", speed), ("acceleration", acceleration)):
        if value is not None and not (value > 0.0 and math.isfinite(value)):
            raise ArgumentError(f"{name} is {value}, expected a positive number.")
    if duration is None and speed is None and acceleration is None:
        raise ArgumentError(f"profile {profile!r} needs a duration, or a speed or acceleration to keep.")
    return PROFILES[profile](Wish(duration, speed, acceleration))


def _polynomial(T: float, coefficients: list[float]) -> Piecewise:
    """Coefficients in σ = t/T become those in t."""
    scaled = [c / T**power for power, c in enumerate(coefficients)]
    return Piecewise(np.array([0.0, T]), np.array([scaled]))


def _smooth_duration(wish: Wish, peak_speed: float, peak_acceleration: float, profile: str) -> float:
    """T such that the law's peaks, peak_speed / T and peak_acceleration / T², are those asked for or less."""
    least = max(
        peak_speed / wish.speed if wish.speed else 0.0,
        math.sqrt(peak_acceleration / wish.acceleration) if wish.acceleration else 0.0,
    )
    if wish.duration is None:
        return least
    if wish.duration < least * (1.0 - 1e-12):
        raise ArgumentError(
            f"profile {profile!r} cannot keep the speed and acceleration in {wish.duration:g} s: it takes {least:g} s."
        )
    return wish.duration


def _trapezoid(wish: Wish) -> tuple[float, float]:
    """Duration and length of a ramp. With speed v and acceleration a:  T = 1/v + v/a,  ramp = v/a. [s]"""
    T, v, a = wish
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
            raise ArgumentError(f"speed x duration is {v * T:g} times the way, expected more than 1 and at most 2.")
        return T, min(ramp, 0.5 * T)
    if a is not None:
        inner = T * T - 4.0 / a
        if inner < -1e-12 * T * T:
            raise ArgumentError(
                f"the way cannot be passed in {T:g} s with this acceleration: it takes {2 / math.sqrt(a):g} s."
            )
        return T, 0.5 * (T - math.sqrt(max(inner, 0.0)))
    return T, 0.25 * T
