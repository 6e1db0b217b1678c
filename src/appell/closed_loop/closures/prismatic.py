"""A slider that closes a loop."""

from __future__ import annotations

from appell.algebra import Mat3, Scalar, Vec3
from appell.closed_loop.closures.kind import ClosureKind, turned_apart


class Prismatic(ClosureKind):
    """The second origin stays on the first frame's z axis and the frames stay parallel: five equations."""

    name = "prismatic"
    count = 5

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [d.x, d.y, *turned_apart(Q)]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [v.x, v.y, *omega]
