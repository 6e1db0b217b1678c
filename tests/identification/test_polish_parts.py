"""Each step of a simulated fit against SciPy or its definition: windows, simulation, first states, minimum, covariance."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close
from scipy.integrate import solve_ivp

import appell
from appell.identification import Filtering, Recording, polish
from appell.identification.base import base_parameters
from appell.identification.cleaning import Segment
from appell.identification.polish import SimulatedModel, Windows, _eliminated, _inverse, recorded_windows
from appell.identification.recorded_motion import filtered_motion
from appell.robot.regressor_terms import Coulomb, CustomTerm, Rotor, Viscous

module = sys.modules["appell.identification.polish"]


@cache
def arm() -> appell.Robot:
    return appell.load("planar2r")


# --- windows ------------------------------------------------------------------------------------------------------------------


def fit_of(cutoff=None, lag=0.0):
    return SimpleNamespace(nominal_robot=arm(), transmission=None, cutoff=cutoff, lag=lag)


def swing(count, period):
    t = period * np.arange(count)
    q = np.stack([np.sin(3.0 * t), np.cos(2.0 * t)], axis=1)
    return Recording(t, q, np.stack([np.cos(t), 2.0 + np.sin(5.0 * t)], axis=1))


def test_windows_of_recorded_samples():
    """Four samples at each end are cut; a window of 0.2 s has 20 samples, and the rest is left out."""
    given = swing(115, 0.01)
    motion = filtered_motion(arm(), Segment(given.t, given.q, given.tau, None, np.ones(115, dtype=bool)), None)
    (found,) = recorded_windows(fit_of(), given, 0.2)  # type: ignore[arg-type]
    assert found.period == pytest.approx(0.01)
    assert_close(found.q, given.q[4:104].reshape(5, 20, 2))
    assert_close(found.tau, given.tau[4:104].reshape(5, 20, 2))
    assert_close(found.start[:, :2], given.q[4:104:20], tolerance=1e-12)
    assert_close(found.start[:, 2:], motion.qd[0:100:20], tolerance=1e-12)
    (short,) = recorded_windows(fit_of(), given, 0.001)  # type: ignore[arg-type]
    assert short.q.shape == (35, 3, 2)
    assert [len(each.q) for each in recorded_windows(fit_of(), given, 1.07)] == [1]  # type: ignore[arg-type]
    assert not list(recorded_windows(fit_of(), given, 1.08))  # type: ignore[arg-type]
    (late,) = recorded_windows(fit_of(lag=0.01), given, 0.2)  # type: ignore[arg-type]
    assert_close(late.tau, given.tau[5:105].reshape(5, 20, 2))


def test_windows_of_filtered_samples():
    """One state in two is simulated where the fit evaluates no others; positions are as recorded, forces filtered."""
    given = swing(16_000, 0.001)
    motion = filtered_motion(arm(), Segment(given.t, given.q, given.tau, None, np.ones(16_000, dtype=bool)), 5.0, 2)
    (found,) = recorded_windows(fit_of(5.0), given, 0.5)  # type: ignore[arg-type]
    assert found.period == pytest.approx(0.002)
    count = len(motion.t) // 250
    assert found.q.shape == (count, 250, 2)
    index = np.rint(motion.t[: count * 250] / 0.001).astype(int)
    assert_close(found.q, given.q[index].reshape(count, 250, 2))
    assert_close(found.tau, motion.tau[: count * 250].reshape(count, 250, 2))
    assert_close(found.start[:, 2:], motion.qd[: count * 250 : 250])


def test_windows_with_forces_that_are_not_trusted_or_too_many_are_left_out(monkeypatch):
    given = swing(408, 0.01)
    given.tau[90:95, 0] = np.nan
    (found,) = recorded_windows(fit_of(), given, 0.2)  # type: ignore[arg-type]
    assert_close(found.start[:, 0], given.q[4:404:20, 0][np.arange(20) != 4], tolerance=1e-12)
    gap = swing(1500, 0.01)
    gap.t[1400:] += 1.0
    assert [each.q.shape[0] for each in recorded_windows(fit_of(1.0), gap, 1.0)] == [11]  # type: ignore[arg-type]
    for states, every in ((400, 1), (399, 2), (200, 2), (199, 3)):
        monkeypatch.setattr(module, "MAX_STATES", states)
        (thin,) = recorded_windows(fit_of(), swing(408, 0.01), 0.2)  # type: ignore[arg-type]
        assert_close(thin.start[:, 0], given.q[4:404:20, 0][::every], tolerance=1e-12)


# --- simulation ---------------------------------------------------------------------------------------------------------------


def spring(q, qd, qdd):
    """A force between both joints that depends on coordinates and velocities."""
    return np.stack([np.sin(2.0 * q[:, 1]) + q[:, 0] * qd[:, 1], q[:, 0] ** 2], axis=1)[..., None]


@pytest.fixture(scope="module")
def model():
    """Two links with viscous friction, rotors, Coulomb friction and a spring."""
    terms = (Viscous(), Rotor(), Coulomb(0.3), CustomTerm(("k",), spring))
    base = base_parameters(arm(), terms)
    parameters = np.concatenate([arm().parameters[:20], [0.3, 0.2], [0.5, 0.7], [0.6, 0.4], [0.8]])
    fit = SimpleNamespace(nominal_robot=arm(), terms=terms, base=base, parameters=parameters,
                          base_parameters=base.of(parameters), link_names=("link1", "link2"))  # fmt: skip
    return SimulatedModel.of(fit)  # type: ignore[arg-type]


def test_simulated_positions_are_the_solution_of_the_equations_of_motion(model):
    """Forces are linear between samples; rotors of 0.5 and 0.7 kg m² are part of the mass matrix."""
    joints = (replace(j, rotor_inertia=own) for j, own in zip(arm().joints, (0.5, 0.7), strict=True))
    robot = replace(arm(), joints=tuple(joints))
    rng = np.random.default_rng(0)
    h, start, tau = 0.01, rng.normal(size=(1, 4)), rng.normal(size=(1, 6, 2))
    t = h * np.arange(6)

    def rates(time, x):
        force = [np.interp(time, t, tau[0, :, k]) for k in (0, 1)]
        rest = force - np.array([0.3, 0.2]) * x[2:] - np.array([0.6, 0.4]) * np.tanh(x[2:] / 0.3)
        rest = rest - 0.8 * spring(x[None, :2], x[None, 2:], None)[0, :, 0]
        return np.concatenate([x[2:], robot.forward_dynamics(x[:2], x[2:], rest)])

    exact = start.T
    for k in range(5):
        piece = solve_ivp(rates, (t[k], t[k + 1]), exact[:, -1], rtol=1e-11, atol=1e-12)
        exact = np.column_stack([exact, piece.y[:, -1]])
    recorded = rng.normal(size=(1, 6, 2))
    found, slopes = model.simulate(model.fit.base_parameters, start, Windows(recorded, start, tau, h))
    assert_close(found[0] + recorded[0], exact[:2].T, tolerance=1e-7)
    b = len(model.fit.base_parameters)
    assert slopes.shape == (1, 6, 2, b + 4)
    assert_close(slopes[0, 0], np.hstack([np.zeros((2, b)), np.eye(2, 4)]))


def test_sensitivities_of_forces_that_depend_on_coordinates(model):
    rng = np.random.default_rng(1)
    start, tau, recorded = rng.normal(size=(1, 4)), rng.normal(size=(1, 4, 2)), np.zeros((1, 4, 2))
    values, windows = model.fit.base_parameters, Windows(recorded, start, tau, 0.02)
    _, S = model.simulate(values, start, windows)
    b, step = len(values), 1e-6
    for k in range(b + 4):
        change = step * np.eye(b + 4)[k]
        low, high = (
            model.simulate(values + sign * change[:b], start + sign * change[b:], windows)[0] for sign in (-1, 1)
        )
        assert_close(S[..., k], (high - low) / (2.0 * step), scale=1.0, tolerance=1e-6)


def test_parameters_with_other_base_parameters(model):
    values = model.fit.base_parameters + np.linspace(0.1, 0.2, len(model.fit.base))
    assert_close(model.fit.base.of(model.parameters(values)), values, tolerance=1e-12)
    assert_close(model._inertial(model.fit.parameters), model.fit.parameters[[*range(20), 22, 23]])
    without = replace(model, terms=model.terms[:1])
    assert_close(without._inertial(model.fit.parameters), np.append(model.fit.parameters[:20], [0.0, 0.0]))


# --- least squares ------------------------------------------------------------------------------------------------------------


def test_first_states_are_eliminated():
    """What is left of residuals and sensitivities is orthogonal to the first states', which follow a step of β."""
    rng = np.random.default_rng(0)
    r, S = rng.normal(size=(3, 7, 2)), rng.normal(size=(3, 7, 2, 5 + 4))
    rest, J, starts = _eliminated(r, S)
    step = rng.normal(size=5)
    for w in range(3):
        flat = S[w].reshape(14, 9)
        P = np.eye(14) - flat[:, 5:] @ np.linalg.pinv(flat[:, 5:])
        assert_close(rest[w].ravel(), P @ r[w].ravel(), tolerance=1e-12)
        assert_close(J[w].reshape(14, 5), P @ flat[:, :5], tolerance=1e-12)
        expected = np.linalg.lstsq(flat[:, 5:], -(r[w].ravel() + flat[:, :5] @ step), rcond=None)[0]
        assert_close(starts(step)[w], expected, tolerance=1e-11)


