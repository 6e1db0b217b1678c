"""Recordings as the rows of tau = K_b β, in pieces that fit in memory.

Regressor and forces pass the same low-pass filter before samples are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from appell.identification import signals
from appell.identification.base import BaseParameters, base_regressor
from appell.identification.options import Holdout
from appell.identification.recorded_motion import RecordedMotion
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import RegressorTerm

PIECE_SIZE = 2**20
"""Entries of the regressor that are computed at once, roughly: 8 MB, which stay in the processor's cache."""
MAX_STORED = 2**21
"""Entries of the regressor that are stored for the next pass."""

FOLDS = 5
"""Parts of a recording for cross-validation."""

MAX_RAW = 20_000
"""States at which predictions are compared with forces as recorded."""

PAUSE = 1.0
"""Time between recordings that are shown one after the other. [s]"""


ProgressCallback = Callable[[float], None]
"""Takes the share of the work that is done."""


def ignore(share: float) -> None:
    """Report nothing."""


class Rows(NamedTuple):
    """Samples from `first` on: regressor of the base parameters (m, nv, b), forces (m, nv)."""

    first: int
    K: np.ndarray
    tau: np.ndarray


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

    def pieces(self, report: ProgressCallback = ignore) -> Iterable[Rows]:
        """All kept samples in order; stored for the next call if they are few. The share that is done is reported."""
        few = len(self.t) * len(self.robot.actuator_names) * len(self.base) <= MAX_STORED
        return self._stored if few else self._computed(report)

    @cached_property
    def _stored(self) -> tuple[Rows, ...]:
        return tuple(self._computed())

    def _computed(self, report: ProgressCallback = ignore) -> Iterator[Rows]:
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

    def predict(self, values: np.ndarray, report: ProgressCallback = ignore) -> np.ndarray:
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
