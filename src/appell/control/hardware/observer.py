"""Speeds from encoder counts: a steady-state observer that knows the acceleration the controller asks for.

    predict   q̂ ← q̂ + T q̂̇ + T²/2 q̈_d,   q̂̇ ← q̂̇ + T q̈_d
    correct   r = q - q̂;   q̂ ← q̂ + (1 - p²) r,   q̂̇ ← q̂̇ + (1 - p)²/T r,   p = exp(-ω T)

Both error poles lie at p. Differences of counts would be steps of one count a period (0.1 rad/s at 1 kHz); here one count
moves the speed by (1 - p)²/T ≈ ω² T of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Estimate(NamedTuple):
    """Joint angles and speeds. [rad, rad/s]"""

    q: np.ndarray
    qd: np.ndarray

    def moved(self, shift: np.ndarray) -> Estimate:
        """The same motion where the origin of the angles was corrected."""
        return Estimate(self.q + shift, self.qd)


@dataclass(frozen=True)
class Observer:
    """Gains for a period.

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
        """The estimate at a new measurement, a period after the last one, with the acceleration that was asked for."""
        period, p = self.period, math.exp(-self.bandwidth * self.period)
        q = last.q + period * (last.qd + 0.5 * period * qdd)
        r = measured - q
        return Estimate(q + (1.0 - p * p) * r, last.qd + period * qdd + (1.0 - p) ** 2 / period * r)
