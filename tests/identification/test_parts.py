"""Small parts of identification against their definitions: base parameters, essential ones, information of motions, payloads."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close
from scipy.stats import chi2

import appell
from appell.identification import base, lag, payload
from appell.identification.cleaning import Segment
from appell.identification.essential import essential_parameters
from appell.identification.excitation_criteria import AddedInformation
from appell.identification.log_columns import find_columns
from appell.identification.recording import Recording
from appell.identification.term_selection import coupling_terms


def test_parameters_without_significance_are_dropped_one_by_one():
    """The least significant first, the others move with it; the sum of squares stays below the quantile of their number."""
    for size, dropped in ((1.9, 1), (2.0, 0)):  # the 95 % quantile of one normal number is 1.96
        found = essential_parameters(np.array([9.0, size]), np.eye(2))
        assert (~found.kept).sum() == dropped
        assert found.statistic == pytest.approx(size**2 if dropped else 0.0)
        assert found.limit == pytest.approx(chi2.ppf(0.95, 1))
    sizes = np.array([1.5, 1.6, 1.7, 1.8, 1.85, 20.0])
    found = essential_parameters(sizes, np.eye(6))
    sums = np.cumsum(sizes[:5] ** 2)
    count = int(np.argmin(np.append(sums <= chi2.ppf(0.95, np.arange(1, 6)), False)))
    assert 1 <= count < 5
    assert found.kept.tolist() == [False] * count + [True] * (6 - count)
    assert found.statistic == pytest.approx(sums[count - 1] / count)
    assert found.limit == pytest.approx(chi2.ppf(0.95, count) / count)
    C = np.array([[4.0, 1.0], [1.0, 0.25 + 1.0]])
    moved = essential_parameters(np.array([0.5, 9.0]), C)
    assert_close(moved.values, np.array([0.0, 9.0 - 1.0 * 0.5 / 4.0]), tolerance=1e-12)
    assert_close(moved.covariance, np.array([[0.0, 0.0], [0.0, 1.0]]), tolerance=1e-12)


def test_sums_of_parameters_in_words():
    names = ("a", "b", "c", "d")
    assert base._combination(np.array([1.0, -1.0, 0.0, 2.5]), names, 0) == "a - b + 2.5 d"
    assert base._combination(np.array([-0.5, 1.0, 1.0 + 1e-8, 0.0]), names, 1) == "b - 0.5 a + 1 c"
    assert base._combination(np.array([0.0, 1.0, 1.0 + 1e-12, 0.0]), names, 1) == "b + c"


def test_the_order_of_preference():
    """Regrouped are mass, the first moment along the joint's axis and a moment across it: Izz, Ixx, Iyy for x, y, z."""
    robot = SimpleNamespace(system=SimpleNamespace(parameter_bodies=(("one", 0), ("two", 1), ("three", 2))))
    order = base.preferred_order(robot, 32)  # type: ignore[arg-type]
    assert order[-9:] == [0, 1, 9, 10, 12, 14, 20, 23, 26]
    assert order[-11:-9] == [30, 31]
    assert sorted(order) == list(range(32))
    assert order[:7] == [2, 3, 4, 5, 6, 7, 8]


def test_independent_columns_of_a_stack():
    """Columns (a, b, a + 2 b, 0): the first two are kept; in another order others."""
    rng = np.random.default_rng(0)
    K = np.zeros((30, 2, 4))
    K[..., :2] = rng.normal(size=(30, 2, 2)) * [1.0, 100.0]
    K[..., 2] = K[..., 0] + 2.0 * K[..., 1]
    found = base.choose_columns(K, [0, 1, 2, 3])
    assert found.independent == (0, 1)
    assert found.zero == {3}
    assert_close(found.B, np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 2.0, 0.0]]), tolerance=1e-9)
    assert found.kept / found.dropped > 1e10
    other = base.choose_columns(K, [3, 2, 0, 1])
    assert other.independent == (0, 2)
    assert_close(other.B, np.array([[1.0, -0.5, 0.0, 0.0], [0.0, 0.5, 1.0, 0.0]]), tolerance=1e-9)
    nothing = base.choose_columns(np.zeros((3, 2, 2)), [0, 1])
    assert nothing.independent == ()
    assert (nothing.kept, nothing.dropped) == (1.0, np.finfo(float).eps)