@pytest.mark.parametrize(("apart", "rank"), [(1e-9, 2), (1e-11, 2), (1e-13, 1)])
def test_directions_without_information_have_no_variance(apart, rank):
    """Units differ by a million; the correlation of both is 1 up to 1e-9, 1e-11 or rounding."""
    scale = np.array([1.0, 1e6])
    H = np.array([[1.0, 1.0 - apart], [1.0 - apart, 1.0]]) * np.outer(scale, scale)
    found = _inverse(H) * np.outer(scale, scale)
    assert found[0, 0] == pytest.approx(0.5 / apart if rank == 2 else 0.25, rel=1e-3)
    assert_close(_inverse(np.diag([4.0, 0.0])), np.diag([0.25, 0.0]))


@pytest.fixture(scope="module")
def noisy():
    """A recording with noise of 3e-4 rad and precise forces, and its fit."""
    rng = np.random.default_rng(3)
    t = np.arange(0.0, 6.0, 0.01)
    q, qd, qdd = appell.excitation(arm(), 6.0, 3, iterations=0, seed=1)(t)
    tau = arm().inverse_dynamics(q, qd, qdd) + 0.3 * qd + 1e-3 * rng.normal(size=q.shape)
    recording = Recording(t, q + 3e-4 * rng.normal(size=q.shape), tau)
    return recording, appell.identify(arm(), recording, terms=("viscous",), filtering=Filtering(8.0))


