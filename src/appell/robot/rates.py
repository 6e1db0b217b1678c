"""How the coordinates of a robot move at given speeds, for integrators that work on vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.algorithms.coordinate_rates import coordinate_rates, free_joints, quaternions, tidied

if TYPE_CHECKING:
    from appell.robot.robot import Robot


class Coordinates:
    """How the coordinates of one robot move."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.free = free_joints(robot.tree)
        self.quaternions = [slice(begin, begin + 4) for _, begin in quaternions(self.free)]

    def rates(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """q̇, (nq,)."""
        return np.array(coordinate_rates(self.free, q.tolist(), qd.tolist())) if self.free else qd

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Coordinates after a small step along the speeds, (nq,)."""
        return self.robot.integrate(q, step) if self.free else q + step

    def drift(self, q: np.ndarray) -> float:
        """How far quaternions are from unit length."""
        return max((abs(float(np.linalg.norm(q[each])) - 1.0) for each in self.quaternions), default=0.0)

    def tidied(self, q: np.ndarray) -> np.ndarray:
        """The same configuration with unit quaternions, (nq,)."""
        return np.array(tidied(self.free, q.tolist())) if self.quaternions else q
