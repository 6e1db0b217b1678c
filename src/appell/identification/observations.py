"""Recordings as the rows of tau = K_b β, in pieces that fit in memory.

Coordinates are filtered at the cut-off frequency and differentiated. Regressor and forces then pass the same low-pass filter
before samples are dropped. The regressor is evaluated at about twenty states per period of the cut-off frequency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from appell.errors import ArgumentError, IdentificationError
from appell.identification import signals
from appell.identification.base import BaseParameters, base_regressor
from appell.identification.cleaning import Segment
from appell.identification.options import Holdout
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import RegressorTerm

PIECE_SIZE = 2**20
"""Entries of the regressor that are computed at once, roughly: 8 MB, which stay in the processor's cache."""
MAX_STORED = 2**21
"""Entries of the regressor that are stored for the next pass."""

FOLDS = 5
"""Parts of a recording for cross-validation."""

MIN_ROWS = 2000
"""Samples that decimation leaves at least, where there are as many."""

MIN_TRAVEL = 1e-3
"""A joint that moves less than this is taken as at rest: differences of its coordinate are noise. [rad, m]"""

MAX_RAW = 20_000
"""States at which predictions are compared with forces as recorded."""

PAUSE = 1.0
"""Time between recordings that are shown one after the other. [s]"""


Report = Callable[[float], None]
"""Takes the share of the work that is done."""


def ignore(share: float) -> None:
    """Report nothing."""


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


class Rows(NamedTuple):
    """Samples from `first` on: regressor of the base parameters (m, nv, b), forces (m, nv)."""

    first: int
    K: np.ndarray
    tau: np.ndarray


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


