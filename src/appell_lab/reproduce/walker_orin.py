"""Composite bodies about their centres of mass, as in the papers' CRBA.

Source: M.W. Walker, D.E. Orin, Efficient dynamic computer simulation of robotic mechanisms, J. Dyn. Syst. Meas. Control
104 (1982), method 3. The library's own `composite` takes moments about the joints, which needs fewer operations; this
form is kept to compare their rounding errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.algebra import Scalar, Sym3, Vec3
from appell.algorithms.mass_matrix.composite import JointSpaceMatrix
from appell.model.tree import BASE, Placement, Tree


class CentralBody(NamedTuple):
    """Mass, centre of mass and the inertia tensor about it, in the link's frame."""

    mass: Scalar
    com: Vec3
    inertia: Sym3

    def about(self, point: Vec3) -> Sym3:
        """The inertia tensor about another point, by Steiner's theorem."""
        x, y, z = self.com - point
        xx, yy, zz = x * x, y * y, z * z
        return self.inertia + Sym3(yy + zz, -(x * y), -(x * z), xx + zz, -(y * z), xx + yy) * self.mass

    def joined(self, other: CentralBody) -> CentralBody:
        """Both as one body."""
        mass = self.mass + other.mass
        com = (self.com * self.mass + other.com * other.mass) * (1.0 / mass)
        return CentralBody(mass, com, self.about(com) + other.about(com))

    def transformed(self, placement: Placement) -> CentralBody:
        """The same body in the parent's frame."""
        R, s = placement
        return CentralBody(self.mass, R @ self.com + s, R.conjugate(self.inertia))


def central_bodies(tree: Tree) -> list[CentralBody]:
    """The links' own mass properties about their centres of mass."""
    return [CentralBody(link.inertia.mass, link.inertia.com, link.inertia.inertia) for link in tree.links]


def mass_matrix(tree: Tree, bodies: Sequence[CentralBody], q: Sequence[Scalar]) -> list[list[Scalar]]:
    """M(q) of a tree whose links have these mass properties.  [kg m², kg m, kg]"""
    placements = tree.placements(q)
    composites = list(bodies)
    D = JointSpaceMatrix(tree)
    for j in reversed(range(len(tree.links))):
        for k in tree.children[j]:
            composites[j] = composites[j].joined(composites[k].transformed(placements[k]))
        mass, com, inertia = composites[j]
        for row, unit in enumerate(tree.links[j].kind.motion_subspace()):
            F = (unit.linear + unit.angular.cross(com)) * mass
            N = inertia @ unit.angular + com.cross(F)
            for column, value in enumerate(tree.links[j].kind.project(N, F)[: row + 1]):
                D.add(j, row, j, column, value)
            k = j
            while tree.links[k].parent != BASE:
                R, s = placements[k]
                F = R @ F
                N = R @ N + s.cross(F)
                k = tree.links[k].parent
                for column, value in enumerate(tree.links[k].kind.project(N, F)):
                    D.add(j, row, k, column, value)
    return D.M
