"""References in the coordinates of the joints: from one configuration to another, and through several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.arrays import as_batch
from appell.errors import ArgumentError
from appell.kinematics.inverse.frame_motion import FrameMotion
from appell.kinematics.trajectories.reference import JointReference
from appell.kinematics.trajectories.splines import through

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.robot import Robot


def joint_line(
    robot: Robot,
    start: ArrayLike,
    end: ArrayLike,
    *,
    duration: float | None = None,
    speed: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    profile: str = "quintic",
) -> JointReference:
    """The straight way between two configurations; all joints start and arrive together.

    Args:
        start, end: coordinates, (nq,).
        duration: [s]
        speed, acceleration: greatest values, of each joint (nv,) or of all. The duration is then the least that keeps them.
            Without a duration and a speed, the speed limits of the robot's joints are taken. [rad/s, m/s, rad/s², m/s²]
        profile: `"uniform"`, `"trapezoidal"`, `"cubic"` or `"quintic"`.

    Example:
        >>> import appell
        >>> arm = appell.load("planar2r")
        >>> move = appell.trajectories.joint_line(arm, [0.0, 0.0], [1.0, -0.5], duration=2.0)
        >>> move(1.0).q.tolist(), move(2.0).qd.tolist()
        ([0.5, -0.25], [0.0, 0.0])
    """
    ends = np.stack([_numbers("start", start), _numbers("end", end)])
    return joint_via(robot, ends, duration=duration, speed=speed, acceleration=acceleration, profile=profile)


def joint_via(
    robot: Robot,
    points: ArrayLike,
    *,
    times: ArrayLike | None = None,
    duration: float | None = None,
    speed: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    profile: str = "cubic",
) -> JointReference:
    """A motion through configurations, at rest at both ends.

    Args:
        points: coordinates, (k, nq) with k of 2 or more.
        times: of the points, from 0; or a duration; or the greatest speed and acceleration, of each joint or of all.
            Without any of them, the speed limits of the robot's joints are taken.
        profile: `"cubic"` or `"quintic"` splines, which do not stop at the points between; `"trapezoidal"`, straight pieces
            with a stop at every point; `"uniform"`, straight pieces with jumps of speed.

    Example:
        >>> import appell
        >>> arm = appell.load("planar2r")
        >>> move = appell.trajectories.joint_via(arm, [[0, 0], [1, 0.5], [0, 1]], times=[0, 1, 3], profile="quintic")
        >>> move(1.0).q.round(12).tolist(), move.duration
        ([1.0, 0.5], 3.0)
    """
    refuse_curved(robot)
    values = _numbers("points", points)
    (values,), lead = as_batch((("points", robot.nq),), (values,))
    if len(lead) != 1 or lead[0] < 2:
        raise ArgumentError(f"points has shape {(*lead, robot.nq)}, expected (k, {robot.nq}) with k of 2 or more.")
    if times is None and duration is None and speed is None and acceleration is None:
        speed = speed_limits(robot)
    given = None if times is None else _numbers("times", times)
    fastest, strongest = _limit("speed", speed, robot), _limit("acceleration", acceleration, robot)
    curve = through(values, given, duration, fastest, strongest, profile, np.abs)
    return JointReference(curve, robot.joint_names)


def speed_limits(robot: Robot) -> np.ndarray:
    """Of the joints, (nv,); raises if one has none."""
    speeds = np.array([joint.limits.velocity for joint in robot.moving_joints])
    missing = [name for name, speed in zip(robot.joint_names, speeds, strict=True) if not np.isfinite(speed)]
    if missing:
        raise ArgumentError(
            f"joint {missing[0]!r} of {robot.name!r} has no speed limit. Give times, a duration, or a speed."
        )
    return speeds


def refuse_curved(robot: Robot) -> None:
    """Raise for robots whose coordinates are not added like numbers."""
    motion = FrameMotion(robot, robot.body_names[0])
    if not motion.straight or robot.nq != len(robot.joint_names):
        curved = [
            joint.name for joint in robot.moving_joints if joint.kind not in ("revolute", "continuous", "prismatic")
        ]
        raise ArgumentError(
            f"joint {curved[0]!r} of {robot.name!r} has several coordinates, between which there is no straight line here. "
            "Follow a path of a frame instead: appell.trajectories.follow."
        )


def _numbers(name: str, value: ArrayLike) -> np.ndarray:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be an array of numbers, got {type(value).__name__}.") from None


def _limit(name: str, value: ArrayLike | None, robot: Robot) -> np.ndarray | None:
    """Greatest values of all joints, (nv,)."""
    if value is None:
        return None
    array = _numbers(name, value)
    if array.shape not in ((), (robot.nv,)) or not ((array > 0.0) & np.isfinite(array)).all():
        raise ArgumentError(f"{name} is {array.tolist()}, expected one positive number or {robot.nv} of them.")
    return np.broadcast_to(array, robot.nv)
