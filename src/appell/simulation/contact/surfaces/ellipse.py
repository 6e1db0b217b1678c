"""An ellipse in the plane of motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.checks import require_direction, require_positive
from appell.errors import ArgumentError
from appell.model.pose import Triple
from appell.simulation.contact.surfaces.surface import (
    NORM,
    SidedSurface,
    norm_curvature,
    norm_gradient,
    triple,
)


@dataclass(frozen=True)
class Ellipse(SidedSurface):
    """An ellipse in the plane of motion, F = √(x²/a² + y²/b²) - 1 with x and y along its semi-axes a and b.

    In space it is an infinite elliptic cylinder. |∇F| is not 1: `gap` is the distance to first order.

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
        (0.5, 1.0)
    """

    semi_axes: tuple[float, float]
    center: Triple = (0.0, 0.0, 0.0)
    major: Triple = (1.0, 0.0, 0.0)
    axis: Triple = (0.0, 0.0, 1.0)
    side: str = "inside"

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.major
        self._check(semi_axes=_two_lengths, center=triple, axis=require_direction, major=require_direction)
        if abs(np.dot(self.axis, self.major)) > 1e-12:
            raise ArgumentError(f"major of Ellipse is {given!r}, expected a direction at right angles to its axis.")

    def value_and_gradient(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = norm_gradient((p - self.center) @ self._scaling.T, 1.0)
        return value, gradient @ self._scaling

    def second_derivative(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return norm_curvature((p - self.center) @ self._scaling.T, v @ self._scaling.T)

    def native_form(self) -> tuple[int, float, Triple, np.ndarray]:
        return NORM, 1.0, self.center, self._scaling

    @property
    def _scaling(self) -> np.ndarray:
        """Matrix (2, 3) from a vector to (x/a, y/b)."""
        a, b = self.semi_axes
        return np.array([self.major, np.cross(self.axis, self.major)]) / np.array([[a], [b]])


def _two_lengths(name: str, values: tuple[float, float]) -> tuple[float, ...]:
    if len(values) != 2:
        raise ArgumentError(f"{name} are {values!r}, expected two lengths.")
    return tuple(require_positive("a semi-axis of Ellipse", length) for length in values)
