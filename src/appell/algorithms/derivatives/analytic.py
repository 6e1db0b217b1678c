"""Derivatives of inverse dynamics, one recursion over the particles of subtrees in the form of Gibbs and Appell.

Equations of docs/theory/derivatives.md. In an inertial frame joint j moves a particle at r by J_j = e_j + w_j x r, and
τ_j = ∫ J_j · r̈ dm over its subtree (gravity is an acceleration of the base). With the twist S_j = (w_j, e_j) of joint j, and
twist v_p and spatial acceleration a_p of its parent,
    (2)  Ṡ_j = v_j x S_j        ψ_j = v_p x S_j        χ_j = a_p x S_j + v_p x ψ_j
    (5)  ∂r̈/∂q_j = S_j x r̈ + χ_j(r) + 2 ψ_j x ṙ        (6)  ∂r̈/∂q̇_j = (Ṡ_j + ψ_j)(r) + 2 w_j x ṙ
Integrals of these fields over a subtree need its mass properties I, P = ∫ ṙ dm and K = ∫ ṙ r^T dm alone (`coriolis_matrix`).
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import IDENTITY, ZERO, Mat3, Scalar, Scalars, Twist, Vec3, Wrench
from appell.algorithms.coriolis_matrix import GroupMomentum, own_body
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Link, Tree


class JointTwist(NamedTuple):
    """Unit twist S of a degree of freedom, its ψ and χ, and Ṡ + ψ, at the origin of the common frame."""

    S: Twist
    psi: Twist
    chi: Twist
    rate: Twist


class LinkState(NamedTuple):
    """Rotation and origin of a link, its twist and spatial acceleration, and its joint, in the common frame."""

    R: Mat3
    p: Vec3
    v: Twist
    a: Twist
    joint: tuple[JointTwist, ...] = ()


@algorithm("inverse_dynamics_derivatives", "analytic", lumpable=True)
def inverse_dynamics_derivatives(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[list[Scalar]]:
    """[∂tau/∂q, ∂tau/∂qd, ∂tau/∂qdd] side by side."""
    states = link_states(tree, q, qd, qdd)
    groups, forces = subtrees(tree, states)
    n = tree.nv
    result: list[list[Scalar]] = [[0.0] * (3 * n) for _ in range(n)]

    def add(row: tuple[Link, int], column: tuple[Link, int], *values: Scalar) -> None:
        (first, a), (second, b) = row, column
        for block, value in enumerate(values):
            i, k = first.idx_v + a, block * n + second.idx_v + b
            result[i][k] = result[i][k] + value * (first.multiplier * second.multiplier)

    for j, (link, group) in enumerate(zip(tree.links, groups, strict=True)):
        for b, unit in enumerate(states[j].joint):
            momentum, rotational = group.inertia.momentum(unit.S), group.rotational_part(unit.S) * 2.0
            by_q = group.force(doubled(unit.psi), unit.chi)  # (8)
            by_qd = group.force(doubled(unit.S), unit.rate)  # (9)
            moved = by_q.plus(moved_wrench(unit.S, forces[j]))
            add((link, b), (link, b), 0.0, 0.0, link.armature)
            for k in tree.ancestors(j):
                other = tree.links[k]
                for a, ahead in enumerate(states[k].joint):
                    wrenches = (by_q if k == j else moved), by_qd, momentum
                    add((other, a), (link, b), *(power(ahead.S, wrench) for wrench in wrenches))
                    if k != j:  # (10)
                        along_q = power(ahead.chi, momentum) + ahead.psi.angular @ rotational
                        along_qd = power(ahead.rate, momentum) + ahead.S.angular @ rotational
                        add((link, b), (other, a), along_q, along_qd, power(ahead.S, momentum))
    return result


def link_states(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[LinkState]:
    """Every link, in the frame of the first one, or of the base where several links are joined to it.

    In the frame of the first link its own unit twists are numbers: most of what a floating base adds vanishes.
    """
    roots = [i for i, link in enumerate(tree.links) if link.parent == BASE]
    states: list[LinkState] = []
    for i, link in enumerate(tree.links):
        R, s = link.placement(q)
        if roots == [i]:
            gravity = Twist(ZERO, -(R.T @ tree.gravity))
            parent, rotation, origin = LinkState(IDENTITY, ZERO, AT_REST, gravity), IDENTITY, ZERO
        else:
            at_rest = LinkState(IDENTITY, ZERO, AT_REST, Twist(ZERO, -tree.gravity))
            parent = at_rest if link.parent == BASE else states[link.parent]
            rotation, origin = R.T.rotate_columns(parent.R.T).T, parent.p + parent.R @ s
        units = [unit.rotated(rotation) for unit in link.kind.motion_subspace()]
        units = [Twist(unit.angular, unit.linear + origin.cross(unit.angular)) for unit in units]
        v, a = parent.v, parent.a
        for unit, speed in zip(units, link.velocities(qd), strict=True):
            v = combined(v, unit, speed)
        joint = []
        for unit, speed, acceleration in zip(units, link.velocities(qd), link.velocities(qdd), strict=True):
            rate, psi = crossed(v, unit), crossed(parent.v, unit)
            chi = combined(crossed(parent.a, unit), crossed(parent.v, psi), 1.0)
            a = combined(combined(a, unit, acceleration), rate, speed)
            joint.append(JointTwist(unit, psi, chi, combined(rate, psi, 1.0)))
        states.append(LinkState(rotation, origin, v, a, tuple(joint)))
    return states


def subtrees(tree: Tree, states: list[LinkState]) -> tuple[list[GroupMomentum], list[Wrench]]:
    """Mass, momentum and total wrench of the subtree of each link, about the origin of the common frame."""
    groups = [own_body(link, R, p, v) for link, (R, p, v, _, _) in zip(tree.links, states, strict=True)]
    forces = [group.force(state.v, state.a) for group, state in zip(groups, states, strict=True)]
    for i in reversed(range(len(groups))):
        if i in tree.external:
            force, moment = (states[i].R @ part for part in tree.external[i])
            forces[i] = forces[i].minus(Wrench(force, moment + states[i].p.cross(force)))
        parent = tree.links[i].parent
        if parent != BASE:
            groups[parent], forces[parent] = groups[parent].plus(groups[i]), forces[parent].plus(forces[i])
    return groups, forces


AT_REST = Twist(ZERO, ZERO)


def combined(first: Twist, second: Twist, factor: Scalar) -> Twist:
    """first + factor second."""
    return Twist(first.angular + second.angular * factor, first.linear + second.linear * factor)


def doubled(twist: Twist) -> Twist:
    return Twist(twist.angular * 2.0, twist.linear * 2.0)


def crossed(v: Twist, S: Twist) -> Twist:
    """v x S: the rate of a twist S that moves along with v."""
    return Twist(v.angular.cross(S.angular), v.angular.cross(S.linear) + v.linear.cross(S.angular))


def moved_wrench(S: Twist, wrench: Wrench) -> Wrench:
    """The change of a wrench that moves along with S."""
    force, moment = wrench
    return Wrench(S.angular.cross(force), S.angular.cross(moment) + S.linear.cross(force))


def power(S: Twist, wrench: Wrench) -> Scalar:
    return S.linear @ wrench.force + S.angular @ wrench.moment
