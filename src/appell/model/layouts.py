"""States (q, qd) in the layouts of other programs, joint by joint, in the order of our joints.

MuJoCo: quaternions are w first; the velocity of a free body is along its parent's axes, its angular velocity and that of a
ball along the body's own; a planar joint is two slides and a hinge, so its velocities are the rates of its coordinates.
Drake: a floating body is quaternion (w first), position; angular velocity, velocity, both along the parent's axes; a
spherical joint is roll, pitch, yaw (`BallRpyJoint`) with the angular velocity along the parent's axes; the velocities of a
planar joint are the rates of its coordinates.

Pinocchio: a continuous joint and the angle of a planar one are cosine and sine; all else is as here.

All other joint types are the same. To add a program: define a `Layout` with the joint types that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from appell.arrays import as_batch, require_unit_quaternions
from appell.errors import ArgumentError, unknown_name_message
from appell.model.joints import KINDS, quaternion
from appell.model.tree_builder import leader_of

if TYPE_CHECKING:
    from appell.model.description import Description
    from appell.model.joint import Joint

State = tuple[np.ndarray, np.ndarray]
"""q and qd, (N, nq) and (N, nv)."""


class JointLayout(NamedTuple):
    """The layout of one joint type in another program: number of coordinates, conversion to it and from it."""

    nq: int
    to_other: Callable[[np.ndarray, np.ndarray], State]
    from_other: Callable[[np.ndarray, np.ndarray], State]


Layout = Mapping[str, JointLayout]
"""The joint types with another layout in a program."""


def convert(
    robot: Description,
    layout: Layout,
    q: ArrayLike,
    qd: ArrayLike,
    names: Sequence[str] | None = None,
    back: bool = False,
) -> State:
    """A state of the robot in another layout, or back.

    Args:
        names: of the joints in the order of the other program, mimic joints among them; those of the robot by default.
    """
    order = robot.moving_joints if names is None else _joints(robot, names)
    forms = {joint.name: layout.get(joint.kind) or _same(KINDS[joint.kind].nq) for joint in order}
    theirs = sum(form.nq for form in forms.values()), sum(KINDS[joint.kind].nv for joint in order)
    labels, sizes = (("their q", "their qd"), theirs) if back else (("q", "qd"), (robot.nq, robot.nv))
    (given, velocity), batch_shape = as_batch(tuple(zip(labels, sizes, strict=True)), (q, qd))
    if not back:
        require_unit_quaternions("q", given, batch_shape, robot.tree.quaternions)
    parts: dict[str, State] = {"": (np.zeros((len(given), 0)), np.zeros((len(given), 0)))}
    first = [0, 0]
    for joint in order:
        kind, form = KINDS[joint.kind], forms[joint.name]
        if back:
            own = given[:, first[0] : first[0] + form.nq], velocity[:, first[1] : first[1] + kind.nv]
            parts[joint.name] = form.from_other(*own)
            first = [first[0] + form.nq, first[1] + kind.nv]
        else:
            leader, multiplier, offset = leader_of(robot, joint)
            i, k = robot.first_coordinates[leader.name]
            own = given[:, i : i + kind.nq], velocity[:, k : k + kind.nv]
            parts[joint.name] = form.to_other(
                *(own if leader is joint else (multiplier * own[0] + offset, multiplier * own[1]))
            )
    wanted = ["", *(joint.name for joint in (robot.moving_joints if back else order))]
    q, qd = (np.concatenate(columns, axis=-1) for columns in zip(*(parts[name] for name in wanted), strict=True))
    return q.reshape(*batch_shape, -1), qd.reshape(*batch_shape, -1)


def _same(nq: int) -> JointLayout:
    return JointLayout(nq, lambda q, v: (q, v), lambda q, v: (q, v))


def _joints(robot: Description, names: Sequence[str]) -> list[Joint]:
    """The joints of these names; an error unless every moving joint is among them once."""
    joints = {joint.name: joint for joint in robot.joints if KINDS[joint.kind].nv}
    for name in names:
        if name not in joints:
            raise ArgumentError(f"names: {unknown_name_message('joint', name, joints)}")
    missing = [name for name in robot.joint_names if list(names).count(name) != 1]
    if missing:
        raise ArgumentError(f"names has {', '.join(missing)} not once, expected every joint of the robot once.")
    return [joints[name] for name in names]


# --- joint types with another layout ------------------------------------------------------------------------------------


def _w_first(e: np.ndarray) -> np.ndarray:
    return np.roll(e, 1, axis=-1)


def _w_last(e: np.ndarray) -> np.ndarray:
    return np.roll(e, -1, axis=-1)


def _rotated(angle: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Velocities of a planar joint, rotated by an angle in its plane."""
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([c * v[:, 0] - s * v[:, 1], s * v[:, 0] + c * v[:, 1], v[:, 2]], axis=-1)


