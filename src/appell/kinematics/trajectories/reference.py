"""Reference trajectories: q, qd and qdd as functions of time, for controllers and for inverse dynamics.

In joint coordinates they lead from one configuration to another, through several, or come from a table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PPoly

from appell.arrays import as_batch
from appell.checks import require_positive, require_real_array
from appell.deprecation import renamed_arguments
from appell.errors import ArgumentError
from appell.kinematics.trajectories.curves import Curve, through
from appell.model.joint import Joint
from appell.model.joints import KINDS
from appell.names import as_vector
from appell.plotting import lines, new_figure, save_figure
from appell.robot.protocol import delegated
from appell.robot.robot import Robot

MAX_MARKED_BREAKS = 40
"""Number of breaks from which on they are not marked in figures."""
QUINTIC = np.array([
    [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5],
    [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
    [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
    [0.0, 0.0, 0.5, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
])  # fmt: skip
"""Coefficients, highest power first, of the quintic on [0, 1] with given value, slope and curvature at 0, then at 1."""


class Timed(Protocol):
    """A function of time on [0, duration]; its acceleration may jump at `breaks`. [s]"""

    @property
    def duration(self) -> float: ...
    @property
    def breaks(self) -> np.ndarray: ...


class AlongCurve:
    """Duration and breaks of a curve."""

    curve: Curve

    duration = delegated("curve.duration", "End of the curve. [s]")
    breaks = delegated("curve.breaks", "Ends of its polynomials, from 0. [s]")


class ReferenceState(NamedTuple):
    """q (..., nq), qd and qdd (..., nv)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


class Reference(Timed, Protocol):
    """A reference trajectory: reference(t) for a time, or for times (N,). After `duration` it is constant."""

    @property
    def joint_names(self) -> tuple[str, ...]: ...
    def __call__(self, t: float | np.ndarray) -> ReferenceState: ...


