"""What every kind of joint answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from appell.algebra import NO_MASS, ZERO, Angle, Inertia, Rotation, Scalar, Vec3


class Twist(NamedTuple):
    """Angular velocity and velocity of the origin (or their accelerations), in one frame."""

    angular: Vec3
    linear: Vec3


class JointKind(ABC):
    """The motion a joint allows, in the child's frame, whose z axis is the joint's axis.

    A kind is two functions. `placement` says where the child is; `subspace` lists, per degree of freedom, the twist of
    the child relative to the parent that a unit of that generalised speed gives. Everything else follows.
    """

    name: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    limited: ClassVar[bool] = True  # whether a position range makes sense

    @abstractmethod
    def placement(self, q: Sequence[Scalar], offset: Angle) -> tuple[Rotation, Vec3]:
        """Rotation of the child and position of its origin in the frame before the joint.

        `offset` is a constant turn about z, after the joint's own motion. The position does not depend on it.
        """

    @abstractmethod
    def subspace(self) -> tuple[Twist, ...]:
        """One twist per generalised speed."""

    def twist(self, speeds: Sequence[Scalar]) -> Twist:
        """Twist of the child relative to the parent: the subspace times the speeds."""
        angular = linear = ZERO
        for unit, speed in zip(self.subspace(), speeds, strict=True):
            angular, linear = angular + unit.angular * speed, linear + unit.linear * speed
        return Twist(angular, linear)

    def project(self, moment: Vec3, force: Vec3) -> tuple[Scalar, ...]:
        """Generalised forces of a force at the child's origin and a moment, both in the child's frame."""
        return tuple(unit.angular @ moment + unit.linear @ force for unit in self.subspace())

    def unfelt(self, inertia: Inertia) -> Inertia:
        """The part of the child's mass properties that the joint does not move: it may as well belong to the parent."""
        return NO_MASS
