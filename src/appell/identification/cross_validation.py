"""Prediction errors in cross-validation, by which choices are compared.

Rows are single states with the forces as recorded, so that choices of the filter are compared on the same numbers. A fold is a
recording, or a fifth of one. For each fold and force the products X^T X of

    X = [K_b | columns of other terms | forces, shifted by some samples]

suffice for the residuals of every choice: training on the other folds subtracts one fold's products from the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from appell.identification.base import BaseParameters, base_regressor
from appell.identification.cleaning import Segment
from appell.identification.observations import FOLDS, RecordedMotion
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import RegressorTerm

MAX_ROWS, MAX_SAMPLES, WINDOWS = 4000, 120_000, 12
"""States at which choices are compared; samples that are filtered for it, in this many windows."""
LAG_STEPS = 6
"""Forces are shifted by up to this many steps to both sides."""
RIDGE = 1e-11
"""Added to the diagonal of normal equations with unit columns."""


@dataclass(frozen=True)
class Products:
    """X^T X of each fold and force: G (c, c), products with right-hand sides h (c, r), their powers p (r,).

    The columns of X are those of the base parameters up to `edges[0]`, then those of term k up to `edges[k + 1]`.
    """

    columns: tuple[np.ndarray, ...]
    G: tuple[tuple[np.ndarray, ...], ...]
    h: tuple[tuple[np.ndarray, ...], ...]
    p: tuple[tuple[np.ndarray, ...], ...]
    samples: tuple[int, ...]
    edges: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of columns of X."""
        return self.edges[-1]

    @property
    def base_columns(self) -> np.ndarray:
        """Which columns are those of the base parameters, (size,)."""
        return np.arange(self.size) < self.edges[0]

    def term_columns(self, k: int) -> np.ndarray:
        """Which columns are those of the other term k, (size,)."""
        return (np.arange(self.size) >= self.edges[k]) & (np.arange(self.size) < self.edges[k + 1])

    def residuals(self, active: np.ndarray, rhs: Sequence[int], cross: bool = True) -> np.ndarray:
        """Squared residuals, (folds, forces): each fold predicted from the others, or all of them fitted."""
        weights = np.ones(len(self.columns))
        for _ in range(3):
            rest = self._residuals(active, rhs, weights, cross=False).sum(axis=0)
            power = np.array([sum(fold[j][r] for fold in self.p) for j, r in enumerate(rhs)])
            weights = 1.0 / np.maximum(rest, 1e-12 * power.max(initial=1e-300))
        return self._residuals(active, rhs, weights, cross)

    def _residuals(self, active: np.ndarray, rhs: Sequence[int], weights: np.ndarray, cross: bool) -> np.ndarray:
        folds = range(len(self.G))
        A, b = np.zeros((len(folds), self.size, self.size)), np.zeros((len(folds), self.size))
        for f in folds:
            for j, own in enumerate(self.columns):
                A[f][np.ix_(own, own)] += weights[j] * self.G[f][j]
                b[f][own] += weights[j] * self.h[f][j][:, rhs[j]]
        A, b = A[:, active][:, :, active], b[:, active]
        result = np.zeros((len(folds), len(self.columns)))
        for f in folds:
            M, v = (
                (A.sum(axis=0) - A[f], b.sum(axis=0) - b[f])
                if cross and len(folds) > 1
                else (A.sum(axis=0), b.sum(axis=0))
            )
            values = np.zeros(self.size)
            values[active] = _solution(M, v)
            for j, own in enumerate(self.columns):
                x = values[own]
                p = self.p[f][j][rhs[j]]
                result[f, j] = max(p - 2.0 * x @ self.h[f][j][:, rhs[j]] + x @ self.G[f][j] @ x, 1e-14 * p)
        return result

    def smallest_column(self, columns: np.ndarray) -> float:
        """Least root mean square among columns, each in the forces that it enters."""
        squares, rows = np.zeros(self.size), np.zeros(self.size)
        for G, samples in zip(self.G, self.samples, strict=True):
            for own, products in zip(self.columns, G, strict=True):
                squares[own] += np.diag(products)
                rows[own] += samples
        return float(np.sqrt(squares / np.maximum(rows, 1.0))[columns].min())

    def error(self, active: np.ndarray, rhs: Sequence[int]) -> float:
        """Relative error in cross-validation: geometric mean of the one of all forces and the mean one of each."""
        rest = self.residuals(active, rhs).sum(axis=0)
        power = np.array([sum(fold[j][r] for fold in self.p) for j, r in enumerate(rhs)])
        seen = power > 1e-12 * power.max(initial=0.0)
        total = np.log(rest[seen].sum() / power[seen].sum())
        return float(np.exp(0.25 * (total + np.mean(np.log(rest[seen] / power[seen])))))


