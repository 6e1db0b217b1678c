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
from itertools import product
from typing import NamedTuple

from appell.algebra import IDENTITY, ZERO, Mat3, Scalar, Scalars, Twist, Vec3, Wrench, skew
from appell.algorithms.common_frame import AT_REST, GroupMomentum, crossed, link_states, own_bodies, power
from appell.algorithms.coordinate_rates import quasi_velocity_joints
from appell.algorithms.derivatives import automatic
from appell.algorithms.derivatives.analytic import (
    JointTwist,
    MovedSubtree,
    doubled,
    moved_by,
    moved_wrench,
    subtree_motions,
)
from appell.algorithms.registry import algorithm
from appell.model.tree import Tree

Tensor = list[list[list[Scalar]]]
NO_WRENCH = Wrench(ZERO, ZERO)


class VelocityIntegrals(NamedTuple):
    """P = ∫ U dm and K = ∫ U r^T dm of velocities U(r) of a subtree."""

    P: Vec3
    K: Mat3

    def turned(self, twist: Twist) -> Wrench:
        """The wrench of the field 2 w x U(r)."""
        w, (P, K) = twist.angular * 2.0, self
        return Wrench(w.cross(P), (IDENTITY * (K.xx + K.yy + K.zz) - K) @ w)


class MovedBody(NamedTuple):
    """A degree of freedom and the subtree that it moves.

    Attributes:
        joint: its unit twist S, with ψ, χ and σ.
        group: mass properties and momentum of the subtree.
        along_S, along_psi: integrals of the velocities S(r) and ψ(r) of the subtree.
        by: derivatives of the wrench of the subtree by its q and q̇, I S, and 2 ∫ ṙ x S(r) dm.
    """

    joint: JointTwist
    group: GroupMomentum
    along_S: VelocityIntegrals
    along_psi: VelocityIntegrals
    by: MovedSubtree

    @classmethod
    def of(cls, joint: JointTwist, group: GroupMomentum, by: MovedSubtree) -> MovedBody:
        return cls(joint, group, moving(group, joint.S), moving(group, joint.psi), by)


class PairWrenches(NamedTuple):
    """Wrenches of a degree of freedom a and another, b, of the same joint or above: powers along unit twists are derivatives.

    Derivatives are those by (q_b, q_a), (q̇_b, q_a), (q̈_b, q_a), (q_b, q̇_a), (q̇_b, q̇_a) and (q_b, q̈_a).

    Attributes:
        within: of the forces of the joint of a, the last derivative is zero.
        between: of forces between it and the joint of b, the first three; the others are as within.
        above: of forces above that, the first, fourth and sixth; the others are as between.
        dual: minus those of the force of a by b and joints between; these stand in the place of a, the last derivative is zero.
    """

    within: tuple[Wrench, ...]
    between: tuple[Wrench, ...]
    above: tuple[Wrench, ...]
    dual: tuple[Wrench, ...]


class Element(NamedTuple):
    """An element of the result.

    Attributes:
        places: which of three degrees of freedom, a, b and c (0, 1 and 2), is that of the force, of the row and of the column.
        block: 0 to 3, of ∂²/∂q∂q, ∂²/∂q∂qd, ∂²/∂q∂qdd and ∂²/∂qd∂qd.
    """

    places: tuple[int, int, int]
    block: int
    value: Scalar


