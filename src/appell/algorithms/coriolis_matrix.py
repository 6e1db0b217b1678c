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

from appell.algebra import Scalar, Scalars
from appell.algorithms.common_frame import crossed, link_states, over_subtrees, own_bodies
from appell.algorithms.registry import algorithm
from appell.model.tree import Tree


@algorithm("coriolis_matrix", "gibbs", lumpable=True)
def coriolis_matrix(tree: Tree, q: Scalars, qd: Scalars) -> list[list[Scalar]]:
    """C(q, qd).  [N m s, N s]"""
    states = link_states(tree, q, qd)
    units = [[(unit, crossed(state.v, unit)) for unit in state.units] for state in states]
    C: list[list[Scalar]] = [[0.0] * tree.nv for _ in range(tree.nv)]

    def add(row: int, a: int, column: int, b: int, value: Scalar) -> None:
        first, second = tree.links[row], tree.links[column]
        i, k = first.idx_v + a, second.idx_v + b
        C[i][k] = C[i][k] + value * (first.multiplier * second.multiplier)

    for j, group in enumerate(over_subtrees(tree, own_bodies(tree, states))):
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
