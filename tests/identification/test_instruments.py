"""Instrumental variables remove the bias of least squares with noisy positions; parameters that are zero are dropped."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification import Estimator, Filtering
from appell.identification.essential import essential_parameters
from appell.identification.instruments import every_second

TERMS = ("viscous", "offset")
NOISE = 3e-4
"""Of the positions [rad], at 200 Hz: its second differences below 15 Hz are noise of about 0.5 rad/s²."""


@cache
def arm() -> appell.Robot:
    return appell.load("planar2r")


def recorded(seed: int, noise: float = NOISE):
    """Times, noisy positions and forces, and the commanded positions."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 30.0, 0.005)
    q, qd, qdd = appell.excitation(arm(), 10.0, 3, iterations=0, seed=1)(t)
    tau = arm().inverse_dynamics(q, qd, qdd) + 0.3 * qd
    tau = tau + 0.02 * np.abs(tau).mean(axis=0) * rng.normal(size=tau.shape)
    return (t, q + noise * rng.normal(size=q.shape), tau), q


def identified(seed: int, instruments=None, noise: float = NOISE):
    (t, q, tau), reference = recorded(seed, noise)
    estimator = Estimator(instruments=reference if instruments == "reference" else instruments)
    return appell.identify(arm(), t, q, tau, terms=TERMS, filtering=Filtering(15.0), estimator=estimator)


def deviations(instruments) -> np.ndarray:
    """Mean distance of the inertial base parameters from the truth over five recordings, in standard errors of one fit."""
    fits = [identified(seed, instruments) for seed in range(5)]
    truth = fits[0].base.of(np.concatenate([arm().parameters[:20], [0.3, 0.3], np.zeros(2)]))
    inertial = [k for k, name in enumerate(fits[0].base.base_names) if name.startswith("I")]
    assert inertial
    return np.mean([(fit.base_parameters - truth) / fit.standard_errors for fit in fits], axis=0)[inertial]


def test_noise_of_the_positions_biases_least_squares():
    assert np.abs(deviations(None)).max() > 4.0


@pytest.mark.parametrize("instruments", ["interleaved", "reference"])
def test_instruments_remove_the_bias(instruments):
    assert np.abs(deviations(instruments)).max() < 1.5


@pytest.mark.parametrize("instruments", ["interleaved", "reference"])
def test_without_noise_instruments_give_the_same_values_and_errors(instruments):
    least, own = identified(0, None, 1e-7), identified(0, instruments, 1e-7)
    assert_close(own.base_parameters, least.base_parameters, tolerance=1e-4)
    assert_close(own.standard_errors, least.standard_errors, tolerance=2e-2)
    assert "Instrumental variables" in str(own.table())


def test_every_second_sample_is_interpolated_by_cubics():
    t = np.arange(40.0)
    q = np.stack([t**3 - 2.0 * t, np.ones(40)], axis=1)
    rng = np.random.default_rng(0)
    segment = appell.identification.cleaning.Segment(t, q, q, None, np.ones(40, dtype=bool))
    for first in (0, 1):
        half = every_second(segment, first).q
        assert_close(half[4:-4], q[4:-4], tolerance=1e-13)
        noisy = q.copy()
        noisy[1 - first :: 2] += rng.normal(size=noisy[1 - first :: 2].shape)
        assert_close(every_second(replace(segment, q=noisy), first).q[4:-4], half[4:-4], tolerance=1e-13)


def test_dropping_is_least_squares_with_fewer_columns():
    rng = np.random.default_rng(1)
    K = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6))
    truth = np.array([3.0, 0.0, -2.0, 0.0, 0.0, 1.0])
    tau = K @ truth + 0.1 * rng.normal(size=200)
    values = np.linalg.lstsq(K, tau, rcond=None)[0]
    found = essential_parameters(values, 0.01 * np.linalg.inv(K.T @ K))
    assert found.kept.tolist() == [True, False, True, False, False, True]
    again, rest, *_ = np.linalg.lstsq(K[:, found.kept], tau, rcond=None)
    assert_close(found.values[found.kept], again, tolerance=1e-10)
    assert_close(
        found.covariance[np.ix_(found.kept, found.kept)],
        0.01 * np.linalg.inv(K[:, found.kept].T @ K[:, found.kept]),
        tolerance=1e-9,
    )
    before = np.sum((K @ values - tau) ** 2)
    assert 3 * found.statistic == pytest.approx((rest[0] - before) / 0.01, rel=1e-8)
    assert found.statistic < found.limit


def test_essential_parameters_of_an_arm(tmp_path):
    (t, q, tau), _ = recorded(0, 1e-5)
    options = {"terms": TERMS, "filtering": Filtering(15.0)}
    full = appell.identify(arm(), t, q, tau, **options)
    small = appell.identify(arm(), t, q, tau, estimator=Estimator(essential=True), **options)
    dropped = {name for name, kept in zip(full.base.base_names, full.essential.kept, strict=True) if not kept}
    assert {"offset[joint1]", "offset[joint2]"} & dropped
    assert not any(name.startswith("fv") for name in dropped)
    assert_close(small.base_parameters, full.essential.values, tolerance=1e-12)
    assert small.relative_error.total < 1.01 * full.relative_error.total
    full.report(tmp_path / "arm.html")
    assert "Essential parameters" in (tmp_path / "arm.html").read_text()


def test_options_that_do_not_go_together():
    with pytest.raises(appell.ArgumentError, match="instruments is 'odd', expected 'interleaved'"):
        Estimator(instruments="odd")
    with pytest.raises(appell.ArgumentError, match="instruments and weights='robust'"):
        Estimator(instruments="interleaved", weights="robust")
    (t, q, tau), _ = recorded(0)
    with pytest.raises(appell.ArgumentError, match=r"instruments have shape \(3, 2\), expected \(6000, 2\)"):
        appell.identify(arm(), t, q, tau, terms=TERMS, estimator=Estimator(instruments=q[:3]))
    with pytest.raises(appell.ArgumentError, match="physical=True does not go together with instruments"):
        appell.identify(arm(), t, q, tau, physical=True, estimator=Estimator(essential=True))
