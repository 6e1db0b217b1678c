"""The momentum observer: residuals are the forces that the model lacks, and faults are detected, named, and stop a run."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.control_rigs import GOAL, PUMA, START, LocalCard
from helpers.joint_trees import mixed_tree

import appell
from appell.control import FaultDetector, MomentumObserver, RunOptions, StepClock, thresholds
from appell_lab import faults


def motion_with(robot, external, steps=400, period=1e-3, seed=0):
    """q, qd and tau of a robot under smooth drives and a constant generalized force that the observer does not know."""
    rng = np.random.default_rng(seed)
    q, qd = robot.neutral_configuration(), np.zeros(robot.nv)
    amplitude, phase = rng.normal(size=(2, robot.nv))
    record = []
    for k in range(steps):
        tau = robot.gravity(q) + amplitude * np.sin(8.0 * k * period + phase)
        record.append((q, qd, tau))
        fine = 4
        for _ in range(fine):
            h = period / fine
            qdd1 = robot.forward_dynamics(q, qd, tau + external + robot.passive_forces(qd))
            middle_q, middle_qd = robot.integrate(q, 0.5 * h * qd), qd + 0.5 * h * qdd1
            qdd2 = robot.forward_dynamics(middle_q, middle_qd, tau + external + robot.passive_forces(middle_qd))
            q, qd = robot.integrate(q, h * middle_qd), qd + h * qdd2
    return [np.array(column) for column in zip(*record, strict=True)]


ROBOTS = {"puma": PUMA, "all joint kinds": mixed_tree(6, 1)}


@pytest.mark.parametrize("name", ROBOTS)
def test_residual_follows_an_unknown_force_as_a_first_order_filter(name):
    """r = (1 - exp(-K t)) τ_ext, for every kind of joint, moving, with damping."""
    robot = ROBOTS[name]
    robot = without_dry_friction(robot)
    external = 0.3 * np.random.default_rng(1).normal(size=robot.nv)
    q, qd, tau = motion_with(robot, external)
    gain, period = 60.0, 1e-3
    found = MomentumObserver(robot, gain=gain, period=period).residuals(q, qd, tau)
    t = np.arange(len(q))[:, None] * period
    assert_close(found, (1.0 - np.exp(-gain * t)) * external, tolerance=3e-3, scale=float(np.abs(external).max()))


def without_dry_friction(robot):
    from dataclasses import replace

    return replace(robot, joints=tuple(replace(joint, friction=0.0) for joint in robot.joints))


def test_observer_of_lanes_is_the_observer_of_each():
    observer = MomentumObserver(PUMA, gain=[10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
    q, qd, tau = np.random.default_rng(3).normal(size=(3, 2, 4, 6))
    state = observer.step(observer.initial_state(q[0], qd[0]), q[1], qd[1], tau[0])
    for lane in range(4):
        one = observer.residuals(q[:, lane], qd[:, lane], tau[:, lane])
        assert_close(state.residual[lane], one[1], tolerance=1e-12)


def detector(**options):
    return FaultDetector(MomentumObserver(PUMA, gain=50.0), threshold=[2.0, 2.0, 2.0, 0.2, 0.2, 0.2], **options)


@pytest.mark.parametrize(("residual", "kind", "joint"), [
    ([0, 0, 5, 0, 0, 0], "drive", "joint3"),
    ([3, 4, 5, 0, 0, 0], "collision", "joint3"),
    ([3, 0, 0, 0, 0.25, 0], "collision", "joint5"),
    ([0, 0, 0, 0, 0, -0.3], "drive", "joint6"),
    ([-9, 0, 0, 0, 0, 0], "drive", "joint1"),
])  # fmt: skip
def test_faults_are_named_by_the_joints_that_are_pushed(residual, kind, joint):
    alarm = detector().alarm(100, np.array(residual, dtype=float))
    assert (alarm.kind, alarm.joint, alarm.body) == (kind, joint, joint.replace("joint", "link"))
    assert (alarm.time, alarm.onset) == (0.1, pytest.approx(0.091))
    assert alarm.joint in str(alarm) or alarm.body in str(alarm)


def test_an_alarm_needs_so_many_samples_in_a_row():
    residuals = np.zeros((40, 6))
    residuals[5:14, 1] = 3.0  # nine
    assert detector(samples=10).detect(residuals) is None
    residuals[20:30, 1] = -3.0
    alarm = detector(samples=10).detect(residuals)
    assert alarm is not None
    assert (alarm.onset, alarm.time) == (pytest.approx(0.020), pytest.approx(0.029))
    assert detector(samples=9).detect(residuals).time == pytest.approx(0.013)  # type: ignore[union-attr]


def test_detection_by_steps_is_that_of_the_record():
    external = np.array([0.0, 0.0, 6.0, 0.0, 0.0, 0.0])
    q, qd, tau = motion_with(PUMA, external, steps=120)
    own = detector()
    expected = own.detect(own.observer.residuals(q, qd, tau))
    state, alarm = own.initial_state(q[0], qd[0]), None
    for k in range(1, len(q)):
        state, alarm = own.step(state, q[k], qd[k], tau[k - 1])
        if alarm:
            break
    assert expected is not None
    assert alarm is not None
    assert (alarm.time, alarm.kind, alarm.joint) == (expected.time, "drive", "joint3")


def test_thresholds_are_the_largest_residuals_with_a_margin():
    assert thresholds([[[1.0, -4.0]], [[-2.0, 3.0]]], margin=1.5).tolist() == [3.0, 6.0]
    q, qd, tau = motion_with(PUMA, np.zeros(6), steps=50)
    observer = MomentumObserver(PUMA, gain=50.0)
    calibrated = FaultDetector.calibrated(observer, q, qd, tau, margin=2.0)
    assert_close(np.array(calibrated.threshold), 2.0 * np.abs(observer.residuals(q, qd, tau)).max(axis=0))
    assert calibrated.detect(observer.residuals(q, qd, tau)) is None
    assert calibrated.samples == FaultDetector(observer, 1.0).samples == 10


def test_what_does_not_fit_is_refused():
    with pytest.raises(appell.ArgumentError, match="expected positive numbers"):
        FaultDetector(MomentumObserver(PUMA), threshold=0.0)
    with pytest.raises(appell.ArgumentError, match="a kinematic tree"):
        MomentumObserver(appell.load("four_bar"))
    with pytest.raises(appell.ArgumentError, match="Give both the same"):
        controlled(options=RunOptions(detector=detector()), period=2e-3)


def controlled(faults=(), options=None, period=1e-3):
    move = appell.trajectories.joint_line(PUMA, START, GOAL, duration=0.6)
    controller = appell.control.ComputedTorque(PUMA, move, kp=400.0, kd=40.0, period=period)
    return appell.control.run(controller, LocalCard(faults=faults, period=period), clock=StepClock(), options=options)


def test_a_failed_drive_stops_a_run_before_the_robot_has_left_its_reference():
    """Thresholds from a run without faults, residuals from encoders and outputs; homing and approach take about 2.5 s."""
    good = controlled()
    follow = good.stage == "follow"
    applied = appell.control.PUMA.torques(good.codes[follow])
    observer = MomentumObserver(PUMA, gain=50.0)
    own = FaultDetector.calibrated(observer, good.q[follow], good.qd[follow], applied, margin=3.0)
    assert controlled(options=RunOptions(detector=own)).ok
    begin = float(good.t[follow][0]) + 0.2
    run = controlled([f"drive:2@{begin:.4f}"], RunOptions(detector=own))
    assert run.stop is not None
    assert run.stop.reason == "fault"
    assert "the drive of joint2" in run.stop.detail
    assert 0.0 < run.stop.time - begin < 0.04
    assert abs(run.tracking_error()).max() < 0.02
    without = controlled([f"drive:2@{begin:.4f}"])
    assert without.stop is not None
    assert without.stop.time > run.stop.time


def test_study_of_faults(monkeypatch):
    """A small version of the study of the documentation."""
    monkeypatch.setattr(faults, "RUNS", 6)
    monkeypatch.setattr(faults, "QUIET_RUNS", 3)
    monkeypatch.setattr(faults, "CALIBRATION_RUNS", 6)
    monkeypatch.setattr(faults, "DURATION", 1.0)
    for function in (faults.reference, faults.detector, faults.outcome):
        function.cache_clear()
    table = faults.table()
    for function in (faults.reference, faults.detector, faults.outcome):
        function.cache_clear()
    (collision, drive) = table.rows
    assert collision[3] == drive[3] == 100.0  # large faults are all detected
    assert drive[6] == 100.0  # and named
    assert collision[4] < 60.0
    assert "False alarms: 0 in 3 runs" in table.notes[0]
