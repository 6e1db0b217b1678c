"""A recording as the rows of tau = K_b β, in pieces that fit in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from appell.errors import ArgumentError, IdentificationError
from appell.identification import signals
from appell.identification.base import BaseParameters, base_regressor
from appell.identification.options import Holdout
from appell.identification.recording import Recording
from appell.robot.regressor_terms import RegressorTerm
from appell.robot.robot import Robot

PIECE_SIZE = 2**23
"""Entries of the regressor that are kept in memory at once, roughly: 64 MB."""

MIN_TRAVEL = 1e-3
"""A joint that moves less than this is taken as at rest: differences of its coordinate are noise. [rad, m]"""


class RecordedMotion(NamedTuple):
    """A recording with its derivatives: times (N,), q, qd, qdd and forces (N, n)."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


class Rows(NamedTuple):
    """Samples from `first` on: times (m,), regressor of the base parameters (m, nv, b), forces (m, nv)."""

    first: int
    t: np.ndarray
    K: np.ndarray
    tau: np.ndarray


def filtered_motion(
    robot: Robot,
    recording: Recording,
    cutoff: float | None,
    qd: np.ndarray | None = None,
    qdd: np.ndarray | None = None,
) -> RecordedMotion:
    """Filter q and differentiate; cut the ends, where the filter lacks samples. Decimation filters the forces later."""
    t, q, tau = recording
    period = recording.period
    if cutoff is not None:
        if not 0.0 < cutoff < 0.5 / period:
            expected = f"between 0 and {0.5 / period:g} Hz, half the sampling rate"
            raise ArgumentError(f"cutoff is {cutoff:g} Hz, expected {expected}.")
        q = signals.low_pass(q, cutoff, period) if robot.nq == robot.nv else q
    if qd is None:
        qd, second = _derivatives(robot, q, period, cutoff)
        qdd = second if qdd is None else qdd
    elif qdd is None:
        qdd = signals.differentiate(qd, period)
    if robot.nq == robot.nv:
        resting = np.ptp(q, axis=0) < MIN_TRAVEL
        qd, qdd = np.where(resting, 0.0, qd), np.where(resting, 0.0, qdd)
    border = 4 + (0 if cutoff is None else int(np.ceil(1.0 / (cutoff * period))))
    inner = slice(border, len(t) - border)
    if len(t) < 4 * border:
        expected = f"at least {4 * border} for this cutoff"
        raise IdentificationError(f"the recording has {len(t)} samples, expected {expected}.")
    return RecordedMotion(t[inner], q[inner], qd[inner], qdd[inner], tau[inner])


def default_decimation(cutoff: float | None, period: float) -> int:
    """A decimation that leaves about five samples per period of the cut-off frequency."""
    return 1 if cutoff is None else max(1, int(0.2 / (cutoff * period)))


def _derivatives(robot: Robot, q: np.ndarray, period: float, cutoff: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Velocities and accelerations; for quaternions from the tangent vectors between samples."""
    if robot.nq == robot.nv:
        return signals.differentiate(q, period), signals.differentiate(q, period, signals.SECOND_DIFFERENCE, 2)
    qd = np.zeros((len(q), robot.nv))
    qd[1:-1] = robot.difference(q[:-2], q[2:]) / (2.0 * period)
    qd[0], qd[-1] = qd[1], qd[-2]
    qd = qd if cutoff is None else signals.low_pass(qd, cutoff, period)
    return qd, signals.differentiate(qd, period)


@dataclass(frozen=True)
class Observations:
    """Regressor of the base parameters and forces along a motion.

    Both pass the same low-pass filter before one sample in `decimation` is kept.
    """

    robot: Robot
    terms: Sequence[RegressorTerm]
    base: BaseParameters
    motion: RecordedMotion
    decimation: int
    holdout: Holdout

    @cached_property
    def t(self) -> np.ndarray:
        """Times of the kept samples, (n,)."""
        half = len(signals.decimation_kernel(self.decimation)) // 2
        return self.motion.t[half : len(self.motion.t) - half : self.decimation]

    @cached_property
    def holdout_mask(self) -> np.ndarray:
        """Which of the kept samples are left out of the fit, (n,)."""
        if not self.holdout.every:
            return np.zeros(len(self.t), dtype=bool)
        number = np.floor((self.t - self.motion.t[0]) / self.holdout.block).astype(int)
        return number % int(self.holdout.every) == int(self.holdout.every) - 1

    def pieces(self) -> Iterable[Rows]:
        """All kept samples in order; stored for the next call if they are few."""
        few = len(self.t) * self.robot.nv * len(self.base) <= 2 * PIECE_SIZE
        return self._stored if few else self._computed()

    @cached_property
    def _stored(self) -> tuple[Rows, ...]:
        return tuple(self._computed())

    def _computed(self) -> Iterator[Rows]:
        factor = self.decimation
        kernel = signals.decimation_kernel(factor)
        count = max(1, PIECE_SIZE // (self.robot.nv * len(self.base.names) * factor))
        for first in range(0, len(self.t), count):
            last = min(first + count, len(self.t))
            raw = slice(first * factor, (last - 1) * factor + len(kernel))
            K = base_regressor(self.robot, self.base, self.terms, *(x[raw] for x in self.motion[1:4]), check=False)
            kept = (signals.decimate(x, kernel, factor) for x in (K, self.motion.tau[raw]))
            yield Rows(first, self.t[first:last], *kept)

    @cached_property
    def forces(self) -> np.ndarray:
        """Forces of the kept samples, (n, nv)."""
        return signals.decimate(self.motion.tau, signals.decimation_kernel(self.decimation), self.decimation)

    def predict(self, values: np.ndarray) -> np.ndarray:
        """K_b β at the kept samples, (n, nv)."""
        predicted = np.empty((len(self.t), self.robot.nv))
        for rows in self.pieces():
            predicted[rows.first : rows.first + len(rows.t)] = rows.K @ values
        return predicted
