"""Whether a reference keeps the limits of a robot's joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import TaskError
from appell.kinematics.inverse.bounds import bounds_of
from appell.kinematics.inverse.least_squares import coordinates_of_speeds
from appell.kinematics.trajectories.reference import Reference
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.robot import Robot

SLACK = 1e-9
"""Part of a limit that may be passed: what rounding does to a reference made to use it fully."""
UNITS = {"position": "", "velocity": "/s", "acceleration": "/s²"}


@dataclass(frozen=True)
class Violation:
    """A limit that is passed.

    Attributes:
        joint, quantity: which one: `"position"`, `"velocity"`, `"acceleration"` or `"effort"`.
        time: when it is first passed. [s]
        value, worst: the value farthest beyond the limit, and when it is reached.
        limit: what is allowed.
    """

    joint: str
    quantity: str
    time: float
    value: float
    worst: float
    limit: float
    unit: str

    def __str__(self) -> str:
        return (
            f"joint {self.joint!r}: {self.quantity} {self.value:.6g} {self.unit} at t = {self.worst:.4g} s, limit "
            f"{self.limit:.6g} {self.unit}, passed first at t = {self.time:.4g} s"
        )


def limit_violations(
    reference: Reference,
    robot: Robot,
    *,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    samples: int = 1001,
) -> tuple[Violation, ...]:
    """Every limit of the joints that a reference passes, in order of time.

    Position, velocity and effort are limited as the robot's description says, unless others are given here; accelerations
    only if they are. Efforts are those of the drives: inverse dynamics, and what damping and friction take.

    Args:
        velocity, acceleration, effort: greatest magnitudes, of each joint (nv,) or of all.
        samples: number of times, evenly spread, at which the reference is looked at, besides its breaks.

    Example:
        >>> import appell
        >>> arm = appell.load("planar2r")
        >>> move = appell.trajectories.joint_line(arm, [0, 0], [1, 0], duration=1.0)
        >>> print(*appell.trajectories.limit_violations(move, arm, velocity=1.5))
        joint 'joint1': velocity 1.875 rad/s at t = 0.5 s, limit 1.5 rad/s, passed first at t = 0.3375 s
    """
    breaks = np.asarray(reference.breaks)
    t = np.unique(
        np.concatenate([np.linspace(0.0, reference.duration, samples), breaks, np.nextafter(breaks[1:], 0.0)])
    )
    found = [
        violation
        for quantity, lower, upper in _limits(robot, velocity, acceleration, effort)
        for violation in _passed(reference, robot, quantity, t, lower, upper)
    ]
    return tuple(sorted(found, key=lambda violation: violation.time))


def check_limits(reference: Reference, robot: Robot, **limits) -> None:
    """Raise `TaskError` naming every limit that a reference passes; arguments as for `limit_violations`."""
    found = limit_violations(reference, robot, **limits)
    if found:
        told = "\n  ".join(str(violation) for violation in found)
        remedy = "Give it more time, or another path."
        raise TaskError(
            f"the reference passes {len(found)} limits of {robot.name!r}. {remedy}\n  {told}",
            time=found[0].time, reason="outside limits",
        )  # fmt: skip


def _limits(robot: Robot, velocity, acceleration, effort):
    """Quantities with their lower and upper limits, one a speed of the robot, (nv,)."""
    slot, single = coordinates_of_speeds(robot)
    bounds = bounds_of(robot)
    yield "position", np.where(single, bounds.lower[slot], -np.inf), np.where(single, bounds.upper[slot], np.inf)
    own = {name: np.full(robot.nv, np.inf) for name in ("velocity", "effort")}
    for joint in robot.moving_joints:
        v = robot.first_coordinates[joint.name][1]
        if single[v]:
            own["velocity"][v], own["effort"][v] = joint.limits.velocity, joint.limits.effort
    for quantity, given, default in (
        ("velocity", velocity, own["velocity"]),
        ("acceleration", acceleration, np.inf),
        ("effort", effort, own["effort"]),
    ):
        most = np.broadcast_to(np.asarray(default if given is None else given, dtype=float), robot.nv)
        yield quantity, -most, most


def _passed(reference: Reference, robot: Robot, quantity: str, t: np.ndarray, lower: np.ndarray, upper: np.ndarray):
    """Violations of one quantity."""
    if not (np.isfinite(lower) | np.isfinite(upper)).any():
        return
    values = _values(reference, robot, quantity, t)
    slack = SLACK * np.maximum(np.abs(np.where(np.isfinite(lower), lower, upper)), 1e-3)
    for k, (joint, kind) in enumerate(_names(robot)):
        for limit, beyond in ((lower[k], lower[k] - values[:, k]), (upper[k], values[:, k] - upper[k])):
            bad = np.flatnonzero(beyond > slack[k])
            if len(bad):
                worst = int(beyond.argmax())
                first = _first(reference, robot, quantity, k, limit, t, int(bad[0]))
                value, unit = float(values[worst, k]), _unit(kind, quantity)
                yield Violation(joint, quantity, first, value, float(t[worst]), float(limit), unit)


def _first(reference, robot, quantity: str, k: int, limit: float, t: np.ndarray, bad: int) -> float:
    """When the limit is passed, between the sample before and the first bad one."""
    if bad == 0:
        return float(t[0])
    low, high = float(t[bad - 1]), float(t[bad])
    side = np.sign(_values(reference, robot, quantity, np.array([high]))[0, k] - limit)
    for _ in range(30):
        middle = 0.5 * (low + high)
        beyond = side * (_values(reference, robot, quantity, np.array([middle]))[0, k] - limit) > 0.0
        low, high = (low, middle) if beyond else (middle, high)
    return high


def _values(reference: Reference, robot: Robot, quantity: str, t: np.ndarray) -> np.ndarray:
    """The quantity at times (N,), one column a speed of the robot."""
    q, qd, qdd = reference(t)
    if quantity == "position":
        return q[:, coordinates_of_speeds(robot)[0]]
    if quantity == "effort":
        return robot.inverse_dynamics(q, qd, qdd) - robot.passive_forces(qd)
    return qd if quantity == "velocity" else qdd


def _names(robot: Robot) -> list[tuple[str, str]]:
    """For every speed the name of its joint and the kind of the joint."""
    return [(joint.name, joint.kind) for joint in robot.moving_joints for _ in range(KINDS[joint.kind].nv)]


def _unit(kind: str, quantity: str) -> str:
    sliding = kind == "prismatic"
    if quantity == "effort":
        return "N" if sliding else "N m"
    return ("m" if sliding else "rad") + UNITS[quantity]
