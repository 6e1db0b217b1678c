"""`appell.identify` as a whole against least squares by hand, and its choices and checks one by one."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification import Estimator, Filtering, Holdout, Recording, sanity, selection
from appell.identification.cleaning import Segment
from appell.identification.fit import correlation_times
from appell.identification.lag import Lag
from appell.identification.validation import RelativeError
from appell.robot.regressor_terms import Coulomb, Viscous

module = sys.modules["appell.identification.identify"]


@pytest.fixture(scope="module")
def recorded():
    """A planar arm with noise of the forces that is correlated, and its motion."""
    arm = appell.load("planar2r")
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 6.0, 0.01)
    q, qd, qdd = appell.excitation(arm, 6.0, 3, iterations=0)(t)
    white = rng.normal(size=(601, 2))
    tau = arm.inverse_dynamics(q, qd, qdd) + 0.3 * qd + 0.1 * (white[1:] + white[:-1]) * [1.0, 3.0]
    return arm, t, q, qd, qdd, tau


@pytest.mark.parametrize("every", [5, 0])
def test_a_fit_is_weighted_least_squares(recorded, every):
    """States are given, so that rows are exact: values, noise, covariances, errors and information from them by hand."""
    arm, t, q, qd, qdd, tau = recorded
    fit = appell.identify(
        arm, t, q, tau, qd=qd, qdd=qdd, terms=("viscous",), filtering=Filtering(None), holdout=Holdout(every, 0.4)
    )
    inner = slice(4, -4)  # without the ends of the differences
    K = arm.regressor(q, qd, qdd, terms=("viscous",))[inner][..., list(fit.base.independent)]
    forces, times = tau[inner], t[inner]
    held = np.floor((times - times[0]) / 0.4 + 1e-9) % 5 == 4 if every else np.zeros(len(times), dtype=bool)
    assert (fit.holdout_mask == held).mean() > 0.99
    used = ~fit.holdout_mask
    weights = np.ones(2)
    for _ in range(40):
        A = (np.sqrt(weights)[:, None] * K[used]).reshape(-1, K.shape[-1])
        inverse = np.linalg.inv(A.T @ A)
        values = inverse @ A.T @ (np.sqrt(weights) * forces[used]).ravel()
        leverage = np.einsum("rb,bc,rc->r", A, inverse, A).reshape(-1, 2).sum(axis=0)
        rest = forces - K @ values
        sigma = np.sqrt((rest[used] ** 2).sum(axis=0) / (used.sum() - leverage))
        weights = 1.0 / sigma**2
    assert_close(fit.base_parameters, values, tolerance=1e-9)
    assert_close(fit.sigma, sigma, tolerance=1e-9)
    times = correlation_times(rest[used])
    assert times.min() > 1.5
    assert_close(fit.correlation, times, tolerance=1e-9)
    noise = [np.einsum("nb,nc->bc", K[used][:, j], K[used][:, j]) / sigma[j] ** 2 for j in (0, 1)]
    white = np.linalg.inv(noise[0] + noise[1])
    covariance = white @ (times[0] * noise[0] + times[1] * noise[1]) @ white
    assert_close(fit.covariance, covariance, tolerance=1e-7)
    assert_close(fit.standard_errors, np.sqrt(np.diag(covariance)), tolerance=1e-7)
    assert_close(fit.white_standard_errors, np.sqrt(np.diag(white)), tolerance=1e-7)
    assert_close(fit.information, noise[0] / times[0] + noise[1] / times[1], tolerance=1e-7)
    names = arm.joint_names
    tested = fit.holdout_mask if every else used
    for own, rows in ((fit.relative_error, tested), (fit.training_error, used), (fit.raw_error, tested)):
        expected = RelativeError.of(names, forces[rows], (K @ values)[rows])
        assert own.total == pytest.approx(expected.total, rel=1e-7)
        assert own.joints == pytest.approx(expected.joints, rel=1e-7)
    assert_close(fit.predicted, K @ values, tolerance=1e-8)
    assert_close(fit.base.of(fit.parameters), values, tolerance=1e-9)
    assert fit.condition_by_joint == pytest.approx(
        [np.linalg.cond(unit(K[used][:, j][:, fit.base.used[j]])) for j in (0, 1)], rel=1e-6
    )
    assert fit.cutoff is None
    assert fit.lag == 0.0
    fold = np.arange(len(K)) * 5 // len(K)
    squares = np.zeros((2, 2))
    for k in range(5):
        other = (np.sqrt(weights)[:, None] * K[fold != k]).reshape(-1, K.shape[-1])
        own = np.linalg.lstsq(other, (np.sqrt(weights) * forces[fold != k]).ravel(), rcond=None)[0]
        squares += [((forces - K @ own)[fold == k] ** 2).sum(axis=0), (forces[fold == k] ** 2).sum(axis=0)]
    assert fit.cross_validation.total == pytest.approx(np.sqrt(squares[0].sum() / squares[1].sum()), rel=1e-7)


def unit(A):
    return A / np.linalg.norm(A, axis=0)


def test_shares_of_the_progress_follow_each_other(recorded, monkeypatch):
    arm, t, q, _, _, tau = recorded
    shares = []

    class Counted(module.Progress):
        def between(self, first, last):
            shares.append((first, last))
            return super().between(first, last)

    monkeypatch.setattr(module, "Progress", Counted)
    appell.identify(arm, t, q, tau, terms=("viscous",), filtering=Filtering(5.0))
    assert 0.0 <= shares[0][0] < shares[0][1]
    assert [first for first, _ in shares[1:]] == [last for _, last in shares[:-1]]
    assert 90.0 < shares[-1][1] <= 100.0


def test_given_velocities_leave_the_cutoff_alone():
    slow, fast = (
        Segment(h * np.arange(50), np.zeros((50, 2)), np.zeros((50, 2)), None, np.ones(50, dtype=bool))
        for h in (0.01, 0.005)
    )
    rates = (np.zeros((50, 2)), None)
    for given, expected in (("auto", 20.0), (3.0, 3.0), (None, None)):
        found = module._choices(None, [slow, fast], None, (), Filtering(given), True, rates, None)  # type: ignore[arg-type]
        assert found.cutoff == (None if expected is None else pytest.approx(expected))
        assert found.lag == (0.0, 0.0, 0.0)


def test_chosen_terms_are_fitted(recorded, monkeypatch):
    arm, t, q, _, _, tau = recorded
    chosen = selection.Choices(5.0, (Viscous(),), Lag(0.0, 0.0, 0.0), (), ("note",), ())
    monkeypatch.setattr(module, "_choices", lambda *given: chosen)
    fit = appell.identify(arm, t, q, tau)
    assert fit.terms == (Viscous(),)
    assert len(fit.base) == len(fit.base_parameters) == 8
    assert fit.cutoff == 5.0
    assert fit.steps == ("note",)


def test_given_accelerations_alone_leave_the_choices_to_cross_validation(monkeypatch):
    monkeypatch.setattr(module, "choose", lambda *given: given)
    rates = (None, np.zeros((50, 2)))
    found = module._choices("robot", (), "base", (), Filtering(3.0), True, rates, "report")  # type: ignore[arg-type]
    assert found == ("robot", (), "base", (), 3.0, True, "report")


@pytest.mark.filterwarnings("ignore::appell.errors.IdentificationWarning")
def test_single_recordings_are_used_however_short(recorded):
    """36 samples are too few between the ends of the filters of two recordings, not of one; one state in two is kept."""
    arm, t, q, qd, qdd, tau = recorded
    short = [Recording(t[k : k + 36], q[k : k + 36], tau[k : k + 36]) for k in (100, 300)]
    options = {"terms": (), "filtering": Filtering(None), "holdout": Holdout(0)}
    rates = {"qd": qd[100:136], "qdd": qdd[100:136]}
    assert len(appell.identify(arm, short[0], **rates, **options).t) == 28
    with pytest.raises(appell.IdentificationError, match="no part of the recordings is long enough"):
        appell.identify(arm, short, **options)
    halved = appell.identify(arm, t, q, tau, terms=(), filtering=Filtering(None, 2))
    assert np.diff(halved.t) == pytest.approx(0.02)


def test_physical_fits_have_no_instruments_and_drop_nothing(recorded):
    arm, t, q, _, _, tau = recorded
    for estimator in (Estimator(instruments="interleaved"), Estimator(essential=True)):
        with pytest.raises(appell.ArgumentError, match="physical=True does not go together"):
            appell.identify(arm, t, q, tau, physical=True, estimator=estimator)


@pytest.mark.parametrize(("weights", "iterated"), [("iterated", True), ("equal", False), ([1.0, 2.0], False)])
def test_instruments_iterate_the_weights_like_least_squares(recorded, monkeypatch, weights, iterated):
    arm, t, q, _, _, tau = recorded
    seen = []
    monkeypatch.setattr(module, "instrument_fit", lambda pairs, data, fit, excluded, own: seen.append(own) or fit)
    estimator = Estimator(instruments="interleaved", weights=weights)
    appell.identify(arm, t, q, tau, terms=("viscous",), filtering=Filtering(8.0), estimator=estimator)
    assert seen == [iterated]


def test_excitation_is_checked_at_the_speeds_of_the_recording(monkeypatch):
    """200 states anywhere with velocities and accelerations as large as the recorded ones; the fastest of all motions."""
    robot, seen = appell.load("planar2r"), {}
    rng = np.random.default_rng(0)
    motions = [
        SimpleNamespace(
            t=np.zeros(n), qd=[3.0, 1.0] * rng.normal(size=(n, 2)), qdd=[8.0, 2.0] * rng.normal(size=(n, 2))
        )
        for n in (30, 50)
    ]

    def regressor(robot, base, terms, q, qd, qdd, check):
        seen.update(q=q, qd=qd, qdd=qdd)
        return np.zeros((len(q), 2, 1))

    monkeypatch.setattr(module, "base_regressor", regressor)
    for name in ("check_unexcited", "check_signs", "check_values"):
        monkeypatch.setattr(sanity, name, lambda *given: ())
    monkeypatch.setattr(sanity, "check_excitation", lambda *given: [given])
    data, choices = SimpleNamespace(count=70), SimpleNamespace(products=None)
    rows = SimpleNamespace(motions=motions)
    (found,) = module._check_fit(robot, "base", (), data, None, "values", None, "C", rows, choices, 0.5)  # type: ignore[arg-type]
    assert found[:2] == (robot, "base")
    assert found[3:7] == ("values", "C", 70, 0.5)
    assert_close(found[7], np.max([np.abs(each.qd).max(axis=0) for each in motions], axis=0))
    assert len(seen["q"]) == len(seen["qd"]) == 200
    for name in ("qd", "qdd"):
        size = np.sqrt(np.concatenate([getattr(each, name) ** 2 for each in motions]).mean(axis=0))
        assert np.sqrt((seen[name] ** 2).mean(axis=0)) == pytest.approx(size, rel=0.15)


def test_masses_of_all_links():
    robot = appell.load("planar2r")
    parameters, nominal = np.arange(25.0), np.arange(100.0, 125.0)
    names, found, errors, described = module._masses(robot, parameters, np.ones(2), nominal)
    assert names == ["link1", "link2"]
    assert found.tolist() == [0.0, 10.0]
    assert described.tolist() == [100.0, 110.0]
    assert errors.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("size", "kept"), [(40, 1), (400, 2)])
def test_short_intervals_are_left_out_of_the_filter(recorded, size, kept):
    """A second interval that is too short for the filter is not used; both are if it is long enough."""
    arm, t, q, _, _, tau = recorded
    late = np.where(np.arange(600) < 600 - size, t, t + 1.0)
    fit = appell.identify(arm, late, q, tau, terms=("viscous",), filtering=Filtering(4.0))
    assert (np.diff(fit.t).max() > 0.9) == (kept == 2)


# --- choices ------------------------------------------------------------------------------------------------------------------


def test_terms_are_compared_at_the_shift_of_the_lag(monkeypatch):
    """A lag of 2.2 steps is the second right-hand side after that of no shift, the seventh."""
    robot, seen = appell.load("planar2r"), []

    class Compared:
        def __init__(self, robot, base, terms, data, alternatives, rhs):
            seen.append((terms, rhs, len(alternatives)))
            self.terms = terms

        def couplings(self):
            return self.terms, ["coupled"]

        def friction(self):
            return self.terms, ["friction"]

    monkeypatch.setattr(selection, "TermComparison", Compared)
    monkeypatch.setattr(selection, "shifted_motions", lambda *given: ([], [], 0.004))
    monkeypatch.setattr(selection, "products", lambda *given: "data")
    monkeypatch.setattr(selection, "choose_lag", lambda data, step: Lag(0.0088, 0.1, 0.2))
    terms = (Viscous(), Coulomb(0.01))
    part = Segment(np.arange(3.0), np.zeros((3, 2)), np.zeros((3, 2)), None, np.ones(3, dtype=bool))
    found = selection.choose(robot, [part], None, terms, 5.0, True)  # type: ignore[arg-type]
    assert [rhs for _, rhs, _ in seen] == [8, 8, 8]
    assert seen[0][2] == 2
    assert found.cutoff == 5.0
    assert found.lag.seconds == 0.0088
    assert found.notes[1:] == ("coupled", "friction", "friction")
    assert not selection.choose(robot, [part], None, terms, 5.0, False).notes[1:]  # type: ignore[arg-type]


# --- what a fit does with its options -----------------------------------------------------------------------------------------


class Stop(Exception):
    """Ends a fit once what it passes on is seen."""


@pytest.mark.parametrize(
    ("terms", "physical", "solver", "used", "strict"),
    [
        (("viscous",), False, "qr", "qr", True),
        (("viscous",), False, "ridge", "ridge", True),
        (None, False, "qr", "svd", False),
        (None, False, "ridge", "ridge", False),
        (("viscous",), True, "qr", "svd", False),
    ],
)
def test_unexcited_parameters_are_an_error_of_given_terms(recorded, monkeypatch, terms, physical, solver, used, strict):
    """Of default terms, and of physical fits, they are findings, and singular values decide."""
    arm, t, q, qd, qdd, tau = recorded
    seen = []

    def fit(rows, solver, weights, resting, report):
        seen.append((solver, resting))
        raise Stop

    monkeypatch.setattr(module, "fit_observations", fit)
    still = q * [1.0, 0.0]
    with pytest.raises(Stop):
        appell.identify(
            arm, t, still, tau, qd=qd * [1.0, 0.0], qdd=qdd, terms=terms, physical=physical, estimator=Estimator(solver)
        )
    assert seen == [(used, ["joint2"] if strict else None)]


@pytest.mark.parametrize(("terms", "physical", "asked"), [(None, False, [0.25]), (None, True, []), ((), False, [])])
@pytest.mark.filterwarnings("ignore::appell.errors.IdentificationWarning")
def test_a_share_of_default_terms_may_be_unexcited(recorded, monkeypatch, terms, physical, asked):
    arm, t, q, qd, qdd, tau = recorded
    seen = []
    monkeypatch.setattr(module, "require_excitation", lambda data, base, resting, allowed: seen.append(allowed))
    appell.identify(arm, t, q, tau, qd=qd, qdd=qdd, terms=terms, physical=physical)
    assert seen == asked


@pytest.mark.parametrize(("noise", "looked"), [(0.1, False), (0.26, True)])
def test_exchanged_positions_are_looked_for_where_the_error_is_a_fifth(recorded, monkeypatch, noise, looked):
    arm, t, q, qd, qdd, _ = recorded
    exact, seen = arm.inverse_dynamics(q, qd, qdd), []
    white = np.random.default_rng(1).normal(size=exact.shape) * np.sqrt((exact**2).mean(axis=0))
    monkeypatch.setattr(sanity, "check_positions", lambda *given: seen.append(1) or ())
    options = {"terms": (), "filtering": Filtering(4.0, 1), "holdout": Holdout(0)}
    fit = appell.identify(arm, t, q, exact + noise * white, **options)
    assert bool(seen) == looked
    assert (0.2 < fit.relative_error.total < 0.3) == looked
    given = appell.identify(arm, t, q, exact + noise * white, qd=qd, qdd=qdd, **options)
    assert given.relative_error.total > 0.05
    assert len(seen) == looked
