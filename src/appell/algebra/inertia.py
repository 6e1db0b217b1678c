"""Mass properties of a rigid body at the origin of a frame."""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra.rotation import Rotation
from appell.algebra.scalar import Scalar, is_zero
from appell.algebra.spatial import Twist, Wrench
from appell.algebra.vec3 import ZERO, Sym3, Vec3


class Inertia(NamedTuple):
    """Mass m, first moment gamma = ∫ρ dm and second moment J = ∫ρρ^T dm about the frame's origin.

    J is Euler's tensor of Mata 2002 eq. (11), `J = trace(I)/2 1 - I`, taken at the origin instead of the centre of mass.
    Mass properties add up in these ten numbers, and the equations of motion are linear in them.
    """

    mass: Scalar
    gamma: Vec3
    J: Sym3

    @classmethod
    def at_center(cls, mass: Scalar, com: Vec3, inertia: Sym3) -> Inertia:
        """From mass, centre of mass and the inertia tensor about it."""
        return cls(mass, com * mass, euler_tensor(inertia) + _outer(com) * mass)

    @property
    def com(self) -> Vec3:
        """Centre of mass; the origin for zero mass."""
        return ZERO if is_zero(self.mass) else self.gamma * (1 / self.mass)

    @property
    def at_origin(self) -> Sym3:
        """Inertia tensor about the origin, H in Mata 2002 section 4.2."""
        return self.J.complement()

    @property
    def inertia(self) -> Sym3:
        """Inertia tensor about the centre of mass, I in the papers."""
        return (self.J - _outer(self.com) * self.mass).complement()

    def __add__(self, other: Inertia) -> Inertia:  # type: ignore[override]
        return Inertia(self.mass + other.mass, self.gamma + other.gamma, self.J + other.J)

    def __sub__(self, other: Inertia) -> Inertia:
        return Inertia(self.mass - other.mass, self.gamma - other.gamma, self.J - other.J)

    def momentum(self, twist: Twist) -> Wrench:
        """Momentum m v + ω x γ and moment of momentum γ x v + H ω about the origin, of a body with this twist."""
        return Wrench(
            twist.linear * self.mass + twist.angular.cross(self.gamma),
            self.gamma.cross(twist.linear) + self.at_origin @ twist.angular,
        )

    def transformed(self, R: Rotation, p: Vec3) -> Inertia:
        """The same body in a frame in which this frame has rotation R and origin p."""
        return Inertia(self.mass, R @ self.gamma, R.conjugate(self.J)).shifted(p)

    def shifted(self, p: Vec3) -> Inertia:
        """The same body in a frame with the same axes in which this frame has origin p."""
        return Inertia(
            self.mass, self.gamma + p * self.mass, self.J + _symmetric(self.gamma, p) + _outer(p) * self.mass
        )


NO_MASS = Inertia(0.0, ZERO, Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


def euler_tensor(inertia: Sym3) -> Sym3:
    """J = trace(I)/2 1 - I, Mata 2002 eq. (11)."""
    half = inertia.trace() * 0.5
    return Sym3(half - inertia.xx, -inertia.xy, -inertia.xz, half - inertia.yy, -inertia.yz, half - inertia.zz)


def _outer(v: Vec3) -> Sym3:
    return Sym3(v.x * v.x, v.x * v.y, v.x * v.z, v.y * v.y, v.y * v.z, v.z * v.z)


def _symmetric(a: Vec3, b: Vec3) -> Sym3:
    """a b^T + b a^T."""
    xy, xz, yz = a.x * b.y + a.y * b.x, a.x * b.z + a.z * b.x, a.y * b.z + a.z * b.y
    return Sym3(2.0 * (a.x * b.x), xy, xz, 2.0 * (a.y * b.y), yz, 2.0 * (a.z * b.z))
