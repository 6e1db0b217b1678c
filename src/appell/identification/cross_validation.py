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
from appell.identification.observations import FOLDS
from appell.identification.recorded_motion import RecordedMotion
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
    """X^T X of each fold and force: G (folds, forces, size, size), with right-hand sides h (..., size, r), powers p (..., r).

    The columns of X are those of the base parameters up to `edges[0]`, then those of term k up to `edges[k + 1]`; columns that do
    not enter a force are zero. Folds have `samples` rows.
    """

    G: np.ndarray
    h: np.ndarray
    p: np.ndarray
    samples: np.ndarray
    edges: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of columns of X."""
        return self.edges[-1]

    @property
    def forces(self) -> int:
        """Number of forces."""
        return self.G.shape[1]

    @property
    def base_columns(self) -> np.ndarray:
        """Which columns are those of the base parameters, (size,)."""
        return np.arange(self.size) < self.edges[0]

    def term_columns(self, k: int) -> np.ndarray:
        """Which columns are those of the other term k, (size,)."""
        return (np.arange(self.size) >= self.edges[k]) & (np.arange(self.size) < self.edges[k + 1])

    def powers(self, rhs: Sequence[int]) -> np.ndarray:
        """Squared forces, (folds, forces), for the right-hand side of each force."""
        return self.p[:, np.arange(self.forces), list(rhs)]

    def residuals(self, active: np.ndarray, rhs: Sequence[int], cross: bool = True) -> np.ndarray:
        """Squared residuals, (folds, forces): each fold predicted from the others, or all of them fitted.

        Forces are weighted by their own residuals.
        """
        G = self.G[:, :, active][..., active]
        h = self.h[:, np.arange(self.forces), :, list(rhs)].transpose(1, 0, 2)[..., active]
        p = self.powers(rhs)

        def rest(weights: np.ndarray, cross: bool) -> np.ndarray:
            A, b = np.tensordot(G, weights, (1, 0)), np.tensordot(h, weights, (1, 0))
            A, b = A.sum(axis=0) - cross * A, b.sum(axis=0) - cross * b
            x = _solutions(A, b) if cross else _solutions(A[:1], b[:1])
            x = np.broadcast_to(x, (len(G), x.shape[1]))
            squares = p - 2.0 * np.einsum("fa,fja->fj", x, h) + np.einsum("fa,fjab,fb->fj", x, G, x, optimize=True)
            return np.maximum(squares, 1e-14 * p)

        weights = np.ones(self.forces)
        for _ in range(3):
            weights = 1.0 / np.maximum(rest(weights, False).sum(axis=0), 1e-12 * p.sum(axis=0).max(initial=1e-300))
        return rest(weights, cross and len(G) > 1)

    def smallest_column(self, columns: np.ndarray) -> float:
        """Least root mean square among columns, each in the forces that it enters."""
        squares = np.einsum("fjaa->fja", self.G)
        rows = (squares.any(axis=0) * self.samples.sum()).sum(axis=0)
        return float(np.sqrt(squares.sum(axis=(0, 1)) / np.maximum(rows, 1.0))[columns].min())

    def error(self, active: np.ndarray, rhs: Sequence[int]) -> float:
        """Relative error in cross-validation: geometric mean of the one of all forces and the mean one of each."""
        rest, power = self.residuals(active, rhs).sum(axis=0), self.powers(rhs).sum(axis=0)
        seen = power > 1e-12 * power.max()
        total = np.log(rest[seen].sum() / power[seen].sum())
        return float(np.exp(0.25 * (total + np.mean(np.log(rest[seen] / power[seen])))))


def _solutions(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solutions of normal equations (k, a, a), (k, a) with unit columns and a little on the diagonal."""
    scale = np.sqrt(np.maximum(np.einsum("kaa->ka", A), 1e-300))
    unit = A / (scale[:, :, None] * scale[:, None, :]) + RIDGE * np.eye(A.shape[-1])
    return np.linalg.solve(unit, (b / scale)[..., None])[..., 0] / scale


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
    labels = [recordings.index(block[0]) if len(recordings) >= 3 else block[1] for block in blocks]
    folds = len(recordings) if len(recordings) >= 3 else FOLDS
    sides = blocks[0][4].shape[1] + len(blocks[0][3])
    G, h, p = (np.zeros((folds, forces, *shape)) for shape in ((edges[-1], edges[-1]), (edges[-1], sides), (sides,)))
    samples = np.zeros(folds, dtype=int)
    for label, (_, _, K, shifts, raw) in zip(labels, blocks, strict=True):
        kept = [np.broadcast_to(np.asarray(label) == fold, (len(K),)) for fold in range(folds)]
        samples += [int(rows.sum()) for rows in kept]
        for j, columns in enumerate(own):
            X, c = np.hstack([np.take(K[:, j], columns, axis=1), *(x[:, j, None] for x in shifts), raw]), len(columns)
            for fold, rows in enumerate(kept):
                P = X[rows].T @ X[rows]
                G[fold, j][np.ix_(columns, columns)] += P[:c, :c]
                h[fold, j, columns] += P[:c, c:]
                p[fold, j] += np.diag(P)[c:]
    return Products(G, h, p, samples, tuple(int(edge) for edge in edges))


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