@algorithm("inverse_dynamics_second_derivatives", "analytic", lumpable=True)
def inverse_dynamics_second_derivatives(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> Tensor:
    """For each force and each entry of q or qd, [∂²/∂q∂q, ∂²/∂q∂qd, ∂²/∂q∂qdd, ∂²/∂qd∂qd] side by side."""
    n, links = tree.nv, tree.links
    states = link_states(tree, q, qd)
    motions = subtree_motions(tree, q, qd, qdd, states, own_bodies(tree, states))
    joints = [motion.joint for motion in motions]
    result: Tensor = [[[0.0] * (4 * n) for _ in range(n)] for _ in range(n)]
    for i, (joint, group, force) in enumerate(motions):
        bodies, path = [MovedBody.of(unit, group, moved_by(unit, group, force)) for unit in joint], tree.ancestors(i)
        for (degree, a), k in product(enumerate(bodies), path):
            pairs = [pair_within(a, b) for b in bodies] if k == i else [pair_above(a, b) for b in joints[k]]
            for (other, pair), third in product(enumerate(pairs), path):
                factor = links[i].multiplier * links[k].multiplier * links[third].multiplier
                for t, c in enumerate(joints[third]):
                    if third == i:
                        elements = forces_within(pair, c)
                    elif third > k:
                        elements = forces_between(pair, c)
                    elif third == k:
                        elements = forces_beside(pair, joints[k][other], pairs[t], c)
                    else:
                        elements = forces_beyond(pair, c)
                    entries = links[i].idx_v + degree, links[k].idx_v + other, links[third].idx_v + t
                    for (x, y, z), block, value in elements:
                        if k != i or y == 1:  # both orders of two degrees of freedom of a joint are taken
                            row, column = result[entries[x]][entries[y]], block * n + entries[z]
                            row[column] = row[column] + value * factor
    return result


def pair_above(a: MovedBody, b: JointTwist) -> PairWrenches:
    """Of a joint b above that of a."""
    within, between = _wrenches(a, b)
    carried = [moved_wrench(b.S, wrench) for wrench in (a.by.moved, a.by.by_qd, a.by.momentum)]
    above = [own.plus(more) for own, more in zip((between[0], within[3]), carried[:2], strict=True)]
    return PairWrenches(within, between, (*above, carried[2]), dual_wrenches(a, b))


def pair_within(a: MovedBody, b: MovedBody) -> PairWrenches:
    """Of two degrees of freedom of a joint, half of each order."""
    one, other = pair_above(a, b.joint), pair_above(b, a.joint)
    both = [x.plus(y).times(0.5) for x, y in ((one.within[k], other.within[k]) for k in (0, 4))]
    within = both[0], other.within[3], NO_WRENCH, one.within[3], both[1]
    between = NO_WRENCH, other.above[1], other.above[2]
    above = one.above[0].plus(other.above[0]).times(0.5), *one.above[1:]
    return PairWrenches(within, between, above, (NO_WRENCH,) * 5)


def _wrenches(a: MovedBody, b: JointTwist) -> tuple[tuple[Wrench, ...], tuple[Wrench, ...]]:
    """The first two of (17)."""
    S, group = a.joint.S, a.group
    within = [group.force(doubled(crossed(w, S)), crossed(r, S)).plus(a.along_psi.turned(w)) for w, r in fields(b)]
    between = [
        own.plus(moved_wrench(S, group.force(doubled(w), r))) for own, (w, r) in zip(within, fields(b), strict=True)
    ]
    return (*within, *(a.along_S.turned(w) for w in (b.psi, b.S))), tuple(between)


def dual_wrenches(a: MovedBody, b: JointTwist) -> tuple[Wrench, ...]:
    """(18), with a the joint of the force."""
    along_S = [
        moved_wrench(r, a.by.momentum).plus(Wrench(ZERO, w.angular.cross(a.by.rotational))) for w, r in fields(b)
    ]
    return (*along_S, *(a.along_S.turned(w) for w in (b.psi, b.S)))


def fields(unit: JointTwist) -> tuple[tuple[Twist, Twist], ...]:
    """(ψ, χ), (S, σ) and (0, S): those of first derivatives by q, q̇ and q̈."""
    return (unit.psi, unit.chi), (unit.S, unit.rate), (AT_REST, unit.S)


def forces_within(pair: PairWrenches, c: JointTwist) -> list[Element]:
    """Derivatives of a force of the joint of a."""
    return elements((2, 1, 0), [*(power(c.S, wrench) for wrench in pair.within), 0.0])


def forces_between(pair: PairWrenches, c: JointTwist) -> list[Element]:
    """With c between a and b: derivatives of its force, and of that of a."""
    return [*_of_between(pair, c), *elements((0, 1, 2), _dual(pair.dual, c))]


def forces_beside(pair: PairWrenches, b: JointTwist, other_pair: PairWrenches, c: JointTwist) -> list[Element]:
    """The same with c of the joint of b, half of each order of these two; with the pair of a and c, too."""
    qq, _, _, q_qd, qd_qd, _ = _dual(pair.dual, c)
    other = _dual(other_pair.dual, b)
    values = (qq + other[0]) * 0.5, 0.0, 0.0, q_qd, (qd_qd + other[4]) * 0.5, 0.0
    return [*_of_between(pair, c), *elements((0, 1, 2), values)[:4]]


def forces_beyond(pair: PairWrenches, c: JointTwist) -> list[Element]:
    """Derivatives of a force above b."""
    (_, _, _, _, qd_qd), (_, qd_q, qdd_q), (qq, q_qd, q_qdd), _ = pair
    return elements((2, 1, 0), [power(c.S, wrench) for wrench in (qq, qd_q, qdd_q, q_qd, qd_qd, q_qdd)])


def _of_between(pair: PairWrenches, c: JointTwist) -> list[Element]:
    return elements((2, 1, 0), [*(power(c.S, wrench) for wrench in (*pair.between, *pair.within[3:])), 0.0])


def _dual(wrenches: Sequence[Wrench], c: JointTwist) -> list[Scalar]:
    qq, qd_q, *others = (-power(c.S, wrench) for wrench in wrenches)
    return [qq - power(c.psi, wrenches[3]), qd_q - power(c.psi, wrenches[4]), *others, 0.0]


def elements(places: tuple[int, int, int], values: Sequence[Scalar]) -> list[Element]:
    """Derivatives of a force by two degrees of freedom, in both orders."""
    (force, j, m), (qq, qd_q, qdd_q, q_qd, qd_qd, q_qdd) = places, values
    one, other = (qq, q_qd, q_qdd, qd_qd), (qq, qd_q, qdd_q, qd_qd)
    return [
        *(Element((force, j, m), block, value) for block, value in enumerate(one)),
        *(Element((force, m, j), block, value) for block, value in enumerate(other)),
    ]


def moving(group: GroupMomentum, twist: Twist) -> VelocityIntegrals:
    """Integrals of the velocities of a twist."""
    inertia, (omega, v) = group.inertia, twist
    K = v.outer(inertia.gamma) + skew(omega).dot(inertia.J.full())
    return VelocityIntegrals(inertia.momentum(twist).force, K)


@algorithm("inverse_dynamics_second_derivatives", "automatic", lumpable=True)
def by_differentiation(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> Tensor:
    """The same by differentiation of the graph of first derivatives; by q symmetric parts, as in exponential coordinates."""
    free = quasi_velocity_joints(tree)
    return automatic.second_derivatives(
        lambda q, qd: automatic.inverse_dynamics_derivatives(tree, q, qd, qdd),
        lambda step: automatic.moved(free, q, step),
        qd,
    )
