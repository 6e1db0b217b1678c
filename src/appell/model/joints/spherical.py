"""Rotation about a point."""

from __future__ import annotations

import numpy as np

from appell.algebra import ZERO, Angle, AxisRotation, Inertia, Rotation, Scalar, Scalars, Sym3, Twist, Vec3, X, Y, Z
from appell.algebra.rotation import rotation_from_quaternion
from appell.model.joints import quaternion as unit
from appell.model.joints.joint_model import JointModel


class Spherical(JointModel):
    """q is a unit quaternion (x, y, z, w); qd is the angular velocity along the child's axes [rad/s]."""

    name = "spherical"
    nq, nv = 4, 3
    q_labels, qd_labels = ("qx", "qy", "qz", "qw"), ("wx", "wy", "wz")
    limited = axial = symmetric = False
    quaternion = 0

    def placement(self, q: Scalars, offset: Angle) -> tuple[Rotation, Vec3]:
        return Rotation(AxisRotation.by(2, offset)) * rotation_from_quaternion(*q), ZERO

    def motion_subspace(self) -> tuple[Twist, ...]:
        return Twist(X, ZERO), Twist(Y, ZERO), Twist(Z, ZERO)

    def rate(self, q: Scalars, v: Scalars) -> tuple[Scalar, ...]:
        return quaternion_rate(q, Vec3(*v))

    def lumpable_inertia(self, inertia: Inertia) -> Inertia:
        """Mass at the centre."""
        return Inertia(inertia.mass, ZERO, Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))

    def neutral(self) -> np.ndarray:
        return unit.IDENTITY

    def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        return unit.normalised(unit.product(q, unit.exponential(dv)))

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        return unit.logarithm(unit.product(unit.conjugate(q0), q1))

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> np.ndarray:
        return unit.random(rng)


def quaternion_rate(q: Scalars, omega: Vec3) -> tuple[Scalar, ...]:
    """q̇ = q (ω, 0) / 2, with ω along the turning body's axes."""
    vector, w, half = Vec3(*q[:3]), q[3], omega * 0.5
    return (*(half * w + vector.cross(half)), -(vector @ half))
