"""Parameters improved by simulated motion: no bias from noisy positions."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification import Coulomb, Filtering, polish
from appell.identification.recording import Recording

TRUTH = {"fv": 0.3, "fc": 0.2}


@cache
def arm() -> appell.Robot:
    return appell.load("planar2r")


def recorded(seed: int, noise: float) -> Recording:
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 20.0, 0.005)
    q, qd, qdd = appell.excitation(arm(), 10.0, 3, iterations=0, seed=1)(t)
    tau = arm().inverse_dynamics(q, qd, qdd) + TRUTH["fv"] * qd + TRUTH["fc"] * np.tanh(qd / 0.1)
    tau = tau + 0.01 * np.abs(tau).mean(axis=0) * rng.normal(size=tau.shape)
    return Recording(t, q + noise * rng.normal(size=q.shape), tau)


def identified(recording: Recording):
    return appell.identify(arm(), recording, terms=("viscous", Coulomb(0.1)), filtering=Filtering(15.0))


def test_noise_of_the_positions_causes_no_bias():
    recording = recorded(1, 3e-4)
    fit = identified(recording)
    better = polish(fit, recording)
    truth = fit.base.of(np.concatenate([arm().parameters[:20], np.full(2, TRUTH["fv"]), np.full(2, TRUTH["fc"])]))
    before, after = (np.abs(each.base_parameters - truth) for each in (fit, better))
    inertial = [name.startswith("I") for name in fit.base.base_names]
    assert (before[inertial] > 5.0 * fit.standard_errors[inertial]).all()
    assert (after[inertial] < 0.2 * before[inertial]).all()
    assert (after < 4.0 * better.standard_errors).all()
    assert_close(better.base.of(better.parameters), better.base_parameters, tolerance=1e-9)
    assert better.validate(recorded(2, 1e-5)).filtered.total < fit.validate(recorded(2, 1e-5)).filtered.total
    assert "positions simulated over 0.2 s" in better.steps[-1]


def test_the_start_is_kept_where_it_is_right():
    recording = recorded(0, 1e-7)
    fit = identified(recording)
    better = polish(fit, recording)
    assert (
        np.abs(better.base_parameters - fit.base_parameters) < 4.0 * (better.standard_errors + fit.standard_errors)
    ).all()


def test_windows_must_be_within_the_recording():
    recording = recorded(0, 1e-5)
    with pytest.raises(appell.IdentificationError, match="no recording has 100 s without gaps"):
        polish(identified(recording), recording, window=100.0)
