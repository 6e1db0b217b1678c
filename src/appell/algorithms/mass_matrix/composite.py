"""Mass matrix by composite bodies, and the parts that all methods of mass matrix share.

Source: M.W. Walker, D.E. Orin, Efficient dynamic computer simulation of robotic mechanisms, J. Dyn. Syst. Meas. Control
104 (1982), method 3: the wrench that accelerates the composite body of joint j is propagated to the base and projected on
every joint of that path.

Composite bodies are those of Mata 2002 section 4.2, steps 1, 4 and 5, for trees. For each link: M_i, the mass of the link
and of everything it carries; φ_i, its first moment about O_i; ψ_i, its inertia tensor about O_i, both in the link's frame.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import Scalar, Scalars, Sym3, Twist, Vec3, Wrench
from appell.algorithms.inverse_dynamics.mata2002 import step_inward
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Link, Placement, Tree


class CompositeBody(NamedTuple):
    """M, φ and ψ of a link together with everything it carries."""

    mass: Scalar
    phi: Vec3
    psi: Sym3

    @classmethod
    def of(cls, link: Link) -> CompositeBody:
        """One link alone."""
        return cls(link.inertia.mass, link.inertia.gamma, link.inertia.at_origin)

    def plus(self, other: CompositeBody) -> CompositeBody:
        return CompositeBody(self.mass + other.mass, self.phi + other.phi, self.psi + other.psi)

    def inertia_force(self, unit: Twist) -> Wrench:
        """Wrench at the origin that gives this body the unit acceleration: F = M v + w x φ, N = ψ w + φ x v."""
        return Wrench(
            unit.linear * self.mass + unit.angular.cross(self.phi),
            self.psi @ unit.angular + self.phi.cross(unit.linear),
        )


@algorithm("mass_matrix", "composite", lumpable=True)
def mass_matrix(tree: Tree, q: Scalars) -> list[list[Scalar]]:
    """M(q).  [kg m², kg m, kg]"""
    placements = tree.placements(q)
    D = JointSpaceMatrix(tree)
    for j, body in enumerate(composite_bodies(tree, placements)):
        for row, unit in enumerate(tree.links[j].kind.motion_subspace()):
            force = body.inertia_force(unit)
            for column, value in enumerate(tree.links[j].kind.project(force.moment, force.force)[: row + 1]):
                D.add(j, row, j, column, value)
            k = j
            while tree.links[k].parent != BASE:
                force = step_inward(placements[k], force)
                k = tree.links[k].parent
                for column, value in enumerate(tree.links[k].kind.project(force.moment, force.force)):
                    D.add(j, row, k, column, value)
    return D.M


class JointSpaceMatrix:
    """Joint-space inertia matrix M, assembled from the elements D_jk between the joints of links j and k.

    Mimic joints add to the row and column of their leader; reflected rotor inertia is on the diagonal.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.M: list[list[Scalar]] = [[0.0] * tree.nv for _ in range(tree.nv)]

    def add(self, j: int, row: int, k: int, column: int, value: Scalar) -> None:
        """Add the element of degree `row` of link j's joint and degree `column` of link k's, k an ancestor of j."""
        first, second = self.tree.links[j], self.tree.links[k]
        a, b = first.idx_v + row, second.idx_v + column
        if j == k and row == column:
            value = value + first.armature
        value = value * (first.multiplier * second.multiplier)
        if (j, row) != (k, column) and a == b:
            value = value + value  # two joints of one leader: the element and its mirror image
        self.M[a][b] = self.M[a][b] + value
        if a != b:
            self.M[b][a] = self.M[a][b]


def composite_bodies(tree: Tree, placements: list[Placement]) -> list[CompositeBody]:
    """The composite body of every link. What does not depend on q is added first, so that it is known off-line."""
    bodies = [CompositeBody.of(link) for link in tree.links]
    for i in reversed(range(len(tree.links))):
        carried = tree.children[i]
        for k in carried:  # step 1: the carried mass as a point at the child's origin, γ_i and E_i
            bodies[i] = bodies[i].plus(point_at(placements[k], bodies[k]))
        for k in carried:  # steps 4 and 5
            bodies[i] = bodies[i].plus(moments_at(placements[k], bodies[k]))
    return bodies


def point_at(placement: Placement, body: CompositeBody) -> CompositeBody:
    """The child's mass at the child's origin, seen from the parent."""
    return CompositeBody(body.mass, placement.s * body.mass, _point(placement.s, body.mass))


def moments_at(placement: Placement, body: CompositeBody) -> CompositeBody:
    """The child's moments, seen from the parent: ^iφ_i+1, and -X - X^T + R ψ R^T."""
    R, s = placement
    phi = R @ body.phi
    return CompositeBody(0.0, phi, _cross_terms(s, phi) + R.conjugate(body.psi))


def _point(s: Vec3, m: Scalar) -> Sym3:
    """-m s~ s~, the inertia tensor of a point mass."""
    xx, yy, zz = s.x * s.x, s.y * s.y, s.z * s.z
    return Sym3(yy + zz, -(s.x * s.y), -(s.x * s.z), xx + zz, -(s.y * s.z), xx + yy) * m


def _cross_terms(s: Vec3, phi: Vec3) -> Sym3:
    """-X - X^T with X = s~ φ~ (step 5, with the tensor φ~ that is printed as a vector)."""
    xx, yy, zz = (2.0 * s.x) * phi.x, (2.0 * s.y) * phi.y, (2.0 * s.z) * phi.z
    xy, xz, yz = s.x * phi.y + s.y * phi.x, s.x * phi.z + s.z * phi.x, s.y * phi.z + s.z * phi.y
    return Sym3(yy + zz, -xy, -xz, xx + zz, -yz, xx + yy)
