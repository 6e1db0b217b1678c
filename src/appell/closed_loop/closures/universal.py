"""A Cardan joint that closes a loop."""

from __future__ import annotations

from appell.algebra import Mat3, Scalar, Vec3
from appell.closed_loop.closures.kind import ClosureKind


class Universal(ClosureKind):
    """The origins coincide and x of the first frame is at right angles to y of the second: four equations.

    x and y are the arms of the cross, as in the universal joint of a tree.
    """

    name = "universal"
    count = 4

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [*d, Q.xy]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v, omega.cross(Q.columns[1]).x]

    def row_rates(self, Q: Mat3, Omega: Vec3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [0.0, 0.0, 0.0, omega.cross(Omega.cross(Q.columns[1])).x]
