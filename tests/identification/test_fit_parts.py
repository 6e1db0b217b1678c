"""Fits of observations against least squares on all rows: folds, held-out and untrusted samples, robust weights, ridge."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification.base import base_parameters
from appell.identification.fit import (
    MAX_UNEXCITED,
    QRFactor,
    QRFactors,
    accumulate_qr,
    correlation_times,
    fit_observations,
    huber_weights,
    require_excitation,
    solve_factors,
    unexcited_parameters,
)
from appell.identification.observations import Rows
from appell.identification.solvers import SOLVERS


@cache
def planar_base():
    return base_parameters(appell.load("planar2r"))


class Observed:
    """Rows (90, 2, 6) of two forces, some held out, some not trusted, in three folds."""

    def __init__(self, noise=(0.1, 1.0)):
        rng = np.random.default_rng(0)
        self.base = planar_base()
        self.used = np.ones((2, 6), dtype=bool)
        self.K = rng.normal(size=(90, 2, 6))
        self.forces = self.K @ np.arange(1.0, 7.0) + rng.normal(size=(90, 2)) * noise
        self.holdout_mask, self.trusted = np.arange(90) % 5 == 4, np.arange(90) % 7 != 3
        self.forces[~self.trusted] += 1e3
        self.shares: list[float] = []

    def fold(self, count):
        assert count == 5
        return np.arange(90) // 30

    def pieces(self, report=None):
        return [Rows(0, self.K[:40], self.forces[:40]), Rows(40, self.K[40:], self.forces[40:])]

    def predict(self, values):
        return self.K @ values


def weighted(K, tau, weights):
    roots = np.sqrt(np.broadcast_to(weights, tau.shape))
    return np.linalg.lstsq((roots[..., None] * K).reshape(-1, K.shape[-1]), (roots * tau).ravel(), rcond=None)[0]


def test_a_fit_leaves_out_what_is_held_out_or_not_trusted():
    """Each fold, held-out samples included, is predicted from the others with the weights of the fit."""
    rows = Observed()
    data, fit, cross = fit_observations(rows, "qr", "iterated", [])  # type: ignore[arg-type]
    fitted = rows.trusted & ~rows.holdout_mask
    assert data.count == fitted.sum()
    assert_close(fit.values, weighted(rows.K[fitted], rows.forces[fitted], fit.weights), tolerance=1e-9)
    expected, fold = np.zeros((2, 2)), np.arange(90) // 30
    for k in range(3):
        own, others = rows.trusted & (fold == k), rows.trusted & (fold != k)
        values = weighted(rows.K[others], rows.forces[others], fit.weights)
        rest = rows.K[own] @ values - rows.forces[own]
        expected += [(rest**2).sum(axis=0), (rows.forces[own] ** 2).sum(axis=0)]
    assert_close(cross, expected, tolerance=1e-9)


def test_a_robust_fit_has_the_weights_of_its_own_residuals():
    """Outliers of one sample in ten: samples count as Huber's weights of the residuals that they leave."""
    rows = Observed()
    rows.forces[::10, 0] += 5.0
    data, fit, cross = fit_observations(rows, "qr", "robust", [])  # type: ignore[arg-type]
    excluded = rows.holdout_mask | ~rows.trusted
    samples = huber_weights(rows.forces - rows.predict(fit.values), excluded)[~excluded]
    again = weighted(rows.K[~excluded], rows.forces[~excluded], samples * fit.weights)
    assert_close(fit.values, again, tolerance=1e-5)
    assert np.abs(fit.values - np.arange(1.0, 7.0)).max() < 0.1
    plain, least, other = fit_observations(rows, "qr", "iterated", [])  # type: ignore[arg-type]
    assert_close(cross, other)
    assert np.abs(least.values - np.arange(1.0, 7.0)).max() > 0.2
    assert data.residuals(fit.values)[0] < 0.2 * plain.residuals(fit.values)[0]


def test_repetitions_of_a_robust_fit(monkeypatch):
    """At most twelve, fewer once the values stay."""
    rows, calls = Observed(), []
    monkeypatch.setattr("appell.identification.fit.huber_weights", lambda residuals, excluded: changing(calls))
    fit_observations(rows, "qr", "robust", [])  # type: ignore[arg-type]
    assert len(calls) == 12
    calls.clear()
    monkeypatch.setattr("appell.identification.fit.huber_weights", lambda *given: calls.append(1) or np.ones((90, 2)))
    fit_observations(rows, "qr", "robust", [])  # type: ignore[arg-type]
    assert len(calls) == 1


def changing(calls):
    calls.append(1)
    return np.random.default_rng(len(calls)).uniform(0.1, 1.0, (90, 2))


