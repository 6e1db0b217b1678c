"""A recording as the rows of tau = K_b β, in pieces that fit in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.errors import ArgumentError, IdentificationError
from appell.identification import signals
from appell.identification.base import BaseParameters
from appell.robot.regressor_terms import RegressorTerm

if TYPE_CHECKING:
    from appell.robot.robot import Robot

PIECE = 2**23
"""Numbers of the regressor that are held at once, roughly: 64 MB."""

STILL = 1e-3
"""A joint that moves less than this stands still; what differences say of its speed is noise. [rad, m]"""


class Motion(NamedTuple):
    """A recording with its derivatives: times (N,), coordinates, speeds, accelerations and forces (N, n)."""

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


def motion_of(
    robot: Robot,
    t: np.ndarray,
    q: np.ndarray,
    tau: np.ndarray,
    cutoff: float | None,
    qd: np.ndarray | None = None,
    qdd: np.ndarray | None = None,
) -> Motion:
    """Filter and differentiate; the ends, where a filter lacks samples on one side, are cut off.

    Forces are left as they are: what decimation filters away of them it filters away of the regressor too.
    """
    period = float((t[-1] - t[0]) / (len(t) - 1))
    if cutoff is not None:
        if not 0.0 < cutoff < 0.5 / period:
            raise ArgumentError(
                f"cutoff is {cutoff:g} Hz, expected between 0 and {0.5 / period:g} Hz, half the sampling rate."
            )
        q = signals.low_pass(q, cutoff, period) if robot.nq == robot.nv else q
    if qd is None:
        qd, second = _derivatives(robot, q, period, cutoff)
        qdd = second if qdd is None else qdd
    elif qdd is None:
        qdd = signals.differentiate(qd, period)
    if robot.nq == robot.nv:
        still = np.ptp(q, axis=0) < STILL
        qd, qdd = np.where(still, 0.0, qd), np.where(still, 0.0, qdd)
    border = 4 + (0 if cutoff is None else int(np.ceil(1.0 / (cutoff * period))))
    inner = slice(border, len(t) - border)
    if len(t) < 4 * border:
        raise IdentificationError(
            f"the recording has {len(t)} samples, expected at least {4 * border} for this cutoff."
        )
    return Motion(t[inner], q[inner], qd[inner], qdd[inner], tau[inner])


def _derivatives(robot: Robot, q: np.ndarray, period: float, cutoff: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Speeds and accelerations; where coordinates are curved (quaternions), by the steps between samples."""
    if robot.nq == robot.nv:
        return signals.differentiate(q, period), signals.differentiate(q, period, signals.SECOND, 2)
    qd = np.zeros((len(q), robot.nv))
    qd[1:-1] = robot.difference(q[:-2], q[2:]) / (2.0 * period)
    qd[0], qd[-1] = qd[1], qd[-2]
    qd = qd if cutoff is None else signals.low_pass(qd, cutoff, period)
    return qd, signals.differentiate(qd, period)


@dataclass(frozen=True)
class Observations:
    """A motion seen through the regressor of the base parameters.

    Regressor and forces pass the same low-pass filter before every `decimation`-th sample is kept, so that what is
    filtered away is missing on both sides.

    Attributes:
        held: which of the kept samples are held out of the fit, (n,).
    """

    robot: Robot
    blocks: Sequence[RegressorTerm]
    base: BaseParameters
    motion: Motion
    decimation: int
    hold_out: int
    block: float

    @cached_property
    def t(self) -> np.ndarray:
        """Times of the kept samples."""
        half = len(signals.decimator(self.decimation)) // 2
        return self.motion.t[half : len(self.motion.t) - half : self.decimation]

    @cached_property
    def held(self) -> np.ndarray:
        if not self.hold_out:
            return np.zeros(len(self.t), dtype=bool)
        number = np.floor((self.t - self.motion.t[0]) / self.block).astype(int)
        return number % self.hold_out == self.hold_out - 1

    def pieces(self) -> Iterable[Rows]:
        """All kept samples in order; kept for the next time where they are few."""
        few = len(self.t) * self.robot.nv * len(self.base) <= 2 * PIECE
        return self._stored if few else self._computed()

    @cached_property
    def _stored(self) -> tuple[Rows, ...]:
        return tuple(self._computed())

    def _computed(self) -> Iterator[Rows]:
        robot, factor = self.robot, self.decimation
        kernel = signals.decimator(factor)
        count = max(1, PIECE // (robot.nv * len(self.base.names) * factor))
        for first in range(0, len(self.t), count):
            last = min(first + count, len(self.t))
            raw = slice(first * factor, (last - 1) * factor + len(kernel))
            K = self.regressor(*(x[raw] for x in self.motion[1:4]))
            yield Rows(
                first,
                self.t[first:last],
                signals.decimate(K, kernel, factor),
                signals.decimate(self.motion.tau[raw], kernel, factor),
            )

    def regressor(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """K_b at some states, (n, nv, b)."""
        inertial = 10 * len(self.robot.tree.links)
        kept = np.array(self.base.independent, dtype=int)
        K = self.robot.regressor(q, qd, qdd, check=False)[..., kept[kept < inertial]]
        added = [block.columns(q, qd, qdd) for block in self.blocks]
        if not added:
            return K
        beside = np.concatenate(added, axis=-1)[..., kept[kept >= inertial] - inertial]
        return np.concatenate([K, beside], axis=-1)

    @cached_property
    def forces(self) -> np.ndarray:
        """Forces of the kept samples, (n, nv)."""
        return signals.decimate(self.motion.tau, signals.decimator(self.decimation), self.decimation)

    def predict(self, values: np.ndarray) -> np.ndarray:
        """K_b β at the kept samples, (n, nv)."""
        predicted = np.empty((len(self.t), self.robot.nv))
        for rows in self.pieces():
            predicted[rows.first : rows.first + len(rows.t)] = rows.K @ values
        return predicted
