"""A plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from appell.checks import require_direction
from appell.model.pose import Triple
from appell.simulation.contact.surfaces.surface import PLANE, Surface, triple


@dataclass(frozen=True)
class Plane(Surface):
    """A plane, F = n · (p - p0). Its allowed side is that of the normal.

    Attributes:
        normal: n, of any length; up by default.
        point: p0, a point of the plane. [m]

    Example:
        >>> import appell
        >>> floor = appell.surfaces.Plane((0, 0, 1))
        >>> floor.gap([[0.0, 0.0, 0.3], [5.0, 1.0, -0.1]]).tolist()
        [0.3, -0.1]
    """

    normal: Triple = (0.0, 0.0, 1.0)
    point: Triple = (0.0, 0.0, 0.0)
    is_distance: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(normal=require_direction, point=triple)

    @property
    def sign(self) -> float:
        return 1.0

    def value_and_gradient(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        normal = np.array(self.normal)
        return (p - self.point) @ normal, np.broadcast_to(normal, p.shape)

    def second_derivative(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(p.shape[:-1])

    def native_form(self) -> tuple[int, float, Triple, np.ndarray]:
        return PLANE, 0.0, self.point, np.array([self.normal])
