"""Inverse dynamics of a tree by the recursive Lagrangian formulation with 4x4 matrices.

Source: J.M. Hollerbach, A recursive Lagrangian formulation of manipulator dynamics and a comparative study of dynamics
formulation complexity, IEEE Trans. Systems, Man, and Cybernetics 10 (1980), the form with 4x4 transformations; reference 38
of Shafei and Shafei 2018. With W_i from link i to the base, J_i = ∫ r r^T dm its pseudo-inertia and c_i its first moment,
    τ_j = Σ_i Tr{∂W_i/∂q_j J_i Ẅ_i^T} - g^T ∂W_i/∂q_j c_i = Tr{∂W_j/∂q_j D_j} - g^T ∂W_j/∂q_j c_j
    D_j = J_j Ẅ_j^T + Σ A_k D_k                c_j = c_j + Σ A_k c_k          over the children k of j
The sum of traces is Lagrange's equation where q̇ are rates of coordinates. It is d'Alembert's principle for quasi-velocities,
with ∂W_j/∂q_j = W_j S_j the rate of W_j per unit velocity.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import ZERO, Scalar, Scalars, Wrench, skew
from appell.algorithms.homogeneous import IDENTITY, NULL, Matrix, blocks, column, screw, transformation
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Link, Tree


class TransformMotion(NamedTuple):
    """W from the link to the base, and its derivatives."""

    W: Matrix
    Wd: Matrix
    Wdd: Matrix


AT_REST = TransformMotion(IDENTITY, NULL, NULL)


@algorithm("inverse_dynamics", "hollerbach", lumpable=True)
def inverse_dynamics(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """Generalised forces tau that give qdd at (q, qd).  [N m, N]"""
    A = [transformation(*placement) for placement in tree.placements(q)]
    motions = propagate_motion(tree, A, qd, qdd)
    D = [pseudo_inertia(link) @ motion.Wdd.T for link, motion in zip(tree.links, motions, strict=True)]
    c = [column(link.inertia.gamma, link.inertia.mass) for link in tree.links]
    g = column(tree.gravity, 0.0)
    tau: list[Scalar] = [0.0] * tree.nv
    for i in reversed(range(len(tree.links))):
        link = tree.links[i]
        if i in tree.external:
            D[i] = D[i] - wrench_matrix(tree.external[i]) @ motions[i].W.T
        for k, (unit, acceleration) in enumerate(zip(link.kind.motion_subspace(), link.velocities(qdd), strict=True)):
            dW = motions[i].W @ screw(unit)
            force = dW.trace(D[i]) - g.T.trace(dW @ c[i]) + acceleration * link.armature
            tau[link.idx_v + k] = tau[link.idx_v + k] + force * link.multiplier
        if link.parent != BASE:
            D[link.parent] = D[link.parent] + A[i] @ D[i]
            c[link.parent] = c[link.parent] + A[i] @ c[i]
    return tau


@algorithm("bias", "hollerbach", lumpable=True)
def bias(tree: Tree, q: Scalars, qd: Scalars) -> list[Scalar]:
    """C qd + g: the forces at zero acceleration."""
    return inverse_dynamics(tree, q, qd, [0.0] * tree.nv)


def propagate_motion(tree: Tree, A: list[Matrix], qd, qdd) -> list[TransformMotion]:
    """W_i = W_i-1 A_i and its derivatives, parents first: Ȧ = A s, Ä = A (s² + ṡ), with s the screw of the joint's twist."""
    motions: list[TransformMotion] = []
    for i, link in enumerate(tree.links):
        W, Wd, Wdd = AT_REST if link.parent == BASE else motions[link.parent]
        s, sd = screw(link.kind.twist(link.velocities(qd))), screw(link.kind.twist(link.velocities(qdd)))
        W, carried = W @ A[i], Wd @ A[i]
        motions.append(TransformMotion(W, carried + W @ s, Wdd @ A[i] + (carried @ s) * 2.0 + W @ (s @ s + sd)))
    return motions


def pseudo_inertia(link: Link) -> Matrix:
    """J_i = ∫ r r^T dm with r = [ρ; 1]."""
    m, gamma, J = link.inertia
    return blocks(J.full(), gamma, gamma, m)


def wrench_matrix(wrench: Wrench) -> Matrix:
    """The matrix G for which Tr{W S G W^T} is the power of the wrench on the twist of S: [[-n~/2, 0], [f^T, 0]]."""
    return blocks(skew(wrench.moment) * -0.5, ZERO, wrench.force, 0.0)
