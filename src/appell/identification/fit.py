"""Least squares in the base parameters: weights of the velocities, solver, uncertainty.

Any number of samples in little memory, by one R factor per generalized velocity: for the rows K_j of one velocity,
[K_j tau_j] = Q [R_j z_j; 0 ρ_j], and |K_j β - tau_j|² = |R_j β - z_j|² + ρ_j². The factor of the samples so far is stacked on
the next rows, so that each sample is processed once. A factor has only the columns that enter the force of its velocity.
Since the velocities have separate factors, they can be weighted afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from appell.checks import require_choice
from appell.errors import IdentificationError
from appell.identification.base import BaseParameters
from appell.identification.observations import Observations, Rows
from appell.identification.solvers import SOLVERS

WEIGHTINGS = {"equal": 0, "residual": 1, "iterated": 30, "robust": 30}
"""Maximum number of updates of the velocity weights from the residuals."""

HUBER_WIDTH, ROBUST_FITS = 1.345, 12
"""Standard deviations beyond which residuals count less in a robust fit, and the maximum number of its repetitions."""

EXCITATION_TOL = 1e-7
"""Parameter directions with a singular value smaller than this, relative to the largest, are not excited."""


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
        full = np.zeros((len(own) + 1, len(own) + 1))
        full[: len(corner)] = corner
        factors.append(QRFactor(own, full[:-1, :-1], full[:-1, -1], float(full[-1, -1] ** 2), float(energy)))
    return QRFactors(tuple(factors), used.shape[1], count)


@dataclass(frozen=True)
class Fit:
    """Base parameters `values` (b,), with weights and standard deviations `sigma` of the residuals of the velocities, (nv,).

    The weighted stacked system has the solution values = `operator` z, and this condition number with unit columns.
    """

    values: np.ndarray
    weights: np.ndarray
    sigma: np.ndarray
    operator: np.ndarray
    condition_number: float

    def covariance(self, data: QRFactors, correlation: np.ndarray) -> np.ndarray:
        """Covariance of the values for residuals with standard deviation sigma and these correlation times (nv,)."""
        noise = data.per_row(self.weights * self.sigma**2 * correlation)
        return (self.operator * noise) @ self.operator.T


def fit_observations(
    observations: Observations, solver: str, weights: str | np.ndarray, resting: Sequence[str] | None
) -> tuple[QRFactors, Fit]:
    """Unconstrained least squares; a robust fit is repeated with samples weighted by their residuals."""
    base, excluded = observations.base, observations.holdout_mask
    data = accumulate_qr(observations.pieces(), base.used, excluded)
    fit = fit_base_parameters(data, base, solver, weights, resting)
    for _ in range(ROBUST_FITS if isinstance(weights, str) and weights == "robust" else 0):
        samples = huber_weights(observations.forces - observations.predict(fit.values), excluded)
        data = accumulate_qr(observations.pieces(), base.used, excluded, samples)
        previous, fit = fit, fit_base_parameters(data, base, solver, weights, resting)
        if np.allclose(fit.values, previous.values, rtol=1e-6, atol=1e-9):
            break
    return data, fit


def fit_base_parameters(
    data: QRFactors, base: BaseParameters, solver: str, weights: str | np.ndarray, resting: Sequence[str] | None = ()
) -> Fit:
    """Solve with fixed weights, or update them from the residuals until they converge.

    `resting` are the joints that do not move, named in the error about unexcited parameters; None allows these.
    """
    require_choice("solver", solver, SOLVERS)
    if resting is not None:
        require_excitation(data, base, resting)
    if not isinstance(weights, str):
        return _solve(data, solver, np.asarray(weights, dtype=float))
    fit = _solve(data, solver, np.ones(len(data.factors)))
    for _ in range(WEIGHTINGS[require_choice("weights", weights, WEIGHTINGS)]):
        previous, fit = fit, _solve(data, solver, 1.0 / fit.sigma**2)
        if np.allclose(fit.sigma, previous.sigma, rtol=1e-10, atol=0.0):
            break
    return fit


def huber_weights(residuals: np.ndarray, excluded: np.ndarray) -> np.ndarray:
    """Huber weights of samples (n, nv): 1 up to 1.345 standard deviations (from the median), then as 1 / |residual|."""
    scale = np.maximum(np.median(np.abs(residuals[~excluded]), axis=0) / 0.6745, np.finfo(float).tiny)
    return np.minimum(1.0, HUBER_WIDTH * scale / np.maximum(np.abs(residuals), np.finfo(float).tiny))


def correlation_times(residuals: np.ndarray) -> np.ndarray:
    """Number of consecutive samples per independent one, for each column of residuals (N, n): 1 + 2 Σ ρ_k.

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


def _solve(data: QRFactors, solver: str, weights: np.ndarray) -> Fit:
    A, z = data.stacked(weights)
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0.0] = 1.0
    rest = float(sum(weight * factor.rest for weight, factor in zip(weights, data.factors, strict=True)))
    G = SOLVERS[solver](A / scale, z, rest, data.count * len(data.factors)) / scale[:, None]
    values = G @ z
    singular = np.linalg.svd(A / scale, compute_uv=False)
    return Fit(values, weights, _sigma(data, A, G, values), G, float(singular[0] / max(singular[-1], 1e-300)))


def _sigma(data: QRFactors, A: np.ndarray, G: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Root of residual / (samples - degrees of freedom used for this velocity); never below rounding."""
    leverage = np.einsum("rb,br->r", A, G)
    edges = np.cumsum([0, *(len(factor.R) for factor in data.factors)])
    used = np.array([leverage[a:b].sum() for a, b in pairwise(edges)])
    rounding = 1e-24 * max(factor.power for factor in data.factors)
    return np.sqrt(np.maximum(data.residuals(values), rounding) / np.maximum(data.count - used, 1.0))


def require_excitation(data: QRFactors, base: BaseParameters, resting: Sequence[str]) -> None:
    """Raise if the motion does not determine some parameters, with their names."""
    without_effect, combined = unexcited_parameters(data)
    if not without_effect and not combined:
        return
    names = base.base_names
    alone, mixed = (", ".join(names[k] for k in indices) or "none" for indices in (without_effect, combined))
    stuck = f"Joints that do not move, or whose encoders are stuck: {', '.join(resting)}. " if resting else ""
    raise IdentificationError(
        f"the motion does not excite {len(without_effect) + len(combined)} of {len(names)} base parameters. Without effect: "
        f"{alone}. Identifiable only in combination: {mixed}. {stuck}Record a motion of appell.excitation, in which every "
        "joint moves in both directions and accelerates, or fit with physical=True, which keeps the prior where the motion "
        "has no information."
    )


def unexcited_parameters(data: QRFactors) -> tuple[list[int], list[int]]:
    """Base parameters without any effect on the motion, and those that appear in combinations only."""
    A, _ = data.stacked(np.ones(len(data.factors)))
    scale = np.linalg.norm(A, axis=0)
    zero = scale <= 1e-9 * scale.max(initial=0.0)
    without_effect, others = [int(k) for k in np.flatnonzero(zero)], np.flatnonzero(~zero)
    if not len(others):
        return without_effect, []
    _, S, Vt = np.linalg.svd(A[:, others] / scale[others])
    singular = np.zeros(len(others))
    singular[: len(S)] = S
    null_space = Vt[singular <= EXCITATION_TOL * S[0]]
    combined = others[(np.abs(null_space) > 1e-5).any(axis=0)] if len(null_space) else others[:0]
    return without_effect, [int(k) for k in combined]
