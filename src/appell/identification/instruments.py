"""Instrumental variables: parameters without the bias that noise of the positions has on least squares.

Noise of the positions is in the regressor K, and least squares takes part of it for motion: its values do not converge to the
true ones. With a regressor Z along the same motion but without that noise,

    β = (Σ_j w_j Z_j^T K_j)⁻¹ Σ_j w_j Z_j^T tau_j

does (A. Janot, P.-O. Vandanjon, M. Gautier, A generic instrumental variable approach for industrial robot identification, IEEE
Trans. Control Systems Technology 22 (2014), where Z is the regressor along a simulated motion that follows the reference). Here Z
is the regressor along the reference, if it was recorded; otherwise K is that of the even samples and Z that of the odd ones, and
the other way round, since the noise of an encoder at one sample is independent of that at the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from appell.errors import ArgumentError
from appell.identification.cleaning import Segment
from appell.identification.fit import Fit, QRFactors
from appell.identification.observations import Observations
from appell.identification.recorded_motion import filtered_motion
from appell.robot.protocol import AnyRobot

MAX_UPDATES = 30
"""Maximum number of updates of the velocity weights from the residuals."""

Pairs = Sequence[tuple[Observations, Observations]]


def instrument_pairs(
    rows: Observations, segments: Sequence[Segment], cutoff: float | None, stride: int, instruments: str | ArrayLike
) -> Pairs:
    """Rows with noise, and rows along the same motion whose noise is another or none."""
    robot = rows.robot
    if robot.q_names != robot.qd_names:
        raise ArgumentError(f"instruments need one coordinate per velocity, {robot.name!r} has others.")

    def along(changed: Sequence[Segment]) -> Observations:
        return replace(rows, motions=tuple(filtered_motion(robot, each, cutoff, stride) for each in changed))

    if isinstance(instruments, str):
        even, odd = (along([every_second(each, k) for each in segments]) for k in (0, 1))
        return [(even, odd), (odd, even)]
    return [(rows, along([replace(segments[0], q=_reference(robot, segments, np.asarray(instruments, dtype=float)))]))]


def _reference(robot: AnyRobot, segments: Sequence[Segment], q: np.ndarray) -> np.ndarray:
    expected = (len(segments[0].t), robot.nq)
    if len(segments) != 1 or q.shape != expected:
        raise ArgumentError(
            f"instruments have shape {q.shape}, expected {expected}: the commanded coordinates at the samples of one recording "
            "without gaps; or 'interleaved'."
        )
    return q


def every_second(segment: Segment, first: int) -> Segment:
    """The segment with coordinates of every second sample, interpolated by cubics at the others."""
    q = segment.q.copy()
    padded = np.pad(q, ((3, 3), (0, 0)), mode="edge")
    a, b, c, d = (padded[k : k + len(q)] for k in (0, 2, 4, 6))
    q[1 - first :: 2] = ((9.0 * (b + c) - a - d) / 16.0)[1 - first :: 2]
    return replace(segment, q=q)


def instrument_fit(pairs: Pairs, data: QRFactors, fit: Fit, excluded: np.ndarray, iterated: bool) -> Fit:
    """The fit with instruments; weights start at those of the least squares and are iterated with the residuals."""
    own = [factor.columns for factor in data.factors]
    ZK, ZZ, Ztau = (list(parts) for parts in zip(*_products(pairs, own, excluded), strict=True))
    values, weights, sigma = fit.values, fit.weights, fit.sigma
    freedom = np.sqrt(data.residuals(fit.values)) / fit.sigma
    inverse = np.zeros((data.size, data.size))
    for _ in range(MAX_UPDATES):
        A, v = np.zeros((data.size, data.size)), np.zeros(data.size)
        for columns, P, z, weight in zip(own, ZK, Ztau, weights, strict=True):
            A[np.ix_(columns, columns)] += weight * P
            v[columns] += weight * z
        inverse = _inverse(A)
        values, previous = inverse @ v, values
        sigma = np.sqrt(data.residuals(values)) / freedom
        if not iterated or np.allclose(values, previous, rtol=1e-9, atol=1e-12 * np.abs(values).max(initial=0.0)):
            break
        weights = 1.0 / sigma**2
    blocks = [np.sqrt(w) * inverse[:, columns] @ _root(P) for columns, P, w in zip(own, ZZ, weights, strict=True)]
    return Fit(values, weights, sigma, np.hstack(blocks), fit.condition_number)


def _products(pairs: Pairs, own: Sequence[np.ndarray], excluded: np.ndarray) -> list[list[np.ndarray]]:
    """Z^T K, the products that give the covariance of Z^T tau, and Z^T tau, of each force."""
    sums = [[np.zeros((len(c), len(c))), np.zeros((len(c), len(c))), np.zeros(len(c))] for c in own]
    for noisy, instruments in pairs:
        for rows, other in zip(noisy.pieces(), instruments.pieces(), strict=True):
            kept = ~excluded[rows.first : rows.first + len(rows.K)]
            for j, columns in enumerate(own):
                K, Z = (np.take(each.K[kept, j], columns, axis=1) for each in (rows, other))
                sums[j][0] += Z.T @ K
                sums[j][1] += len(pairs) * Z.T @ Z  # the halves of a recording share the noise of the forces
                sums[j][2] += Z.T @ rows.tau[kept, j]
    return sums


def _inverse(A: np.ndarray) -> np.ndarray:
    """Pseudo-inverse with rows and columns scaled alike."""
    scale = np.sqrt(np.maximum(np.abs(np.diag(A)), 1e-300))
    return np.linalg.pinv(A / np.outer(scale, scale), rcond=1e-12) / np.outer(scale, scale)


def _root(P: np.ndarray) -> np.ndarray:
    """X with X X^T = P, for a positive semidefinite P."""
    values, vectors = np.linalg.eigh(P)
    return vectors * np.sqrt(np.maximum(values, 0.0))
