"""How well a model predicts forces, and how many samples its residuals are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RelativeError:
    """|predicted - measured| / |measured|, norms over samples: of each joint, and of all together.

    Example:
        >>> str(RelativeError({"elbow": 0.08, "wrist": 0.2}, 0.1))
        '10.00 % (elbow 8.00 %, wrist 20.00 %)'
    """

    joints: Mapping[str, float]
    total: float

    @classmethod
    def of(cls, names: tuple[str, ...], measured: np.ndarray, predicted: np.ndarray) -> RelativeError:
        """Of forces (N, nv)."""
        off = np.linalg.norm(predicted - measured, axis=0)
        size = np.linalg.norm(measured, axis=0)
        joints = {name: float(a / b) if b > 0 else float(a > 0) for name, a, b in zip(names, off, size, strict=True)}
        total = float(np.linalg.norm(off) / max(np.linalg.norm(size), np.finfo(float).tiny))
        return cls(joints, total)

    def __str__(self) -> str:
        joints = ", ".join(f"{name} {100 * value:.2f} %" for name, value in self.joints.items())
        return f"{100 * self.total:.2f} % ({joints})"


def correlation_times(residuals: np.ndarray) -> np.ndarray:
    """How many samples in a row are worth one, for each column of residuals (N, n): 1 + 2 Σ ρ_k.

    ρ_k is the correlation of samples k apart; the sum ends where it first falls below 0.05.
    """
    count = len(residuals)
    centred = residuals - residuals.mean(axis=0)
    size = 2 ** int(np.ceil(np.log2(2 * count)))
    times = np.ones(residuals.shape[1])
    for k in range(residuals.shape[1]):
        spectrum = np.abs(np.fft.rfft(centred[:, k], size)) ** 2
        covariance = np.fft.irfft(spectrum)[: count // 2]
        if covariance[0] <= 0:
            continue
        correlation = covariance / covariance[0]
        small = np.flatnonzero(correlation < 0.05)
        last = small[0] if len(small) else len(correlation)
        times[k] = 1.0 + 2.0 * correlation[1:last].sum()
    return times
