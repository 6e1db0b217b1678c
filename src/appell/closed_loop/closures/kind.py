"""What every kind of closure answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from appell.algebra import Mat3, Scalar, Vec3


class ClosureKind(ABC):
    """What a closure forbids, between a first and a second frame, everything seen from the first.

    d is the origin of the second frame and Q its rotation, both in the first frame; v and omega are the rates of d and of
    Q (Q̇ = ω~ Q). All vectors have components along the first frame's axes. The axis of a closure is z of both frames.
    """

    name: ClassVar[str]
    count: ClassVar[int]
    """Number of its equations."""

    @abstractmethod
    def residual(self, d: Vec3, Q: Mat3) -> list[Scalar]:
        """What is zero when the loop is closed. Lengths [m] first, then angles [rad], exact to first order."""

    @abstractmethod
    def rows(self, Q: Mat3, v: Vec3, omega: Vec3) -> list[Scalar]:
        """Rates of the residual of a closed loop: what of the relative velocity must vanish."""

    def row_rates(self, Q: Mat3, Omega: Vec3, v: Vec3, omega: Vec3) -> list[Scalar]:
        """How `rows` of the same v and omega change while the second frame turns at Omega; zero for most kinds."""
        return [0.0] * self.count


def turned_apart(Q: Mat3) -> Vec3:
    """2 tan(θ/2) n of the rotation by θ about n: the angles between two frames for small ones, never zero for θ = π."""
    return Q.axial() * (2.0 / (1.0 + Q.xx + Q.yy + Q.zz))
