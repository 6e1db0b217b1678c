"""Motion in the plane normal to the axis."""

from __future__ import annotations

import numpy as np

from appell.algebra import ZERO, Angle, AxisRotation, Inertia, Rotation, Scalar, Scalars, Sym3, Twist, Vec3, X, Y, Z
from appell.algebra.angle import ZERO_ANGLE
from appell.model.joints.joint_model import JointModel
from appell.model.joints.revolute import rotation_about_z


class Planar(JointModel):
    """q is x, y [m] and the angle θ [rad]; qd is the velocity along the child's own x and y, and the angular velocity."""

    name = "planar"
    nq = nv = 3
    q_labels, qd_labels = ("x", "y", "angle"), ("vx", "vy", "wz")
    angles = (2,)
    limited = symmetric = False

    def placement(self, q: Scalars, offset: Angle) -> tuple[Rotation, Vec3]:
        before = Rotation(AxisRotation.by(2, offset))
        return before * Rotation(rotation_about_z(q[2], ZERO_ANGLE)), before @ Vec3(q[0], q[1], 0.0)

    def motion_subspace(self) -> tuple[Twist, ...]:
        return Twist(ZERO, X), Twist(ZERO, Y), Twist(Z, ZERO)

    def rate(self, q: Scalars, v: Scalars) -> tuple[Scalar, ...]:
        """The velocity along the axes of the parent, then the angle's rate."""
        velocity = Rotation(rotation_about_z(q[2], ZERO_ANGLE)) @ Vec3(v[0], v[1], 0.0)
        return velocity.x, velocity.y, v[2]

    def lumpable_inertia(self, inertia: Inertia) -> Inertia:
        """The second moment along the axis."""
        return Inertia(0.0, ZERO, Sym3(0.0, 0.0, 0.0, 0.0, 0.0, inertia.J.zz))

    def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        a, b = _arc(dv[..., 2])
        x, y = a * dv[..., 0] - b * dv[..., 1], b * dv[..., 0] + a * dv[..., 1]
        c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
        return np.stack([q[..., 0] + c * x - s * y, q[..., 1] + s * x + c * y, q[..., 2] + dv[..., 2]], axis=-1)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        angle = q1[..., 2] - q0[..., 2]
        angle = angle - 2 * np.pi * np.round(angle / (2 * np.pi))  # in [-π, π]
        c, s = np.cos(q0[..., 2]), np.sin(q0[..., 2])
        dx, dy = q1[..., 0] - q0[..., 0], q1[..., 1] - q0[..., 1]
        x, y = c * dx + s * dy, c * dy - s * dx
        a, b = _arc(angle)
        size = a * a + b * b
        return np.stack([(a * x + b * y) / size, (a * y - b * x) / size, angle], axis=-1)

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> np.ndarray:
        return np.array([*rng.uniform(-1.0, 1.0, 2), rng.uniform(-np.pi, np.pi)])


def _arc(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sin θ/θ and (1 - cos θ)/θ."""
    half = 0.5 * angle
    return np.sinc(angle / np.pi), half * np.sinc(half / np.pi) ** 2
