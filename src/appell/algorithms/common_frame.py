"""Motion and momentum of links in one frame, for algorithms that pair the joints of a robot with each other.

Twists S = (w, e) are taken at the origin of a frame at rest: S(r) = e + w x r is the velocity of the particle at r. Nothing has
to be transformed between joints. The frame is the one of the first link at this moment, in which unit twists of the first joints
are numbers (docs/decisions/0020).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from appell.algebra import IDENTITY, ZERO, Inertia, Mat3, Rotation, Scalar, Scalars, Twist, Vec3, Wrench, skew
from appell.algebra.scalar import is_zero
from appell.model.tree import BASE, Link, Placement, Tree


class LinkState(NamedTuple):
    """Rotation, origin and twist of a link, and the unit twists of its joint, in the common frame."""

    R: Mat3
    p: Vec3
    v: Twist
    units: tuple[Twist, ...] = ()

    def common(self, wrench: Wrench) -> Wrench:
        """A wrench at the link's origin in its frame, in the common frame."""
        force = self.R @ wrench.force
        return Wrench(force, self.R @ wrench.moment + self.p.cross(force))


class GroupMomentum(NamedTuple):
    """Mass properties about the origin of the common frame, momentum P = ∫ ṙ dm and K = ∫ ṙ r^T dm of a group of bodies."""

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


AT_REST = Twist(ZERO, ZERO)
BASE_STATE = LinkState(IDENTITY, ZERO, AT_REST)
AT_ORIGIN = Placement(Rotation(), ZERO)


def link_states(tree: Tree, q: Scalars, qd: Scalars) -> list[LinkState]:
    """Every link, in the common frame."""
    first = first_link(tree)
    states: list[LinkState] = []
    for i, link in enumerate(tree.links):
        parent = BASE_STATE if link.parent == BASE else states[link.parent]
        place = AT_ORIGIN if i == first else link.placement(q)
        states.append(next_state(link, place, parent, link.velocities(qd)))
    return states


def base_acceleration(tree: Tree, q: Scalars) -> Twist:
    """Gravity as an acceleration of the base."""
    first = first_link(tree)
    return Twist(ZERO, -(tree.gravity if first is None else tree.links[first].placement(q).R.T @ tree.gravity))


def first_link(tree: Tree) -> int | None:
    """The link whose frame is the common one; None where several are joined to the base, whose frame is taken then."""
    roots = [i for i, link in enumerate(tree.links) if link.parent == BASE]
    return roots[0] if len(roots) == 1 else None


def next_state(link: Link, place: Placement, parent: LinkState, qd: Scalars) -> LinkState:
    """A link from its parent and the velocities of its own joint.

    Where the axes of a joint pass through the origin of its parent, that is their point: on axes through the origin of the common
    frame, linear parts of twists vanish.
    """
    turn, s = place
    R, p = turn.T.rotate_columns(parent.R.T).T, parent.p + parent.R @ s
    subspace = link.kind.motion_subspace()
    axis = parent.p if all(is_zero(x) for unit in subspace for x in s.cross(turn @ unit.angular)) else p
    v, units = parent.v, []
    for unit, speed in zip((unit.rotated(R) for unit in subspace), qd, strict=True):
        units.append(Twist(unit.angular, unit.linear + axis.cross(unit.angular)))
        v = combined(v, units[-1], speed)
    return LinkState(R, p, v, tuple(units))


def own_bodies(tree: Tree, states: Sequence[LinkState]) -> list[GroupMomentum]:
    """Every link by itself."""
    return [own_body(link, state) for link, state in zip(tree.links, states, strict=True)]


def own_body(link: Link, state: LinkState) -> GroupMomentum:
    R, p, (omega, v), _ = state
    m, arm = link.inertia.mass, R @ link.inertia.gamma
    gamma = arm + p * m
    J = (R.dot(R.dot(link.inertia.J.full()).T) + arm.outer(p) + p.outer(gamma)).upper()
    K = v.outer(gamma) + skew(omega).dot(J.full())
    return GroupMomentum(Inertia(m, gamma, J), v * m + omega.cross(gamma), K)


Sum = TypeVar("Sum", GroupMomentum, Wrench)


def over_subtrees(tree: Tree, own: Sequence[Sum]) -> list[Sum]:
    """The sum of a quantity of links over the subtree of each link."""
    sums = list(own)
    for i in reversed(range(len(sums))):
        parent = tree.links[i].parent
        if parent != BASE:
            sums[parent] = sums[parent].plus(sums[i])
    return sums


def combined(first: Twist, second: Twist, factor: Scalar) -> Twist:
    """first + factor second."""
    return Twist(first.angular + second.angular * factor, first.linear + second.linear * factor)


def crossed(v: Twist, S: Twist) -> Twist:
    """v x S: the rate of a twist S that moves along with v."""
    return Twist(v.angular.cross(S.angular), v.angular.cross(S.linear) + v.linear.cross(S.angular))


def power(S: Twist, wrench: Wrench) -> Scalar:
    return S.linear @ wrench.force + S.angular @ wrench.moment