def correlated(x):
    """1 + 2 Σ ρ_k by sums over pairs of samples; up to the first ρ below 0.05, at lags below half of the samples."""
    x = x - x.mean()
    total, k = 1.0, 1
    while k < len(x) // 2 and (rho := (x[k:] * x[:-k]).sum() / (x * x).sum()) >= 0.05:
        total, k = total + 2.0 * rho, k + 1
    return total


@pytest.mark.parametrize("count", [2, 3, 8, 9, 33, 64])
def test_correlation_times_of_few_samples(count):
    rng = np.random.default_rng(count)
    x = np.stack([np.convolve(rng.normal(size=count + w), np.ones(w + 1), mode="valid") for w in (0, 3, 9)], axis=1)
    x *= 1e-3
    assert_close(correlation_times(x), np.array([correlated(column) for column in x.T]), tolerance=1e-10)


def test_ridge_regression_of_weighted_factors_is_that_of_all_rows():
    """The squares that no value removes count for generalized cross-validation."""
    rng = np.random.default_rng(3)
    K = rng.normal(size=(50, 2, 3))
    K[..., 2] = K[..., 0] + 2e-4 * K[..., 2]
    tau = K @ np.array([1.0, 2.0, 3.0]) + 0.5 * rng.normal(size=(50, 2))
    weights = np.array([4.0, 0.25])
    data = accumulate_qr([Rows(0, K, tau)], np.ones((2, 3), dtype=bool), np.zeros(50, dtype=bool))
    A = (np.sqrt(weights)[:, None] * K).reshape(-1, 3)
    z = (np.sqrt(weights) * tau).ravel()
    scale = np.linalg.norm(A, axis=0)
    expected = SOLVERS["ridge"](A / scale, z, 0.0, 100) @ z / scale
    found = solve_factors(data, "ridge", weights)
    assert_close(found.values, expected, tolerance=1e-6)
    assert np.linalg.norm(expected) < 0.5 * np.linalg.norm(np.linalg.lstsq(A, z, rcond=None)[0])


def test_as_many_samples_as_parameters_leave_one_degree_of_freedom():
    rng = np.random.default_rng(0)
    K, tau = rng.normal(size=(4, 1, 4)), rng.normal(size=(4, 1))
    data = accumulate_qr([Rows(0, K, tau)], np.ones((1, 4), dtype=bool), np.zeros(4, dtype=bool))
    fit = solve_factors(data, "svd", np.ones(1))
    assert fit.sigma[0] ** 2 / (1e-24 * (tau**2).sum()) == pytest.approx(1.0, rel=1e-2)
    zero = accumulate_qr([Rows(0, 0.0 * K, tau)], np.ones((1, 4), dtype=bool), np.zeros(4, dtype=bool))
    assert not solve_factors(zero, "svd", np.ones(1)).values.any()


@pytest.mark.parametrize(("share", "combined"), [(1e-4, [0, 1, 2]), (1e-6, [0, 2])])
def test_parameters_of_a_combination(share, combined):
    """Those with more than 1e-5 of its length."""
    A = np.linalg.qr(np.random.default_rng(2).normal(size=(50, 4)))[0]
    A[:, 2] = A[:, 0] + share * A[:, 1]
    data = QRFactors((QRFactor(np.arange(4), np.linalg.qr(A, mode="r"), np.zeros(4), 0.0, 1.0),), 4, 50)
    assert unexcited_parameters(data) == ([], combined)
    small = QRFactors((QRFactor(np.arange(4), 1e-12 * data.factors[0].R, np.zeros(4), 0.0, 1.0),), 4, 50)
    assert unexcited_parameters(small) == ([], combined)
    few = QRFactors((QRFactor(np.arange(4), A[:2], np.zeros(2), 0.0, 1.0),), 4, 2)
    assert unexcited_parameters(few)[1]


@pytest.mark.parametrize(("count", "error"), [(1, False), (2, True)])
def test_a_quarter_of_the_parameters_may_be_unexcited(count, error):
    """Of six parameters one is less, two are more."""
    A = np.eye(6)
    A[:count] = 0.0
    data = QRFactors((QRFactor(np.arange(6), A, np.zeros(6), 0.0, 1.0),), 6, 50)
    if error:
        with pytest.raises(appell.IdentificationError, match="does not excite 2 of 6"):
            require_excitation(data, planar_base(), [], MAX_UNEXCITED)
    else:
        require_excitation(data, planar_base(), [], MAX_UNEXCITED)
        with pytest.raises(appell.IdentificationError, match="does not excite 1 of 6"):
            require_excitation(data, planar_base(), [])
