"""Parameters found again: values, uncertainty, solvers, weights, options."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.recorded_motion import TERMS, lossy_puma, puma_motion, puma_recording
from helpers.states import random_states

import appell
from appell.errors import IdentificationWarning
from appell.identification import Estimator, Filtering, Holdout, Transmission
from appell.identification.fit import correlation_times, huber_weights
from appell.identification.solvers import SOLVERS, ridge


@pytest.fixture(scope="module")
def found():
    record = puma_recording()
    return appell.identify(lossy_puma(), *record[:3], terms=TERMS)


def test_every_base_parameter_within_three_standard_errors(found):
    """Encoder noise 1e-5 rad, torque noise 1 %: 58 base parameters, and errors as large as they are said to be."""
    off = (found.base_parameters - found.base.of(puma_recording().truth)) / found.standard_errors
    assert len(off) == 58
    assert np.abs(off).max() < 3.0
    assert 0.6 < np.sqrt(np.mean(off**2)) < 1.4


def test_another_motion_is_predicted(found):
    """Below 1.5 % of the noisy forces, of which 1 % is noise; and far below that of the true ones."""
    other = puma_recording(motion=1, seed=0)
    predicted = found.predict(*puma_motion(1)(other.t))
    clean = lossy_puma().regressor(*puma_motion(1)(other.t), terms=TERMS) @ puma_recording().truth
    noisy = clean + (other.tau - other.clean)
    assert np.linalg.norm(predicted - noisy) / np.linalg.norm(noisy) < 0.015
    assert np.linalg.norm(predicted - clean) / np.linalg.norm(clean) < 1e-3


def test_the_four_solvers_agree(found):
    for solver in SOLVERS:
        options = {"estimator": Estimator(solver=solver), "filtering": Filtering(found.cutoff)}
        again = appell.identify(lossy_puma(), *puma_recording()[:3], terms=TERMS, **options)
        assert_close(again.base_parameters, found.base_parameters, tolerance=1e-9)


@pytest.mark.parametrize("weights", ["equal", "residual", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]])
def test_weights_move_the_answer_within_its_uncertainty(found, weights):
    options = {"estimator": Estimator(weights=weights), "filtering": Filtering(found.cutoff)}
    again = appell.identify(lossy_puma(), *puma_recording()[:3], terms=TERMS, **options)
    off = (again.base_parameters - found.base_parameters) / np.maximum(again.standard_errors, found.standard_errors)
    assert 1e-6 < np.abs(off).max() < 6.0
    assert (again.standard_errors > 0.9 * found.standard_errors).all()


@pytest.mark.parametrize("weights", ["iterated", "robust"])
def test_outliers_are_found_before_the_filter(found, weights):
    """One sample in twenty of every force is off by 0.2 of the largest force; decimation by default."""
    record = puma_recording()
    rng = np.random.default_rng(7)
    hit = rng.random(record.tau.shape) < 0.05
    tau = record.tau + hit * 0.2 * np.abs(record.clean).max(axis=0)
    with pytest.warns(
        IdentificationWarning, match=r"corrupt samples, joint1: .*samples of tau are unlike both sides \(4"
    ):
        again = appell.identify(
            lossy_puma(), record.t, record.q, tau, terms=TERMS, estimator=Estimator(weights=weights)
        )
    truth = found.base.of(record.truth)
    off, clean = ((fit.base_parameters - truth) / found.standard_errors for fit in (again, found))
    assert np.sqrt(np.mean(off**2)) < 1.5 * np.sqrt(np.mean(clean**2))


def test_huber_weights_of_a_normal_sample():
    """The scale is the median / 0.6745, the standard deviation of normal residuals: 18 % of them exceed 1.345 of it."""
    residuals = np.random.default_rng(0).normal(scale=3.0, size=(100_000, 1))
    weights = huber_weights(residuals, np.zeros(len(residuals), dtype=bool))
    assert (weights < 1.0).mean() == pytest.approx(0.1786, abs=0.005)
    assert weights[np.abs(residuals[:, 0]).argmax(), 0] == pytest.approx(
        1.345 * 3.0 / np.abs(residuals).max(), rel=0.02
    )


def test_physical_and_free_fit_agree_where_the_truth_is_physical(found):
    physical = appell.identify(lossy_puma(), *puma_recording()[:3], terms=TERMS, physical=True)
    assert physical.consistent.all()
    off = (physical.base_parameters - physical.base.of(puma_recording().truth)) / physical.standard_errors
    assert np.abs(off).max() < 3.2
    assert abs(physical.relative_error.total - found.relative_error.total) < 1e-3
    back = appell.load(physical.to_urdf())
    state = random_states(back, 4)
    friction = -back.passive_forces(state.qd)
    offsets = physical.parameters[-6:]
    smooth = physical.predict(*state) - offsets
    assert_close(back.inverse_dynamics(*state) + friction, smooth, tolerance=0.02)


def test_all_parameters_have_the_base_parameters_found(found):
    assert_close(found.base.of(found.parameters), found.base_parameters, tolerance=1e-9)
    assert found.relative_error.total > 0
    assert found.training_error.total > 0
    assert set(found.relative_error.joints) == set(lossy_puma().joint_names)
    assert found.holdout_mask.sum() == pytest.approx(len(found.t) / 5, rel=0.1)  # the ends are cut
    text = str(found)
    assert "Izz[link1]*" in text
    assert "held out" in text


def test_exact_data_give_exact_parameters():
    robot = appell.load("planar2r")
    motion = appell.excitation(robot, 4.0, 3, terms=(), iterations=0)
    t = np.arange(0.0, 8.0, 1e-3)
    q, qd, qdd = motion(t)
    found = appell.identify(
        robot,
        t,
        q,
        robot.inverse_dynamics(q, qd, qdd),
        qd=qd,
        qdd=qdd,
        terms=(),
        filtering=Filtering(None),
        holdout=Holdout(0),
    )
    assert_close(found.base_parameters, found.base.of(robot.parameters), tolerance=1e-11)
    assert found.relative_error.total < 1e-11
    assert not found.holdout_mask.any()
    assert found.value("Izz[link2]")[0] == pytest.approx(float(robot.parameters[19]))
    with pytest.raises(appell.ArgumentError, match="unknown base parameter 'Izz'"):
        found.value("Izz")


def test_validation_with_another_recording(found):
    other = puma_recording(1)
    error = found.validate(other[:3])
    assert error.total < 1.5 * found.relative_error.total
    assert error.joints.keys() == found.relative_error.joints.keys()
    wrong = found.validate((other.t, other.q, 1.1 * other.tau))
    assert wrong.total == pytest.approx(0.1 / 1.1, rel=0.05)


def test_recordings_at_the_motors_and_currents():
    robot, record = lossy_puma(), puma_recording()
    N = np.diag([50.0, -60.0, 40.0, 30.0, 20.0, 10.0])
    N[5, 4] = 7.0
    constants = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    gears = Transmission(N, offset=[0.1, 0.0, -0.2, 0.0, 0.0, 0.3], torque_constants=constants)
    motors = (record.q - gears.offset) @ N.T
    currents = record.tau @ np.linalg.inv(N) / constants
    there = appell.identify(
        robot, record.t, motors, currents, terms=TERMS, transmission=gears, filtering=Filtering(5.0)
    )
    here = appell.identify(robot, *record[:3], terms=TERMS, filtering=Filtering(5.0))
    assert_close(there.base_parameters, here.base_parameters, tolerance=1e-7)


def test_a_floating_robot():
    """Speeds and accelerations given; coordinates with a quaternion are not filtered."""
    robot = (
        appell.RobotBuilder("drone")
        .body("hull", mass=2.0, com=(0.1, 0.0, 0.05), inertia=(0.3, 0.2, 0.4))
        .body("arm", mass=0.5, com=(0.2, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))
        .floating("free", parent="world", child="hull")
        .revolute("shoulder", parent="hull", child="arm", axis=(0, 1, 0))
        .build()
    )
    state = random_states(robot, 400)
    tau = robot.inverse_dynamics(*state)
    t = np.arange(400) * 0.01
    found = appell.identify(robot, t, state.q, tau, qd=state.qd, qdd=state.qdd, terms=(), filtering=Filtering(None))
    assert len(found.base_parameters) == 10 + 7
    assert_close(found.base_parameters, found.base.of(robot.parameters), tolerance=1e-9)


def test_residuals_that_follow_each_other_count_as_fewer_samples():
    """A mean of ten samples has 1 + 2 (0.9 + ... + 0.1) = 10; 20000 samples estimate that to about 2 %."""
    rng = np.random.default_rng(0)
    white = rng.normal(size=20000)
    slow = np.convolve(white, np.ones(10), mode="same")
    times = correlation_times(np.stack([white, slow], axis=1))
    assert times[0] == pytest.approx(1.0, abs=0.05)
    assert times[1] == pytest.approx(10.0, rel=0.05)


def test_a_joint_without_force_does_no_harm():
    """A drive that was not recorded: its residual is rounding, and weights stay finite."""
    robot = appell.load("planar2r").with_gravity((0.0, 0.0, -9.81))
    t = np.arange(0.0, 8.0, 4e-3)
    q, qd, qdd = appell.excitation(robot, 4.0, 3, terms=(), iterations=0)(t)
    tau = robot.inverse_dynamics(q, qd, qdd) * [1.0, 0.0]
    found = appell.identify(robot, t, q, tau, terms=(), holdout=Holdout(0))
    assert np.isfinite(found.base_parameters).all()
    assert np.isfinite(found.standard_errors).all()


def test_ridge_leaves_a_sound_problem_alone_and_helps_a_weak_one():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(300, 5))
    A /= np.linalg.norm(A, axis=0)
    truth = np.ones(5)
    z = A @ truth + 0.01 * rng.normal(size=300)
    assert_close(ridge(A, z, 0.0, 300) @ z, np.linalg.lstsq(A, z, rcond=None)[0], tolerance=1e-12)
    A[:, 4] = A[:, 3] + 1e-4 * A[:, 4]
    errors = []
    for _ in range(20):
        z = A @ truth + 0.02 * rng.normal(size=300)
        answers = ridge(A, z, 0.0, 300) @ z, np.linalg.lstsq(A, z, rcond=None)[0]
        errors.append([np.linalg.norm(answer - truth) for answer in answers])
    mine, plain = np.median(errors, axis=0)
    assert mine < 0.1 * plain


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"estimator": Estimator("lu")}, r"unknown solver 'lu'.* Valid: qr, svd, pinv, ridge"),
        ({"estimator": Estimator(weights="none")}, "unknown weights 'none'"),
        ({"filtering": Filtering(900.0)}, "cutoff is 900 Hz, expected between 0 and 125 Hz"),
        ({"terms": ["viscose"]}, "Did you mean 'viscous'"),
        ({"transmission": Transmission([[1.0, 2.0]])}, "expected ratios"),
        (
            {"estimator": Estimator(prior=appell.load("planar2r"))},
            "prior 'planar2r' does not have the structure of 'puma560': 2 moving links, expected 6",
        ),
    ],
)
def test_options_that_do_not_exist(options, told):
    with pytest.raises(appell.ArgumentError, match=told):
        appell.identify(lossy_puma(), *puma_recording()[:3], **{"terms": TERMS, "filtering": Filtering(5.0), **options})
    with pytest.raises(appell.ArgumentError, match="cutoff is 'low'"):
        Filtering("low")
    with pytest.raises(appell.ArgumentError, match="decimation is 0"):
        Filtering(decimation=0)


def test_long_fits_show_their_progress(monkeypatch):
    """From the first choice to the last prediction, on a terminal."""
    shown = []
    monkeypatch.setattr("appell.progress.show", lambda share, text, seconds: shown.append((share, text)))
    monkeypatch.setattr("appell.progress.FIRST_AFTER", 0.0)
    monkeypatch.setattr("appell.progress.PERIOD", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("appell.identification.observations.MAX_STORED", 0)
    arm = appell.load("planar2r")
    t = np.arange(0.0, 10.0, 0.01)
    q, qd, qdd = appell.excitation(arm, 5.0, 3, iterations=0)(t)
    appell.identify(arm, t, q, arm.inverse_dynamics(q, qd, qdd), terms=())
    shares = [share for share, _ in shown]
    assert shares == sorted(shares)
    assert 0.1 <= shares[0] < 0.3
    assert 0.7 <= shares[-1] < 0.95
    assert shown[0][1] == "identifying planar2r: 10 of 100 %"
