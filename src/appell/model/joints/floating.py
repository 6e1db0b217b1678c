"""Free motion in space with six degrees of freedom."""

from __future__ import annotations

import numpy as np

from appell.algebra import ZERO, Angle, AxisRotation, Rotation, Scalar, Scalars, Twist, Vec3, X, Y, Z
from appell.algebra.rotation import rotation_from_quaternion
from appell.model.joints import quaternion as unit
from appell.model.joints.joint_model import JointModel
from appell.model.joints.spherical import quaternion_rate


class Floating(JointModel):
    """q is the position and a unit quaternion, x y z qx qy qz qw; qd is the twist along the child's axes, linear first."""

    name = "floating"
    nq, nv = 7, 6
    q_labels, qd_labels = ("x", "y", "z", "qx", "qy", "qz", "qw"), ("vx", "vy", "vz", "wx", "wy", "wz")
    limited = axial = symmetric = actuated = False
    quaternion = 3

    def placement(self, q: Scalars, offset: Angle) -> tuple[Rotation, Vec3]:
        before = Rotation(AxisRotation.by(2, offset))
        return before * rotation_from_quaternion(*q[3:]), before @ Vec3(*q[:3])

    def motion_subspace(self) -> tuple[Twist, ...]:
        return tuple(Twist(ZERO, axis) for axis in (X, Y, Z)) + tuple(Twist(axis, ZERO) for axis in (X, Y, Z))

    def rate(self, q: Scalars, v: Scalars) -> tuple[Scalar, ...]:
        """The velocity along the axes of the parent, then the quaternion rate."""
        return (*(rotation_from_quaternion(*q[3:]) @ Vec3(*v[:3])), *quaternion_rate(q[3:], Vec3(*v[3:])))

    def neutral(self) -> np.ndarray:
        return np.concatenate([np.zeros(3), unit.IDENTITY])

    def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        v, w = dv[..., :3], dv[..., 3:]
        orientation = unit.normalised(unit.product(q[..., 3:], unit.exponential(w)))
        return np.concatenate([q[..., :3] + unit.rotate(q[..., 3:], _screw(w, v)), orientation], axis=-1)

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        inverse = unit.conjugate(q0[..., 3:])
        w = unit.logarithm(unit.product(inverse, q1[..., 3:]))
        return np.concatenate([_unscrew(w, unit.rotate(inverse, q1[..., :3] - q0[..., :3])), w], axis=-1)

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> np.ndarray:
        return np.concatenate([rng.uniform(-1.0, 1.0, 3), unit.random(rng)])


def _screw(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Displacement after one second of the constant body twist (v, w): v + (1-cos θ)/θ² w x v + (θ-sin θ)/θ³ w x (w x v)."""
    angle, small, t = _angle(w)
    first = np.where(small, 0.5 - angle**2 / 24, (1 - np.cos(t)) / t**2)
    second = np.where(small, 1 / 6 - angle**2 / 120, (t - np.sin(t)) / t**3)
    return v + first * np.cross(w, v) + second * np.cross(w, np.cross(w, v))


def _unscrew(w: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The inverse of `_screw`: p - w x p/2 + (1/θ² - (1+cos θ)/(2 θ sin θ)) w x (w x p)."""
    angle, small, t = _angle(w)
    factor = np.where(small, 1 / 12 + angle**2 / 720, 1 / t**2 - 0.5 / (t * np.tan(t / 2)))
    return p - 0.5 * np.cross(w, p) + factor * np.cross(w, np.cross(w, p))


def _angle(w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """θ, whether it is small, and θ or 1 where it is."""
    angle = np.linalg.norm(w, axis=-1, keepdims=True)
    small = angle < 1e-3
    return angle, small, np.where(small, 1.0, angle)
