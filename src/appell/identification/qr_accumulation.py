"""Least squares from any number of samples in little memory: one R factor per generalized velocity.

For the rows K_j of one velocity, [K_j tau_j] = Q [R_j z_j; 0 ρ_j], and |K_j β - tau_j|² = |R_j β - z_j|² + ρ_j². The factor of
the samples so far is stacked on the next rows, so that each sample is processed once. A factor has only the columns that
enter the force of its velocity. Since the velocities have separate factors, they can be weighted afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from appell.identification.observations import Rows


@dataclass(frozen=True)
class QRFactor:
    """Rows of one velocity: |K β - tau|² = |R β[columns] - z|² + rest; `power` is |tau|²."""

    columns: np.ndarray
    R: np.ndarray
    z: np.ndarray
    rest: float
    power: float

    def residual(self, values: np.ndarray) -> float:
        """|K β - tau|²."""
        return float(np.sum((self.R @ values[self.columns] - self.z) ** 2) + self.rest)


@dataclass(frozen=True)
class QRFactors:
    """One factor per velocity, of `count` samples and b = `size` base parameters."""

    factors: tuple[QRFactor, ...]
    size: int
    count: int

    def stacked(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All factors as one system A β = z, rows times the root of the weight of their velocity."""
        A = np.zeros((sum(len(factor.R) for factor in self.factors), self.size))
        z, row = np.zeros(len(A)), 0
        for factor, weight in zip(self.factors, np.sqrt(weights), strict=True):
            rows = slice(row, row + len(factor.R))
            A[rows, factor.columns] = weight * factor.R
            z[rows], row = weight * factor.z, rows.stop
        return A, z

    def per_row(self, values: np.ndarray) -> np.ndarray:
        """One number per velocity, repeated for the rows of `stacked`."""
        return np.repeat(values, [len(factor.R) for factor in self.factors])

    def residuals(self, values: np.ndarray) -> np.ndarray:
        """|K_j β - tau_j|² of every velocity."""
        return np.array([factor.residual(values) for factor in self.factors])


def accumulate_qr(
    pieces: Iterable[Rows], used: np.ndarray, excluded: np.ndarray, weights: np.ndarray | None = None
) -> QRFactors:
    """The R factors of all samples but the excluded ones (n,), with base parameters `used` (nv, b) and weights (n, nv)."""
    columns = [np.flatnonzero(row) for row in used]
    R = [np.zeros((0, len(own) + 1)) for own in columns]
    count, power = 0, np.zeros(len(used))
    for rows in pieces:
        samples = slice(rows.first, rows.first + len(rows.t))
        kept = ~excluded[samples]
        count += int(kept.sum())
        roots = None if weights is None else np.sqrt(weights[samples][kept])
        for j, own in enumerate(columns):
            tau = rows.tau[kept, j]
            power[j] += tau @ tau
            added = np.column_stack([rows.K[kept, j][:, own], tau])
            added = added if roots is None else roots[:, j, None] * added
            R[j] = np.asarray(np.linalg.qr(np.concatenate([R[j], added]), mode="r"))
    factors = []
    for own, corner, energy in zip(columns, R, power, strict=True):
        size = len(own)
        full = np.zeros((size + 1, size + 1))
        full[: len(corner)] = corner
        factors.append(
            QRFactor(own, full[:size, :size], full[:size, size], float(full[size, size] ** 2), float(energy))
        )
    return QRFactors(tuple(factors), used.shape[1], count)
