"""Two points that coincide."""

from __future__ import annotations

from appell.algebra import Mat3, Scalar, Vec3
from appell.closed_loop.closures.kind import ClosureKind


class Point(ClosureKind):
    """The origins coincide: three equations."""

    name = "point"
    count = 3

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [*d]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v]
