"""Recordings: their files (CSV with a header, also compressed, or NumPy's .npz), and their checks.

Errors have the joint, the sample and a remedy.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from appell.columns import read_columns
from appell.errors import ArgumentError, IdentificationError
from appell.files import read_npz
from appell.robot.robot import Robot

JITTER_TOL = 0.01
"""Allowed relative difference between time steps."""
MAX_FROZEN_TIME = 0.05
"""Time for which an encoder may repeat a value while its joint moves fast. [s]"""
MAX_CROSSING_TIME, MAX_PERIOD = 100.0, 0.05
"""Slowest motion across a joint's travel, or 1 rad of it, and longest sampling period; exceeding both is an error. [s]"""
DEGREES_PER_RADIAN = 180.0 / np.pi
MAX_VELOCITY, VELOCITY_WINDOW = 50.0, 0.02
"""Upper bound of plausible joint velocities [rad/s], and the time over which they are measured. [s]"""


class Recording(NamedTuple):
    """Times (N,), coordinates (N, nq) and forces (N, nv)."""

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray

    @property
    def period(self) -> float:
        """Mean time between samples. [s]"""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))


def read_recording(path: str | PathLike, robot: Robot) -> Recording:
    """A recording of a robot.

    A CSV file has a header with `t` and, for every joint, `q.NAME` and `tau.NAME`, or is an export of ROS
    (`appell.columns`). A .npz file has arrays t, q and tau.

    Example:
        >>> import appell, tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp(), "swing.csv")
        >>> _ = file.write_text("t,q.joint1,q.joint2,tau.joint1,tau.joint2\\n0,1,2,3,4\\n0.1,1,2,3,5\\n")
        >>> read_recording(file, appell.load("planar2r")).tau.tolist()
        [[3.0, 4.0], [3.0, 5.0]]
    """
    path = Path(path)
    if path.suffix == ".npz":
        return _from_npz(path)
    columns = read_columns(path, IdentificationError)
    return Recording(columns.times(), columns.block("q", robot.q_names), columns.block("tau", robot.qd_names))


def _from_npz(path: Path) -> Recording:
    arrays = read_npz(path, IdentificationError)
    for name in Recording._fields:
        if name not in arrays:
            raise IdentificationError(f"{path.name}: no array {name!r}, it has {', '.join(arrays) or 'none'}.")
    return Recording(*(arrays[name] for name in Recording._fields))


# --- checks ---------------------------------------------------------------------------------------------------------------


def require_recording(robot: Robot, t: Any, q: Any, tau: Any) -> Recording:
    """Times (N,), coordinates (N, nq) and forces (N, nv) as arrays of real numbers."""
    try:
        recording = Recording(*(np.asarray(x, dtype=float) for x in (t, q, tau)))
    except (TypeError, ValueError):
        raise ArgumentError("t, q and tau must be arrays of real numbers, one row per sample.") from None
    if recording.t.ndim != 1:
        raise IdentificationError(f"t has shape {recording.t.shape}, expected (N,): one time per sample.")
    for name, array, size in (("q", recording.q, robot.nq), ("tau", recording.tau, robot.nv)):
        if array.ndim != 2 or array.shape[1] != size:
            transposed = " It is transposed." if array.ndim == 2 and array.shape[0] == size else ""
            raise IdentificationError(
                f"{name} has shape {array.shape}, expected (N, {size}): one row per sample, one column per joint "
                f"{', '.join(robot.joint_names)}.{transposed}"
            )
    if len({len(array) for array in recording}) > 1:
        lengths = ", ".join(f"{name} has {len(x)}" for name, x in zip(recording._fields, recording, strict=True))
        raise IdentificationError(f"the arrays differ in length: {lengths} samples. Cut them to the same interval.")
    if len(recording.t) < 20:
        raise IdentificationError(f"the recording has {len(recording.t)} samples, expected at least 20.")
    return recording


def require_usable(robot: Robot, recording: Recording) -> None:
    """Raise for the first defect of a recording of the right shapes."""
    t, q, tau = recording
    require_complete(robot, recording)
    if not tau.any():
        raise IdentificationError("tau is 0 in all samples: no force was recorded. Check sensors and torque constants.")
    require_even_times(t)
    require_seconds(robot, t, q)
    require_radians(robot, t, q)
    require_live_encoders(robot, t, q)


def require_complete(robot: Robot, recording: Recording) -> None:
    """Raise for numbers that are not finite."""
    names = {"t": ("time",), "q": robot.q_names, "tau": robot.qd_names}
    for name, array in (("t", recording.t[:, None]), ("q", recording.q), ("tau", recording.tau)):
        bad = ~np.isfinite(array)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            gaps = int((np.diff(bad[:, column].astype(int), prepend=0) == 1).sum())
            raise IdentificationError(
                f"{name} of {names[name][column]!r} is {array[row, column]} at sample {row}: {int(bad.sum())} numbers are "
                f"missing, {gaps} gap{'s' * (gaps > 1)} in that column. Fill the gaps by interpolation if they are shorter "
                "than the motion's periods, or pass the longest interval without one."
            )


