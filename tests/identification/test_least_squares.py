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
    accumulate_groups,
    merged,
    solve_factors,
    unexcited_parameters,
)
from appell.identification.observations import Rows
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
