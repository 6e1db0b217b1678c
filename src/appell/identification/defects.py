"""What can be wrong with a recording, each defect named with joint, sample and remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.errors import IdentificationError

if TYPE_CHECKING:
    from appell.robot.robot import Robot

JITTER = 0.01
"""How far steps of time may be from each other, relative."""
FROZEN = 0.05
"""Seconds that an encoder may give one number while its joint moves fast."""
SLOW, COARSE = 100.0, 0.05
"""Seconds that a joint may take for its travel, or 1 rad of it, where samples are farther apart than this. [s]"""
DEGREES = 180.0 / np.pi
FASTEST, BLUR = 50.0, 0.02
"""Speed that no joint of a robot has [rad/s], and over how long it is measured. [s]"""


def refuse_defects(robot: Robot, t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> None:
    """Raise for the first defect of a recording, whose shapes are right (`refuse_shapes`)."""
    refuse_gaps(robot, t, q, tau)
    if not tau.any():
        raise IdentificationError("tau is 0 in all samples: no force was recorded. Look at the sensors, or at gains=.")
    refuse_uneven_time(t)
    refuse_milliseconds(robot, t, q)
    refuse_degrees(robot, t, q)
    refuse_frozen(robot, t, q)


def refuse_shapes(robot: Robot, t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> None:
    """Times (N,), positions (N, nq), torques (N, nv)."""
    if t.ndim != 1:
        raise IdentificationError(f"t has shape {t.shape}, expected (N,): one time a sample.")
    for name, array, size in (("q", q, robot.nq), ("tau", tau, robot.nv)):
        if array.ndim != 2 or array.shape[1] != size:
            turned = " It is transposed." if array.ndim == 2 and array.shape[0] == size else ""
            raise IdentificationError(
                f"{name} has shape {array.shape}, expected (N, {size}): a row a sample, a column for each of "
                f"{', '.join(robot.joint_names)}.{turned}"
            )
    lengths = {"t": len(t), "q": len(q), "tau": len(tau)}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in lengths.items())
        raise IdentificationError(
            f"the recordings differ in length: {told} samples. Cut them to the same stretch of time."
        )
    if len(t) < 20:
        raise IdentificationError(f"the recording has {len(t)} samples, expected at least 20.")


def refuse_gaps(robot: Robot, t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> None:
    """Numbers that are not finite."""
    names = {"t": ("time",), "q": robot.q_names, "tau": robot.qd_names}
    for name, array in (("t", t[:, None]), ("q", q), ("tau", tau)):
        bad = ~np.isfinite(array)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            runs = int((np.diff(bad[:, column].astype(int), prepend=0) == 1).sum())
            raise IdentificationError(
                f"{name} of {names[name][column]!r} is {array[row, column]} at sample {row}: {int(bad.sum())} numbers are "
                f"missing, {runs} gap{'s' * (runs > 1)} in that column. Fill the gaps by interpolation if they are shorter "
                "than the motion's periods, or pass the longest stretch without one."
            )


def refuse_uneven_time(t: np.ndarray) -> None:
    """Times that do not grow by equal steps."""
    steps = np.diff(t)
    if not (steps > 0).all():
        k = int(np.argmin(steps > 0))
        raise IdentificationError(
            f"t does not grow: t[{k + 1}] = {t[k + 1]:g} s follows t[{k}] = {t[k]:g} s. Sort the samples."
        )
    usual = float(np.median(steps))
    worst = int(np.argmax(np.abs(steps - usual)))
    if abs(steps[worst] - usual) > JITTER * usual:
        raise IdentificationError(
            f"samples are not evenly spaced: {steps[worst]:g} s after sample {worst}, {usual:g} s usually. Samples are "
            "missing there, or time is not that of the sensors: interpolate to even times, or pass a stretch without it."
        )


def refuse_milliseconds(robot: Robot, t: np.ndarray, q: np.ndarray) -> None:
    """Times in milliseconds or finer: samples far apart, and a joint that takes minutes across its travel, or for 1 rad of it.

    Both must hold, for the joint that travels farthest, so that no real recording is refused for being slow: what is sampled
    at more than 20 Hz may move as slowly as it likes, and what crosses its travel in 100 s may be sampled as rarely as it
    likes. In milliseconds, 1 kHz and one radian a second read as 1 s between samples and 1000 s for a radian.
    """
    step, k = float(t[1] - t[0]), int(np.argmax(np.ptp(q, axis=0)))
    path, travel = float(np.abs(np.diff(q[:, k])).sum()), min(float(np.ptp(q[:, k])), 1.0)
    if step > COARSE and path * SLOW < travel * (t[-1] - t[0]):
        raise IdentificationError(
            f"t grows by {step:.4g} s a sample, and {robot.q_names[k]!r} takes {travel * (t[-1] - t[0]) / path:.3g} "
            f"s for {travel:.3g} rad or m of its way: these are milliseconds, or finer. Pass t / 1000. If they are seconds, the "
            "motion is too slow to tell anything of inertia: record a faster one."
        )


def refuse_degrees(robot: Robot, t: np.ndarray, q: np.ndarray) -> None:
    """Angles in degrees: far beyond the joint's range and within it when divided by 57.3, or of impossible speed."""
    stride = max(1, round(BLUR / float(t[1] - t[0])))
    for joint in robot.moving_joints:
        if joint.kind not in ("revolute", "continuous"):
            continue
        angle = q[:, robot.first_coordinates[joint.name][0]]
        reach, limit = float(np.abs(angle).max()), max(abs(joint.limits.lower), abs(joint.limits.upper))
        speed = float(np.abs(angle[stride:] - angle[:-stride]).max(initial=0.0) / (t[stride] - t[0]))
        beyond = np.isfinite(limit) and reach > 3.0 * limit and reach / DEGREES < 1.5 * limit
        racing = not np.isfinite(limit) and speed > FASTEST and reach > 2.0 * np.pi
        if beyond or racing:
            why = f"its range ends at {limit:.4g} rad" if beyond else f"at up to {speed:.4g} rad/s"
            raise IdentificationError(
                f"joint {joint.name!r} reaches {reach:.4g} rad, {why}: these are degrees, or angles of the motor. Pass "
                "np.deg2rad(q), or transmission=."
            )


def refuse_frozen(robot: Robot, t: np.ndarray, q: np.ndarray) -> None:
    """An encoder that repeats one number while its joint moves: it stops dead at speed, and jumps when it comes back."""
    shortest = max(8, round(FROZEN / float(t[1] - t[0])))
    for k, name in enumerate(robot.q_names):
        steps = np.abs(np.diff(q[:, k]))
        usual = float(np.sqrt(np.mean(steps**2)))
        for first, last in _runs(steps == 0.0, shortest):
            before, after = steps[max(0, first - 3) : first], steps[last : last + 4]
            fast = len(before) == 3 and before.min() > 0.3 * usual
            jumps = len(after) == 4 and after[0] > 5.0 * max(usual, after[1:].max())
            if fast or jumps:
                raise IdentificationError(
                    f"the encoder of {name!r} is stuck: it reads {q[first, k]:.6g} from t = {t[first]:.4g} s to "
                    f"{t[last]:.4g} s ({last - first + 1} samples) and moves fast {'before' if fast else 'after'}. Repair "
                    "it, or pass a stretch without this."
                )


def _runs(flags: np.ndarray, shortest: int) -> list[tuple[int, int]]:
    """First and one past the last of every run of True of at least this length."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= shortest]
