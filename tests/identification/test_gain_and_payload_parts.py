"""Torque constants and payloads: each step against least squares on all rows at once."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close
from scipy.optimize import least_squares

import appell
from appell.identification import gains, payload
from appell.identification.fit import accumulate_qr, correlation_times
from appell.identification.observations import Rows
from appell.identification.recording import Recording

EMPTY = Recording(np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2)))


def currents(constants=(2.0, 5.0), noise=0.05):
    """Rows (recordings, N, 2, 4) of three parameters and a payload, absent in the first, and currents (recordings, N, 2)."""
    rng = np.random.default_rng(0)
    K = rng.normal(size=(2, 60, 2, 4))
    K[0, ..., 3] = 0.0
    tau = K @ np.array([1.0, -2.0, 0.5, 1.0])
    return K, tau / constants + noise * rng.normal(size=tau.shape) * [1.0, 3.0]


def factors_of(K, i):
    used = np.ones(K.shape[2:], dtype=bool)
    none = np.zeros(K.shape[1], dtype=bool)
    return [accumulate_qr([Rows(0, *each)], used, none) for each in zip(K, i, strict=True)]


@pytest.mark.parametrize("free", [[True, True], [False, True], [True, False]])
def test_torque_constants_minimize_the_squares_of_the_currents(free):
    """And of their logarithms, which have standard deviation 1; against a general minimizer on all rows."""
    free = np.array(free)
    K, i = currents((1.0 if not free[0] else 2.0, 1.0 if not free[1] else 5.0))
    noise = [np.array([0.01, 0.2]), np.array([0.03, 0.4])]

    def residuals(x):
        g = np.ones(2)
        g[free] = np.exp(x[3:])
        rest = [(K[r] @ np.append(x[:3], 1.0) / g - i[r]) / np.sqrt(noise[r]) for r in (0, 1)]
        return np.concatenate([np.ravel(rest), x[3:]])

    expected = least_squares(residuals, np.append([1.0, -2.0, 0.5], np.zeros(free.sum())), xtol=1e-13, ftol=1e-13)
    factors, errors, rest = gains._solve(factors_of(K, i), 3, np.array([1.0, -2.0, 0.5]), noise, free)
    assert_close(factors[free], np.exp(expected.x[3:]), tolerance=1e-6)
    assert (factors[~free] == 1.0).all()
    deviations = np.sqrt(np.diag(np.linalg.inv(expected.jac.T @ expected.jac)))[3:]
    assert_close(errors[free], deviations, tolerance=1e-4)
    assert (errors[~free] == 0.0).all()
    for r in (0, 1):
        own = ((K[r] @ np.append(expected.x[:3], 1.0) / factors - i[r]) ** 2).sum(axis=0)
        assert_close(rest[r], own, tolerance=1e-6)


def test_constants_that_the_currents_do_not_determine_keep_the_prior():
    """One common factor: without a payload only the ratio is determined, and the factor has the deviation of its prior."""
    K, i = currents()
    factors, errors, _ = gains._solve(
        factors_of(K[:1], i[:1]), 3, np.array([1.0, -2.0, 0.5]), [np.full(2, 1e-4)], np.full(2, True)
    )
    assert np.log(factors).sum() == pytest.approx(0.0, abs=1e-3)
    assert factors[1] / factors[0] == pytest.approx(2.5, rel=0.05)
    assert errors == pytest.approx([np.sqrt(0.5)] * 2, rel=0.01)


@pytest.mark.filterwarnings("error")
def test_parameters_without_any_effect_do_no_harm():
    K, i = currents()
    K[..., 2] = 0.0
    factors, errors, _ = gains._solve(factors_of(K, i), 3, np.zeros(3), [np.full(2, 0.01)] * 2, np.full(2, True))
    assert np.isfinite(factors).all()
    assert (errors < 0.1).all()


def test_known_constants():
    robot = appell.load("planar2r")
    assert np.isnan(gains._known(robot, None)).all()
    assert_close(gains._known(robot, 3.0), np.full(2, 3.0))
    found = gains._known(robot, {"joint2": 4.0})
    assert np.isnan(found[0])
    assert found[1] == 4.0
    assert gains._known(robot, [1e-9, np.nan])[0] == 1e-9
    for bad in (0.0, [-1.0, 2.0]):
        with pytest.raises(appell.ArgumentError, match="expected positive torque constants"):
            gains._known(robot, bad)


class Observed:
    """Rows with these forces; parameters of links predict `forces`, friction predicts 0.5 of it."""

    def __init__(self, base, forces, currents):
        self.base, self.links, self.forces = base, forces, currents

    def predict(self, values):
        inertial = np.array([self.base.names[k][:1] in "Im" for k in self.base.independent])
        assert values[inertial].any() != values[~inertial].any()
        return self.links * values[inertial].sum() + 0.5 * values[~inertial].sum()


def described_gains(monkeypatch, forces, currents, given):
    robot = appell.load("planar2r")
    robot = replace(robot, joints=tuple(replace(joint, damping=0.7) for joint in robot.joints))
    base = appell.base_parameters(robot, ["viscous"])
    values = np.array([float(base.names[k].startswith("fv")) for k in base.independent])
    fit = SimpleNamespace(
        base=base, terms=appell.robot.regressor_terms.as_terms(["viscous"]), base_parameters=values + 7.0 * (values == 0),
        observe=lambda each: (Observed(base, forces, currents + 1.0), None),
    )  # fmt: skip
    monkeypatch.setattr(gains, "identify", lambda robot, recordings: fit)
    total = base.of(np.append(robot.parameters[:20], [0.0, 0.0])).sum()
    return gains._from_description(robot, [EMPTY, EMPTY], np.asarray(given)), total


def test_constants_with_which_the_description_predicts_the_currents(monkeypatch):
    """Slopes of forces of the links over currents less friction; the median where a joint has hardly any."""
    rng = np.random.default_rng(0)
    i = rng.normal(size=(50, 2))
    nan = [np.nan, np.nan]
    found, total = described_gains(monkeypatch, i * [2.0, 3.0], i, nan)
    assert_close(found, np.array([2.0, 3.0]) * abs(total), tolerance=1e-12)
    found, _ = described_gains(monkeypatch, i * [2.0, 3.0], i, [np.nan, 9.0])
    assert_close(found, np.array([2.0 * abs(total), 9.0]), tolerance=1e-12)
    for small, used in ((0.11, True), (0.1, False)):  # a tenth of the median, the mean of both: 0.1 (2 + x) / 2
        found, _ = described_gains(monkeypatch, i * [2.0, small], i, nan)
        typical = 0.5 * (2.0 + small)
        assert found[1] / abs(total) == pytest.approx(small if used else typical)
    found, _ = described_gains(monkeypatch, -i * [2.0, 3.0], i, nan)
    assert (found > 0).all()
    found, _ = described_gains(monkeypatch, 0.0 * i, i, nan)
    assert_close(found, np.ones(2))


@pytest.mark.parametrize(("error", "known", "where"), [(0.49, None, []), (0.51, None, ["joint2"]), (0.51, 3.0, [])])
def test_constants_that_are_not_determined_are_a_finding(monkeypatch, error, known, where):
    """Standard errors of half the prior's or more; the noise of the second pass is that of the first residuals."""
    robot, seen = appell.load("planar2r"), []
    K, i = currents()
    rows = SimpleNamespace(
        pieces=lambda: [Rows(0, K[0], i[0])], used=np.ones((2, 4), dtype=bool), trusted=np.ones(60, dtype=bool)
    )
    fit = SimpleNamespace(
        observe=lambda recording, extra, count: (rows, None), sigma=np.array([2.0, 3.0]), correlation=np.array([4.0, 5.0]),
        base=range(3), base_parameters=np.zeros(3),
    )  # fmt: skip

    def solve(data, b, values, noise, free):
        seen.append(noise)
        assert free.tolist() == [True, known is None]
        return np.array([1.5, 2.0]), np.array([0.1, error]), [np.array([120.0, 180.0])]

    monkeypatch.setattr(gains, "identify", lambda *given, **options: fit)
    monkeypatch.setattr(gains, "_from_description", lambda robot, recordings, given: np.array([10.0, 20.0]))
    monkeypatch.setattr(gains, "_solve", solve)
    found = gains.identify_gains(robot, EMPTY, None if known is None else {"joint2": known})
    assert_close(seen[0][0], np.array([16.0, 45.0]))
    assert_close(seen[1][0], np.array([8.0, 15.0]))
    assert_close(found.values, np.array([15.0, 40.0]))
    assert_close(found.standard_errors, np.array([1.5, 40.0 * error]))
    assert found.scale == ("description" if known is None else "known constants")
    names = [each.where for each in found.findings]
    assert names == where + (["all"] if known is None else [])
    assert found.table().rows[1] == ("joint2", 40.0, 40.0 * error)


