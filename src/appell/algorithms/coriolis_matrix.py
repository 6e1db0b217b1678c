"""Coriolis matrix of the Christoffel symbols, from the Gibbs function's own terms.

The acceleration of a particle is r̈ = J q̈ + J̇ q̇, so ∂G/∂q̈ = ∫ J^T (J q̈ + J̇ q̇) dm and the velocity forces are C q̇ with
    C = ∫ J^T J̇ dm,        Ṁ - 2C = ∫ (J̇^T J - J^T J̇) dm is skew.
With J_k = e_k + w_k x r for joint k (velocity at the world's origin and angular velocity of its unit twist) and
ṙ = v + ω x r, the integrals over all that hangs on a joint need its mass m, first moment γ, second moment J, momentum
P = ∫ ṙ dm and K = ∫ ṙ r^T dm. The moment of a distributed force with ∫ f r^T dm = T is the axial vector of T - T^T, the
tensor form of Mata 2002 eq. (10).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.algebra import Inertia, Mat3, Scalar, Sym3, Vec3, skew
from appell.algorithms.registry import algorithm
from appell.algorithms.world import WorldMotion, world_motion
from appell.model.joints import Twist
from appell.model.tree import BASE, Link, Tree, Wrench


class Moving(NamedTuple):
    """Mass properties about the world's origin, momentum P = ∫ ṙ dm and K = ∫ ṙ r^T dm of a group of bodies."""

    inertia: Inertia
    P: Vec3
    K: Mat3

    def plus(self, other: Moving) -> Moving:
        return Moving(self.inertia + other.inertia, self.P + other.P, self.K + other.K)

    def force(self, unit: Twist, rate: Twist) -> Wrench:
        """∫ J̇_j dm and its moment about the world's origin, J̇_j = ė + ẇ x r + w x ṙ."""
        m, gamma, J = self.inertia
        force = rate.linear * m + rate.angular.cross(gamma) + unit.angular.cross(self.P)
        T = rate.linear.outer(gamma) + skew(rate.angular).dot(J.full()) + skew(unit.angular).dot(self.K)
        return Wrench(force, T.axial())


@algorithm("coriolis_matrix", "gibbs")
def coriolis_matrix(tree: Tree, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """C(q, qd).  [N m s, N s]"""
    motions = world_motion(tree, q, qd)
    groups = carried_bodies(tree, motions)
    units = [unit_twists(link, motion) for link, motion in zip(tree.links, motions, strict=True)]
    C: list[list[Scalar]] = [[0.0] * tree.nv for _ in range(tree.nv)]

    def add(row: tuple[int, int], column: tuple[int, int], value: Scalar) -> None:
        first, second = tree.links[row[0]], tree.links[column[0]]
        a, b = first.v + row[1], second.v + column[1]
        C[a][b] = C[a][b] + value * (first.multiplier * second.multiplier)

    for j in range(len(tree.links)):
        for k in tree.ancestors(j):
            for n, (unit, rate) in enumerate(units[j]):
                force = groups[j].force(unit, rate)
                for m, (other, other_rate) in enumerate(units[k]):
                    add((k, m), (j, n), other.linear @ force.force + other.angular @ force.moment)
                    if k != j:
                        back = groups[j].force(other, other_rate)
                        add((j, n), (k, m), unit.linear @ back.force + unit.angular @ back.moment)
    return C


def carried_bodies(tree: Tree, motions: list[WorldMotion]) -> list[Moving]:
    """Each link with everything it carries."""
    groups = [own_body(link, motion) for link, motion in zip(tree.links, motions, strict=True)]
    for i in reversed(range(len(groups))):
        parent = tree.links[i].parent
        if parent != BASE:
            groups[parent] = groups[parent].plus(groups[i])
    return groups


def own_body(link: Link, motion: WorldMotion) -> Moving:
    """One link about the world's origin."""
    R, p, omega, v = motion
    m, arm = link.inertia.mass, R @ link.inertia.gamma
    J = R.dot(R.dot(link.inertia.J.full()).T)
    J = J + arm.outer(p) + p.outer(arm) + p.outer(p) * m
    gamma = arm + p * m
    at_origin = v - omega.cross(p)
    K = at_origin.outer(gamma) + skew(omega).dot(J)
    return Moving(Inertia(m, gamma, Sym3(J.xx, J.xy, J.xz, J.yy, J.yz, J.zz)), at_origin * m + omega.cross(gamma), K)


def unit_twists(link: Link, motion: WorldMotion) -> list[tuple[Twist, Twist]]:
    """Unit twists of the link's joint, taken at the world's origin, and their rates."""
    pairs = []
    for w, u in motion.units(link.kind.subspace()):
        wd, ud = motion.omega.cross(w), motion.omega.cross(u)
        rate = Twist(wd, ud + motion.v.cross(w) + motion.p.cross(wd))
        pairs.append((Twist(w, u + motion.p.cross(w)), rate))
    return pairs