class Plottable:
    """Figures of a reference trajectory."""

    def plot(self: Any, path: str | PathLike | None = None, robot: Robot | None = None) -> Any:
        """A figure of q, qd and qdd over time; with a robot also of its torques. Needs matplotlib.

        Args:
            path: file to write the figure to; its suffix is the format.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        t = np.linspace(0.0, self.duration, 600)
        q, qd, qdd = self(t)
        panels = [(q, "q [rad, m]"), (qd, "qd [rad/s, m/s]"), (qdd, "qdd [rad/s², m/s²]")]
        if robot is not None:
            panels.append((robot.inverse_dynamics(q, qd, qdd), "torque [N m, N]"))
        figure = new_figure(9.0, 2.2 * len(panels) + 0.5)
        axes = figure.subplots(len(panels), 1, sharex=True)
        for axis, (values, label) in zip(axes, panels, strict=True):
            names = self.joint_names
            if values.shape[1] != len(names):
                names = tuple(str(i) for i in range(values.shape[1]))
            lines(axis, t, {name: values[:, i] for i, name in enumerate(names)}, label)
            for time in self.breaks[1:-1] if len(self.breaks) < MAX_MARKED_BREAKS else ():
                axis.axvline(time, color="0.85", linewidth=0.8, zorder=0)
        axes[-1].set_xlabel("time [s]")
        save_figure(figure, path)
        return figure


@dataclass(frozen=True, eq=False)
class JointReference(AlongCurve, Plottable):
    """A reference trajectory given by curves of the coordinates.

    Attributes:
        curve: of all coordinates.
        joint_names: one per coordinate.
    """

    curve: Curve
    joint_names: tuple[str, ...]

    def __call__(self, t: float | np.ndarray) -> ReferenceState:
        return ReferenceState(*self.curve(t))

    def __repr__(self) -> str:
        return f"JointReference({len(self.joint_names)} joints, {self.duration:g} s)"


@renamed_arguments(speed="velocity")
def joint_line(
    robot: Robot,
    start: ArrayLike,
    end: ArrayLike,
    *,
    duration: float | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    profile: str = "quintic",
) -> JointReference:
    """The straight line between two configurations; all joints start and stop together.

    Args:
        start, end: configurations, (nq,), also by name; of robots with a floating base those of the other joints. Joints that
            `end` does not name stay.
        duration: [s]
        velocity, acceleration: maxima of each joint (nv,) or of all; they give the shortest duration. Without a duration
            and a velocity, the velocity limits of the robot's joints are used. [rad/s, m/s, rad/s², m/s²]
        profile: `"uniform"`, `"trapezoidal"`, `"cubic"` or `"quintic"`.

    Example:
        >>> import appell
        >>> arm = appell.load("planar2r")
        >>> move = appell.trajectories.joint_line(arm, [0.0, 0.0], [1.0, -0.5], duration=2.0)
        >>> move(1.0).q.tolist(), move(2.0).qd.tolist()
        ([0.5, -0.25], [0.0, 0.0])
    """
    first = require_real_array("start", robot.vector("q", start))
    ends = np.stack([first, require_real_array("end", as_vector("end", end, robot.q_names, first))])
    return joint_via_points(
        robot, ends, duration=duration, velocity=velocity, acceleration=acceleration, profile=profile
    )


@renamed_arguments(speed="velocity")
def joint_via_points(
    robot: Robot,
    points: ArrayLike,
    *,
    times: ArrayLike | None = None,
    duration: float | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    profile: str = "cubic",
) -> JointReference:
    """A trajectory through configurations, at rest at both ends.

    Args:
        points: configurations, (k, nq) with k of 2 or more; of robots with a floating base those of the other joints.
        times: of the points, from 0; or a duration; or the maximum velocity and acceleration, of each joint or of all.
            Without any of them, the velocity limits of the robot's joints are used.
        profile: `"cubic"` or `"quintic"` splines, which do not stop at inner points; `"trapezoidal"`, straight segments
            with a stop at every point; `"uniform"`, straight segments with jumps of velocity.

    Example:
        >>> import appell
        >>> arm = appell.load("planar2r")
        >>> points = [[0, 0], [1, 0.5], [0, 1]]
        >>> move = appell.trajectories.joint_via_points(arm, points, times=[0, 1, 3], profile="quintic")
        >>> move(1.0).q.round(12).tolist(), move.duration
        ([1.0, 0.5], 3.0)
    """
    joints = interpolated_joints(robot)
    n = len(joints)
    (values,), batch_shape = as_batch((("points", n),), (require_real_array("points", points),))
    if len(batch_shape) != 1 or batch_shape[0] < 2:
        raise ArgumentError(f"points has shape {(*batch_shape, n)}, expected (k, {n}) with k of 2 or more.")
    if times is None and duration is None and velocity is None and acceleration is None:
        velocity = velocity_limits(robot, joints)
    given = None if times is None else require_real_array("times", times)
    limits = _limit("velocity", velocity, n), _limit("acceleration", acceleration, n)
    names = tuple(joint.name for joint in joints)
    return JointReference(through(values, given, duration, *limits, profile, np.abs), names)


def tabulated(reference: Reference, step: float = 0.02) -> JointReference:
    """The same trajectory as polynomials of degree 5 between points at most `step` apart. [s]

    q, qd and qdd are those of the reference at the points; between them q differs by a sixth-order term in the step, about
    1e-12 rad for ordinary motions. Accelerations are those of the polynomials and lose digits where the step is much smaller
    than the default. A call takes a tenth of the time of one that solves inverse kinematics.

    Example:
        >>> import appell
        >>> line = appell.trajectories.valera2003_line(appell.load("puma560"))
        >>> fast = appell.trajectories.tabulated(line)
        >>> bool(abs(fast(1.234).q - line(1.234).q).max() < 1e-11)
        True
    """
    require_positive("step", step, "s")
    parts = [np.linspace(a, b, math.ceil((b - a) / step) + 1)[:-1] for a, b in pairwise(reference.breaks)]
    times = np.append(np.concatenate(parts), reference.breaks[-1])
    first, last = reference(times[:-1]), reference(np.nextafter(times[1:], 0.0))  # before a jump of acceleration
    if first.q.shape[-1] != first.qd.shape[-1]:
        raise ArgumentError("the reference contains quaternions, which polynomials do not keep at unit length.")
    h = np.diff(times)[:, None]
    ends = np.stack([first.q, h * first.qd, h**2 * first.qdd, last.q, h * last.qd, h**2 * last.qdd], axis=1)
    powers = h[:, None] ** np.arange(5, -1, -1)[:, None]
    return JointReference(Curve(PPoly(np.swapaxes(QUINTIC @ ends / powers, 0, 1), times)), reference.joint_names)


def velocity_limits(robot: Robot, joints: Sequence[Joint]) -> np.ndarray:
    """Velocity limits of joints of a robot, (n,); raises if one has none."""
    limits = np.array([joint.limits.velocity for joint in joints])
    missing = [joint.name for joint, limit in zip(joints, limits, strict=True) if not np.isfinite(limit)]
    if missing:
        raise ArgumentError(
            f"joint {missing[0]!r} of {robot.name!r} has no velocity limit. Give times, a duration, or a velocity."
        )
    return limits


def interpolated_joints(robot: Robot) -> tuple[Joint, ...]:
    """The joints with an actuator; raises for robots whose configurations are not added like numbers."""
    if robot.system.recursion is None:
        raise ArgumentError(f"{robot.name!r} has closed loops, which would open on the way between two configurations.")
    joints = tuple(joint for joint in robot.moving_joints if KINDS[joint.kind].actuated)
    curved = [joint.name for joint in joints if KINDS[joint.kind].nq != 1]
    if curved:
        raise ArgumentError(
            f"joint {curved[0]!r} of {robot.name!r} has several coordinates, which are not interpolated here. Follow a path of "
            "a frame instead: appell.trajectories.follow."
        )
    return joints


def _limit(name: str, value: ArrayLike | None, n: int) -> np.ndarray | None:
    """Maxima of all joints, (n,)."""
    if value is None:
        return None
    array = require_real_array(name, value)
    if array.shape not in ((), (n,)) or not ((array > 0.0) & np.isfinite(array)).all():
        raise ArgumentError(f"{name} is {array.tolist()}, expected one positive number or {n} of them.")
    return np.broadcast_to(array, n)