@dataclass(frozen=True)
class Observations:
    """Regressor of the base parameters and forces along motions; one sample in `factor` is kept after the filter."""

    robot: AnyRobot
    terms: Sequence[RegressorTerm]
    base: BaseParameters
    motions: tuple[RecordedMotion, ...]
    factor: int
    holdout: Holdout
    extra: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray] | None = None
    """More columns as a function of the states, (N, forces, k)."""
    extra_count: int = 0

    @property
    def _kernel(self) -> np.ndarray:
        return signals.decimation_kernel(self.factor)

    def _kept(self, count: int) -> slice:
        """The kept ones of `count` states."""
        size = max(0, (count - len(self._kernel)) // self.factor + 1)
        half = len(self._kernel) // 2
        return slice(half, half + size * self.factor, self.factor)

    def _per_motion(self, values: Iterable[np.ndarray]) -> np.ndarray:
        return np.concatenate([np.asarray(x) for x in values])

    @cached_property
    def used(self) -> np.ndarray:
        """Which base parameters enter each force, (forces, b)."""
        forces = len(self.robot.actuator_names)
        tree = self.robot is self.robot.spanning_tree
        own = self.base.used if tree else np.ones((forces, len(self.base)), dtype=bool)
        return np.hstack([own, np.ones((forces, self.extra_count), dtype=bool)])

    @cached_property
    def t(self) -> np.ndarray:
        """Times of the kept samples; recordings follow each other, (n,)."""
        times, shift, end, number = [], 0.0, None, -1
        for motion in self.motions:
            if motion.recording != number and end is not None:
                shift = end + PAUSE - motion.t[0]
            number = motion.recording
            times.append(motion.t[self._kept(len(motion.t))] + shift)
            end = motion.t[-1] + shift
        return np.concatenate(times)

    @cached_property
    def recording(self) -> np.ndarray:
        """Number of the recording of each kept sample, (n,)."""
        return self._per_motion(
            np.full(len(motion.t[self._kept(len(motion.t))]), motion.recording) for motion in self.motions
        )

    @cached_property
    def trusted(self) -> np.ndarray:
        """Kept samples whose forces can be used, (n,)."""
        kernel = np.abs(self._kernel)
        return self._per_motion(
            signals.decimate((~motion.trusted).astype(float), kernel, self.factor) < 0.05 for motion in self.motions
        )

    @cached_property
    def holdout_mask(self) -> np.ndarray:
        """Samples that are left out of the fit, (n,)."""
        return self._per_motion(self._held(motion, self._kept(len(motion.t))) for motion in self.motions)

    def _held(self, motion: RecordedMotion, part: slice) -> np.ndarray:
        """Which states are in blocks of time that are left out."""
        every, t = int(self.holdout.every), motion.t[part]
        if not every:
            return np.zeros(len(t), dtype=bool)
        start = next(float(other.t[0]) for other in self.motions if other.recording == motion.recording)
        return np.floor((t - start) / self.holdout.block).astype(int) % every == every - 1

    def fold(self, count: int) -> np.ndarray:
        """Fold of each kept sample for cross-validation, (n,): recordings if there are three or more, else parts of each."""
        numbers = np.unique(self.recording)
        if len(numbers) >= 3:
            return np.searchsorted(numbers, self.recording)
        folds = np.zeros(len(self.t), dtype=int)
        for number in numbers:
            own = np.flatnonzero(self.recording == number)
            folds[own] = np.arange(len(own)) * count // len(own)
        return folds

    def pieces(self, report: Report = ignore) -> Iterable[Rows]:
        """All kept samples in order; stored for the next call if they are few. The share that is done is reported."""
        few = len(self.t) * len(self.robot.actuator_names) * len(self.base) <= MAX_STORED
        return self._stored if few else self._computed(report)

    @cached_property
    def _stored(self) -> tuple[Rows, ...]:
        return tuple(self._computed())

    def _computed(self, report: Report = ignore) -> Iterator[Rows]:
        kernel, factor, used, start = self._kernel, self.factor, self.used, 0
        (forces, parameters), entries = used.shape, np.flatnonzero(used)
        count = max(1, PIECE_SIZE // (forces * parameters * factor))
        for motion in self.motions:
            size = len(motion.t[self._kept(len(motion.t))])
            for first in range(0, size, count):
                last = min(first + count, size)
                part = slice(first * factor, (last - 1) * factor + len(kernel))
                K = base_regressor(self.robot, self.base, self.terms, *(x[part] for x in motion.states), check=False)
                if self.extra is not None:
                    K = np.concatenate([K, self.extra(*(x[part] for x in motion.states))], axis=-1)
                if factor > 1:
                    kept = np.zeros((last - first, forces * parameters))
                    kept[:, entries] = signals.decimate(np.take(K.reshape(len(K), -1), entries, axis=1), kernel, factor)
                    K = kept.reshape(-1, forces, parameters)
                report((start + first) / len(self.t))
                yield Rows(start + first, K, signals.decimate(motion.tau[part], kernel, factor))
            start += size

    @cached_property
    def forces(self) -> np.ndarray:
        """Forces of the kept samples, (n, nv)."""
        return self._per_motion(signals.decimate(motion.tau, self._kernel, self.factor) for motion in self.motions)

    def predict(self, values: np.ndarray, report: Report = ignore) -> np.ndarray:
        """K_b β at the kept samples, (n, nv)."""
        predicted = np.empty((len(self.t), len(self.robot.actuator_names)))
        for rows in self.pieces(report):
            predicted[rows.first : rows.first + len(rows.K)] = rows.K @ values
        return predicted

    def predict_raw(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Forces as recorded and predicted, (m, nv), and which of them are held out: at trusted states, of many a part."""
        total = sum(len(motion.t) for motion in self.motions)
        thin = max(1, total // MAX_RAW)
        size = max(1, PIECE_SIZE // (len(self.robot.actuator_names) * len(self.base))) * thin
        parts = []
        for motion in self.motions:
            for first in range(0, len(motion.t), size):
                part = slice(first, first + size, thin)
                K = base_regressor(self.robot, self.base, self.terms, *(x[part] for x in motion.states), check=False)
                trusted = motion.trusted[part]
                parts.append([x[trusted] for x in (motion.raw[part], K @ values, self._held(motion, part))])
        measured, predicted, held = (np.concatenate(x) for x in zip(*parts, strict=True))
        return measured, predicted, held
