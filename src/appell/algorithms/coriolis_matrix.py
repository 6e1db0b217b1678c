"""Coriolis matrix of the Christoffel symbols, from the Gibbs function's own terms.

The acceleration of a particle is r̈ = J q̈ + J̇ q̇, so ∂G/∂q̈ = ∫ J^T (J q̈ + J̇ q̇) dm and the velocity forces are C q̇ with
    C = ∫ J^T J̇ dm,        Ṁ - 2C = ∫ (J̇^T J - J^T J̇) dm is skew.
With J_k = e_k + w_k x r for joint k (velocity at the world origin and angular velocity of its unit twist),
J̇_k = ė_k + ẇ_k x r + w_k x ṙ. Over the subtree of joint j the integrals are a wrench about the world origin
    F = m ė + ẇ x γ + w x P          N = γ x ė + H ẇ + D w
with mass m, first moment γ, inertia tensor H, momentum P = ∫ ṙ dm and D = tr(K) 1 - K, K = ∫ ṙ r^T dm. For every
ancestor k of j, C_kj = e_k · F_j + w_k · N_j, and C_jk is the same bilinear form with the roles of j and k exchanged.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import IDENTITY, Inertia, Mat3, Scalar, Scalars, Twist, Vec3, Wrench, skew
from appell.algorithms.kinematics import WorldMotion, world_motion
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Link, Tree


class GroupMomentum(NamedTuple):
    """Mass properties about the world origin, momentum P = ∫ ṙ dm and K = ∫ ṙ r^T dm of a group of bodies."""

    inertia: Inertia
    P: Vec3
    K: Mat3

    def plus(self, other: GroupMomentum) -> GroupMomentum:
        return GroupMomentum(self.inertia + other.inertia, self.P + other.P, self.K + other.K)

    @property
    def D(self) -> Mat3:
        return IDENTITY * (self.K.xx + self.K.yy + self.K.zz) - self.K

    def force(self, unit: Twist, rate: Twist) -> Wrench:
        """∫ J̇ dm and its moment (F, N)."""
        own = self.inertia.momentum(rate)
        return Wrench(own.force + unit.angular.cross(self.P), own.moment + self.D @ unit.angular)

    def rotational_part(self, unit: Twist) -> Vec3:
        """The vector a with w_k · a = ∫ (w_k x ṙ) · J_j dm, the part of w_k in C_jk."""
        return self.P.cross(unit.linear) + self.D.T @ unit.angular


@algorithm("coriolis_matrix", "gibbs", lumpable=True)
def coriolis_matrix(tree: Tree, q: Scalars, qd: Scalars) -> list[list[Scalar]]:
    """C(q, qd).  [N m s, N s]"""
    motions = world_motion(tree, q, qd)
    groups = subtrees(tree, motions)
    units = [unit_twists(link, motion) for link, motion in zip(tree.links, motions, strict=True)]
    C: list[list[Scalar]] = [[0.0] * tree.nv for _ in range(tree.nv)]

    def add(row: int, a: int, column: int, b: int, value: Scalar) -> None:
        first, second = tree.links[row], tree.links[column]
        i, k = first.idx_v + a, second.idx_v + b
        C[i][k] = C[i][k] + value * (first.multiplier * second.multiplier)

    for j, group in enumerate(groups):
        for b, (unit, rate) in enumerate(units[j]):
            F, N = group.force(unit, rate)
            p, rotational = group.inertia.momentum(unit), group.rotational_part(unit)
            for k in tree.ancestors(j):
                for a, (other, other_rate) in enumerate(units[k]):
                    add(k, a, j, b, other.linear @ F + other.angular @ N)
                    if k != j:
                        value = other_rate.linear @ p.force + other_rate.angular @ p.moment + other.angular @ rotational
                        add(j, b, k, a, value)
    return C


def subtrees(tree: Tree, motions: list[WorldMotion]) -> list[GroupMomentum]:
    """The subtree of each link."""
    twists = [Twist(omega, v - omega.cross(p)) for _, p, omega, v in motions]
    groups = [own_body(link, R, p, v) for link, (R, p, _, _), v in zip(tree.links, motions, twists, strict=True)]
    for i in reversed(range(len(groups))):
        parent = tree.links[i].parent
        if parent != BASE:
            groups[parent] = groups[parent].plus(groups[i])
    return groups


def own_body(link: Link, R: Mat3, p: Vec3, twist: Twist) -> GroupMomentum:
    """One link about the world origin, from its rotation, origin, and twist at the world origin."""
    m, arm = link.inertia.mass, R @ link.inertia.gamma
    J = R.dot(R.dot(link.inertia.J.full()).T)
    J = J + arm.outer(p) + p.outer(arm) + p.outer(p) * m
    gamma = arm + p * m
    omega, v = twist
    K = v.outer(gamma) + skew(omega).dot(J)
    return GroupMomentum(Inertia(m, gamma, J.upper()), v * m + omega.cross(gamma), K)


def unit_twists(link: Link, motion: WorldMotion) -> list[tuple[Twist, Twist]]:
    """Unit twists of the link's joint, at the world origin, and their rates."""
    pairs = []
    for w, u in motion.units(link.kind.motion_subspace()):
        wd, ud = motion.omega.cross(w), motion.omega.cross(u)
        rate = Twist(wd, ud + motion.v.cross(w) + motion.p.cross(wd))
        pairs.append((Twist(w, u + motion.p.cross(w)), rate))
    return pairs
