"""Coriolis matrix of the Christoffel symbols, from the Gibbs function's own terms.

The acceleration of a particle is r̈ = J q̈ + J̇ q̇, so ∂G/∂q̈ = ∫ J^T (J q̈ + J̇ q̇) dm and the velocity forces are C q̇ with
    C = ∫ J^T J̇ dm,        Ṁ - 2C = ∫ (J̇^T J - J^T J̇) dm is skew.
With J_k = e_k + w_k x r for joint k (velocity at the origin of the common frame and angular velocity of its unit twist),
J̇_k = ė_k + ẇ_k x r + w_k x ṙ. Over the subtree of joint j the integrals are a wrench about the origin
    F = m ė + ẇ x γ + w x P          N = γ x ė + H ẇ + D w
with mass m, first moment γ, inertia tensor H, momentum P = ∫ ṙ dm and D = tr(K) 1 - K, K = ∫ ṙ r^T dm. For every
ancestor k of j, C_kj = e_k · F_j + w_k · N_j, and C_jk is the same bilinear form with the roles of j and k exchanged.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import Scalar, Scalars, Twist, Vec3, Wrench
from appell.algorithms.common_frame import (
    GroupMomentum,
    LinkState,
    crossed,
    link_states,
    over_subtrees,
    own_bodies,
    power,
)
from appell.algorithms.registry import algorithm
from appell.model.tree import Tree


class UnitTwist(NamedTuple):
    """Unit twist of a degree of freedom and its rate, (w, e) and (ẇ, ė)."""

    S: Twist
    rate: Twist


class SubtreeIntegrals(NamedTuple):
    """Integrals over a subtree for one degree of freedom: (F, N), and ∫ J_j dm with its moment and the vector of w_k in C_jk."""

    force: Wrench
    momentum: Wrench
    rotational: Vec3


@algorithm("coriolis_matrix", "gibbs", lumpable=True)
def coriolis_matrix(tree: Tree, q: Scalars, qd: Scalars) -> list[list[Scalar]]:
    """C(q, qd).  [N m s, N s]"""
    states = link_states(tree, q, qd)
    joints = [unit_twists_of(state) for state in states]
    C: list[list[Scalar]] = [[0.0] * tree.nv for _ in range(tree.nv)]

    def add(row: int, a: int, column: int, b: int, value: Scalar) -> None:
        first, second = tree.links[row], tree.links[column]
        i, k = first.idx_v + a, second.idx_v + b
        C[i][k] = C[i][k] + value * (first.multiplier * second.multiplier)

    for j, group in enumerate(over_subtrees(tree, own_bodies(tree, states))):
        for b, unit in enumerate(joints[j]):
            column = subtree_integrals(unit, group)
            for k in tree.ancestors(j):
                for a, other in enumerate(joints[k]):
                    add(k, a, j, b, element_above(other, column))
                    if k != j:
                        add(j, b, k, a, element_below(other, column))
    return C


def unit_twists_of(state: LinkState) -> tuple[UnitTwist, ...]:
    return tuple(UnitTwist(unit, crossed(state.v, unit)) for unit in state.units)


def subtree_integrals(unit: UnitTwist, group: GroupMomentum) -> SubtreeIntegrals:
    S, rate = unit
    return SubtreeIntegrals(group.force(S, rate), group.inertia.momentum(S), group.rotational_part(S))


def element_above(above: UnitTwist, column: SubtreeIntegrals) -> Scalar:
    """C_kj of a degree of freedom k above the subtree of j, or of j itself."""
    return power(above.S, column.force)


def element_below(above: UnitTwist, column: SubtreeIntegrals) -> Scalar:
    """C_jk."""
    return power(above.rate, column.momentum) + above.S.angular @ column.rotational
