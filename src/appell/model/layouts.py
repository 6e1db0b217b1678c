"""States (q, qd) in the layouts of other programs, joint by joint, in the order of our joints.

MuJoCo: quaternions are w first; the velocity of a free body is along its parent's axes, its angular velocity and that of a
ball along the body's own; a planar joint is two slides and a hinge, so its velocities are the rates of its coordinates.
Drake: a floating body is quaternion (w first), position; angular velocity, velocity, both along the parent's axes; a
spherical joint is roll, pitch, yaw (`BallRpyJoint`) with the angular velocity along the parent's axes; the velocities of a
planar joint are the rates of its coordinates.

All other joint types are the same. To add a program: define a `Layout` with the joint types that differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from appell.arrays import as_batch, require_unit_quaternions
from appell.model.joints import KINDS, quaternion

if TYPE_CHECKING:
    from appell.model.description import Description

State = tuple[np.ndarray, np.ndarray]
"""q and qd, (N, nq) and (N, nv)."""


class JointLayout(NamedTuple):
    """The layout of one joint type in another program: number of coordinates, conversion to it and from it."""

    nq: int
    to_other: Callable[[np.ndarray, np.ndarray], State]
    from_other: Callable[[np.ndarray, np.ndarray], State]


Layout = Mapping[str, JointLayout]
"""The joint types with another layout in a program."""


def convert(robot: Description, layout: Layout, q: ArrayLike, qd: ArrayLike, back: bool = False) -> State:
    """A state of the robot in another layout, or back."""
    same = {name: JointLayout(kind.nq, lambda q, v: (q, v), lambda q, v: (q, v)) for name, kind in KINDS.items()}
    forms = [{**same, **layout}[joint.kind] for joint in robot.moving_joints]
    sizes = [form.nq if back else KINDS[joint.kind].nq for form, joint in zip(forms, robot.moving_joints, strict=True)]
    names = ("their q", "their qd") if back else ("q", "qd")
    named = ((names[0], sum(sizes)), (names[1], robot.nv))
    (given, velocity), batch_shape = as_batch(named, (q, qd))
    if not back:
        require_unit_quaternions("q", given, batch_shape, robot.tree.quaternions)
    parts = [(np.zeros((len(given), 0)), np.zeros((len(given), 0)))]
    first = 0
    for joint, form, size in zip(robot.moving_joints, forms, sizes, strict=True):
        v = robot.first_coordinates[joint.name][1]
        own = given[:, first : first + size], velocity[:, v : v + KINDS[joint.kind].nv]
        parts.append((form.from_other if back else form.to_other)(*own))
        first += size
    q, qd = (np.concatenate(columns, axis=-1) for columns in zip(*parts, strict=True))
    return q.reshape(*batch_shape, -1), qd.reshape(*batch_shape, -1)


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


# --- methods of `Description` -------------------------------------------------------------------------------------------


def to_mujoco(robot: Description, q: ArrayLike, qd: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """MuJoCo's `qpos` and `qvel` of a state, joints in our order.

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
    return convert(robot, MUJOCO, q, qd)


def from_mujoco(robot: Description, qpos: ArrayLike, qvel: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """q and qd of a state in MuJoCo's layout, the inverse of `to_mujoco`.

    Example:
        >>> import appell
        >>> robot = appell.load("puma560")
        >>> robot.from_mujoco([0.1] * 6, [0.2] * 6)[1].tolist()
        [0.2, 0.2, 0.2, 0.2, 0.2, 0.2]
    """
    return convert(robot, MUJOCO, qpos, qvel, back=True)


def to_drake(robot: Description, q: ArrayLike, qd: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Drake's positions and velocities of a state, joints in our order.

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
    return convert(robot, DRAKE, q, qd)


def from_drake(robot: Description, q: ArrayLike, v: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """q and qd of a state in Drake's layout, the inverse of `to_drake`.

    Example:
        >>> import appell
        >>> appell.load("planar2r").from_drake([0.1, 0.2], [0, 0])[0].tolist()
        [0.1, 0.2]
    """
    return convert(robot, DRAKE, q, v, back=True)
