"""Units of recordings: times in milliseconds and angles in degrees are errors."""

from __future__ import annotations

import numpy as np

from appell.errors import IdentificationError
from appell.robot.protocol import AnyRobot

MAX_CROSSING_TIME, MAX_PERIOD = 100.0, 0.05
"""Slowest motion across a joint's travel, or 1 rad of it, and longest sampling period; exceeding both is an error. [s]"""
DEGREES_PER_RADIAN = 180.0 / np.pi
MAX_VELOCITY, VELOCITY_WINDOW = 50.0, 0.02
"""Upper bound of plausible joint velocities [rad/s], and the time over which they are measured. [s]"""


def require_seconds(robot: AnyRobot, t: np.ndarray, q: np.ndarray) -> None:
    """Raise for times in milliseconds: long sampling periods, and minutes for a joint's travel or for 1 rad of it.

    Both must hold, for the joint that travels farthest: slow motions pass if sampled often, rare samples if motion is fast.
    """
    thin = 1 + len(t) // 100_000
    q, step = np.nan_to_num(q[::thin]), float(np.median(np.diff(t)))
    k = int(np.argmax(np.ptp(q, axis=0)))
    path, travel = float(np.abs(np.diff(q[:, k])).sum()), min(float(np.ptp(q[:, k])), 1.0)
    if step > MAX_PERIOD and path * MAX_CROSSING_TIME < travel * (t[-1] - t[0]):
        raise IdentificationError(
            f"t increases by {step:.4g} s per sample, and {robot.q_names[k]!r} takes {travel * (t[-1] - t[0]) / path:.3g} "
            f"s for {travel:.3g} rad or m: these are milliseconds, or finer. Pass t / 1000. If they are seconds, the motion is "
            "too slow to identify inertia: record a faster one."
        )


def require_radians(robot: AnyRobot, t: np.ndarray, q: np.ndarray) -> None:
    """Raise for angles in degrees: mostly beyond the joint's limits but within them as degrees, or implausibly fast."""
    if robot.nq != robot.spanning_tree.nq:
        return
    stride = max(1, round(VELOCITY_WINDOW / float(np.median(np.diff(t)))))
    for joint in robot.spanning_tree.moving_joints:
        if joint.kind not in ("revolute", "continuous"):
            continue
        angle = q[:, robot.first_coordinates[joint.name][0]]
        angle = angle[np.isfinite(angle)]
        reach, limit = float(np.quantile(np.abs(angle), 0.99)), max(abs(joint.limits.lower), abs(joint.limits.upper))
        moved = np.abs(angle[stride:] - angle[:-stride])
        speed = float(np.quantile(moved, 0.95) / (t[stride] - t[0])) if len(moved) else 0.0
        beyond = np.isfinite(limit) and reach > 3.0 * limit and reach / DEGREES_PER_RADIAN < 1.5 * limit
        too_fast = not np.isfinite(limit) and speed > MAX_VELOCITY and reach > 2.0 * np.pi
        if beyond or too_fast:
            reason = f"its limit is {limit:.4g} rad" if beyond else f"at up to {speed:.4g} rad/s"
            raise IdentificationError(
                f"joint {joint.name!r} reaches {reach:.4g} rad, {reason}: these are degrees, or motor angles. Pass "
                "np.deg2rad(q), or transmission=."
            )
