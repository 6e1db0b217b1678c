"""Least squares: covariance, degrees of freedom, and what counts as excited, against direct formulas."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification.base import base_parameters
from appell.identification.fit import (
    QRFactor,
    QRFactors,
    _cross_validated,
    accumulate_groups,
    accumulate_qr,
    correlation_times,
    fit_base_parameters,
    huber_weights,
    merged,
    require_excitation,
    solve_factors,
    unexcited_parameters,
)
from appell.identification.observations import Rows
from appell.identification.solvers import SOLVERS
from appell.robot.regressor_terms import CustomTerm


def regression(samples: int = 40, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Regressor (n, 1, 6) and forces (n, 1) of one joint, noise 0.3."""
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(samples, 1, 6))
    return K, (K @ np.arange(6.0)) + 0.3 * rng.normal(size=(samples, 1))


def factors_of(K: np.ndarray, tau: np.ndarray, group: np.ndarray | None = None) -> list[QRFactors]:
    used = np.ones(K.shape[1:], dtype=bool)
    group = np.zeros(len(K), dtype=int) if group is None else group
    return accumulate_groups([Rows(0, K, tau)], used, group, int(group.max()) + 1)


def test_covariance_and_degrees_of_freedom_of_one_joint():
    """s² (K^T K)⁻¹ with s² = |residual|² / (n - p): 40 samples and 6 parameters."""
    K, tau = regression()
    (data,) = factors_of(K, tau)
    fit = solve_factors(data, "qr", np.ones(1))
    A, z = K[:, 0], tau[:, 0]
    values, rest, *_ = np.linalg.lstsq(A, z, rcond=None)
    assert_close(fit.values, values, tolerance=1e-12)
    assert fit.sigma[0] ** 2 == pytest.approx(rest[0] / (40 - 6), rel=1e-12)
    expected = rest[0] / (40 - 6) * np.linalg.inv(A.T @ A)
    assert_close(fit.covariance(data, np.ones(1)), expected, tolerance=1e-11)
    assert_close(fit.covariance(data, np.array([2.5])), 2.5 * expected, tolerance=1e-11)


def test_groups_together_are_the_whole():
    K, tau = regression(90)
    (whole,) = factors_of(K, tau)
    parts = factors_of(K, tau, np.arange(90) % 3)
    assert [part.count for part in parts] == [30, 30, 30]
    again = merged(parts)
    values = np.linspace(0.0, 1.0, 6)
    assert_close(again.residuals(values), whole.residuals(values), tolerance=1e-12)
    assert_close(sum(part.residuals(values) for part in parts), whole.residuals(values), tolerance=1e-12)
    assert again.factors[0].power == pytest.approx(whole.factors[0].power, rel=1e-12)


@pytest.mark.parametrize(("difference", "excited"), [(1e-5, True), (1e-9, False)])
def test_columns_that_differ_by_less_than_one_in_ten_million_are_not_excited(difference, excited):
    rng = np.random.default_rng(2)
    A = rng.normal(size=(50, 3))
    A = np.column_stack([A, A[:, 0] + difference * rng.normal(size=50)])
    R = np.linalg.qr(A, mode="r")
    data = QRFactors((QRFactor(np.arange(4), R, np.zeros(4), 0.0, 1.0),), 4, 50)
    assert unexcited_parameters(data) == ([], [] if excited else [0, 3])


