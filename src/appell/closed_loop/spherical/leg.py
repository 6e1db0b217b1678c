"""Legs of a spherical parallel robot: revolute axes that all pass through one point, the centre; and its spanning tree.

Abedloo 2014, figure 3 and eqs (27) to (29). Frame j of a leg has its z axis along joint j and turns with it:

    R_1 = Rz(λ) Rx(tilt) Rz(θ_1)        R_{j+1} = R_j Rx(α_j) Rz(θ_{j+1})

so two angles give the direction of the first axis, one angle per body (its arc) leads to the next axis, and two angles give the
direction of the last axis in the platform. Any chain of revolute axes through one point has this form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from appell.algebra import Angle, AxisRotation, Rotation
from appell.closed_loop.closures import LoopClosure
from appell.deprecation import renamed_fields
from appell.errors import ModelError, unknown_name_message
from appell.model.body import Body
from appell.model.joint import Joint
from appell.model.pose import Pose
from appell.robot.robot import Robot

if TYPE_CHECKING:
    from appell.closed_loop.robot import ClosedLoopRobot
    from appell.closed_loop.spherical.robot import SphericalRobot

WORKING_MODES = {"plus": 1.0, "minus": -1.0}
"""The sign of the root in eq. (34)."""
BASE = "base"
EULER_AXES = ((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))


class Axis(NamedTuple):
    """Direction of an axis through the centre: z of the frame Rz(azimuth) Rx(tilt). [rad]

    Example:
        >>> from appell.closed_loop.spherical import Axis
        >>> [round(x, 3) for x in Axis(azimuth=0.0, tilt=0.5).direction]
        [0.0, -0.479, 0.878]
    """

    azimuth: float
    tilt: float

    @property
    def rotation(self) -> Rotation:
        """Rz(azimuth) Rx(tilt)."""
        return Rotation(axis_rotation(2, self.azimuth), axis_rotation(0, self.tilt))

    @property
    def direction(self) -> tuple[float, float, float]:
        """The unit vector along the axis."""
        (sin_a, cos_a), (sin_t, cos_t) = ((math.sin(angle), math.cos(angle)) for angle in self)
        return sin_a * sin_t, -cos_a * sin_t, cos_t


@renamed_fields(assembly="working_mode")
@dataclass(frozen=True)
class Leg:
    """A chain of revolute joints from the base to the platform.

    Attributes:
        base: the first axis, in the world.
        arcs: angles between consecutive axes, one per body, α_1, α_2, ... [rad]
        tip: the last axis, in the platform's frame.
        bodies: one per arc; body j rotates with joint j, its frame has z along that joint, and its arc leads from z towards
            -y to the next axis.
        working_mode: `"plus"` or `"minus"`, the root of eq. (34): the branch of the leg's inverse kinematics.
        actuated: indices of the joints with a motor, from 0 at the base.

    Example:
        >>> from appell.closed_loop.spherical import Axis, Leg
        >>> leg = Leg("leg", Axis(0.0, -2.2), (1.4, 1.2), Axis(0.0, -0.6))
        >>> leg.joint_names
        ('leg_joint1', 'leg_joint2', 'leg_joint3')
    """

    name: str
    base: Axis
    arcs: tuple[float, ...]
    tip: Axis
    bodies: tuple[Body, ...] = ()
    working_mode: str = "plus"
    actuated: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        if not self.bodies:
            object.__setattr__(self, "bodies", tuple(Body(f"{self.name}_link{j + 1}") for j in range(len(self.arcs))))
        if len(self.bodies) != len(self.arcs):
            raise ModelError(
                f"leg {self.name!r} has {len(self.bodies)} bodies for {len(self.arcs)} arcs, expected one body per arc: "
                "the last joint carries the platform."
            )
        if self.working_mode not in WORKING_MODES:
            raise ModelError(
                f"leg {self.name!r}: {unknown_name_message('working mode', self.working_mode, WORKING_MODES)}"
            )
        for number in (*self.base, *self.tip, *self.arcs):
            if not math.isfinite(number):
                raise ModelError(f"leg {self.name!r} has the angle {number}, expected finite numbers [rad].")
        for k, arc in enumerate(self.arcs):
            if abs(math.sin(arc)) < 1e-6:
                raise ModelError(
                    f"leg {self.name!r}: arc {k + 1} is {arc:g} rad, so two axes of the leg coincide. Give it another angle."
                )
        for k in self.actuated:
            if not 0 <= k < self.joints:
                raise ModelError(
                    f"leg {self.name!r} has no joint {k} to be actuated: its joints are 0 to {self.joints - 1}."
                )
        if len(set(self.actuated)) != len(self.actuated):
            raise ModelError(f"leg {self.name!r} lists an actuated joint twice: {self.actuated}.")

    @property
    def joints(self) -> int:
        """Number of joints."""
        return len(self.arcs) + 1

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(f"{self.name}_joint{j + 1}" for j in range(self.joints))

    @property
    def sign(self) -> float:
        """+1 or -1: the root of eq. (34)."""
        return WORKING_MODES[self.working_mode]


def axis_rotation(axis: int, angle: float) -> AxisRotation:
    """A constant rotation about a coordinate axis, exact at right angles."""
    _, cos, sin = Angle.of(angle)
    return AxisRotation(axis, cos, sin)


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
