"""A circular cylinder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from appell.checks import require_direction, require_positive
from appell.model.pose import Triple
from appell.simulation.contact.surfaces.surface import (
    NORM,
    SidedSurface,
    norm_curvature,
    norm_gradient,
    triple,
)


@dataclass(frozen=True)
class Cylinder(SidedSurface):
    """An infinite circular cylinder, F = ρ - R with the distance ρ to its axis.

    Attributes:
        radius: R. [m]
        center: a point of its axis. [m]
        axis: direction of its axis.
        side: allowed side, `"inside"` (a tube, default) or `"outside"` (a pillar).

    Example:
        >>> import appell
        >>> pillar = appell.surfaces.Cylinder(radius=0.5, axis=(0, 0, 1), side="outside")
        >>> pillar.gap([2.0, 0.0, 7.0]).item()
        1.5
    """

    radius: float
    center: Triple = (0.0, 0.0, 0.0)
    axis: Triple = (0.0, 0.0, 1.0)
    side: str = "inside"
    is_distance: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(radius=require_positive, center=triple, axis=require_direction)

    def value_and_gradient(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return norm_gradient(self._radial_part(p - self.center), self.radius)

    def second_derivative(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return norm_curvature(self._radial_part(p - self.center), self._radial_part(v))

    def native_form(self) -> tuple[int, float, Triple, np.ndarray]:
        return NORM, self.radius, self.center, self._radial_part(np.eye(3))

    def _radial_part(self, v: np.ndarray) -> np.ndarray:
        axis = np.array(self.axis)
        return v - (v @ axis)[..., None] * axis
