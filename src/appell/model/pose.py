"""Placement of a frame in another: position and roll-pitch-yaw, as robot descriptions give it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from appell.algebra.angle import Angle

Triple = tuple[float, float, float]


def triple(values: Iterable[float]) -> Triple:
    """Three numbers as floats."""
    x, y, z = (float(value) for value in values)
    return x, y, z


@dataclass(frozen=True)
class Pose:
    """Origin `xyz` [m] and fixed-axis angles `rpy` [rad]: the rotation is Rz(yaw) Ry(pitch) Rx(roll)."""

    xyz: Triple = (0.0, 0.0, 0.0)
    rpy: Triple = (0.0, 0.0, 0.0)

    @property
    def rotation(self) -> np.ndarray:
        """Rotation matrix (3, 3), exact at multiples of a right angle."""
        (_, cr, sr), (_, cp, sp), (_, cy, sy) = (Angle.of(angle) for angle in self.rpy)
        return np.array([
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ])  # fmt: skip

    @classmethod
    def from_matrix(cls, xyz, rotation) -> Pose:
        """From a position and a rotation matrix. Exact to rounding at every orientation, gimbal lock included."""
        R = np.asarray(rotation, dtype=float)
        yaw = math.atan2(R[1, 0], R[0, 0]) if math.hypot(R[0, 0], R[1, 0]) > 1e-12 else 0.0
        pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
        c, s = math.cos(yaw), math.sin(yaw)  # roll is read after undoing this yaw, so that their errors cancel
        roll = math.atan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
        return cls(triple(xyz), (Angle.of(roll).radians, Angle.of(pitch).radians, Angle.of(yaw).radians))
