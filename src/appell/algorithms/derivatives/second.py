"""Second derivatives of inverse dynamics, by the recursion of `analytic` carried one order further.

Equations of docs/theory/derivatives.md. Beyond a rigid displacement, a step of joint j and one of joint l, which is j or below
it, change the acceleration of a particle of the subtree of l by
    (12)  ∂²r̈/∂q_j∂q_l = (χ_j x S_l)(r) + 2 w(ψ_j x S_l) x ṙ + 2 w(ψ_j) x ψ_l(r)
    (13)  ∂²r̈/∂q_j∂q̇_l = 2 w(ψ_j) x S_l(r)        (15)  ∂²r̈/∂q̇_j∂q̇_l = 2 w_j x S_l(r)
    (14)  ∂²r̈/∂q̇_j∂q_l = (σ_j x S_l)(r) + 2 w(S_j x S_l) x ṙ + 2 w_j x ψ_l(r)        (16)  ∂²r̈/∂q̈_j∂q_l = (S_j x S_l)(r)
with σ_j = Ṡ_j + ψ_j; (14) and (16) for l below j alone. (12), (14) and (16) are one form, in (ψ_j, χ_j), (S_j, σ_j) and (0, S_j).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.algebra import ZERO, Scalar, Scalars, Twist, Vec3, Wrench, skew
from appell.algorithms.common_frame import AT_REST, GroupMomentum, crossed, link_states, own_bodies, power
from appell.algorithms.coordinate_rates import quasi_velocity_joints
from appell.algorithms.derivatives import automatic
from appell.algorithms.derivatives.analytic import doubled, moved_wrench, subtree_motions
from appell.algorithms.registry import algorithm
from appell.model.tree import Tree

Tensor = list[list[list[Scalar]]]


class DegreeOfFreedom(NamedTuple):
    """One entry of the velocities, and the subtree that it moves.

    Attributes:
        forms: (ψ, χ), (S, σ) and (0, S): the fields of first derivatives by q, q̇ and q̈.
        group: mass properties and momentum of the subtree.
        along_S, along_psi: the same with velocities S(r) and ψ(r).
        momentum, rotational: I S and 2 ∫ ṙ x S(r) dm.
        by_q, by_qd: derivatives Z and V of the wrench of the subtree.
    """

    joint: int
    entry: int
    multiplier: float
    S: Twist
    psi: Twist
    forms: tuple[tuple[Twist, Twist], ...]
    group: GroupMomentum
    along_S: GroupMomentum
    along_psi: GroupMomentum
    momentum: Wrench
    rotational: Vec3
    by_q: Wrench
    by_qd: Wrench


@algorithm("inverse_dynamics_second_derivatives", "analytic", lumpable=True)
def inverse_dynamics_second_derivatives(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> Tensor:
    """For each force and each entry of q or qd, [∂²/∂q∂q, ∂²/∂q∂qd, ∂²/∂q∂qdd, ∂²/∂qd∂qd] side by side."""
    n, units = tree.nv, degrees_of_freedom(tree, q, qd, qdd)
    chains = [set(tree.ancestors(i)) for i in range(len(tree.links))]
    result: Tensor = [[[0.0] * (4 * n) for _ in range(n)] for _ in range(n)]

    def add(force: DegreeOfFreedom, j: DegreeOfFreedom, m: DegreeOfFreedom, values: Sequence[Scalar]) -> None:
        """Values for m below j; within a joint both orders are added, half of each."""
        qq, qd_q, qdd_q, q_qd, qd_qd, q_qdd = values
        entries = [(j, 1, m, q_qd), (j, 2, m, q_qdd)]
        if j.joint == m.joint:
            qq, qd_qd = qq * 0.5, qd_qd * 0.5
        else:
            entries += [(m, 1, j, qd_q), (m, 2, j, qdd_q)]
        for first, block, second, value in [*entries, (j, 0, m, qq), (m, 0, j, qq), (j, 3, m, qd_qd), (m, 3, j, qd_qd)]:
            row, column = result[force.entry][first.entry], block * n + second.entry
            row[column] = row[column] + value * (force.multiplier * j.multiplier * m.multiplier)

    for m in units:
        chain = [unit for unit in units if unit.joint in chains[m.joint]]
        for j in chain:
            within, between, above = pair_wrenches(j, m)
            for force in chain:  # (17)
                ahead = force.joint != j.joint and force.joint in chains[j.joint]
                wrenches = above if ahead else within if force.joint == m.joint else between
                add(force, j, m, [power(force.S, wrench) for wrench in wrenches])
    for force in units:
        chain = [unit for unit in units if unit.joint in chains[force.joint] and unit.joint != force.joint]
        for j in chain:
            by_S, by_psi = dual_wrenches(j, force)
            for m in (unit for unit in chain if j.joint in chains[unit.joint]):  # (18)
                along_S, along_psi = (
                    (-power(m.S, wrench) for wrench in by_S),
                    [-power(m.psi, wrench) for wrench in by_psi],
                )
                qq, qd_q, qdd_q, q_qd, qd_qd = along_S
                add(force, j, m, (qq + along_psi[0], qd_q + along_psi[1], qdd_q, q_qd, qd_qd, 0.0))
    return result


def pair_wrenches(j: DegreeOfFreedom, m: DegreeOfFreedom) -> tuple[list[Wrench], list[Wrench], list[Wrench]]:
    """Wrenches on the subtree of m for forces within the joint of m, between it and the joint of j, and above that.

    Derivatives by (q_j, q_m), (q̇_j, q_m), (q̈_j, q_m), (q_j, q̇_m), (q̇_j, q̇_m), (q_j, q̈_m).
    """
    within = [
        m.group.force(doubled(crossed(w, m.S)), crossed(a, m.S)).plus(m.along_psi.force(doubled(w), AT_REST))
        for w, a in j.forms
    ]
    within += [*(m.along_S.force(doubled(w), AT_REST) for w in (j.psi, j.S)), Wrench(ZERO, ZERO)]
    between = [
        own.plus(moved_wrench(m.S, m.group.force(doubled(w), a)))
        for own, (w, a) in zip(within[:3], j.forms, strict=True)
    ]
    between += within[3:]
    above = list(between)
    for k, wrench in ((0, m.by_q), (3, m.by_qd), (5, m.momentum)):
        above[k] = above[k].plus(moved_wrench(j.S, wrench))
    return within, between, above


def dual_wrenches(j: DegreeOfFreedom, force: DegreeOfFreedom) -> tuple[list[Wrench], list[Wrench]]:
    """Wrenches whose power along S and along ψ of a joint between j and the force's is minus its derivative of (17)."""
    along_psi = [force.along_S.force(doubled(w), AT_REST) for w in (j.psi, j.S)]
    along_S = [
        moved_wrench(a, force.momentum).plus(Wrench(ZERO, w.angular.cross(force.rotational))) for w, a in j.forms
    ]
    return [*along_S, *along_psi], along_psi


