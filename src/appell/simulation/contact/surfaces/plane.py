"""A flat wall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.model.pose import Triple
from appell.simulation.contact.surfaces.surface import Surface, adopt, direction, vector


@dataclass(frozen=True)
class Plane(Surface):
    """A plane, F = n · (p - p0). Points may be on the side to which the normal shows.

    Attributes:
        normal: n, of any length; up by default.
        point: p0, a point of the plane. [m]

    Example:
        >>> import appell
        >>> floor = appell.Plane((0, 0, 1))
        >>> floor.gap([[0.0, 0.0, 0.3], [5.0, 1.0, -0.1]]).tolist()
        [0.3, -0.1]
    """

    normal: Triple = (0.0, 0.0, 1.0)
    point: Triple = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        adopt(
            self,
            normal=direction(self.normal, "normal of Plane"),
            point=vector(self.point, "point of Plane"),
        )

    @property
    def sign(self) -> float:
        return 1.0

    def level(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        normal = np.array(self.normal)
        return (p - self.point) @ normal, np.broadcast_to(normal, p.shape)

    def curvature(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.zeros(p.shape[:-1])
