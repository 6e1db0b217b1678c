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
from appell.identification.observations import FOLDS, Observations, ProgressCallback, Rows, ignore
from appell.identification.solvers import SOLVERS

WEIGHTINGS = {"equal": 0, "residual": 1, "iterated": 30, "robust": 30}
"""Maximum number of updates of the velocity weights from the residuals."""

HUBER_WIDTH, ROBUST_FITS = 1.345, 12
"""Standard deviations beyond which residuals count less in a robust fit, and the maximum number of its repetitions."""

EXCITATION_TOL = 1e-7
"""Parameter directions with a singular value smaller than this, relative to the largest, are not excited."""
MAX_UNEXCITED = 0.25
"""Share of parameters that may be unexcited without an error, where that is allowed."""


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

    @property
    def condition_number(self) -> float:
        """Condition number of the rows, columns of unit length, among the directions that they show at all."""
        scale = np.linalg.norm(self.R, axis=0)
        singular = np.linalg.svd(self.R[:, scale > 0] / scale[scale > 0], compute_uv=False)
        shown = singular[singular > EXCITATION_TOL * singular.max(initial=0.0)]
        return float(shown[0] / shown[-1]) if len(shown) else 1.0


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
    return accumulate_groups(pieces, used, np.where(excluded, -1, 0), 1, weights)[0]


def accumulate_groups(
    pieces: Iterable[Rows], used: np.ndarray, group: np.ndarray, groups: int, weights: np.ndarray | None = None
) -> list[QRFactors]:
    """The R factors of each group of samples; `group` (n,) has their numbers, -1 for samples that are not used."""
    columns = [np.flatnonzero(row) for row in used]
    R = [[np.zeros((0, len(own) + 1)) for own in columns] for _ in range(groups)]
    count, power = np.zeros(groups, dtype=int), np.zeros((groups, len(used)))
    for rows in pieces:
        samples = slice(rows.first, rows.first + len(rows.K))
        for g in np.unique(group[samples]):
            if g < 0:
                continue
            kept = group[samples] == g
            count[g] += int(kept.sum())
            roots = None if weights is None else np.sqrt(weights[samples][kept])
            for j, own in enumerate(columns):
                tau = rows.tau[kept, j]
                power[g, j] += tau @ tau
                added = np.column_stack([np.take(rows.K[kept, j], own, axis=1), tau])
                added = added if roots is None else roots[:, j, None] * added
                R[g][j] = np.asarray(np.linalg.qr(np.concatenate([R[g][j], added]), mode="r"))
    return [
        QRFactors(
            tuple(_factor(*each) for each in zip(columns, R[g], power[g], strict=True)), used.shape[1], int(count[g])
        )
        for g in range(groups)
    ]


def _factor(columns: np.ndarray, corner: np.ndarray, power: float) -> QRFactor:
    """The factor of a triangle with the forces as its last column."""
    full = np.zeros((len(columns) + 1, len(columns) + 1))
    full[: len(corner)] = corner
    return QRFactor(columns, full[:-1, :-1], full[:-1, -1], float(full[-1, -1] ** 2), float(power))


def merged(parts: Sequence[QRFactors]) -> QRFactors:
    """The factors of all samples of several groups."""
    if len(parts) == 1:
        return parts[0]
    factors = []
    for own in zip(*(part.factors for part in parts), strict=True):
        size = len(own[0].columns)
        rows = [np.block([[f.R, f.z[:, None]], [np.zeros((1, size)), np.array([[np.sqrt(f.rest)]])]]) for f in own]
        corner = np.asarray(np.linalg.qr(np.concatenate(rows), mode="r"))
        factors.append(_factor(own[0].columns, corner, sum(f.power for f in own)))
    return QRFactors(tuple(factors), parts[0].size, sum(part.count for part in parts))


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
    observations: Observations,
    solver: str,
    weights: str | np.ndarray,
    resting: Sequence[str] | None,
    report: ProgressCallback = ignore,
) -> tuple[QRFactors, Fit, np.ndarray]:
    """Unconstrained least squares; a robust fit is repeated with samples weighted by their residuals.

    Also returns squared residuals and powers of the forces in cross-validation, (2, nv): each fold is predicted from the
    others.
    """
    base, used = observations.base, observations.used
    excluded = observations.holdout_mask | ~observations.trusted
    fold = observations.fold(FOLDS)
    group = np.where(observations.trusted, 2 * fold + observations.holdout_mask, -1)
    parts = accumulate_groups(observations.pieces(report), used, group, 2 * int(fold.max(initial=0)) + 2)
    data = merged([part for part in parts[::2] if part.count])
    fit = fit_base_parameters(data, base, solver, weights, resting)
    cross = _cross_validated(parts, fit.weights)
    for _ in range(ROBUST_FITS if isinstance(weights, str) and weights == "robust" else 0):
        samples = huber_weights(observations.forces - observations.predict(fit.values), excluded)
        data = accumulate_qr(observations.pieces(), used, excluded, samples)
        previous, fit = fit, fit_base_parameters(data, base, solver, weights, resting)
        if np.allclose(fit.values, previous.values, rtol=1e-6, atol=1e-9):
            break
    return data, fit, cross


def _cross_validated(parts: Sequence[QRFactors], weights: np.ndarray) -> np.ndarray:
    """Squared residuals and powers of the forces of each velocity when each pair of groups is predicted from the others."""
    totals = np.zeros((2, len(weights)))
    for k in range(0, len(parts), 2):
        own = [part for part in parts[k : k + 2] if part.count]
        others = [part for part in (*parts[:k], *parts[k + 2 :]) if part.count]
        if own and others:
            values = solve_factors(merged(others), "svd", weights).values
            totals[0] += sum(part.residuals(values) for part in own)
            totals[1] += [sum(part.factors[j].power for part in own) for j in range(len(weights))]
    return totals


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
        return solve_factors(data, solver, np.asarray(weights, dtype=float))
    fit = solve_factors(data, solver, np.ones(len(data.factors)))
    for _ in range(WEIGHTINGS[require_choice("weights", weights, WEIGHTINGS)]):
        previous, fit = fit, solve_factors(data, solver, 1.0 / fit.sigma**2)
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


def solve_factors(data: QRFactors, solver: str, weights: np.ndarray) -> Fit:
    """Weighted least squares with fixed weights."""
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


def require_excitation(data: QRFactors, base: BaseParameters, resting: Sequence[str], allowed: float = 0.0) -> None:
    """Raise if the motion does not determine some parameters, more than the allowed share, with their names."""
    without_effect, combined = unexcited_parameters(data)
    if len(without_effect) + len(combined) <= allowed * len(base):
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
