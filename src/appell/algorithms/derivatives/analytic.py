"""Derivatives of inverse dynamics, one recursion over the particles of subtrees in the form of Gibbs and Appell.

Equations of docs/theory/derivatives.md. In an inertial frame joint j moves a particle at r by J_j = e_j + w_j x r, and
τ_j = ∫ J_j · r̈ dm over its subtree (gravity is an acceleration of the base). With the twist S_j = (w_j, e_j) of joint j, and
twist v_p and spatial acceleration a_p of its parent,
    (2)  Ṡ_j = v_j x S_j        ψ_j = v_p x S_j        χ_j = a_p x S_j + v_p x ψ_j
    (5)  ∂r̈/∂q_j = S_j x r̈ + χ_j(r) + 2 ψ_j x ṙ        (6)  ∂r̈/∂q̇_j = (Ṡ_j + ψ_j)(r) + 2 w_j x ṙ
Integrals of these fields over a subtree need its mass properties I, P = ∫ ṙ dm and K = ∫ ṙ r^T dm alone (`common_frame`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.algebra import Scalar, Scalars, Twist, Vec3, Wrench
from appell.algorithms.common_frame import (
    AT_REST,
    GroupMomentum,
    LinkState,
    base_acceleration,
    combined,
    crossed,
    link_states,
    over_subtrees,
    own_bodies,
    power,
)
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Link, Tree


class JointTwist(NamedTuple):
    """Unit twist S of a degree of freedom, its ψ and χ, and Ṡ + ψ."""

    S: Twist
    psi: Twist
    chi: Twist
    rate: Twist


class SubtreeMotion(NamedTuple):
    """The joint of a link, and mass, momentum and total wrench of its subtree."""

    joint: tuple[JointTwist, ...]
    group: GroupMomentum
    force: Wrench


class MovedSubtree(NamedTuple):
    """Derivatives of the wrench of a subtree by one degree of freedom.

    Attributes:
        by_q, moved, by_qd: W, W + S x F and V, (8) to (10).
        momentum, rotational: I S and 2 ∫ ṙ x S(r) dm.
    """

    by_q: Wrench
    moved: Wrench
    by_qd: Wrench
    momentum: Wrench
    rotational: Vec3


@algorithm("inverse_dynamics_derivatives", "analytic", lumpable=True)
def inverse_dynamics_derivatives(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[list[Scalar]]:
    """[∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd] side by side."""
    states = link_states(tree, q, qd)
    return derivatives_of(tree, subtree_motions(tree, q, qd, qdd, states, own_bodies(tree, states)))


def derivatives_of(tree: Tree, motions: Sequence[SubtreeMotion]) -> list[list[Scalar]]:
    """[∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd] side by side, (10)."""
    n = tree.nv
    result: list[list[Scalar]] = [[0.0] * (3 * n) for _ in range(n)]

    def add(row: tuple[Link, int], column: tuple[Link, int], *values: Scalar) -> None:
        (first, a), (second, b) = row, column
        for block, value in enumerate(values):
            i, k = first.idx_v + a, block * n + second.idx_v + b
            result[i][k] = result[i][k] + value * (first.multiplier * second.multiplier)

    for j, (link, motion) in enumerate(zip(tree.links, motions, strict=True)):
        for b, unit in enumerate(motion.joint):
            column = moved_by(unit, motion.group, motion.force)
            add((link, b), (link, b), 0.0, 0.0, link.armature)
            for k in tree.ancestors(j):
                other = tree.links[k]
                for a, ahead in enumerate(motions[k].joint):
                    if k == j:
                        own = (column.by_q, column.by_qd, column.momentum)
                        add((other, a), (link, b), *(power(ahead.S, wrench) for wrench in own))
                    else:
                        add((other, a), (link, b), *forces_above(ahead, column))
                        add((link, b), (other, a), *forces_below(ahead, column))
    return result


def moved_by(unit: JointTwist, group: GroupMomentum, force: Wrench) -> MovedSubtree:
    by_q = group.force(doubled(unit.psi), unit.chi)  # (8)
    by_qd = group.force(doubled(unit.S), unit.rate)  # (9)
    momentum, rotational = group.inertia.momentum(unit.S), group.rotational_part(unit.S) * 2.0
    return MovedSubtree(by_q, by_q.plus(moved_wrench(unit.S, force)), by_qd, momentum, rotational)


def forces_above(above: JointTwist, column: MovedSubtree) -> tuple[Scalar, Scalar, Scalar]:
    """(10), first column: derivatives of the force of a joint above by q, q̇ and q̈ of the joint below."""
    moved, by_qd, momentum = (power(above.S, each) for each in (column.moved, column.by_qd, column.momentum))
    return moved, by_qd, momentum


def forces_below(above: JointTwist, column: MovedSubtree) -> tuple[Scalar, Scalar, Scalar]:
    """(10), second column: derivatives of the force of the joint below by q, q̇ and q̈ of a joint above."""
    along_q = power(above.chi, column.momentum) + above.psi.angular @ column.rotational
    along_qd = power(above.rate, column.momentum) + above.S.angular @ column.rotational
    return along_q, along_qd, power(above.S, column.momentum)


def subtree_motions(
    tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars, states: Sequence[LinkState], bodies: Sequence[GroupMomentum]
) -> list[SubtreeMotion]:
    """Every subtree at these accelerations."""
    accelerations: list[Twist] = []
    joints, base = [], base_acceleration(tree, q)
    for link, state in zip(tree.links, states, strict=True):
        v, a = (AT_REST, base) if link.parent == BASE else (states[link.parent].v, accelerations[link.parent])
        a, joint = accelerated(state, v, a, link.velocities(qd), link.velocities(qdd))
        accelerations.append(a)
        joints.append(joint)
    forces = [body.force(state.v, a) for body, state, a in zip(bodies, states, accelerations, strict=True)]
    for i, wrench in tree.external.items():
        forces[i] = forces[i].minus(states[i].common(wrench))
    groups, forces = over_subtrees(tree, bodies), over_subtrees(tree, forces)
    return [SubtreeMotion(*each) for each in zip(joints, groups, forces, strict=True)]


def accelerated(
    state: LinkState, v: Twist, a: Twist, qd: Scalars, qdd: Scalars
) -> tuple[Twist, tuple[JointTwist, ...]]:
    """Spatial acceleration of a link and its joint, from twist and acceleration of its parent, (2)."""
    total, joint = a, []
    for unit, speed, acceleration in zip(state.units, qd, qdd, strict=True):
        psi = crossed(v, unit)
        rate = (
            psi if len(state.units) == 1 else crossed(state.v, unit)
        )  # v_j x S_j is v_p x S_j where v_j - v_p is along S_j
        chi = combined(crossed(a, unit), crossed(v, psi), 1.0)
        total = combined(combined(total, unit, acceleration), rate, speed)
        joint.append(JointTwist(unit, psi, chi, combined(rate, psi, 1.0)))
    return total, tuple(joint)


def mass_matrix_of(tree: Tree, states: Sequence[LinkState], bodies: Sequence[GroupMomentum]) -> list[list[Scalar]]:
    """M_kj = S_k · I_j S_j."""
    M: list[list[Scalar]] = [[0.0] * tree.nv for _ in range(tree.nv)]
    for j, (link, group) in enumerate(zip(tree.links, over_subtrees(tree, bodies), strict=True)):
        for b, unit in enumerate(states[j].units):
            momentum, column = group.inertia.momentum(unit), link.idx_v + b
            M[column][column] = M[column][column] + link.armature * (link.multiplier * link.multiplier)
            for k in tree.ancestors(j):
                other = tree.links[k]
                for a, above in enumerate(states[k].units):
                    row, value = other.idx_v + a, power(above, momentum) * (link.multiplier * other.multiplier)
                    M[row][column] = M[row][column] + value
                    if k != j:
                        M[column][row] = M[column][row] + value
    return M


def doubled(twist: Twist) -> Twist:
    return Twist(twist.angular * 2.0, twist.linear * 2.0)


def moved_wrench(S: Twist, wrench: Wrench) -> Wrench:
    """The change of a wrench that moves along with S."""
    force, moment = wrench
    return Wrench(S.angular.cross(force), S.angular.cross(moment) + S.linear.cross(force))
