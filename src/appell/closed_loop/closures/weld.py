"""Two frames that are one."""

from __future__ import annotations

from appell.algebra import Mat3, Scalar, Vec3
from appell.closed_loop.closures.kind import ClosureKind, turned_apart


class Weld(ClosureKind):
    """The frames coincide: six equations."""

    name = "weld"
    count = 6

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [*d, *turned_apart(Q)]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v, *omega]
