"""Mass properties of what hangs on each joint, tips first.

Mata 2002 section 4.2, steps 1, 4 and 5, for trees. For each link: M_i, the mass of the link and everything it carries;
φ_i, its first moment about O_i; ψ_i, its inertia tensor about O_i, both in the link's frame.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import Scalar, Sym3, Vec3
from appell.model.joints import Twist
from appell.model.tree import Placement, Tree, Wrench


class Composite(NamedTuple):
    """M, φ and ψ of a link together with everything it carries."""

    mass: Scalar
    phi: Vec3
    psi: Sym3

    def inertia_force(self, unit: Twist) -> Wrench:
        """Wrench at the origin that gives this body the unit acceleration: F = M v + w x φ, N = ψ w + φ x v."""
        return Wrench(
            unit.linear * self.mass + unit.angular.cross(self.phi),
            self.psi @ unit.angular + self.phi.cross(unit.linear),
        )


def composite_bodies(tree: Tree, places: list[Placement]) -> list[Composite]:
    """The composite body of every link. What does not depend on q is added first, so that it is known off-line."""
    composites: list[Composite | None] = [None] * len(tree.links)
    for i in reversed(range(len(tree.links))):
        own = tree.links[i].inertia
        carried = [(places[k], composites[k]) for k in tree.children[i]]
        mass, phi, psi = own.mass, own.gamma, own.at_origin
        for (_, s), body in carried:  # step 1: the carried mass as a point at the child's origin, γ_i and E_i
            mass, phi, psi = mass + body.mass, phi + s * body.mass, psi + _point(s, body.mass)
        for (R, s), body in carried:  # steps 4 and 5
            moment = R @ body.phi
            phi = phi + moment
            psi = psi + (_cross_terms(s, moment) + R.conjugate(body.psi))
        composites[i] = Composite(mass, phi, psi)
    return composites  # type: ignore[return-value]


def _point(s: Vec3, m: Scalar) -> Sym3:
    """-m s~ s~, the inertia tensor of a point mass."""
    xx, yy, zz = s.x * s.x, s.y * s.y, s.z * s.z
    return Sym3(yy + zz, -(s.x * s.y), -(s.x * s.z), xx + zz, -(s.y * s.z), xx + yy) * m


def _cross_terms(s: Vec3, phi: Vec3) -> Sym3:
    """-X - X^T with X = s~ φ~ (step 5, with the tensor φ~ that is printed as a vector)."""
    xx, yy, zz = (2.0 * s.x) * phi.x, (2.0 * s.y) * phi.y, (2.0 * s.z) * phi.z
    return Sym3(
        yy + zz,
        -(s.x * phi.y + s.y * phi.x),
        -(s.x * phi.z + s.z * phi.x),
        xx + zz,
        -(s.y * phi.z + s.z * phi.y),
        xx + yy,
    )