PLANAR = JointLayout(3, lambda q, v: (q, _rotated(q[:, 2], v)), lambda q, v: (q, _rotated(-q[:, 2], v)))
"""Rates of the coordinates instead of velocities along the child's axes."""


def _mujoco_floating(q: np.ndarray, v: np.ndarray) -> State:
    return np.hstack([q[:, :3], _w_first(q[:, 3:])]), np.hstack([quaternion.rotate(q[:, 3:], v[:, :3]), v[:, 3:]])


def _of_mujoco_floating(q: np.ndarray, v: np.ndarray) -> State:
    e = _w_last(q[:, 3:])
    return np.hstack([q[:, :3], e]), np.hstack([quaternion.rotate(quaternion.conjugate(e), v[:, :3]), v[:, 3:]])


MUJOCO: Layout = {
    "floating": JointLayout(7, _mujoco_floating, _of_mujoco_floating),
    "spherical": JointLayout(4, lambda q, v: (_w_first(q), v), lambda q, v: (_w_last(q), v)),
    "planar": PLANAR,
}


def _drake_floating(q: np.ndarray, v: np.ndarray) -> State:
    return np.hstack([_w_first(q[:, 3:]), q[:, :3]]), _swapped(q[:, 3:], v)


def _of_drake_floating(q: np.ndarray, v: np.ndarray) -> State:
    e = _w_last(q[:, :4])
    return np.hstack([q[:, 4:], e]), _swapped(quaternion.conjugate(e), v)


