"""Motion of the links in the world frame; pose, Jacobian and Jacobian rate of a frame; joints and actuators.

A column of the Jacobian is the unit twist of one joint at the frame: with e the joint's angular direction, u its
linear one, both along the world's axes, and p the joint's origin,
    LOCAL_WORLD_ALIGNED  [u + e x (p_F - p); e]      WORLD  [u + p x e; e]      LOCAL  R_F^T of the first.
A joint turns and displaces the columns of all joints beyond it, and the frame.
Every generalized velocity of a tree is that of a joint with an actuator of its own: those maps are the identity.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

from appell.algebra import ZERO, Mat3, Scalar, Scalars, Twist, Vec3
from appell.algorithms.common_frame import crossed
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Frame, Link, Placement, Tree


class WorldMotion(NamedTuple):
    """Rotation link to world, position of the link's origin, angular velocity and velocity of the origin."""

    R: Mat3
    p: Vec3
    omega: Vec3
    v: Vec3

    def units(self, subspace: tuple[Twist, ...]) -> tuple[Twist, ...]:
        """Unit twists of the link's joint along the world axes."""
        return tuple(unit.rotated(self.R) for unit in subspace)


def world_motion(tree: Tree, q, qd=None) -> list[WorldMotion]:
    """Motion of every link; at rest where qd is not given."""
    qd = [0.0] * tree.nv if qd is None else qd
    motions: list[WorldMotion] = []
    for link in tree.links:
        parent = WorldMotion(tree.base, ZERO, ZERO, ZERO) if link.parent == BASE else motions[link.parent]
        motions.append(moved_link(link, link.placement(q), parent, link.velocities(qd)))
    return motions


def moved_link(link: Link, place: Placement, parent: WorldMotion, speeds: Scalars) -> WorldMotion:
    """Motion of a link from that of its parent, with the velocities of its joint."""
    arm = parent.R @ place.s
    rotation = place.R.T.rotate_columns(parent.R.T).T
    joint = link.kind.twist(speeds)
    omega = parent.omega + rotation @ joint.angular
    v = parent.v + parent.omega.cross(arm) + rotation @ joint.linear
    return WorldMotion(rotation, parent.p + arm, omega, v)


def world_accelerations(tree: Tree, motions: list[WorldMotion], qd: Scalars, qdd: Scalars) -> list[Twist]:
    """Angular acceleration and acceleration of the origin of every link, along the world's axes, without gravity."""
    accelerations: list[Twist] = []
    for link, own in zip(tree.links, motions, strict=True):
        at_base = link.parent == BASE
        parent = WorldMotion(tree.base, ZERO, ZERO, ZERO) if at_base else motions[link.parent]
        carried = Twist(ZERO, ZERO) if at_base else accelerations[link.parent]
        joint, rate = (link.kind.twist(link.velocities(x)).rotated(own.R) for x in (qd, qdd))
        arm = own.p - parent.p
        angular = carried.angular + parent.omega.cross(joint.angular) + rate.angular
        centripetal = parent.omega.cross(parent.omega.cross(arm) + joint.linear) + own.omega.cross(joint.linear)
        accelerations.append(Twist(angular, carried.linear + carried.angular.cross(arm) + centripetal + rate.linear))
    return accelerations


@algorithm("pose", "recursive")
def pose(tree: Tree, q: Scalars, frame: Frame, reference: str) -> list[list[Scalar]]:
    """Homogeneous transformation of the frame in the world."""
    R, p, _, _ = frame_motion(tree, world_motion(tree, q), frame)
    rows = [[*row, x] for row, x in zip(R.rows, p, strict=True)]
    return [*rows, [0.0, 0.0, 0.0, 1.0]]


@algorithm("jacobian", "recursive")
def jacobian(tree: Tree, q: Scalars, frame: Frame, reference: str) -> list[list[Scalar]]:
    """[v; ω] = J qd."""
    return _assembled(tree, world_motion(tree, q), frame, _COLUMN[reference])


