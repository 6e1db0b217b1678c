"""Segments of recordings with their velocities and accelerations.

Coordinates are filtered at the cut-off frequency and differentiated. The regressor is evaluated at about twenty states per period
of the cut-off frequency, so that only some of the samples are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from appell.errors import ArgumentError, IdentificationError
from appell.identification import signals
from appell.identification.cleaning import Segment
from appell.robot.protocol import AnyRobot

MIN_ROWS = 2000
"""Samples that decimation leaves at least, where there are as many."""

MIN_TRAVEL = 1e-3
"""A joint that moves less than this is taken as at rest: differences of its coordinate are noise. [rad, m]"""


class RecordedMotion(NamedTuple):
    """A segment with its derivatives: times (N,), q, qd, qdd, forces, forces as recorded (N, n), trusted samples (N,)."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    raw: np.ndarray
    trusted: np.ndarray
    recording: int = 0

    @property
    def states(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.q, self.qd, self.qdd


class Decimation(NamedTuple):
    """One state in `stride` is evaluated, and one of `factor` of these kept after the filter."""

    stride: int
    factor: int

    @classmethod
    def of(cls, total: int) -> Decimation:
        """A decimation by `total`, its last step by at least four."""
        stride = max(k for k in range(1, max(total // 4, 1) + 1) if total % k == 0)
        return cls(stride, total // stride)


def default_decimation(cutoff: float | None, segments: Sequence[Segment]) -> int:
    """A decimation that leaves about five samples per period of the cut-off frequency, and at least some thousand of all."""
    period, samples = max(segment.period for segment in segments), sum(len(segment.t) for segment in segments)
    total = 1 if cutoff is None else max(1, min(int(0.2 / (cutoff * period)), samples // MIN_ROWS))
    return total if total < 8 else total - total % 4


def border_samples(cutoff: float | None, period: float) -> int:
    """Samples at each end where the filter lacks others."""
    return 4 + (0 if cutoff is None else int(np.ceil(1.0 / (cutoff * period))))


def long_enough(segment: Segment, cutoff: float | None, decimation: int = 1) -> bool:
    """Whether a segment has samples left between the ends of the filters."""
    total = len(segment.t)
    border = border_samples(cutoff, segment.period)
    return total >= 4 * border and total - 2 * border > 16 * decimation


def filtered_motion(
    robot: AnyRobot,
    segment: Segment,
    cutoff: float | None,
    stride: int = 1,
    rates: tuple[np.ndarray | None, np.ndarray | None] = (None, None),
) -> RecordedMotion:
    """Filter q and differentiate; cut the ends, where the filter lacks samples; keep one state in `stride`."""
    t, q, period = segment.t, segment.q, segment.period
    if cutoff is not None and not 0.0 < cutoff < 0.5 / period:
        expected = f"between 0 and {0.5 / period:g} Hz, half the sampling rate"
        raise ArgumentError(f"cutoff is {cutoff:g} Hz, expected {expected}.")
    border = border_samples(cutoff, period)
    if len(t) < 4 * border:
        expected = f"at least {4 * border} for this cutoff"
        raise IdentificationError(f"the recording has {len(t)} samples, expected {expected}.")
    kernel = signals.decimation_kernel(stride)
    count = len(signals.decimate(t[border : len(t) - border, None], kernel, stride))
    tau = np.empty((count, segment.tau.shape[1]))
    for k in range(tau.shape[1]):  # one by one, to save memory
        tau[:, k] = signals.decimate(segment.tau[border : len(t) - border, [k]], kernel, stride)[:, 0]
    first = border + len(kernel) // 2
    kept = slice(first, first + stride * len(tau), stride)
    q, qd, qdd = _states(robot, segment, cutoff, kept, *rates)
    if robot.nq == robot.nv:
        resting = np.ptp(q, axis=0) < MIN_TRAVEL
        for rate in (qd, qdd):
            rate[:, resting] = 0.0
    blurred = signals.decimate((~segment.trusted[border : len(t) - border]).astype(float), np.abs(kernel), stride)
    return RecordedMotion(t[kept], q, qd, qdd, tau, segment.tau[kept], blurred < 0.05, segment.recording)


def usable_motions(
    robot: AnyRobot, segments: Sequence[Segment], cutoff: float | None, decimation: Decimation
) -> tuple[RecordedMotion, ...]:
    """Motions of all segments that are long enough for the filters; a single segment is always used."""
    usable = [each for each in segments if len(segments) == 1 or long_enough(each, cutoff, sum(decimation))]
    if not usable:
        raise IdentificationError("no part of the recordings is long enough for the filter. Give a higher cutoff.")
    return tuple(filtered_motion(robot, each, cutoff, decimation.stride) for each in usable)


def _states(
    robot: AnyRobot, segment: Segment, cutoff: float | None, kept: slice, qd: np.ndarray | None, qdd: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Filtered coordinates with velocities and accelerations at the kept samples; column by column, to save memory."""
    period = segment.period

    def smooth(signal: np.ndarray) -> np.ndarray:
        return signal if cutoff is None else signals.low_pass(signal, cutoff, period)

    if not set(robot.qd_names) <= set(robot.q_names):  # several coordinates per joint: tangent vectors between samples
        if qd is None:
            qd = smooth(tangent_velocities(robot, segment.q, period))
        qdd = signals.differentiate(qd, period) if qdd is None else qdd
        return segment.q[kept], qd[kept].copy(), qdd[kept].copy()
    shape = (len(segment.t[kept]), robot.nv)
    coordinates, velocities, accelerations = np.empty((shape[0], robot.nq)), np.empty(shape), np.empty(shape)
    for column, name in enumerate(robot.q_names):
        own = smooth(segment.q[:, [column]])
        coordinates[:, column] = own[kept, 0]
        if name not in robot.qd_names:
            continue
        k = robot.qd_names.index(name)
        velocity = signals.differentiate(own, period) if qd is None else qd[:, [k]]
        velocities[:, k] = velocity[kept, 0]
        if qdd is not None:
            second = qdd[:, [k]]
        elif qd is None:
            second = signals.differentiate(own, period, signals.SECOND_DIFFERENCE, 2)
        else:
            second = signals.differentiate(velocity, period)
        accelerations[:, k] = second[kept, 0]
    return coordinates, velocities, accelerations


def tangent_velocities(robot: AnyRobot, q: np.ndarray, period: float) -> np.ndarray:
    """Velocities (N, nv) from coordinates of any joints (N, nq), of fourth order; a loop's are among its spanning tree's."""
    tree: Any = robot.spanning_tree
    columns = [tree.qd_names.index(name) for name in robot.qd_names]
    near, far = (tree.difference(q[: -2 * k], q[2 * k :])[:, columns] for k in (1, 2))
    inner = (8.0 * near[1:-1] - far) / (12.0 * period)
    return np.concatenate([inner[:1], inner[:1], inner, inner[-1:], inner[-1:]])
