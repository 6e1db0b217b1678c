"""Least squares from any number of samples in little memory: an orthogonal triangle for every speed.

For the rows K_j of one speed, [K_j tau_j] = Q [R_j z_j; 0 ρ_j], and |K_j β - tau_j|² = |R_j β - z_j|² + ρ_j². The triangle
of what came before stands on top of the next rows, so samples are met once and then forgotten. A speed's triangle has only
the columns that enter its force. Since speeds stay apart, they can be weighted afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from appell.identification.observations import Rows


@dataclass(frozen=True)
class Triangle:
    """Rows of one speed: |K β - tau|² = |R β[columns] - z|² + rest.

    Attributes:
        columns: base parameters that enter, (c,).
        R, z: (c, c) and (c,).
        rest: what no parameters explain.
        count: samples.
        power: |tau|².
    """

    columns: np.ndarray
    R: np.ndarray
    z: np.ndarray
    rest: float
    count: int
    power: float

    def residual(self, values: np.ndarray) -> float:
        """|K β - tau|²."""
        return float(np.sum((self.R @ values[self.columns] - self.z) ** 2) + self.rest)


@dataclass(frozen=True)
class Triangles:
    """One triangle for each speed, with b base parameters in all."""

    speeds: tuple[Triangle, ...]
    size: int

    def stacked(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All triangles as one system A β = z, rows times the root of their speed's weight."""
        A = np.zeros((sum(len(each.R) for each in self.speeds), self.size))
        z, row = np.zeros(len(A)), 0
        for each, weight in zip(self.speeds, np.sqrt(weights), strict=True):
            rows = slice(row, row + len(each.R))
            A[rows, each.columns] = weight * each.R
            z[rows], row = weight * each.z, rows.stop
        return A, z

    def per_row(self, values: np.ndarray) -> np.ndarray:
        """A number for each speed, repeated for the rows that `stacked` gives it."""
        return np.repeat(values, [len(each.R) for each in self.speeds])

    def residuals(self, values: np.ndarray) -> np.ndarray:
        """|K_j β - tau_j|² of every speed."""
        return np.array([each.residual(values) for each in self.speeds])

    @property
    def counts(self) -> np.ndarray:
        """Samples of every speed."""
        return np.array([each.count for each in self.speeds])


def triangles(
    pieces: Iterable[Rows], used: np.ndarray, held: np.ndarray, weights: np.ndarray | None = None
) -> Triangles:
    """The triangles of all samples that are not held out.

    Args:
        used: which base parameters enter the force of each speed, (nv, b).
        held: samples to leave out, (n,).
        weights: of each sample and speed, (n, nv), all the same by default.
    """
    columns = [np.flatnonzero(row) for row in used]
    corners = [np.zeros((0, len(own) + 1)) for own in columns]
    counts, power = 0, np.zeros(len(used))
    for rows in pieces:
        own_rows = slice(rows.first, rows.first + len(rows.t))
        kept = ~held[own_rows]
        counts += int(kept.sum())
        factors = None if weights is None else np.sqrt(weights[own_rows][kept])
        for j, own in enumerate(columns):
            tau = rows.tau[kept, j]
            power[j] += tau @ tau
            fresh = np.column_stack([rows.K[kept, j][:, own], tau])
            fresh = fresh if factors is None else factors[:, j, None] * fresh
            corners[j] = np.asarray(np.linalg.qr(np.concatenate([corners[j], fresh]), mode="r"))
    return Triangles(
        tuple(
            _triangle(own, corner, counts, float(energy))
            for own, corner, energy in zip(columns, corners, power, strict=True)
        ),
        used.shape[1],
    )


def _triangle(columns: np.ndarray, corner: np.ndarray, count: int, power: float) -> Triangle:
    size = len(columns)
    full = np.zeros((size + 1, size + 1))
    full[: len(corner)] = corner
    return Triangle(columns, full[:size, :size], full[:size, size], float(full[size, size] ** 2), count, power)
