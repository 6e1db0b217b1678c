"""A sphere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from appell.checks import require_positive
from appell.model.pose import Triple
from appell.simulation.contact.surfaces.surface import NORM, SidedSurface, norm_curvature, norm_gradient, triple


@dataclass(frozen=True)
class Sphere(SidedSurface):
    """A sphere, F = |p - c| - R.

    Attributes:
        radius: R. [m]
        center: c. [m]
        side: allowed side, `"inside"` (default) or `"outside"`.

    Example:
        >>> import appell
        >>> appell.surfaces.Sphere(radius=2.0).normal_at([0.0, 0.0, 1.9]).tolist()
        [-0.0, -0.0, -1.0]
    """

    radius: float
    center: Triple = (0.0, 0.0, 0.0)
    side: str = "inside"
    is_distance: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(radius=require_positive, center=triple)

    def value_and_gradient(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return norm_gradient(p - self.center, self.radius)

    def second_derivative(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return norm_curvature(p - self.center, v)

    def native_form(self) -> tuple[int, float, Triple, np.ndarray]:
        return NORM, self.radius, self.center, np.eye(3)
