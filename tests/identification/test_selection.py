"""Choices by cross-validation, each part against its definition."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification import cross_validation, cutoff, lag
from appell.identification.base import base_parameters
from appell.identification.cleaning import Segment
from appell.identification.cross_validation import Products
from appell.identification.term_selection import TermComparison, friction_terms, width_terms
from appell.robot.regressor_terms import AsymmetricViscous, Coulomb, Coupling, LoadFriction, Offset, Stribeck, Viscous


def segment(count, period=0.01, recording=0, frequency=0.5):
    t = period * np.arange(count)
    q = np.stack([np.sin(2 * np.pi * frequency * t), np.cos(2 * np.pi * frequency * t)], axis=1)
    return Segment(t, q, q[:, ::-1].copy(), q.copy(), np.ones(count, dtype=bool), recording)


# --- products -----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    """Three folds of two forces with shared parameters: regressors (folds, N, columns), right-hand sides (folds, N, 2)."""
    rng = np.random.default_rng(0)
    own = (np.array([0, 1, 3]), np.array([1, 2, 4]))
    K = rng.normal(size=(3, 2, 40, 3)) * [1.0, 10.0, 0.1]
    truth = rng.normal(size=5)
    tau = np.stack([np.einsum("fnc,c->fn", K[:, j], truth[own[j]]) for j in (0, 1)], axis=-1)
    return own, K, tau + rng.normal(size=tau.shape) * [0.2, 2.0]


def as_products(rows):
    own, K, tau = rows
    G, h = np.zeros((len(K), 2, 5, 5)), np.zeros((len(K), 2, 5, 2))
    for f in range(len(K)):
        for j in (0, 1):
            G[f, j][np.ix_(own[j], own[j])] = K[f, j].T @ K[f, j]
            h[f, j, own[j]] = K[f, j].T @ tau[f]
    p = np.repeat((tau**2).sum(axis=1)[:, None], 2, axis=1)
    return Products(G, h, p, np.full(len(K), 40), (3, 5))


def least_squares(rows, folds, active, weights):
    own, K, tau = rows
    A = np.zeros((0, 5))
    z = np.zeros(0)
    for f in folds:
        for j in (0, 1):
            block = np.zeros((40, 5))
            block[:, own[j]] = K[f, j]
            A = np.vstack([A, np.sqrt(weights[j]) * block])
            z = np.append(z, np.sqrt(weights[j]) * tau[f, :, j])
    values = np.zeros(5)
    values[active] = np.linalg.lstsq(A[:, active], z, rcond=None)[0]
    return values


def squares(rows, values, fold):
    own, K, tau = rows
    return np.array([((K[fold, j] @ values[own[j]] - tau[fold, :, j]) ** 2).sum() for j in (0, 1)])


@pytest.mark.parametrize("active", [np.ones(5, dtype=bool), np.array([1, 1, 0, 1, 1], dtype=bool)])
def test_residuals_from_products_are_those_of_the_rows(rows, active):
    data, folds = as_products(rows), range(3)
    weights = np.ones(2)
    for _ in range(3):
        values = least_squares(rows, folds, active, weights)
        fitted = np.array([squares(rows, values, f) for f in folds])
        weights = 1.0 / fitted.sum(axis=0)
    final = least_squares(rows, folds, active, weights)
    assert_close(
        data.residuals(active, [0, 1], cross=False), np.array([squares(rows, final, f) for f in folds]), tolerance=1e-8
    )
    others = [least_squares(rows, [k for k in folds if k != f], active, weights) for f in folds]
    crossed = np.array([squares(rows, others[f], f) for f in folds])
    assert_close(data.residuals(active, [0, 1]), crossed, tolerance=1e-8)
    relative = crossed.sum(axis=0) / (rows[2] ** 2).sum(axis=(0, 1))
    total = crossed.sum() / (rows[2] ** 2).sum()
    assert data.error(active, [0, 1]) == pytest.approx((total * np.sqrt(relative.prod())) ** 0.25, rel=1e-7)


def test_one_fold_is_fitted(rows):
    own, K, tau = rows
    one = as_products((own, K[:1], tau[:1]))
    active = np.ones(5, dtype=bool)
    assert_close(one.residuals(active, [0, 1]), one.residuals(active, [0, 1], cross=False))


def test_forces_without_signal_do_not_count(rows):
    own, K, tau = rows
    silent = as_products((own, K, tau * [1.0, 0.0]))
    error = silent.error(np.array([1, 1, 0, 1, 0], dtype=bool), [0, 1])
    assert 0.0 < error < 1.0


def test_the_smallest_column(rows):
    _, K, _ = rows
    data = as_products(rows)
    size = [np.sqrt((K[:, 0, :, k] ** 2).mean()) for k in range(3)]
    assert data.smallest_column(np.array([0])) == pytest.approx(size[0])
    assert data.smallest_column(np.array([3])) == pytest.approx(size[2])
    assert data.smallest_column(data.term_columns(0)) == pytest.approx(
        min(size[2], np.sqrt((K[:, 1, :, 2] ** 2).mean()))
    )
    shared = np.sqrt(((K[:, 0, :, 1] ** 2).sum() + (K[:, 1, :, 0] ** 2).sum()) / 240)
    assert data.smallest_column(np.array([1])) == pytest.approx(shared)


def test_normal_equations_of_columns_of_any_size():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 3)) * [1.0, 1e-6, 1e6]
    x = np.array([1.0, -2e6, 3e-6])
    assert_close(cross_validation._solutions((A.T @ A)[None], (A.T @ A @ x)[None])[0] / x, np.ones(3), tolerance=1e-8)
    M = np.diag([1.0, 0.0])
    assert_close(cross_validation._solutions(M[None], np.array([[2.0, 0.0]]))[0], np.array([2.0, 0.0]), tolerance=1e-10)


# --- windows, frequencies and shifts ------------------------------------------------------------------------------------------


def test_windows_of_long_recordings():
    short = [segment(60_000), segment(60_000, recording=1)]
    assert cross_validation.windows(short) == short
    long = [segment(90_000), segment(30_001, recording=1)]
    found = cross_validation.windows(long)
    assert [each.recording for each in found] == [0] * 9 + [1] * 3
    assert {len(each.t) for each in found} == {10_000}
    assert found[0].t[0] == 0.0
    assert found[8].t[-1] == long[0].t[-1]
    assert found[4].t[0] == pytest.approx(400.0)
    for each in found[:2]:
        first = round(each.t[0] / 0.01)
        assert_close(each.q, long[0].q[first : first + 10_000])
        assert_close(each.qd, long[0].qd[first : first + 10_000])
        assert_close(each.tau, long[0].tau[first : first + 10_000])
    uneven = cross_validation.windows([segment(120_000), segment(2_000, recording=1)])
    assert [len(each.t) for each in uneven] == [10_000] * 12 + [2_000]


def test_candidates_of_the_cutoff_frequency():
    """From 1.2 times the band, here 0.5 Hz, in ratios of 1.5 to a fifth of the sampling rate."""
    found = cutoff.cutoff_frequencies([segment(4000), segment(400)])
    assert_close(found, 0.6 * 1.5 ** np.arange(9), tolerance=0.06)
    assert np.diff(np.log(found)) == pytest.approx(np.log(1.5))
    assert found[-1] <= 20.0 < 1.5 * found[-1]
    slow = cutoff.cutoff_frequencies([segment(400)])
    assert slow[0] == pytest.approx(12.0 / 4.0)
    assert cutoff.cutoff_frequencies([segment(50)]) == [20.0]
    assert len(cutoff.cutoff_frequencies([segment(20_000, 0.0002)])) == 14
    coarse = cutoff.cutoff_frequencies([segment(4000), segment(400, 0.02)])
    assert coarse[-1] <= 10.0 < 1.5 * coarse[-1]


def curve_of(monkeypatch, errors, report):
    """The chosen one of some prediction errors."""
    frequencies = [float(k) for k in range(1, len(errors) + 1)]
    table = dict(zip(frequencies, errors, strict=True))
    monkeypatch.setattr(cutoff, "cutoff_frequencies", lambda parts: frequencies)
    monkeypatch.setattr(cutoff, "filtered_motion", lambda robot, part, frequency: frequency)

    def fake(robot, base, terms, others, motions):
        return SimpleNamespace(size=1, error=lambda active, rhs: table[motions[0]])

    monkeypatch.setattr(cutoff, "products", fake)
    robot = SimpleNamespace(actuator_names=("a",))
    return cutoff.choose_cutoff(robot, [segment(4000)], None, (), report)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("errors", "chosen"),
    [
        ([5, 4, 1, 3, 5], 3),
        ([1, 2, 3], 1),
        ([3, 2, 1], 3),
        ([5, 1.005, 1.0, 1.005, 1.005, 5], 4),
        ([5, 1.0, 1.005, 1.005, 1.005, 1.005, 5], 4),
        ([5, 1.0, 1.012, 1.005, 5], 2),
        ([1.005, 5, 1.0, 5, 1.005], 3),
        ([1.0, 1.005, 1.005, 1.005], 3),
        ([1.005, 1.005, 1.005, 1.0], 3),
        ([1.0, 0.0, 1e-6, 3e-6], 2),
    ],
)
def test_the_cutoff_is_in_the_upper_half_of_those_within_a_percent(monkeypatch, errors, chosen):
    shares: list[float] = []
    found, curve = curve_of(monkeypatch, errors, shares.append)
    assert found == chosen
    assert shares == pytest.approx(np.arange(len(errors)) / len(errors))
    assert [error for _, error in curve] == errors


def test_the_cutoff_of_short_recordings():
    parts = [segment(30), segment(30, 0.005)]
    assert cutoff.choose_cutoff(appell.load("planar2r"), parts, None, ()) == (pytest.approx(20.0), [])  # type: ignore[arg-type]
    notes, findings = cutoff.describe_cutoff(20.0, [])
    assert notes == ["cut-off frequency 20 Hz: the recording is too short to compare others"]
    assert not findings


@pytest.mark.parametrize(
    ("errors", "doubtful"),
    [
        ([1.0, 1.4, 1.04], [3.0]),
        ([1.0, 1.4, 1.06], []),
        ([1.0, 1.25, 1.04], []),
        ([1.04, 1.35, 2.0, 1.0], [1.0]),
        ([2.0, 1.0, 1.4, 1.04], [4.0]),
        ([1.04, 1.0, 1.04, 1.04], []),
    ],
)
def test_two_valleys_of_the_prediction_error(errors, doubtful):
    curve = [(float(k), e) for k, e in enumerate(errors, 1)]
    best = curve[int(np.argmin(errors))][0]
    notes, findings = cutoff.describe_cutoff(best, curve)
    assert f"1 Hz {100 * errors[0]:.2f} %" in notes[0]
    assert [f"{other:.3g} Hz predicts about as well" in findings[0].evidence for other in doubtful] == [True] * len(
        findings
    )
    assert len(findings) == len(doubtful)


def test_shifts_are_later_and_earlier_samples():
    tau = np.arange(20.0)[:, None]
    found = list(cross_validation._shifts(np.array([0, 5]), tau, 4, 2))
    assert len(found) == 13
    assert [x[1, 0] for x in found] == [0, 0, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 19]
    assert found[6][0, 0] == 4.0


def test_steps_of_the_lag_take_four_milliseconds_or_a_sample():
    robot = appell.load("planar2r")
    for period, step in ((0.001, 4), (0.003, 1), (0.01, 1)):
        part = segment(2000, period)
        part.t[:] += 50.0
        motions, shifted, time = lag.shifted_motions(robot, [part], None)
        assert shifted[0][1:] == (4, step)
        assert time == pytest.approx(step * period)
        assert motions[0].t[0] == pytest.approx(50.0 + 4 * period)
    fast, slow, brief = segment(2000, 0.001), segment(2000, 0.008), segment(12, 0.001)
    motions, shifted, time = lag.shifted_motions(robot, [fast, slow, brief], None)
    assert [each[2] for each in shifted] == [8, 1]
    assert time == pytest.approx(0.008)


def lag_of(squared, samples=10**6):
    """The lag for squares of the errors by shift."""
    data = SimpleNamespace(
        base_columns=None,
        forces=2,
        samples=np.array([samples]),
        error=lambda active, rhs: float(np.sqrt(squared[rhs[len(rhs) - 2]])),
    )
    return lag.choose_lag(data, 0.004)  # type: ignore[arg-type]


def test_the_lag_is_at_the_vertex_of_the_squares():
    k = np.arange(-6, 7)
    for vertex in (1.3, -2.4, 0.3):
        found = lag_of(1.0 + 0.5 * (k - vertex) ** 2)
        assert found.seconds == pytest.approx(0.004 * vertex)
        assert found.error == pytest.approx(1.0)
        assert found.without == pytest.approx(np.sqrt(1.0 + 0.5 * vertex**2))


def test_the_least_error_of_a_lag():
    """That of the parabola; zero where it falls below."""
    squared = np.full(13, 9.0)
    squared[6:9] = 1.0, 0.01, 0.5
    assert lag_of(squared).error == 0.0
    squared[6:9] = 0.5, 0.3, 0.4
    assert lag_of(squared).error ** 2 == pytest.approx(0.3 - 0.125 * 0.01 / 0.3)
    assert lag_of(squared).seconds == pytest.approx(0.004 * (1.0 + 0.5 * 0.1 / 0.3))


def test_a_lag_without_gain_or_at_the_end_is_none():
    k = np.arange(-6, 7)
    for curvature, taken in ((0.021, True), (0.019, False)):  # 1 % of the error is 2 % of its square
        found = lag_of(1.0 + curvature * (k - 1.0) ** 2)
        assert (found.seconds != 0.0) == taken
        assert found.error == pytest.approx(1.0 if taken else found.without)
    for curvature, taken in ((0.24, True), (0.22, False)):  # 100 samples: a tenth
        assert (lag_of(1.0 + curvature * (k - 1.0) ** 2, 100)[0] != 0.0) == taken
    for end in (6.0, -6.0):
        assert lag_of(1.0 + (k - end) ** 2)[0] == 0.0
        assert lag_of(1.0 + (k - np.sign(end) * 5.0) ** 2)[0] == pytest.approx(0.004 * np.sign(end) * 5.0)


# --- forces of a later time ---------------------------------------------------------------------------------------------------


def test_forces_of_a_later_time():
    part = segment(400)
    assert lag.without_lag(part, 0.0) is part
    whole = lag.without_lag(part, 0.0301)
    assert_close(whole.tau[:-3], part.tau[3:])
    assert np.flatnonzero(~whole.trusted).tolist() == [396, 397, 398, 399]
    between = lag.without_lag(part, 0.0303)
    expected = np.sin(np.pi * (part.t + 0.0303))
    assert_close(between.tau[:-4, 1], expected[:-4], tolerance=1e-6)
    assert between.tau[-1, 1] == pytest.approx(np.sin(np.pi * part.t[-1]))
    early = lag.without_lag(part, -0.02)
    assert_close(early.tau[2:], part.tau[:-2])
    assert np.flatnonzero(~early.trusted).tolist() == [0, 1]


# --- terms --------------------------------------------------------------------------------------------------------------------


TERMS = (Viscous(), Coulomb(0.01), Offset())


class Compared:
    """Prediction errors by the active alternatives; without one in place of Coulomb friction its own columns are active."""

    def __init__(self, base, others, errors, smallest=1.0):
        self.others, self.errors, self.smallest, self.forces = others, errors, smallest, 2
        self.edges = tuple(len(base) + 2 * k for k in range(len(others) + 1))
        self.size, self.base_columns = self.edges[-1], np.arange(self.edges[-1]) < len(base)
        self.coulomb = [k for k, i in enumerate(base.independent) if base.names[i].startswith("fc[")]

    def term_columns(self, k):
        return Products.term_columns(self, k)  # type: ignore[arg-type]

    def error(self, active, rhs):
        assert rhs == [7, 7]
        chosen = [k for k in range(len(self.others)) if active[self.edges[k]]]
        assert all(active[self.edges[k] + 1] == (k in chosen) for k in range(len(self.others)))
        replaced = any(isinstance(self.others[k], Coulomb) for k in chosen)
        expected = np.array([not (replaced and k in self.coulomb) for k in range(self.edges[0])])
        assert (active[: self.edges[0]] == expected).all()
        return self.errors.get(tuple(chosen), 9.0)

    def smallest_column(self, columns):
        assert isinstance(self.others[(np.flatnonzero(columns)[0] - self.edges[0]) // 2], Stribeck)
        return self.smallest


def chosen_terms(errors, others, smallest=1.0):
    robot = appell.load("planar2r")
    base = base_parameters(robot, TERMS)
    data = Compared(base, others, errors, smallest)
    return TermComparison(robot, base, TERMS, data, [(term,) for term in others], 7).friction()  # type: ignore[arg-type]


def test_coulomb_friction_is_replaced_for_one_percent():
    others = (Coulomb(0.02), Coulomb(0.04))
    for second, chosen in ((0.985, 0.02), (0.97, 0.04)):
        terms, lines = chosen_terms({(): 1.0, (0,): 0.985, (1,): second * 0.995}, others)
        assert [term.width for term in terms if isinstance(term, Coulomb)] == [chosen]
    assert lines[0] == "Coulomb friction over 0.01 rad/s: prediction error 100.00 %"
    assert lines[1] == "Coulomb friction over 0.02 rad/s: 98.50 %, chosen"
    terms, lines = chosen_terms({(): 1.0, (0,): 0.992, (1,): 0.992}, others)
    assert terms == TERMS
    assert "chosen" not in "".join(lines)


def test_other_terms_are_added_for_three_percent():
    others = (AsymmetricViscous(), Stribeck(0.05, 0.01), Stribeck(0.15, 0.01))
    errors = {(): 1.0, (0,): 0.965, (0, 1): 0.94, (0, 2): 0.93}
    terms, lines = chosen_terms(errors, others)
    assert terms == (*TERMS, others[0], others[2])
    assert [line.endswith("chosen") for line in lines] == [False, True, False, True]
    terms, _ = chosen_terms({(): 1.0, (0,): 0.975, (1,): 0.975, (2,): 0.965}, others)
    assert terms == (*TERMS, others[2])


def test_stribeck_friction_needs_slow_joints():
    others = (Stribeck(0.05, 0.01),)
    for smallest, added in ((0.045, False), (0.055, True)):
        terms, lines = chosen_terms({(): 1.0, (0,): 0.5}, others, smallest)
        assert (others[0] in terms) == added
    assert lines[-1].startswith("with Stribeck friction below 0.05 rad/s: 50.00 %")


def test_terms_that_may_be_added():
    """Widths of Coulomb friction near the chosen one, and friction of loads where gravity acts."""
    given = (Viscous(), Coulomb(0.02))
    others = [term for own in friction_terms(appell.load("puma560"), given) for term in own]
    assert [term.width for term in others if isinstance(term, Coulomb)] == [0.014, 0.017, 0.024, 0.028]
    assert [(term.velocity, term.width) for term in others if isinstance(term, Stribeck)] == [
        (0.05, 0.02), (0.15, 0.02), (0.4, 0.02)
    ]  # fmt: skip
    assert any(isinstance(term, AsymmetricViscous) for term in others)
    assert [term.width for term in others if isinstance(term, LoadFriction)] == [0.02]
    arm = appell.load("planar2r")
    for gravity, loads in ((0.0, 0), (0.01, 1)):
        own = [term for each in friction_terms(arm.with_gravity((0.0, -gravity, 0.0)), given) for term in each]
        assert sum(isinstance(term, LoadFriction) for term in own) == loads
    wide = [term for own in width_terms(appell.load("puma560"), given) for term in own]
    assert [term.width for term in wide] == [0.0025, 0.005, 0.02, 0.04, 0.08]


class Coupled(Compared):
    """Squares of each fold and joint by the active alternatives."""

    def residuals(self, active, rhs, cross=True):
        return np.array(self.squares[tuple(k for k in range(len(self.others)) if active[self.edges[k]])])

    squares: dict


def coupled_terms(errors, squares):
    robot = appell.load("planar2r")
    base = base_parameters(robot, TERMS)
    others = (Coupling(0, 1, 0.01, 1.0), Coupling(0, 1, 0.01, -1.0))
    data = Coupled(base, others, errors)
    data.squares = squares
    return TermComparison(robot, base, TERMS, data, [(term,) for term in others], 7).couplings()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("after", "coupled"),
    [
        ([[0.79, 0.79]] * 5, True),
        ([[0.83, 0.79]] * 5, False),  # 0.9 squared is 0.81
        ([[0.79, 0.83]] * 5, False),
        ([[0.5, 0.5]] * 4 + [[1.5, 1.5]], True),  # one fold may be worse
        ([[0.4, 0.4]] * 3 + [[1.1, 0.4]] * 2, False),
    ],
)
def test_coupled_joints_both_gain_a_tenth_in_all_folds_but_one(after, coupled):
    before = [[1.0, 1.0]] * 5
    terms, lines = coupled_terms({(): 1.0, (0,): 0.96, (1,): 0.9}, {(): before, (1,): after, (0,): before})
    assert [term.ratio for term in terms if isinstance(term, Coupling)] == ([-1.0] if coupled else [])
    assert len(lines) == coupled
    if coupled:
        assert lines[0] == "a motor shaft turns with joint1 - joint2: prediction error 90.00 %, without 100.00 %"
    small, _ = coupled_terms({(): 1.0, (0,): 0.99, (1,): 0.975}, {(): before, (1,): after, (0,): after})
    assert small == TERMS
