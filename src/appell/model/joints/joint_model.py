"""What every kind of joint answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from appell.algebra import NO_MASS, ZERO, Angle, Inertia, Rotation, Scalar, Twist, Vec3

if TYPE_CHECKING:
    from appell.model.joint import Joint
    from appell.model.pose import Triple


class JointModel(ABC):
    """The motion a joint allows, in the child's frame, whose z axis is the joint's axis.

    A kind is two functions. `placement` says where the child is; `subspace` lists, per degree of freedom, the twist of
    the child relative to the parent that a unit of that generalised speed gives. Everything else follows; a kind whose
    speeds are quasi-velocities adds `rate`, and how its configurations are stepped.
    """

    name: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    limited: ClassVar[bool] = True  # whether a position range makes sense
    axial: ClassVar[bool] = True  # whether the joint has an axis, which becomes z of the child's frame
    symmetric: ClassVar[bool] = True  # whether turning the child's frame about z leaves the meaning of the speeds
    quaternion: ClassVar[int | None] = None  # where a unit quaternion begins among the coordinates

    def __eq__(self, other: object) -> bool:
        """Kinds are equal that move alike; one with numbers of its own compares them too."""
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @abstractmethod
    def placement(self, q: Sequence[Scalar], offset: Angle) -> tuple[Rotation, Vec3]:
        """Rotation of the child and position of its origin in the frame before the joint.

        `offset` is a constant turn about z, before the joint's own motion.
        """

    def parts(self, joint: Joint) -> tuple[tuple[JointModel, Triple], ...]:
        """The kinds of joint that it is made of, one after the other, each with its axis: usually itself alone."""
        return ((self, joint.axis),) if self.nv else ()

    @abstractmethod
    def motion_subspace(self) -> tuple[Twist, ...]:
        """One twist per generalised speed."""

    def twist(self, speeds: Sequence[Scalar]) -> Twist:
        """Twist of the child relative to the parent: the subspace times the speeds."""
        angular = linear = ZERO
        for unit, speed in zip(self.motion_subspace(), speeds, strict=True):
            angular, linear = angular + unit.angular * speed, linear + unit.linear * speed
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
        """Generalised forces of a force at the child's origin and a moment, both in the child's frame."""
        return tuple(unit.angular @ moment + unit.linear @ force for unit in self.motion_subspace())

    def rate(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """Rates of the coordinates at the speeds v, q̇ = N(q) v: the speeds themselves, unless they are quasi-velocities."""
        return tuple(v)

    @property
    def has_quasi_velocities(self) -> bool:
        """Whether the coordinates do not simply change at the speeds."""
        return type(self).rate is not JointModel.rate

    def lumpable_inertia(self, inertia: Inertia) -> Inertia:
        """The part of the child's mass properties that the joint does not move: it may as well belong to the parent."""
        return NO_MASS

    # --- configurations, over arrays (..., nq) and (..., nv) ---------------------------------------------------------------

    def neutral(self) -> np.ndarray:
        """The coordinates at which the child stands in the joint's frame."""
        return np.zeros(self.nq)

    def integrate(self, q: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """The coordinates after moving at the constant speeds dv for one second."""
        return q + dv

    def difference(self, q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
        """The constant speeds that lead from q0 to q1 in one second."""
        return q1 - q0

    def random(self, rng: np.random.Generator, lower: float, upper: float) -> np.ndarray:
        """Coordinates drawn evenly between the limits; unlimited ones from [-π, π]."""
        low = lower if np.isfinite(lower) else min(-np.pi, upper - 2 * np.pi)
        high = upper if np.isfinite(upper) else max(np.pi, low + 2 * np.pi)
        return rng.uniform(low, high, self.nq)
