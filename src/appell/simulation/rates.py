"""Rates of coordinates from speeds, where they differ: joints whose speeds are taken along the moving body's own axes.

To add a joint kind with quasi-velocities: write its function, list it in RATES. All other kinds have rate q̇ = qd.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from appell.model.joints import KINDS, quaternion

if TYPE_CHECKING:
    from appell.model.robot import Robot

Rate = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Rates of a joint's coordinates (nq,) from its coordinates and speeds (nv,)."""


def spherical(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Quaternion rate  q̇ = q (ω, 0) / 2,  ω along the body's axes."""
    return 0.5 * quaternion.product(q, np.append(v, 0.0))


def floating(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Velocity turned to the world's axes, then the quaternion's rate."""
    return np.concatenate([quaternion.rotate(q[3:], v[:3]), spherical(q[3:], v[3:])])


def planar(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Velocity turned to the joint's axes, then the angle's rate."""
    c, s = np.cos(q[2]), np.sin(q[2])
    return np.array([c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]])


RATES: dict[str, Rate] = {"floating": floating, "planar": planar, "spherical": spherical}
QUATERNIONS = {"floating": slice(3, 7), "spherical": slice(0, 4)}
"""Where a joint's coordinates are a unit quaternion."""


class Coordinates:
    """How the coordinates of one robot move."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.special: list[tuple[slice, slice, Rate]] = []
        self.quaternions: list[slice] = []
        self.plain_q: list[int] = []
        self.plain_v: list[int] = []
        for joint in robot.moving_joints:
            kind, (q, v) = KINDS[joint.kind], robot.first_coordinates[joint.name]
            if joint.kind in RATES:
                self.special.append((slice(q, q + kind.nq), slice(v, v + kind.nv), RATES[joint.kind]))
            else:
                self.plain_q += range(q, q + kind.nq)
                self.plain_v += range(v, v + kind.nv)
            if joint.kind in QUATERNIONS:
                inner = QUATERNIONS[joint.kind]
                self.quaternions.append(slice(q + inner.start, q + inner.stop))

    def rates(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """q̇, (nq,)."""
        if not self.special:
            return qd
        result = np.empty_like(q)
        result[self.plain_q] = qd[self.plain_v]
        for i, k, rate in self.special:
            result[i] = rate(q[i], qd[k])
        return result

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Coordinates after a small step along the speeds, (nq,)."""
        return self.robot.integrate(q, step) if self.special else q + step

    def drift(self, q: np.ndarray) -> float:
        """How far quaternions are from unit length."""
        return max((abs(float(np.linalg.norm(q[each])) - 1.0) for each in self.quaternions), default=0.0)

    def tidied(self, q: np.ndarray) -> np.ndarray:
        """The same configuration with unit quaternions, (nq,)."""
        if not self.quaternions:
            return q
        q = q.copy()
        for each in self.quaternions:
            q[each] = quaternion.normalised(q[each])
        return q