def _swapped(e: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Both halves of a twist rotated, the second one first."""
    return np.hstack([quaternion.rotate(e, v[:, 3:]), quaternion.rotate(e, v[:, :3])])


def _of_drake_spherical(q: np.ndarray, v: np.ndarray) -> State:
    e = quaternion.of_roll_pitch_yaw(q)
    return e, quaternion.rotate(quaternion.conjugate(e), v)


DRAKE: Layout = {
    "floating": JointLayout(7, _drake_floating, _of_drake_floating),
    "spherical": JointLayout(
        3, lambda q, v: (quaternion.roll_pitch_yaw(q), quaternion.rotate(q, v)), _of_drake_spherical
    ),
    "planar": PLANAR,
}


PINOCCHIO: Layout = {
    "continuous": JointLayout(
        2,
        lambda q, v: (np.hstack([np.cos(q), np.sin(q)]), v),
        lambda q, v: (np.arctan2(q[:, 1:], q[:, :1]), v),
    ),
    "planar": JointLayout(
        4,
        lambda q, v: (np.hstack([q[:, :2], np.cos(q[:, 2:]), np.sin(q[:, 2:])]), v),
        lambda q, v: (np.hstack([q[:, :2], np.arctan2(q[:, 3:], q[:, 2:3])]), v),
    ),
}


# --- methods of `Description` -------------------------------------------------------------------------------------------


def to_mujoco(
    robot: Description, q: ArrayLike, qd: ArrayLike, names: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's `qpos` and `qvel` of a state, joints in the order of the robot, or of `names` as for `to_pinocchio`.

    Quaternions are w first. The velocity of a free joint is along the world axes, its angular velocity and that of
    a ball joint along the body's. A planar joint is two slides and a hinge there.

    Example:
        >>> import appell
        >>> builder = appell.RobotBuilder().body("drone", mass=1, inertia=(1, 1, 1))
        >>> robot = builder.floating("free", parent="world", child="drone").build()
        >>> qpos, qvel = robot.to_mujoco([0, 0, 0.5, 0, 0, 0, 1], [0, 0, 0.1, 0, 0, 0])
        >>> qpos.tolist()
        [0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0]
    """
    return convert(robot, MUJOCO, q, qd, names)


def from_mujoco(
    robot: Description, qpos: ArrayLike, qvel: ArrayLike, names: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """q and qd of a state in MuJoCo's layout, the inverse of `to_mujoco`.

    Example:
        >>> import appell
        >>> robot = appell.load("puma560")
        >>> robot.from_mujoco([0.1] * 6, [0.2] * 6)[1].tolist()
        [0.2, 0.2, 0.2, 0.2, 0.2, 0.2]
    """
    return convert(robot, MUJOCO, qpos, qvel, names, back=True)


def to_drake(
    robot: Description, q: ArrayLike, qd: ArrayLike, names: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Drake's positions and velocities of a state, joints in the order of the robot, or of `names` as for `to_pinocchio`.

    A floating body is quaternion (w first), position; angular velocity, velocity, both along the world axes. A
    spherical joint is a `BallRpyJoint`, with angular velocity along the parent's axes.

    Example:
        >>> import appell
        >>> builder = appell.RobotBuilder().body("drone", mass=1, inertia=(1, 1, 1))
        >>> robot = builder.floating("free", parent="world", child="drone").build()
        >>> q, v = robot.to_drake([0, 0, 0.5, 0, 0, 0, 1], [0, 0, 0.1, 0, 0, 0])
        >>> q.tolist(), v.tolist()
        ([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0, 0.0, 0.1])
    """
    return convert(robot, DRAKE, q, qd, names)


def from_drake(
    robot: Description, q: ArrayLike, v: ArrayLike, names: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """q and qd of a state in Drake's layout, the inverse of `to_drake`.

    Example:
        >>> import appell
        >>> appell.load("planar2r").from_drake([0.1, 0.2], [0, 0])[0].tolist()
        [0.1, 0.2]
    """
    return convert(robot, DRAKE, q, v, names, back=True)


def to_pinocchio(
    robot: Description, q: ArrayLike, qd: ArrayLike, names: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Pinocchio's configuration and velocity of a state.

    A continuous joint and the angle of a planar one are cosine and sine there. Pinocchio sorts the joints of a URDF: give
    `names` to have them in its order.

    Args:
        names: of the joints in Pinocchio's order, `list(model.names)[1:]`; mimic joints among them get the coordinates that
            follow from their leaders. The order of the robot by default.

    Example:
        >>> import appell
        >>> arm = appell.RobotBuilder().continuous("a", "base", "upper").revolute("b", "upper", "fore").build()
        >>> arm.to_pinocchio([0.0, 0.5], [1.0, 2.0], names=["b", "a"])[0].tolist()
        [0.5, 1.0, 0.0]
    """
    return convert(robot, PINOCCHIO, q, qd, names)


def from_pinocchio(
    robot: Description, q: ArrayLike, v: ArrayLike, names: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """q and qd of a state in Pinocchio's layout, the inverse of `to_pinocchio`; angles are from -π to π.

    Example:
        >>> import appell
        >>> appell.load("planar2r").from_pinocchio([1.0, 0.0, 0.0, 1.0], [0, 0])[0].round(3).tolist()
        [0.0, 1.571]
    """
    return convert(robot, PINOCCHIO, q, v, names, back=True)
