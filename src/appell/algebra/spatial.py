"""Spatial vectors over scalars: twists and wrenches."""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra.rotation import Rotation
from appell.algebra.scalar import Scalar
from appell.algebra.vec3 import Mat3, Vec3


class Twist(NamedTuple):
    """Angular velocity and velocity of the origin (or their accelerations), in one frame."""

    angular: Vec3
    linear: Vec3

    def rotated(self, R: Rotation | Mat3) -> Twist:
        """The same along other axes."""
        return Twist(R @ self.angular, R @ self.linear)

    def times(self, factor: Scalar) -> Twist:
        return Twist(self.angular * factor, self.linear * factor)


class Wrench(NamedTuple):
    """A force and its moment about the origin of the frame they are given in."""

    force: Vec3
    moment: Vec3

    def plus(self, other: Wrench) -> Wrench:
        return Wrench(self.force + other.force, self.moment + other.moment)

    def minus(self, other: Wrench) -> Wrench:
        return Wrench(self.force - other.force, self.moment - other.moment)

    def times(self, factor: Scalar) -> Wrench:
        return Wrench(self.force * factor, self.moment * factor)
