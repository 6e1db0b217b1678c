"""Joint limits that a reference trajectory exceeds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from appell.errors import TrajectoryError
from appell.kinematics.inverse.frame_motion import coordinate_bounds, velocity_coordinates
from appell.kinematics.trajectories.reference import Reference
from appell.model.joints import KINDS
from appell.robot.robot import Robot
from appell.robot.simulation_model import LimitViolation

LIMIT_TOL = 1e-9
"""Relative rounding allowed at a limit, for references made to use it fully."""
UNITS = {"position": "", "velocity": "/s", "acceleration": "/s²"}


def limit_violations(
    reference: Reference,
    robot: Robot,
    *,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    samples: int = 1001,
) -> tuple[LimitViolation, ...]:
    """Every joint limit that a reference trajectory exceeds, in order of time.

    Limits of position, velocity and effort are those of the robot's description unless given here; accelerations are limited
    only if given. Efforts are those of the actuators: inverse dynamics plus damping and friction; without mass, they are checked
    only if given.

    Args:
        velocity, acceleration, effort: maximum magnitudes, of each joint (nv,) or of all.
        samples: number of evenly spaced times at which the reference is evaluated, besides its breaks.

    Example:
        >>> import appell
        >>> arm = appell.load("planar2r")
        >>> move = appell.trajectories.joint_line(arm, [0, 0], [1, 0], duration=1.0)
        >>> print(*appell.trajectories.limit_violations(move, arm, velocity=1.5))
        joint 'joint1': velocity 1.875 rad/s at t = 0.5 s, limit 1.5 rad/s, exceeded first at t = 0.3375 s
    """
    breaks = np.asarray(reference.breaks)
    t = np.unique(
        np.concatenate([np.linspace(0.0, reference.duration, samples), breaks, np.nextafter(breaks[1:], 0.0)])
    )
    violations = [
        violation
        for quantity, lower, upper in _limits(robot, velocity, acceleration, effort)
        for violation in _exceeded(reference, robot, quantity, lower, upper, t)
    ]
    return tuple(sorted(violations, key=lambda violation: violation.start))


def require_within_limits(reference: Reference, robot: Robot, **limits) -> None:
    """Raise `TrajectoryError` listing every joint limit that is exceeded; arguments as for `limit_violations`."""
    violations = limit_violations(reference, robot, **limits)
    if violations:
        lines = "\n  ".join(map(str, violations))
        raise TrajectoryError(
            f"the reference exceeds {len(violations)} limits of {robot.name!r}. Give it more time, or another path.\n  {lines}",
            time=violations[0].start, reason="outside limits",
        )  # fmt: skip


def _limits(robot: Robot, velocity, acceleration, effort) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Quantities with their lower and upper limits, (nv,) each."""
    index, single = velocity_coordinates(robot)
    bounds = coordinate_bounds(robot)
    lower, upper = np.where(single, bounds.lower[index], -np.inf), np.where(single, bounds.upper[index], np.inf)
    yield "position", lower, upper
    own = {name: np.full(robot.nv, np.inf) for name in ("velocity", "effort")}
    for joint in robot.moving_joints:
        v = robot.first_coordinates[joint.name][1]
        if single[v]:
            own["velocity"][v] = joint.limits.velocity
            own["effort"][v] = np.inf if robot.tree.mass_defects else joint.limits.effort
    for quantity, given, default in (
        ("velocity", velocity, own["velocity"]),
        ("acceleration", acceleration, np.inf),
        ("effort", effort, own["effort"]),
    ):
        limit = np.broadcast_to(np.asarray(default if given is None else given, dtype=float), robot.nv)
        yield quantity, -limit, limit


def _exceeded(reference: Reference, robot: Robot, quantity: str, lower, upper, t) -> Iterator[LimitViolation]:
    """Violations of one quantity at times (N,)."""
    if not (np.isfinite(lower) | np.isfinite(upper)).any():
        return
    values = _values(reference, robot, quantity, t)
    tolerance = LIMIT_TOL * np.maximum(np.abs(np.where(np.isfinite(lower), lower, upper)), 1e-3)
    joints = [joint for joint in robot.moving_joints for _ in range(KINDS[joint.kind].nv)]
    for k, joint in enumerate(joints):
        for bound, limit, sign in (("lower", lower[k], -1.0), ("upper", upper[k], 1.0)):
            beyond = sign * (values[:, k] - limit)
            exceeding = np.flatnonzero(beyond > tolerance[k])
            if not len(exceeding):
                continue
            low, start = float(t[max(exceeding[0] - 1, 0)]), float(t[exceeding[0]])
            for _ in range(30 if exceeding[0] else 0):  # bisection for the first time beyond the limit
                middle = 0.5 * (low + start)
                above = sign * (_values(reference, robot, quantity, np.array([middle]))[0, k] - limit) > 0.0
                low, start = (low, middle) if above else (middle, start)
            worst = int(beyond.argmax())
            length, force = ("m", "N") if joint.kind == "prismatic" else ("rad", "N m")
            yield LimitViolation(
                joint.name, quantity, bound, start, float(t[exceeding[-1]]), float(beyond[worst]), float(limit),
                float(t[worst]), force if quantity == "effort" else length + UNITS[quantity],
            )  # fmt: skip


def _values(reference: Reference, robot: Robot, quantity: str, t: np.ndarray) -> np.ndarray:
    """The quantity at times (N,), (N, nv)."""
    q, qd, qdd = reference(t)
    if quantity == "position":
        return q[:, velocity_coordinates(robot)[0]]
    if quantity == "effort":
        return robot.inverse_dynamics(q, qd, qdd) - robot.passive_forces(qd)
    return qd if quantity == "velocity" else qdd
