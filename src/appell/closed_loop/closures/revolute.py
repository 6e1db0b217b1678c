"""A hinge that closes a loop."""

from __future__ import annotations

from appell.algebra import Mat3, Scalar, Vec3
from appell.closed_loop.closures.kind import ClosureKind


class Revolute(ClosureKind):
    """The origins coincide and the axes z point the same way: five equations.

    The angles are 2 tan(θ/2) of the angle between the axes, so that axes that point against each other are not closed.
    """

    name = "revolute"
    count = 5

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        half = 2.0 / (1.0 + Q.zz)
        return [*d, -(Q.yz * half), Q.xz * half]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v, omega.x, omega.y]
