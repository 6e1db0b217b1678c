"""An ellipse in the plane of motion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from appell.checks import require_direction, require_positive
from appell.errors import ArgumentError
from appell.model.pose import Triple
from appell.simulation.contact.surfaces.surface import (
    ELLIPSE,
    SidedSurface,
    triple,
)

LEAST_PLACE = 1e-100
"""Distance from the longer semi-axis from which on a point has one nearest point. [m]"""
MAX_STEPS = 60


@dataclass(frozen=True)
class Ellipse(SidedSurface):
    """An ellipse in the plane of motion, F = its distance, negative inside.

    In space it is an infinite elliptic cylinder. The nearest point (a cos φ, b sin φ) of a point (x, y) along the semi-axes is
    that with cos φ = a x/(t + a²), sin φ = b y/(t + b²) for the largest t.

    Attributes:
        semi_axes: a, b. [m]
        center: its position. [m]
        major: direction of the semi-axis a, along x by default.
        axis: normal of its plane, z by default.
        side: allowed side, `"inside"` (default) or `"outside"`.

    Example:
        >>> import appell
        >>> ellipse = appell.surfaces.Ellipse((3.0, 1.0))
        >>> ellipse.gap([2.5, 0.0, 0.0]).round(3).item(), ellipse.normal_at([0.0, -1.0, 0.0])[1].item()
        (0.468, 1.0)
    """

    semi_axes: tuple[float, float]
    center: Triple = (0.0, 0.0, 0.0)
    major: Triple = (1.0, 0.0, 0.0)
    axis: Triple = (0.0, 0.0, 1.0)
    side: str = "inside"
    is_distance: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.major
        self._check(semi_axes=_two_lengths, center=triple, axis=require_direction, major=require_direction)
        if abs(np.dot(self.axis, self.major)) > 1e-12:
            raise ArgumentError(f"major of Ellipse is {given!r}, expected a direction at right angles to its axis.")

    def value_and_gradient(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        distance, normal, _ = self._nearest(p)
        return distance, normal @ self._axes

    def second_derivative(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        distance, normal, curvature = self._nearest(p)
        along = v @ self._axes[0] * normal[..., 1] - v @ self._axes[1] * normal[..., 0]
        turn = 1.0 + distance * curvature
        return curvature / np.where(turn > 0.0, turn, 1.0) * along**2

    def native_form(self) -> tuple[int, float, Triple, np.ndarray]:
        return ELLIPSE, 0.0, self.center, self._axes / np.array(self.semi_axes)[:, None]

    def require_fit(self, name: str, radius: float) -> None:
        least = min(self.semi_axes) ** 2 / max(self.semi_axes)
        if self.side == "inside" and radius >= least:
            raise ArgumentError(
                f"{name!r} has radius {radius:g}, expected less than {least:g}, the smallest radius of curvature of the "
                "Ellipse around it: it would touch on two sides. Name smaller spheres or points."
            )

    @property
    def _axes(self) -> np.ndarray:
        """Directions of both semi-axes, (2, 3)."""
        return np.array([self.major, np.cross(self.axis, self.major)])

    def _nearest(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Distance (...), and normal (..., 2) and curvature (...) at the nearest point, in the plane of the ellipse."""
        place, e = (p - self.center) @ self._axes.T, np.array(self.semi_axes)
        turn = np.copysign(_nearest_angle(np.abs(place), e), place)
        steep = turn / e
        length = np.sqrt(np.sum(steep**2, axis=-1))
        normal = steep / length[..., None]
        return np.sum((place - e * turn) * normal, axis=-1), normal, 1.0 / (e.prod() ** 2 * length**3)


def _nearest_angle(place: np.ndarray, e: np.ndarray) -> np.ndarray:
    """cos φ and sin φ (..., 2) of the nearest point of the ellipse with semi-axes e, for places (..., 2) in its first quadrant.

    With a > b, s = t + b² and k = a² - b², (a x/(s + k))² + (b y/s)² = 1. The left-hand side is convex: Newton's method from
    where it is at least 1 does not overshoot.
    """
    small = int(np.argmin(e))
    lift = np.where(np.arange(2) == small, 0.0, e.max() ** 2 - e.min() ** 2)
    arms = e * np.where(np.arange(2) == small, np.maximum(place, LEAST_PLACE), place)
    s = (arms - lift).max(axis=-1)
    for _ in range(MAX_STEPS):
        parts = arms / (s[..., None] + lift)
        excess = np.sum(parts**2, axis=-1) - 1.0
        following = s + 0.5 * excess / np.sum(parts**2 / (s[..., None] + lift), axis=-1)
        if not (following > s).any():
            break
        s = np.maximum(s, following)
    parts = arms / (s[..., None] + lift)
    return parts / np.sqrt(np.sum(parts**2, axis=-1, keepdims=True))


def _two_lengths(name: str, values: tuple[float, float]) -> tuple[float, ...]:
    if len(values) != 2:
        raise ArgumentError(f"{name} are {values!r}, expected two lengths.")
    return tuple(require_positive("a semi-axis of Ellipse", length) for length in values)