def test_a_rank_without_a_gap_is_an_error():
    """Columns whose distances from each other decrease by a thousand each: no number of base parameters is certain."""

    def columns(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        added = np.zeros((len(q), 2, 5))
        for k in range(5):
            added[:, 0, k] = np.cos(q[:, 0]) + 10.0 ** (-3 * k - 1) * np.sin((k + 1) * q[:, 1])
        return added

    with pytest.raises(appell.IdentificationError, match=r"is uncertain: rank .* Expected a gap above 1e\+04"):
        base_parameters(appell.load("planar2r"), [CustomTerm(tuple("abcde"), columns)])


def two_joints(samples: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Two joints with shared parameters and noise of 0.1 and 2."""
    rng = np.random.default_rng(4)
    K = rng.normal(size=(samples, 2, 4))
    return K, K @ np.array([1.0, -2.0, 3.0, 0.5]) + rng.normal(size=(samples, 2)) * [0.1, 2.0]


def weighted(K: np.ndarray, tau: np.ndarray, weights: np.ndarray) -> np.ndarray:
    roots = np.sqrt(np.broadcast_to(weights, tau.shape))
    return np.linalg.lstsq((roots[..., None] * K).reshape(-1, K.shape[-1]), (roots * tau).reshape(-1), rcond=None)[0]


@pytest.fixture(scope="module")
def base():
    return base_parameters(appell.load("planar2r"))


def test_weights_of_the_joints(base):
    """None, those of one fit, and those of the variances that the weighted fit itself leaves."""
    K, tau = two_joints()
    (data,) = factors_of(K, tau)
    assert_close(
        fit_base_parameters(data, base, "qr", "equal", None).values, weighted(K, tau, np.ones(2)), tolerance=1e-10
    )
    first = fit_base_parameters(data, base, "qr", "equal", None)
    again = fit_base_parameters(data, base, "qr", "residual", None)
    assert_close(again.weights, 1.0 / first.sigma**2, tolerance=1e-10)
    assert_close(again.values, weighted(K, tau, 1.0 / first.sigma**2), tolerance=1e-10)
    final = fit_base_parameters(data, base, "svd", "iterated", None)
    assert_close(final.weights * final.sigma**2, np.ones(2), tolerance=1e-8)
    given = fit_base_parameters(data, base, "qr", np.array([4.0, 1.0]), None)
    assert_close(given.values, weighted(K, tau, np.array([4.0, 1.0])), tolerance=1e-10)
    unit = np.concatenate([2.0 * K[:, 0], K[:, 1]])
    assert given.condition_number == pytest.approx(np.linalg.cond(unit / np.linalg.norm(unit, axis=0)))


def test_samples_with_weights_and_without(base):
    K, tau = two_joints()
    weights = np.random.default_rng(0).uniform(0.1, 2.0, tau.shape)
    excluded = np.arange(60) % 7 == 0
    pieces = [Rows(0, K[:25], tau[:25]), Rows(25, K[25:], tau[25:])]
    data = accumulate_qr(pieces, np.ones((2, 4), dtype=bool), excluded, weights)
    fit = solve_factors(data, "qr", np.ones(2))
    assert_close(fit.values, weighted(K[~excluded], tau[~excluded], weights[~excluded]), tolerance=1e-10)
    assert data.count == (~excluded).sum()
    assert_close([factor.power for factor in data.factors], (tau[~excluded] ** 2).sum(axis=0), tolerance=1e-10)


def test_columns_that_a_joint_does_not_use_are_left_out():
    K, tau = two_joints()
    used = np.array([[1, 1, 0, 1], [0, 1, 1, 1]], dtype=bool)
    (data,) = accumulate_groups([Rows(0, K * used, tau)], used, np.zeros(60, dtype=int), 1)
    assert [len(factor.columns) for factor in data.factors] == [3, 3]
    values = solve_factors(data, "qr", np.ones(2)).values
    assert_close(values, weighted(K * used, tau, np.ones(2)), tolerance=1e-10)
    assert_close(data.residuals(values), (((K * used) @ values - tau) ** 2).sum(axis=0), tolerance=1e-10)


def test_each_pair_of_groups_is_predicted_from_the_others():
    """Groups 2 k and 2 k + 1 are a fold and what is held out of it."""
    K, tau = two_joints()
    group = np.arange(60) % 6
    parts = factors_of(K, tau, group)
    expected = np.zeros((2, 2))
    for k in (0, 2, 4):
        own = (group == k) | (group == k + 1)
        values = weighted(K[~own], tau[~own], np.array([3.0, 1.0]))
        expected += [((K[own] @ values - tau[own]) ** 2).sum(axis=0), (tau[own] ** 2).sum(axis=0)]
    assert_close(_cross_validated(parts, np.array([3.0, 1.0])), expected, tolerance=1e-9)
    assert not _cross_validated(parts[:2], np.ones(2)).any()


def test_huber_weights():
    """1 up to 1.345 standard deviations, which are the median / 0.6745 of the used samples."""
    residuals = np.array([[-1.0], [2.0], [1.0], [-4.0], [100.0]])
    excluded = np.array([0, 0, 0, 0, 1], dtype=bool)
    limit = 1.345 * 1.5 / 0.6745
    assert_close(
        huber_weights(residuals, excluded),
        np.array([[1.0], [1.0], [1.0], [limit / 4.0], [limit / 100.0]]),
        tolerance=1e-12,
    )


def test_correlation_times():
    """1 + 2 ρ / (1 - ρ) for noise that is remembered by ρ; 1 for white noise and for no signal."""
    rng = np.random.default_rng(0)
    count, memory = 40_000, 0.8
    x = np.zeros((count, 3))
    x[:, 0] = rng.normal(size=count) + 5.0
    for k in range(1, count):
        x[k, 1] = memory * x[k - 1, 1] + rng.normal()
    found = correlation_times(x)
    assert found[0] == pytest.approx(1.0, abs=0.05)
    assert found[1] == pytest.approx((1 + memory) / (1 - memory), rel=0.1)
    assert found[2] == 1.0
    blocks = np.repeat(rng.choice([-1.0, 1.0], 4000), 4)[:, None]  # ρ = 3/4, 1/2, 1/4
    assert correlation_times(blocks)[0] == pytest.approx(4.0, rel=0.05)


def test_the_condition_number_of_shown_directions():
    R = np.array([[3.0, 3.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    factor = QRFactor(np.arange(3), R, np.zeros(3), 0.0, 1.0)
    unit = np.array([[1.0, 0.6], [0.0, 0.8]])
    assert factor.condition_number == pytest.approx(np.linalg.cond(unit))
    assert QRFactor(np.arange(3), 0.0 * R, np.zeros(3), 0.0, 1.0).condition_number == 1.0
    double = np.array([[1.0, 1.0], [0.0, 1e-9]])
    assert QRFactor(np.arange(2), double, np.zeros(2), 0.0, 1.0).condition_number == pytest.approx(1.0)
    assert factor.residual(np.array([1.0, 1.0, 9.0])) == pytest.approx(36.0 + 16.0)


@pytest.mark.parametrize(("size", "shown"), [(1e-8, True), (1e-10, False)])
def test_columns_without_effect(size, shown, base):
    rng = np.random.default_rng(2)
    A = np.linalg.qr(rng.normal(size=(50, 6)) * [1.0, 1.0, size, 1.0, 1.0, 1.0], mode="r")
    data = QRFactors((QRFactor(np.arange(6), A, np.zeros(6), 0.0, 1.0),), 6, 50)
    assert unexcited_parameters(data) == ([] if shown else [2], [])
    if not shown:
        with pytest.raises(
            appell.IdentificationError, match=r"does not excite 1 of 6 .* only in combination: none\. Joints .*: a, b\."
        ):
            require_excitation(data, base, ["a", "b"], 0.16)
    require_excitation(data, base, [], 0.17)
    nothing = QRFactors((QRFactor(np.arange(6), 0.0 * A, np.zeros(6), 0.0, 1.0),), 6, 50)
    assert unexcited_parameters(nothing) == ([0, 1, 2, 3, 4, 5], [])


def test_a_perfect_fit_has_the_noise_of_rounding():
    K, _ = two_joints()
    (data,) = factors_of(K, K @ np.ones(4))
    power = max(factor.power for factor in data.factors)
    fit = solve_factors(data, "qr", np.ones(2))
    assert (fit.sigma**2 * 60 >= 1e-24 * power).all()
    assert (fit.sigma**2 * 60 < 1e-22 * power).all()


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_invert_full_columns(name):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 4))
    assert_close(SOLVERS[name](A, rng.normal(size=30), 0.0, 30), np.linalg.pinv(A), tolerance=1e-10)


@pytest.mark.parametrize("name", ["svd", "pinv"])
def test_the_least_of_many_solutions(name):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 4))
    A[:, 3] = A[:, 0] + A[:, 1]
    assert_close(SOLVERS[name](A, np.ones(30), 0.0, 30), np.linalg.pinv(A, rcond=1e-10), tolerance=1e-7)


@pytest.mark.parametrize(("ratio", "rank"), [(1e-5, 3), (1e-9, 2)])
def test_the_rank_of_singular_values(ratio, rank):
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.normal(size=(9, 3)))[0], np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert np.linalg.matrix_rank(SOLVERS["svd"]((U * [1.0, 0.5, ratio]) @ V.T, np.ones(9), 0.0, 9), tol=1e-3) == rank


@pytest.mark.parametrize(
    ("small", "regular", "seed"), [(1.2e-3, True, 1), *((5e-4, False, seed) for seed in range(8)), (9e-4, False, 8)]
)
def test_ridge_regression_minimizes_generalized_cross_validation(small, regular, seed):
    rng = np.random.default_rng(seed)
    U, V = np.linalg.qr(rng.normal(size=(12, 3)))[0], np.linalg.qr(rng.normal(size=(3, 3)))[0]
    S, count, rest = 2.0 * np.array([1.0, 0.3, small]), 14, 0.7 * 10.0 ** (-seed)
    A = (U * S) @ V.T
    z = A @ rng.normal(size=3) + 10.0 ** rng.uniform(-4.0, 0.0) * rng.normal(size=12)
    found = SOLVERS["ridge"](A, z, rest, count)
    if regular:
        assert_close(found, np.linalg.pinv(A), tolerance=1e-9)
        return

    def gcv(level):
        G = np.linalg.solve(A.T @ A + level * np.eye(3), A.T)
        return count * (((A @ G @ z - z) ** 2).sum() + rest) / (count - np.trace(A @ G)) ** 2

    levels = 4.0 * np.logspace(-16, 1, 120)
    best = levels[int(np.argmin([gcv(level) for level in levels]))]
    assert_close(found, np.linalg.solve(A.T @ A + best * np.eye(3), A.T), tolerance=1e-6)
