"""Interface of joint models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from appell.algebra import NO_MASS, ZERO, Angle, Inertia, Rotation, Scalar, Scalars, Twist, Vec3
from appell.model.joint import Joint
from appell.model.pose import Triple

UNLIMITED = 100.0
"""Limits beyond this are no limits of a mechanism: files write 1e16 for a joint that turns without end. [rad, m]"""


class JointModel(ABC):
    """The motion of a joint, in the child's frame, whose z axis is the joint's axis.

    A joint model defines two functions: `placement`, the pose of the child, and `motion_subspace`, the unit twists of the
    child relative to the parent, one per degree of freedom. Everything else follows; a model with quasi-velocities adds
    `rate`, `integrate` and `difference`.
    """

    name: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    q_labels: ClassVar[tuple[str, ...]] = ("",)  # of the coordinates, where there are several
    qd_labels: ClassVar[tuple[str, ...]] = ("",)  # of the velocities, where there are several
    limited: ClassVar[bool] = True  # whether it has a position range
    axial: ClassVar[bool] = True  # whether it has an axis, the z axis of the child's frame
    symmetric: ClassVar[bool] = True  # whether rotating the child's frame about z leaves qd the same
    actuated: ClassVar[bool] = True  # whether an actuator can move it; a floating base has none
    quaternion: ClassVar[int | None] = None  # index of the first entry of a unit quaternion
    angles: ClassVar[tuple[int, ...]] = ()  # indices of the coordinates that are angles

    def __eq__(self, other: object) -> bool:
        """Whether two joint models are the same; one with parameters compares them as well."""
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @abstractmethod
    def placement(self, q: Scalars, offset: Angle) -> tuple[Rotation, Vec3]:
        """Rotation of the child and position of its origin in the frame before the joint.

        `offset` is a constant rotation about z, before the joint's own motion.
        """

    def parts(self, joint: Joint) -> tuple[tuple[JointModel, Triple], ...]:
        """The joint models in series that it consists of, each with its axis: usually itself alone."""
        return ((self, joint.axis),) if self.nv else ()

    @abstractmethod
    def motion_subspace(self) -> tuple[Twist, ...]:
        """Unit twists S of the child relative to the parent, one per degree of freedom (Featherstone's S)."""

    def twist(self, v: Scalars) -> Twist:
        """Twist of the child relative to the parent, S v."""
        angular = linear = ZERO
        for unit, rate in zip(self.motion_subspace(), v, strict=True):
            angular, linear = angular + unit.angular * rate, linear + unit.linear * rate
        return Twist(angular, linear)

    def is_rotational(self, joint: Joint) -> tuple[bool, ...]:
        """For each velocity, whether it is a rotation (rad/s) and not a translation (m/s).

        Example:
            >>> from appell.model.joint import Joint
            >>> from appell.model.joints import KINDS
            >>> KINDS["universal"].is_rotational(Joint("knee", "universal", "a", "b"))
            (True, True)
        """
        twists = (twist for part, _ in self.parts(joint) for twist in part.motion_subspace())
        return tuple(any(float(x) != 0.0 for x in twist.angular) for twist in twists)

    def project(self, moment: Vec3, force: Vec3) -> tuple[Scalar, ...]:
        """Generalised forces S^T (moment, force) of a wrench at the child's origin, in the child's frame."""
        return tuple(unit.angular @ moment + unit.linear @ force for unit in self.motion_subspace())

    def rate(self, q: Scalars, v: Scalars) -> tuple[Scalar, ...]:
        """Coordinate rates q̇ = N(q) v; N is the identity unless v are quasi-velocities."""
        return tuple(v)

    @property
    def has_quasi_velocities(self) -> bool:
        """Whether q̇ = N(q) v with N not the identity."""
        return type(self).rate is not JointModel.rate

    def lumpable_inertia(self, inertia: Inertia) -> Inertia:
        """The part of the child's inertia with no effect on the joint; it can be lumped into the parent."""
        return NO_MASS

    # --- configurations, over arrays (..., nq) and (..., nv) ---------------------------------------------------------------

    def neutral(self) -> np.ndarray:
        """The coordinates at which the child's frame is the joint's frame."""
        return np.zeros(self.nq)

    def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """The coordinates after one second at the constant velocity dv."""
        return q + dv

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The constant velocity from q0 to q1 in one second."""
        return q1 - q0

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> np.ndarray:
        """Coordinates drawn uniformly between the limits; unlimited ones, also those of limits beyond ±100, from [-π, π]."""
        low = lower if lower >= -UNLIMITED else min(-np.pi, upper - 2 * np.pi)
        high = upper if upper <= UNLIMITED else max(np.pi, low + 2 * np.pi)
        return rng.uniform(max(low, lower), min(high, upper), self.nq)