def frame_jacobian(tree: Tree, motions: list[WorldMotion], frame: Frame) -> list[list[Scalar]]:
    """Jacobian of the frame's velocity along the world's axes (LOCAL_WORLD_ALIGNED)."""
    return _assembled(tree, motions, frame, _aligned)


@algorithm("jacobian_rate", "recursive")
def jacobian_rate(tree: Tree, q: Scalars, qd: Scalars, frame: Frame, reference: str) -> list[list[Scalar]]:
    """d/dt of `jacobian` along qd."""
    return _assembled(tree, world_motion(tree, q, qd), frame, _RATE[reference])


@algorithm("jacobian_derivatives", "recursive")
def jacobian_derivatives(tree: Tree, q: Scalars, frame: Frame, reference: str) -> list[list[list[Scalar]]]:
    """∂J/∂q_k as the last index."""
    motions, n = world_motion(tree, q), tree.nv
    end = frame_motion(tree, motions, frame)
    chain = [
        (i, k, column_of(end, motions[i], unit, reference))
        for i in tree.ancestors(frame.link)
        for k, unit in enumerate(motions[i].units(tree.links[i].kind.motion_subspace()), tree.links[i].idx_v)
    ]
    H: list[list[list[Scalar]]] = [[[0.0] * n for _ in range(n)] for _ in range(6)]
    for (i, own, column), (j, other, by) in product(chain, chain):
        derivative = DERIVATIVES[reference][j > i](end.R, column, by)
        factor = tree.links[i].multiplier * tree.links[j].multiplier
        for rows, entry in zip(H, (*derivative.linear, *derivative.angular), strict=True):
            rows[own][other] = rows[own][other] + entry * factor
    return H


def column_of(end: WorldMotion, link: WorldMotion, unit: Twist, reference: str) -> Twist:
    """A column of the Jacobian along the world's axes."""
    return _COLUMN["WORLD" if reference == "WORLD" else "LOCAL_WORLD_ALIGNED"](end, link, unit)


Column = Callable[[WorldMotion, WorldMotion, Twist], Twist]
"""Twist of the frame (first argument) from a unit twist of a joint's link (second argument), world axes."""


def _assembled(tree: Tree, motions: list[WorldMotion], frame: Frame, column: Column) -> list[list[Scalar]]:
    J: list[list[Scalar]] = [[0.0] * tree.nv for _ in range(6)]
    end = frame_motion(tree, motions, frame)
    for i in tree.ancestors(frame.link):
        link = tree.links[i]
        for k, unit in enumerate(motions[i].units(link.kind.motion_subspace())):
            twist = column(end, motions[i], unit)
            for row, entry in enumerate((*twist.linear, *twist.angular)):
                J[row][link.idx_v + k] = J[row][link.idx_v + k] + entry * link.multiplier
    return J


def frame_motion(tree: Tree, motions: list[WorldMotion], frame: Frame) -> WorldMotion:
    """Motion of a frame."""
    return moved_frame(WorldMotion(tree.base, ZERO, ZERO, ZERO) if frame.link == BASE else motions[frame.link], frame)


def moved_frame(link: WorldMotion, frame: Frame) -> WorldMotion:
    """Motion of a frame of a link."""
    arm = link.R @ frame.p
    return WorldMotion(link.R.dot(frame.R), link.p + arm, link.omega, link.v + link.omega.cross(arm))


def frame_acceleration(tree: Tree, motions: list[WorldMotion], accelerations: list[Twist], frame: Frame) -> Twist:
    """Angular acceleration and acceleration of the origin of a frame, along the world's axes."""
    if frame.link == BASE:
        return Twist(ZERO, ZERO)
    link, own = motions[frame.link], accelerations[frame.link]
    arm = link.R @ frame.p
    return Twist(own.angular, own.linear + own.angular.cross(arm) + link.omega.cross(link.omega.cross(arm)))


def _aligned(end: WorldMotion, link: WorldMotion, unit: Twist) -> Twist:
    return Twist(unit.angular, unit.linear + unit.angular.cross(end.p - link.p))


