"""Every pair of a point and a wall that may come into contact.

A contact is numbered wall by wall, point by point. Its normal n shows away from the wall; g is its gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from appell.simulation.contact.points import Points
from appell.simulation.contact.surfaces import ImplicitSurface, Surface


class ContactMotion(NamedTuple):
    """Some contacts in one state of the robot.

    Attributes:
        index: their numbers, (c,).
        gap: g, negative behind the wall, (c,). [m]
        normal: n, (c, 3).
        velocity: of the point, (c, 3). [m/s]
        J: the point's Jacobian, (c, 3, nv).
        acceleration: of the point at qdd = 0, (c, 3). [m/s²]
        bend: the wall's part of g̈, (c,): g̈ = n · (J qdd + acceleration) + bend. [m/s²]
    """

    index: np.ndarray  # type: ignore[assignment]
    gap: np.ndarray
    normal: np.ndarray
    velocity: np.ndarray
    J: np.ndarray
    acceleration: np.ndarray
    bend: np.ndarray

    @property
    def J_n(self) -> np.ndarray:
        """Rows n^T J: ġ = J_n qd, (c, nv)."""
        return np.einsum("ci,cij->cj", self.normal, self.J)

    @property
    def rate(self) -> np.ndarray:
        """ġ, (c,). [m/s]"""
        return np.sum(self.normal * self.velocity, axis=-1)

    @property
    def rate_bias(self) -> np.ndarray:
        """g̈ at qdd = 0, (c,). [m/s²]"""
        return np.sum(self.normal * self.acceleration, axis=-1) + self.bend

    @property
    def sliding(self) -> np.ndarray:
        """Velocity in the tangent, (c, 3). [m/s]"""
        return self.velocity - self.rate[:, None] * self.normal

    def over(self, speeds: np.ndarray | slice) -> ContactMotion:
        """The same with the Jacobians of some speeds alone: the others are held."""
        return self if isinstance(speeds, slice) else self._replace(J=self.J[..., speeds])

    def some(self, which: np.ndarray) -> ContactMotion:
        """Those that a mask or a list of positions chooses."""
        return ContactMotion(*(each[which] for each in self))


@dataclass(frozen=True)
class Contacts:
    """All pairs of points and walls.

    Attributes:
        restitution: e for each wall.
    """

    points: Points
    walls: tuple[Surface, ...]
    restitution: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.walls) * len(self.points.names)

    def point(self, contact: int) -> str:
        """Name of its point."""
        return self.points.names[contact % len(self.points.names)]

    def wall(self, contact: int) -> int:
        """Number of its wall."""
        return contact // len(self.points.names)

    def of_walls(self, values: Sequence[float]) -> np.ndarray:
        """A number of each wall, for each contact."""
        return np.repeat(np.asarray(values, dtype=float), len(self.points.names))

    def gaps(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g and ġ of all contacts, (N, c) each, in the states q (N, nq), qd (N, nv)."""
        p, v = self.points.paths(q, qd)
        pairs = [wall.gap_and_normal(p) for wall in self.walls]
        gap = np.concatenate([gap for gap, _ in pairs], axis=-1)
        return gap, np.concatenate([np.sum(normal * v, axis=-1) for _, normal in pairs], axis=-1)

    def motion(self, q: np.ndarray, qd: np.ndarray) -> ContactMotion:
        """All contacts in one state."""
        points = self.points.motion(q, qd)
        pairs = [wall.gap_and_normal(points.p) for wall in self.walls]
        copies = len(self.walls)
        return ContactMotion(
            np.arange(len(self)),
            np.concatenate([gap for gap, _ in pairs]),
            np.concatenate([normal for _, normal in pairs]),
            np.tile(points.v, (copies, 1)),
            np.tile(points.J, (copies, 1, 1)),
            np.tile(points.a, (copies, 1)),
            np.concatenate([wall.bend(points.p, points.v) for wall in self.walls]),
        )

    def verify(self, q: np.ndarray) -> None:
        """Refuse walls whose gradient is not that of their function, tried at the points in configuration q."""
        positions = self.points.motion(q, np.zeros(self.points.nv)).p
        for wall in self.walls:
            if isinstance(wall, ImplicitSurface):
                for p in positions:
                    wall.verify(p)
