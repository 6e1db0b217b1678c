"""An elliptic wall around, or inside, a planar motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError
from appell.model.pose import Triple
from appell.simulation.contact.surfaces.cylinder import norm_and_gradient, second_of_norm
from appell.simulation.contact.surfaces.surface import Surface, adopt, direction, positive, side_sign, vector


@dataclass(frozen=True)
class Ellipse(Surface):
    """An ellipse in the plane of motion, F = √(x²/a² + y²/b²) - 1 with x and y along its semi-axes a and b.

    In space it is an endless elliptic cylinder. |∇F| is not 1: `gap` is the distance to first order.

    Attributes:
        semi_axes: a, b. [m]
        center: where it is. [m]
        major: direction of the semi-axis a, along x by default.
        axis: normal of its plane, z by default.
        side: `"inside"` (default) or `"outside"`.

    Example:
        >>> import appell
        >>> wall = appell.Ellipse((3.0, 1.0))
        >>> wall.gap([2.5, 0.0, 0.0]).round(3).item(), wall.normal_at([0.0, -1.0, 0.0])[1].item()
        (0.5, 1.0)
    """

    semi_axes: tuple[float, float]
    center: Triple = (0.0, 0.0, 0.0)
    major: Triple = (1.0, 0.0, 0.0)
    axis: Triple = (0.0, 0.0, 1.0)
    side: str = "inside"

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.semi_axes) != 2:
            raise ArgumentError(f"semi_axes of Ellipse are {self.semi_axes!r}, expected two lengths.")
        a, b = (positive(length, "a semi-axis of Ellipse") for length in self.semi_axes)
        axis, major = direction(self.axis, "axis of Ellipse"), direction(self.major, "major of Ellipse")
        if abs(np.dot(axis, major)) > 1e-12:
            raise ArgumentError(
                f"major of Ellipse is {self.major!r}, expected a direction at right angles to its axis."
            )
        adopt(self, semi_axes=(a, b), center=vector(self.center, "center of Ellipse"), axis=axis, major=major)
        side_sign(self.side)

    @property
    def sign(self) -> float:
        return side_sign(self.side)

    def level(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        level, slope = norm_and_gradient((p - self.center) @ self._scaled.T, 1.0)
        return level, slope @ self._scaled

    def curvature(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return second_of_norm((p - self.center) @ self._scaled.T, v @ self._scaled.T)

    @property
    def _scaled(self) -> np.ndarray:
        """Rows that turn a vector into (x/a, y/b)."""
        a, b = self.semi_axes
        return np.array([self.major, np.cross(self.axis, self.major)]) / np.array([[a], [b]])