def degrees_of_freedom(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[DegreeOfFreedom]:
    states = link_states(tree, q, qd)
    motions = subtree_motions(tree, q, qd, qdd, states, own_bodies(tree, states))
    return [
        DegreeOfFreedom(
            i, link.idx_v + a, link.multiplier, S, psi, ((psi, chi), (S, rate), (AT_REST, S)),
            group, moving(group, S), moving(group, psi), group.inertia.momentum(S), group.rotational_part(S) * 2.0,
            group.force(doubled(psi), chi).plus(moved_wrench(S, force)), group.force(doubled(S), rate),
        )
        for i, (link, (joint, group, force)) in enumerate(zip(tree.links, motions, strict=True))
        for a, (S, psi, chi, rate) in enumerate(joint)
    ]  # fmt: skip


def moving(group: GroupMomentum, twist: Twist) -> GroupMomentum:
    """The same mass with the velocities of a twist."""
    inertia, (omega, v) = group.inertia, twist
    K = v.outer(inertia.gamma) + skew(omega).dot(inertia.J.full())
    return GroupMomentum(inertia, inertia.momentum(twist).force, K)


@algorithm("inverse_dynamics_second_derivatives", "automatic", lumpable=True)
def by_differentiation(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> Tensor:
    """The same by differentiation of the graph of first derivatives; by q symmetric parts, as in exponential coordinates."""
    free = quasi_velocity_joints(tree)
    return automatic.second_derivatives(
        lambda q, qd: automatic.inverse_dynamics_derivatives(tree, q, qd, qdd),
        lambda step: automatic.moved(free, q, step),
        qd,
    )