def test_the_minimum_and_its_covariance(noisy, monkeypatch):
    """Gradient zero, of residuals in units of the first ones and a thousandth of the fit's information; windows independent."""
    recording, fit = noisy
    fit = replace(fit, information=40.0 * fit.information)
    monkeypatch.setattr(module, "TOLERANCE", 0.0)
    found = polish(fit, recording)
    (windows,) = recorded_windows(fit, recording, 0.2)
    model, b = SimulatedModel.of(fit), len(fit.base)

    def projected(r, S):
        w, flat = len(r), S.reshape(len(S), -1, S.shape[-1])
        P = np.array([np.eye(flat.shape[1]) - each @ np.linalg.pinv(each) for each in flat[..., b:]])
        return P @ r.reshape(w, -1, 1), P @ flat[..., :b]

    first, _ = projected(*model.simulate(fit.base_parameters, windows.start, windows))
    noise = np.sqrt(np.mean(first.reshape(windows.q.shape) ** 2, axis=(0, 1)))
    starts, r, S = windows.start, first, first
    for _ in range(6):
        r, S = model.simulate(found.base_parameters, starts, windows)
        r, S = r / noise, S / noise[:, None]
        flat = S.reshape(len(S), -1, b + 4)[..., b:]
        starts = starts - np.array([np.linalg.lstsq(J, x.ravel(), rcond=None)[0] for J, x in zip(flat, r, strict=True)])
    r, J = projected(r, S)
    prior = 1e-3 * fit.information
    scores = np.einsum("wk,wkb->wb", r[..., 0], J)
    H = prior + np.einsum("wkb,wkc->bc", J, J)
    gradient = scores.sum(axis=0) + prior @ (found.base_parameters - fit.base_parameters)
    step, own = np.linalg.solve(H, gradient), np.sqrt(np.diag(np.linalg.inv(H)))
    assert np.abs(step / own).max() < 1e-3
    assert np.abs(np.linalg.solve(H, 0.5 * prior @ (found.base_parameters - fit.base_parameters)) / own).max() > 5e-3
    expected = np.linalg.solve(H, np.linalg.solve(H, scores.T @ scores).T)
    assert_close(found.covariance, expected, tolerance=1e-3)
    assert_close(found.standard_errors, np.sqrt(np.diag(found.covariance)), tolerance=1e-12)


@pytest.mark.parametrize(
    ("factors", "passes", "kept"),
    [
        ([0.9] * 20, 12, 11),
        ([0.9, 0.99988, 0.99995, 0.9], 4, 3),
        ([0.99995, 0.5], 2, 1),
        ([1.1, 0.5], 2, 0),
        ([0.9, 0.9, 1.1, 0.5], 4, 2),
        ([0.9, np.nan, 0.5], 3, 1),
    ],
)
def test_steps_end_where_the_error_stays_or_grows(noisy, monkeypatch, factors, passes, kept):
    """At most twelve; by less than 1e-4 of it; the last values that did not make it larger are kept."""
    recording, fit = noisy
    rng = np.random.default_rng(0)
    size, given = np.cumprod([1.0, *factors]), []
    r, S = rng.normal(size=(2, 5, 2)), rng.normal(size=(2, 5, 2, len(fit.base) + 4))

    def simulate(self, values, start, windows):
        given.append(values)
        return size[len(given) - 1] * r, S

    monkeypatch.setattr(SimulatedModel, "simulate", simulate)
    monkeypatch.setattr(module, "recorded_windows", lambda *a: [Windows(r, np.zeros((2, 4)), r, 0.01)])
    found = polish(fit, recording)
    assert len(given) == passes
    assert_close(found.base_parameters, given[kept])
    noise = np.sqrt(np.mean(_eliminated(r, S)[0] ** 2, axis=(0, 1)))
    first = np.sqrt(np.mean(_eliminated(r / noise, S / noise[:, None])[0] ** 2))
    if np.isfinite(size[:passes]).all():
        assert f"error {first * np.min(size[:passes]):.3g} of that before" in found.steps[-1]
