"""Velocities from encoder counts: a steady-state observer with the reference acceleration as input.

    predict   q̂ ← q̂ + T q̂̇ + T²/2 q̈_d,   q̂̇ ← q̂̇ + T q̈_d
    correct   r = q - q̂;   q̂ ← q̂ + (1 - p²) r,   q̂̇ ← q̂̇ + (1 - p)²/T r,   p = exp(-ω T)

Both error poles are at p. Differences of counts would have steps of one count per period (0.1 rad/s at 1 kHz); here one count
changes the velocity by (1 - p)²/T ≈ ω² T of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Estimate(NamedTuple):
    """Joint angles and velocities. [rad, rad/s]"""

    q: np.ndarray
    qd: np.ndarray

    def shifted(self, shift: np.ndarray) -> Estimate:
        """The same motion after a correction of the angles' origin."""
        return Estimate(self.q + shift, self.qd)


@dataclass(frozen=True)
class Observer:
    """Observer for a sampling period.

    Attributes:
        bandwidth: ω. [rad/s]

    Example:
        >>> observer = Observer(1e-3)
        >>> estimate = Estimate(np.zeros(1), np.zeros(1))
        >>> for k in range(200):
        ...     estimate = observer.step(estimate, np.array([2e-3 * k]), np.zeros(1))
        >>> round(float(estimate.qd[0]), 6)
        2.0
    """

    period: float
    bandwidth: float = 200.0

    def step(self, last: Estimate, measured: np.ndarray, qdd: np.ndarray) -> Estimate:
        """The estimate at a new measurement one period after the last one; qdd is the reference acceleration."""
        period, p = self.period, math.exp(-self.bandwidth * self.period)
        q = last.q + period * (last.qd + 0.5 * period * qdd)
        r = measured - q
        return Estimate(q + (1.0 - p * p) * r, last.qd + period * qdd + (1.0 - p) ** 2 / period * r)
