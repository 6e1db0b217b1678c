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
from appell.model.tree import BASE, Link, Placement, Tree


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
            column = moved_by(unit, group, forces[j])
            add((link, b), (link, b), 0.0, 0.0, link.armature)
            for k in tree.ancestors(j):
                other = tree.links[k]
                for a, ahead in enumerate(states[k].joint):
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


def link_states(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[LinkState]:
    """Every link, in the frame of the first one, or of the base where several links are joined to it.

    In the frame of the first link its own unit twists are numbers: most of what a floating base adds vanishes.
    """
    roots = [i for i, link in enumerate(tree.links) if link.parent == BASE]
    states: list[LinkState] = []
    for i, link in enumerate(tree.links):
        place, own = link.placement(q), (link.velocities(qd), link.velocities(qdd))
        if roots == [i]:
            gravity = Twist(ZERO, -(place.R.T @ tree.gravity))
            states.append(moved_state(link, IDENTITY, ZERO, LinkState(IDENTITY, ZERO, AT_REST, gravity), *own))
        else:
            parent = base_state(tree) if link.parent == BASE else states[link.parent]
            states.append(next_state(link, place, parent, *own))
    return states


def base_state(tree: Tree) -> LinkState:
    """The base, with gravity as its acceleration."""
    return LinkState(IDENTITY, ZERO, AT_REST, Twist(ZERO, -tree.gravity))


def next_state(link: Link, place: Placement, parent: LinkState, qd: Scalars, qdd: Scalars) -> LinkState:
    """A link from its parent and the rates of its own joint."""
    R, s = place
    return moved_state(link, R.T.rotate_columns(parent.R.T).T, parent.p + parent.R @ s, parent, qd, qdd)


def moved_state(link: Link, R: Mat3, p: Vec3, parent: LinkState, qd: Scalars, qdd: Scalars) -> LinkState:
    """A link at a place of the common frame."""
    units = [unit.rotated(R) for unit in link.kind.motion_subspace()]
    units = [Twist(unit.angular, unit.linear + p.cross(unit.angular)) for unit in units]
    v, a = parent.v, parent.a
    for unit, speed in zip(units, qd, strict=True):
        v = combined(v, unit, speed)
    joint = []
    for unit, speed, acceleration in zip(units, qd, qdd, strict=True):
        rate, psi = crossed(v, unit), crossed(parent.v, unit)
        chi = combined(crossed(parent.a, unit), crossed(parent.v, psi), 1.0)
        a = combined(combined(a, unit, acceleration), rate, speed)
        joint.append(JointTwist(unit, psi, chi, combined(rate, psi, 1.0)))
    return LinkState(R, p, v, a, tuple(joint))


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