def test_the_known_payload_is_the_difference_of_parameters(monkeypatch):
    """It acts in the loaded recording alone."""
    robot, extras = appell.load("planar2r"), []
    heavy = robot.with_payload(2.0, (0.1, 0.2, 0.0), (0.1, 0.1, 0.1), at="link2")
    K, i = currents()
    rows = SimpleNamespace(
        pieces=lambda: [Rows(0, K[0], i[0])], used=np.ones((2, 4), dtype=bool), trusted=np.ones(60, dtype=bool)
    )

    def observe(recording, extra, count):
        extras.append(extra)
        assert count == 1
        return rows, None

    fit = SimpleNamespace(
        observe=observe, sigma=np.ones(2), correlation=np.ones(2), base=range(3), base_parameters=np.zeros(3)
    )
    monkeypatch.setattr(gains, "identify", lambda *given, **options: fit)
    monkeypatch.setattr(gains, "_from_description", lambda robot, recordings, given: np.ones(2))
    found = gains.identify_gains(robot, [EMPTY], None, EMPTY, heavy)
    assert found.scale == "payload"
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 7, 2))
    assert_close(extras[0](q, qd, qdd), np.zeros((7, 2, 1)))
    expected = heavy.inverse_dynamics(q, qd, qdd) - robot.inverse_dynamics(q, qd, qdd)
    assert_close(extras[1](q, qd, qdd)[..., 0], expected, tolerance=1e-11)
    with pytest.raises(appell.ArgumentError, match="payload is missing"):
        gains.identify_gains(robot, EMPTY, None, EMPTY)


