"""The spanning tree of a spherical parallel robot, and the same robot with loop closures."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from appell.closed_loop.closures import LoopClosure
from appell.closed_loop.spherical.leg import Axis, Leg
from appell.errors import ModelError
from appell.model.body import Body
from appell.model.joint import Joint
from appell.model.pose import Pose
from appell.robot.robot import Robot

if TYPE_CHECKING:
    from appell.closed_loop.robot import ClosedLoopRobot
    from appell.closed_loop.spherical.robot import SphericalRobot

BASE = "base"
EULER_AXES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))


def leg_joints(leg: Leg, platform: str) -> tuple[Joint, ...]:
    """The joints of a leg; the last one carries the platform, and its axis is given in the platform's frame."""
    parents = (BASE, *(body.name for body in leg.bodies))
    children = (*(body.name for body in leg.bodies), platform)
    origins = (_pose(leg.base), *(Pose(rpy=(arc, 0.0, 0.0)) for arc in leg.arcs))
    return tuple(
        Joint(name, "continuous", parent, child, origin)
        for name, parent, child, origin in zip(leg.joint_names, parents, children, origins, strict=True)
    )


def spanning_tree(robot: SphericalRobot) -> Robot:
    """The legs without their last joints, then the platform on the joints `yaw`, `pitch`, `roll`, or on the guiding leg."""
    joints: list[Joint] = []
    bodies = [Body(BASE)]
    for i, leg in enumerate(robot.legs):
        own = leg_joints(leg, robot.platform.name)
        bodies += leg.bodies
        joints += own[:-1]
        if i == robot.guide:
            joints += on_platform(own[-1], leg)
            bodies += [Body(f"{leg.name}_tip"), robot.platform]
    if robot.guide is None:
        stages = ("yaw_stage", "pitch_stage", robot.platform.name)
        bodies += [Body(stages[0]), Body(stages[1]), robot.platform]
        joints += [
            Joint(name, "continuous", parent, child, axis=axis)
            for name, parent, child, axis in zip(
                ("yaw", "pitch", "roll"), (BASE, *stages), stages, EULER_AXES, strict=False
            )
        ]
    return Robot(robot.name, tuple(bodies), tuple(joints), robot.gravity_vector)


def on_platform(last: Joint, leg: Leg) -> tuple[Joint, Joint]:
    """The last joint of a leg with a massless tip along the joint's axis, and the platform fixed to that tip."""
    tip = f"{leg.name}_tip"
    back = Pose.from_matrix((0.0, 0.0, 0.0), _pose(leg.tip).rotation.T)
    return (
        Joint(last.name, last.kind, last.parent, tip, last.origin),
        Joint(f"{leg.name}_mount", "fixed", tip, last.child, back),
    )


def as_closed_loop(robot: SphericalRobot, q: ArrayLike | None = None) -> ClosedLoopRobot:
    """The same robot with loop closures: `spanning_tree`, and a revolute closure between each leg and the platform.

    Its velocities are the rates of this robot's coordinates, its actuators the same; its coordinates are those of all joints
    (`closed_loop_configuration`).

    Args:
        q: reference configuration, 0 by default.

    Example:
        >>> import appell
        >>> wrist = appell.load("agile_wrist")
        >>> loops, q = wrist.as_closed_loop(), [0.1, 0.2, 0.3]
        >>> tau = loops.inverse_dynamics(wrist.closed_loop_configuration(q), [1.0, 0.0, 0.0], [0.0] * 3)
        >>> bool(abs(tau - wrist.inverse_dynamics(q, [1.0, 0.0, 0.0], [0.0] * 3)).max() < 1e-12)
        True
    """
    from appell.closed_loop.build import close_loops

    tree = robot.spanning_tree
    for name in robot.actuator_names:
        if name not in tree.joint_names:
            raise ModelError(
                f"{robot.name}: actuator {name!r} is the last joint of its leg, a loop closure. Actuate another joint of the leg."
            )
    closures = []
    for i, leg in enumerate(robot.legs):
        if i != robot.guide:
            bodies, poses = (
                (leg.bodies[-1].name, robot.platform.name),
                (Pose(rpy=(leg.arcs[-1], 0.0, 0.0)), _pose(leg.tip)),
            )
            closures.append(LoopClosure(leg.joint_names[-1], "revolute", *bodies, *poses))
    reference = np.zeros(robot.nq) if q is None else np.asarray(q, dtype=float)
    start = closed_loop_configuration(robot, reference)
    return close_loops(tree, closures, robot.actuator_names, independent_velocities=robot.joint_names, q=start)


def closed_loop_configuration(robot: SphericalRobot, q: ArrayLike) -> np.ndarray:
    """Configuration of `as_closed_loop()` at the coordinates q, (..., joints of the spanning tree)."""
    coordinates = np.asarray(q, dtype=float)
    angles = robot.joint_angles(coordinates)
    known = {name: angles[..., k] for k, name in enumerate(robot.leg_joint_names)}
    known |= {name: coordinates[..., k] for k, name in enumerate(robot.joint_names)}
    return np.stack([known[name] for name in robot.spanning_tree.joint_names], axis=-1)


def _pose(axis: Axis) -> Pose:
    """The frame Rz(azimuth) Rx(tilt)."""
    return Pose(rpy=(math.remainder(axis.tilt, 2 * math.pi), 0.0, axis.azimuth))