def _solution(M: np.ndarray, v: np.ndarray) -> np.ndarray:
    scale = np.sqrt(np.maximum(np.diag(M), 1e-300))
    unit = M / np.outer(scale, scale)
    return np.linalg.solve(unit + RIDGE * np.eye(len(v)), v / scale) / scale


def products(
    robot: AnyRobot,
    base: BaseParameters,
    terms: Sequence[RegressorTerm],
    others: Sequence[RegressorTerm],
    motions: Sequence[RecordedMotion],
    shifted: Sequence[tuple[np.ndarray, int, int]] = (),
) -> Products:
    """Products of base parameters, other terms (of trees), and forces: shifted ones of each force, then all forces unshifted."""
    forces, b = len(robot.actuator_names), len(base)
    thin = max(1, sum(len(motion.t) for motion in motions) // MAX_ROWS)
    tree = robot is robot.spanning_tree
    edges = np.cumsum([b, *(len(term.names(robot)) for term in others)])
    used = np.zeros((forces, edges[-1]), dtype=bool)
    used[:, :b] = base.used if tree else True
    blocks = []
    for k, motion in enumerate(motions):
        rows = np.flatnonzero(motion.trusted)[::thin]
        states = [x[rows] for x in motion.states]
        K = base_regressor(robot, base, terms, *states, check=False)
        K = np.concatenate([K, *(term.columns(*states) for term in others)], axis=-1)
        used[:, b:] |= (K[..., b:] != 0).any(axis=0)
        fold = np.arange(len(rows)) * FOLDS // max(len(rows), 1)
        shifts = list(_shifts(rows, *shifted[k])) if shifted else []
        blocks.append((motion.recording, fold, K, shifts, motion.raw[rows]))
    own = [np.flatnonzero(row) for row in used]
    recordings = sorted({block[0] for block in blocks})
    G, h, p, samples = [], [], [], []
    labels = [recordings.index(block[0]) if len(recordings) >= 3 else block[1] for block in blocks]
    for fold in range(max(len(recordings), 1) if len(recordings) >= 3 else FOLDS):
        parts: list[list[np.ndarray]] = [[] for _ in range(forces)]
        for label, (_, _, K, shifts, raw) in zip(labels, blocks, strict=True):
            kept = np.broadcast_to(np.asarray(label) == fold, (len(K),))
            for j in range(forces):
                late = [x[kept, j, None] for x in shifts]
                parts[j].append(np.hstack([K[kept, j][:, own[j]], *late, raw[kept]]))
        X = [np.concatenate(rows) for rows in parts]
        squares = [x.T @ x for x in X]
        samples.append(len(X[0]))
        sizes = [len(columns) for columns in own]
        G.append(tuple(P[:c, :c] for P, c in zip(squares, sizes, strict=True)))
        h.append(tuple(P[:c, c:] for P, c in zip(squares, sizes, strict=True)))
        p.append(tuple(np.diag(P)[c:] for P, c in zip(squares, sizes, strict=True)))
    return Products(tuple(own), tuple(G), tuple(h), tuple(p), tuple(samples), tuple(int(edge) for edge in edges))


def _shifts(rows: np.ndarray, tau: np.ndarray, first: int, step: int) -> Iterator[np.ndarray]:
    """Forces at the rows, shifted by -LAG_STEPS ... LAG_STEPS steps."""
    for k in range(-LAG_STEPS, LAG_STEPS + 1):
        yield tau[np.clip(first + rows + k * step, 0, len(tau) - 1)]


def windows(segments: Sequence[Segment]) -> list[Segment]:
    """The segments, or a dozen evenly spaced parts of them if they have many samples."""
    total = sum(len(segment.t) for segment in segments)
    if total <= MAX_SAMPLES:
        return list(segments)
    size, result = MAX_SAMPLES // WINDOWS, []
    for segment in segments:
        count = max(1, round(WINDOWS * len(segment.t) / total))
        for first in np.linspace(0, max(len(segment.t) - size, 0), count).astype(int):
            part = slice(first, first + size)
            qd = None if segment.qd is None else segment.qd[part]
            arrays = (segment.t[part], segment.q[part], segment.tau[part], qd, segment.trusted[part])
            result.append(Segment(*arrays, segment.recording))
    return result