def require_even_times(t: np.ndarray) -> None:
    """Raise unless times increase by equal steps."""
    steps = np.diff(t)
    if not (steps > 0).all():
        k = int(np.argmin(steps > 0))
        found = f"t[{k + 1}] = {t[k + 1]:g} s follows t[{k}] = {t[k]:g} s"
        raise IdentificationError(f"t does not increase: {found}. Sort the samples.")
    median = float(np.median(steps))
    worst = int(np.argmax(np.abs(steps - median)))
    if abs(steps[worst] - median) > JITTER_TOL * median:
        raise IdentificationError(
            f"samples are not evenly spaced: {steps[worst]:g} s after sample {worst}, {median:g} s in the median. Samples are "
            "missing there, or the times are not those of the sensors: interpolate to even times, or pass an interval "
            "without the gap."
        )


def require_seconds(robot: Robot, t: np.ndarray, q: np.ndarray) -> None:
    """Raise for times in milliseconds: long sampling periods, and minutes for a joint's travel or for 1 rad of it.

    Both must hold, for the joint that travels farthest: slow motions pass if sampled often, rare samples if motion is fast.
    """
    step, k = float(t[1] - t[0]), int(np.argmax(np.ptp(q, axis=0)))
    path, travel = float(np.abs(np.diff(q[:, k])).sum()), min(float(np.ptp(q[:, k])), 1.0)
    if step > MAX_PERIOD and path * MAX_CROSSING_TIME < travel * (t[-1] - t[0]):
        raise IdentificationError(
            f"t increases by {step:.4g} s per sample, and {robot.q_names[k]!r} takes {travel * (t[-1] - t[0]) / path:.3g} "
            f"s for {travel:.3g} rad or m: these are milliseconds, or finer. Pass t / 1000. If they are seconds, the motion is "
            "too slow to identify inertia: record a faster one."
        )


def require_radians(robot: Robot, t: np.ndarray, q: np.ndarray) -> None:
    """Raise for angles in degrees: beyond the joint's limits but within them as degrees, or implausibly fast."""
    stride = max(1, round(VELOCITY_WINDOW / float(t[1] - t[0])))
    for joint in robot.moving_joints:
        if joint.kind not in ("revolute", "continuous"):
            continue
        angle = q[:, robot.first_coordinates[joint.name][0]]
        reach, limit = float(np.abs(angle).max()), max(abs(joint.limits.lower), abs(joint.limits.upper))
        speed = float(np.abs(angle[stride:] - angle[:-stride]).max(initial=0.0) / (t[stride] - t[0]))
        beyond = np.isfinite(limit) and reach > 3.0 * limit and reach / DEGREES_PER_RADIAN < 1.5 * limit
        too_fast = not np.isfinite(limit) and speed > MAX_VELOCITY and reach > 2.0 * np.pi
        if beyond or too_fast:
            reason = f"its limit is {limit:.4g} rad" if beyond else f"at up to {speed:.4g} rad/s"
            raise IdentificationError(
                f"joint {joint.name!r} reaches {reach:.4g} rad, {reason}: these are degrees, or motor angles. Pass "
                "np.deg2rad(q), or transmission=."
            )


def require_live_encoders(robot: Robot, t: np.ndarray, q: np.ndarray) -> None:
    """Raise for an encoder that repeats one value while its joint moves fast before, or with a jump after."""
    shortest = max(8, round(MAX_FROZEN_TIME / float(t[1] - t[0])))
    for k, name in enumerate(robot.q_names):
        steps = np.abs(np.diff(q[:, k]))
        typical = float(np.sqrt(np.mean(steps**2)))
        for first, last in runs(steps == 0.0, shortest):
            before, after = steps[max(0, first - 3) : first], steps[last : last + 4]
            fast = len(before) == 3 and before.min() > 0.3 * typical
            jumps = len(after) == 4 and after[0] > 5.0 * max(typical, after[1:].max())
            if fast or jumps:
                raise IdentificationError(
                    f"the encoder of {name!r} is stuck: it reads {q[first, k]:.6g} from t = {t[first]:.4g} s to "
                    f"{t[last]:.4g} s ({last - first + 1} samples) and moves fast {'before' if fast else 'after'}. Repair "
                    "it, or pass an interval without this."
                )


def runs(flags: np.ndarray, shortest: int = 1) -> list[tuple[int, int]]:
    """Start and end (exclusive) of every run of True of at least this length."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= shortest]
