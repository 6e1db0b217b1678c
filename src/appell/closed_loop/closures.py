"""Types of loop closures: the equations of each. To add one: write its class, list it in CLOSURE_MODELS."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from appell.algebra import Mat3, Scalar, Vec3


class ClosureModel(ABC):
    """Equations of a closure between a first and a second frame, in the first frame.

    d is the origin of the second frame and Q its rotation, both in the first frame; v and omega are the rates of d and of
    Q (Q̇ = ω~ Q). All vectors have components along the first frame's axes. The axis of a closure is z of both frames.
    """

    name: ClassVar[str]
    count: ClassVar[int]
    """Number of equations."""

    @abstractmethod
    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        """Zero when the loop is closed. Lengths [m] first, then angles [rad], exact to first order."""

    @abstractmethod
    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        """Rates of the residual of a closed loop: the components of the relative velocity that must vanish."""

    def row_rates(self, Q: Mat3, Omega: Vec3, v: Vec3, omega: Vec3) -> list[Scalar]:
        """Rates of `rows` at constant v and omega while the second frame rotates at Omega; zero for most types."""
        return [0.0] * self.count


class PointClosure(ClosureModel):
    """The origins coincide."""

    name, count = "point", 3

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [*d]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v]


class SphericalClosure(PointClosure):
    """A ball joint: the equations of `PointClosure`."""

    name = "spherical"


class RevoluteClosure(ClosureModel):
    """A hinge: the origins coincide and the axes z have the same direction.

    The angles are 2 tan(θ/2) of the angle between the axes, so that opposite axes are not closed.
    """

    name, count = "revolute", 5

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        half = 2.0 / (1.0 + Q.zz)
        return [*d, -(Q.yz * half), Q.xz * half]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v, omega.x, omega.y]


class UniversalClosure(ClosureModel):
    """A Cardan joint: the origins coincide and x of the first frame is perpendicular to y of the second.

    x and y are the arms of the cross, as in the universal joint of a tree.
    """

    name, count = "universal", 4

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [*d, Q.xy]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v, omega.cross(Q.columns[1]).x]

    def row_rates(self, Q: Mat3, Omega: Vec3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [0.0, 0.0, 0.0, omega.cross(Omega.cross(Q.columns[1])).x]


class PrismaticClosure(ClosureModel):
    """A slider: the second origin stays on the first frame's z axis and the frames stay parallel."""

    name, count = "prismatic", 5

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [d.x, d.y, *rotation_error(Q)]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [v.x, v.y, *omega]


class WeldClosure(ClosureModel):
    """The frames coincide."""

    name, count = "weld", 6

    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        return [*d, *rotation_error(Q)]

    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        return [*v, *omega]


def rotation_error(Q: Mat3) -> Vec3:
    """2 tan(θ/2) n of the rotation by θ about n: the angles between two frames for small ones, not zero at θ = π."""
    return Q.axial() * (2.0 / (1.0 + Q.xx + Q.yy + Q.zz))


CLOSURE_MODELS: dict[str, ClosureModel] = {
    model.name: model
    for model in (
        PointClosure(),
        SphericalClosure(),
        RevoluteClosure(),
        UniversalClosure(),
        PrismaticClosure(),
        WeldClosure(),
    )
}
