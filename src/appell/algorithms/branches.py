"""A tree as serial chains, and the transformations of their links: sections 2 and 3.1 of Shafei and Shafei 2018, and steps
1 and 2 of its appendix.

A branch is the path from the base to one tip. A link on several branches has its mass in the first of them and is massless
(virtual) in the others, so that the Gibbs functions of the branches add up to that of the tree.
    (3)   T_i = T_i-1 E_i-1 A_i         E the constant transformation along link i-1, A that of the joint
    (7)   Ȧ_i = U_1i q̇_i               U_1i = ∂A_i/∂q_i
More general than the paper: E may contain a rotation, and any joint is allowed. With S_k the unit twists of a joint along
the axes of its child, as 4x4 matrices, and u_k its velocities (also quasi-velocities), Ȧ = A Σ S_k u_k, so U_1k = A S_k. The
translations X_1, X_2 of the base, with U_3k = ∂E_0/∂X_k of (10)-(12), are two such joints at the start of every branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from appell.algebra import Rotation, Scalars, Sym3, Vec3
from appell.algorithms.homogeneous import IDENTITY, NULL, Matrix, blocks, column, screw, transformation
from appell.model.tree import BASE, Link, Tree


class BranchInertia(NamedTuple):
    """B_1 of (15), B_2 of (16) and c of (20).

    The paper's links are rods: B_1 = ½ ∫ μ r r^T dη is the mass on the centre line, B_2 the inertia of the cross-sections,
    c = ∫ μ r dη. A body of any other shape is split into a uniform rod from O_i, with the body's centre of mass, and B_2, the
    difference of the inertia tensors. For the paper's rods these are the same numbers.
    """

    B1: Matrix
    B2: Sym3
    c: Matrix

    @classmethod
    def of(cls, link: Link) -> BranchInertia:
        m, gamma, J = link.inertia
        rod = gamma.outer(link.inertia.com) * (4.0 / 3.0)  # ∫ r r^T dm of the rod
        return cls(blocks(rod, gamma, gamma, m) * 0.5, (J - rod.upper()).complement(), column(gamma, m))


MASSLESS = BranchInertia(NULL, Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0), column(Vec3(0.0, 0.0, 0.0), 0.0))
"""A link whose mass belongs to another branch."""


class BranchLink(NamedTuple):
    """A link of a branch: its index i in the tree, and whether its mass belongs to this branch."""

    i: int
    link: Link
    has_mass: bool

    @property
    def inertia(self) -> BranchInertia:
        return BranchInertia.of(self.link) if self.has_mass else MASSLESS


def branches(tree: Tree) -> list[list[BranchLink]]:
    """All branches, each from the base to a tip, in depth-first order of the tips."""
    seen: set[int] = set()
    result = []
    for tip in _tips(tree):
        path = tree.ancestors(tip)[::-1]
        result.append([BranchLink(i, tree.links[i], i not in seen) for i in path])
        seen.update(path)
    return result


def _tips(tree: Tree) -> Iterator[int]:
    waiting = [i for i, link in enumerate(tree.links) if link.parent == BASE][::-1]
    while waiting:
        i = waiting.pop()
        waiting.extend(reversed(tree.children[i]))
        if not tree.children[i]:
            yield i


class LinkTransform(NamedTuple):
    """Transformations of a link.

    Attributes:
        step: E_i-1 A_i, from the link to the previous one.
        R: ^{i-1}R_i, the rotation of the step.
        T: from the link to the reference frame.
        dT: T̂_i-1 U_1i, the derivative of T in every degree of freedom of the joint, (33) for j = i.
    """

    step: Matrix
    R: Rotation
    T: Matrix
    dT: tuple[Matrix, ...]


def transformations(tree: Tree, q: Scalars) -> list[LinkTransform]:
    """Steps 1 and 2 for every link; a link on several branches has the same in all of them."""
    transforms: list[LinkTransform] = []
    for link in tree.links:
        R, p = link.kind.placement(link.coordinates(q), link.offset)
        E, A = transformation(link.before_joint, link.origin), transformation(R, p)
        U1 = [A @ screw(unit) for unit in link.kind.motion_subspace()]
        That = (IDENTITY if link.parent == BASE else transforms[link.parent].T) @ E
        transforms.append(LinkTransform(E @ A, link.before_joint * R, That @ A, tuple(That @ U for U in U1)))
    return transforms