def test_information_of_another_motion():
    """Uncertainty of predictions: the root of the trace of P F⁻¹, F with what a motion adds."""
    rng = np.random.default_rng(0)
    A, K = rng.normal(size=(9, 3)), rng.normal(size=(2, 5, 2, 3))
    F, P, weights = A.T @ A, np.diag([1.0, 2.0, 3.0]), np.array([7.0, 0.5])
    criterion = AddedInformation(F, weights, P)
    added = [F + np.einsum("njb,j,njc->bc", each, weights / 5, each) for each in K]
    expected = [0.5 * np.log(np.trace(P @ np.linalg.inv(each))) for each in added]
    assert_close(criterion.costs(K), np.array(expected), tolerance=1e-6)
    before, after = criterion.uncertainty(K[1]) or (0.0, 0.0)
    assert before == pytest.approx(np.sqrt(np.trace(P @ np.linalg.inv(F))), rel=1e-6)
    assert after == pytest.approx(np.exp(expected[1]), rel=1e-6)


def test_the_scales_of_the_information():
    """Samples of the duration in units of noise and correlation; predictions relative to the measured forces."""
    robot = appell.load("planar2r")
    own = base.base_parameters(robot)
    limits = SimpleNamespace(
        lower=np.array([-1.0, 0.0]),
        upper=np.array([1.0, 2.0]),
        velocity=np.array([1.0, 2.0]),
        acceleration=np.array([3.0, 4.0]),
    )
    fit = SimpleNamespace(
        base=own, terms=(), t=np.arange(100) * 0.01, measured=np.full((100, 2), [3.0, 4.0]), sigma=np.array([0.1, 0.2]),
        correlation=np.array([2.0, 5.0]), information=np.eye(len(own)),
    )  # fmt: skip
    found = AddedInformation.of(robot, limits, fit, 5.0)  # type: ignore[arg-type]
    assert_close(found.weights, 500.0 / np.array([0.02, 0.2]), tolerance=1e-9)
    half = AddedInformation.of(robot, limits, SimpleNamespace(**{**vars(fit), "measured": 2.0 * fit.measured}), 5.0)  # type: ignore[arg-type]
    assert_close(half.P, found.P / 4.0, tolerance=1e-12)
    assert np.linalg.eigvalsh(found.P).min() > -1e-12
    rng = np.random.default_rng(0)
    q = rng.uniform(limits.lower, limits.upper, (300, 2))
    qd, qdd = (rng.uniform(-x, x, q.shape) for x in (limits.velocity, limits.acceleration))
    K = robot.regressor(q, qd, qdd)[..., list(own.independent)]
    assert_close(found.P, np.einsum("njb,njc->bc", K, K) / (len(K) * 25.0), tolerance=1e-9)


def test_one_short_part_is_used_for_the_lag():
    t = 0.01 * np.arange(20)
    part = Segment(t, np.stack([t, t], axis=1), np.ones((20, 2)), None, np.ones(20, dtype=bool))
    robot = appell.load("planar2r")
    assert len(lag.shifted_motions(robot, [part], None)[0]) == 1
    assert len(lag.shifted_motions(robot, [part, part], None)[0]) == 0