def _world(end: WorldMotion, link: WorldMotion, unit: Twist) -> Twist:
    return Twist(unit.angular, unit.linear + link.p.cross(unit.angular))


def _local(end: WorldMotion, link: WorldMotion, unit: Twist) -> Twist:
    return _aligned(end, link, unit).rotated(end.R.T)


def _aligned_rate(end: WorldMotion, link: WorldMotion, unit: Twist) -> Twist:
    turning = _turning(link, unit)
    linear = turning.linear + turning.angular.cross(end.p - link.p) + unit.angular.cross(end.v - link.v)
    return Twist(turning.angular, linear)


def _world_rate(end: WorldMotion, link: WorldMotion, unit: Twist) -> Twist:
    turning = _turning(link, unit)
    linear = turning.linear + link.v.cross(unit.angular) + link.p.cross(turning.angular)
    return Twist(turning.angular, linear)


def _local_rate(end: WorldMotion, link: WorldMotion, unit: Twist) -> Twist:
    twist, rate = _aligned(end, link, unit), _aligned_rate(end, link, unit)
    seen = Twist(rate.angular - end.omega.cross(twist.angular), rate.linear - end.omega.cross(twist.linear))
    return seen.rotated(end.R.T)


def _turning(link: WorldMotion, unit: Twist) -> Twist:
    """Rate of the unit twist's directions, which are fixed in the link."""
    return Twist(link.omega.cross(unit.angular), link.omega.cross(unit.linear))


def _displaced(R: Mat3, column: Twist, unit: Twist) -> Twist:
    """∂/∂q of the joint of a unit twist before or in that of the column: the column moves along."""
    return crossed(unit, column)


def _turned(R: Mat3, column: Twist, unit: Twist) -> Twist:
    """The same at the origin of the frame, which moves along, too."""
    return Twist(unit.angular.cross(column.angular), unit.angular.cross(column.linear))


def _at_rest(R: Mat3, column: Twist, unit: Twist) -> Twist:
    return Twist(ZERO, ZERO)


def _carried_away(R: Mat3, column: Twist, unit: Twist) -> Twist:
    """∂/∂q of a joint beyond that of the column, which moves the frame's origin alone."""
    return Twist(ZERO, column.angular.cross(unit.linear))


def _seen_by_frame(R: Mat3, column: Twist, unit: Twist) -> Twist:
    """The same for the column along the axes of the frame, which turn."""
    return crossed(column, unit).rotated(R.T)


Derivative = Callable[[Mat3, Twist, Twist], Twist]
"""Derivative of a column (second argument) by the coordinate of a joint with another (third); rotation of the frame first."""

DERIVATIVES: dict[str, tuple[Derivative, Derivative]] = {
    "LOCAL_WORLD_ALIGNED": (_turned, _carried_away),
    "WORLD": (_displaced, _at_rest),
    "LOCAL": (_at_rest, _seen_by_frame),
}
"""By a joint before that of the column or the same, and by one beyond it."""

_COLUMN: dict[str, Column] = {"LOCAL_WORLD_ALIGNED": _aligned, "WORLD": _world, "LOCAL": _local}
_RATE: dict[str, Column] = {"LOCAL_WORLD_ALIGNED": _aligned_rate, "WORLD": _world_rate, "LOCAL": _local_rate}


@algorithm("actuator_jacobian", "identity")
@algorithm("joint_velocity_jacobian", "identity")
def identity(tree: Tree, q: Scalars) -> list[list[Scalar]]:
    """J_a = G = 1."""
    return [[1.0 if i == j else 0.0 for j in range(tree.nv)] for i in range(tree.nv)]


@algorithm("joint_velocities", "identity")
def joint_velocities(tree: Tree, q: Scalars, qd: Scalars) -> list[Scalar]:
    """G qd = qd."""
    return list(qd)


@algorithm("joint_accelerations", "identity")
def joint_accelerations(tree: Tree, q: Scalars, qd: Scalars, qdd: Scalars) -> list[Scalar]:
    """G qdd + Ġ qd = qdd."""
    return list(qdd)
