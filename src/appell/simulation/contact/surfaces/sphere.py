"""A ball, hollow or solid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.model.pose import Triple
from appell.simulation.contact.surfaces.cylinder import norm_and_gradient, second_of_norm
from appell.simulation.contact.surfaces.surface import Surface, adopt, positive, side_sign, vector


@dataclass(frozen=True)
class Sphere(Surface):
    """A sphere, F = |p - c| - R.

    Attributes:
        radius: R. [m]
        center: c. [m]
        side: `"inside"` (default) or `"outside"`.

    Example:
        >>> import appell
        >>> appell.Sphere(radius=2.0).normal_at([0.0, 0.0, 1.9]).tolist()
        [-0.0, -0.0, -1.0]
    """

    radius: float
    center: Triple = (0.0, 0.0, 0.0)
    side: str = "inside"

    def __post_init__(self) -> None:
        super().__post_init__()
        adopt(self, radius=positive(self.radius, "radius of Sphere"), center=vector(self.center, "center of Sphere"))
        side_sign(self.side)

    @property
    def sign(self) -> float:
        return side_sign(self.side)

    def level(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return norm_and_gradient(p - self.center, self.radius)

    def curvature(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return second_of_norm(p - self.center, v)