# --- payloads -----------------------------------------------------------------------------------------------------------------


class Part:
    """Observed rows of some columns, the last samples not trusted."""

    def __init__(self, K, forces):
        self.K, self.forces, self.used = K, forces, np.ones(K.shape[1:], dtype=bool)
        self.trusted = np.arange(len(K)) < len(K) - 5

    def pieces(self):
        return [Rows(0, self.K, self.forces)]

    def predict(self, values):
        return self.K @ values


def loaded_parts(noise=(0.1, 0.4)):
    """Three parameters, and a payload of ten of which the fourth has no effect, in the second recording."""
    rng = np.random.default_rng(1)
    truth = np.append([1.0, -2.0, 0.5], np.arange(1.0, 11.0))
    parts = []
    for size, own, seed in ((3, noise[0], 0), (13, noise[1], 1)):
        K = rng.normal(size=(120, 2, size))
        if size == 13:
            K[..., 6] = 0.0
        white = np.random.default_rng(seed).normal(size=(121, 2))
        parts.append(Part(K, K @ truth[:size] + own * (white[1:] + white[:-1]) * [1.0, 2.0]))
    return parts


def weighted(parts, values):
    """Rows of all recordings in units of their own noise, correlation included."""
    A, z = [], []
    for part in parts:
        K, tau = part.K[part.trusted], part.forces[part.trusted]
        rest = tau - K @ values[: K.shape[-1]]
        roots = 1.0 / np.sqrt((rest**2).mean(axis=0) * correlation_times(rest))
        wide = np.concatenate([K, np.zeros((*K.shape[:2], 13 - K.shape[-1]))], axis=-1)
        A.append((roots[:, None] * wide).reshape(-1, 13))
        z.append((roots * tau).ravel())
    return np.concatenate(A), np.concatenate(z)


def test_both_recordings_are_fitted_at_once_with_the_noise_of_each():
    """First with the noise of the fit without the payload, then with that of the values found."""
    parts = loaded_parts()
    start = np.append([1.0, -2.0, 0.5], np.zeros(10))
    found, errors, shown = payload._solve(parts, SimpleNamespace(base_parameters=start[:3]))  # type: ignore[arg-type]
    first = np.linalg.lstsq(*weighted(parts, start), rcond=1e-10)[0]
    A, z = weighted(parts, first)
    assert_close(found, np.linalg.lstsq(A, z, rcond=1e-10)[0], tolerance=1e-9)
    kept = np.arange(13) != 6
    deviations = np.sqrt(np.diag(np.linalg.inv(A[:, kept].T @ A[:, kept])))
    assert_close(errors[kept], deviations, tolerance=1e-9)
    assert shown.tolist() == [True] * 3 + [False] + [True] * 6


@pytest.mark.parametrize(("size", "shown"), [(1e-8, True), (1e-10, False)])
def test_columns_of_a_payload_that_hardly_show(size, shown):
    parts = loaded_parts()
    parts[1].K[..., 6] = size * parts[1].K[..., 5] * np.random.default_rng(0).normal(size=(120, 2))
    assert payload._solve(parts, SimpleNamespace(base_parameters=np.ones(3)))[2][3] == shown  # type: ignore[arg-type]


def test_exact_forces_have_the_noise_of_rounding():
    """At least 1e-24 of the mean squared forces."""
    part = loaded_parts((0.0, 0.0))[0]
    factors = accumulate_qr(part.pieces(), part.used, ~part.trusted)
    A, _ = payload._stacked([part], [factors], np.array([1.0, -2.0, 0.5]))  # type: ignore[list-item]
    K = part.K[part.trusted]
    noise = 1e-24 * np.mean(part.forces**2)
    assert_close(A.T @ A * noise, np.einsum("njb,njc->bc", K, K), tolerance=1e-9)


def test_columns_of_the_carrying_body(monkeypatch):
    """Those of its ten parameters; several recordings without the payload may be given."""
    robot, extras = appell.load("planar2r"), []

    def observe(recording, extra=None, count=0):
        extras.append((extra, count))
        return (None,)

    monkeypatch.setattr(payload, "identify", lambda *given, **options: SimpleNamespace(observe=observe))
    monkeypatch.setattr(payload, "_solve", lambda parts, fit: (np.ones(14), np.ones(14) / 9, np.ones(10, dtype=bool)))
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 7, 2))
    K = robot.regressor(q, qd, qdd)
    for at, first in (("link1", 0), ("link2", 10)):
        extras.clear()
        payload.identify_payload(robot, [EMPTY, EMPTY], EMPTY, at=at)
        assert extras[:2] == [(None, 0), (None, 0)]
        columns, count = extras[2]
        assert count == 10
        assert_close(columns(q, qd, qdd), K[..., first : first + 10])