@pytest.mark.parametrize(
    ("mass", "error", "shown", "found"),
    [(2.9, 1.0, True, True), (3.1, 1.0, True, False), (9.0, 1.0, False, True), (1.7, 0.5, True, False)],
)
def test_a_payload_is_significant_from_three_standard_errors(monkeypatch, mass, error, shown, found):
    values, errors = np.zeros(16), np.zeros(16)
    values[6], errors[6] = mass, error
    monkeypatch.setattr(
        payload, "identify", lambda *arguments, **options: SimpleNamespace(observe=lambda *given: (None,))
    )
    monkeypatch.setattr(payload, "_solve", lambda parts, fit: (values, errors, np.array([shown] + [True] * 9)))
    empty = Recording(np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2)))
    estimate = payload.identify_payload(appell.load("planar2r"), empty, empty)
    assert bool(estimate.findings) == found
    assert estimate.mass == mass
    assert np.isinf(estimate.standard_errors[0]) != shown
    assert estimate.at == "link2"


def test_a_significant_parameter_is_kept_however_few_the_others_cost():
    found = essential_parameters(np.array([0.1, 0.1, 0.1, 2.5]), np.eye(4))
    assert found.kept.tolist() == [False, False, False, True]


def test_what_is_said_about_a_lag():
    assert lag.Lag(0.0, 0.1, 0.1).notes == ()
    (note,) = lag.Lag(0.004, 0.05, 0.1).notes
    assert note == "forces are late by 4 ms and shifted back: prediction error 5.00 %, without 10.00 %"


def test_a_payload_on_the_robot_is_that_of_with_payload():
    robot = appell.load("puma560")
    mass, com, central = 1.5, np.array([0.1, -0.05, 0.2]), np.diag([0.02, 0.03, 0.04])
    at_origin = central + mass * (com @ com * np.eye(3) - np.outer(com, com))
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = at_origin
    at = robot.tree.links[-1].body
    estimate = payload.PayloadEstimate(at, np.array([mass, *(mass * com), xx, xy, yy, xz, yz, zz]), np.zeros(10), None)  # type: ignore[arg-type]
    expected = robot.with_payload(mass, com, (0.02, 0.03, 0.04), at=at)
    assert_close(estimate.on(robot).parameters, expected.parameters, tolerance=1e-9)
    assert_close(estimate.com, com, tolerance=1e-12)
    with pytest.raises(appell.IdentificationError, match="the payload has mass -1 kg"):
        payload.PayloadEstimate(at, -np.ones(10), np.zeros(10), None).on(robot)  # type: ignore[arg-type]


def test_information_is_the_inverse_of_the_covariance():
    arm = appell.load("planar2r")
    t = np.arange(0.0, 10.0, 0.005)
    q, qd, qdd = appell.excitation(arm, 5.0, 3, iterations=0)(t)
    rng = np.random.default_rng(0)
    tau = arm.inverse_dynamics(q, qd, qdd) + rng.normal(size=q.shape)
    found = appell.identify(arm, t, q, tau, terms=())
    scale = np.sqrt(np.diag(found.covariance))
    assert_close(
        scale[:, None] * found.information * scale,
        np.linalg.inv(found.covariance / np.outer(scale, scale)),
        tolerance=1e-6,
    )


def test_the_longest_name_of_a_joint_in_a_label_counts():
    found = find_columns(["time", "arm/position", "arm_2/position", "arm/effort", "arm_2/effort"], ["arm", "arm_2"])
    assert found.quantities == {"q": {0: 1, 1: 2}, "tau": {0: 3, 1: 4}}


def test_segments_are_of_the_first_recording_by_default():
    assert Segment(np.arange(3.0), np.zeros((3, 1)), np.zeros((3, 1)), None, np.ones(3, dtype=bool)).recording == 0


def test_joints_that_may_share_a_shaft_follow_each_other():
    found = coupling_terms(appell.load("planar2r"), 0.03)
    assert [(term.first, term.second, term.width, term.ratio) for term in found] == [
        (0, 1, 0.03, 1.0),
        (0, 1, 0.03, -1.0),
    ]
    assert len(coupling_terms(appell.load("puma560"), 0.03)) == 10
