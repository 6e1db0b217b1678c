"""Bounds and defaults of controllers and cards on both sides: rounding, heat, faults, alarms, durations, gains, shutdown."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.control import Commands, FaultDetector, MomentumObserver, Readings, default_gains, scaled_masses
from appell.control.controller import checked_call, nonnegative_vector, signals_of
from appell.control.hardware import arm, plant
from appell.control.hardware.arm import Counter, Fault, SimulatedArm, encoder_channels, parse_fault
from appell.control.hardware.card import Axes
from appell.control.hardware.comedi import ComediChannel, WrappedCounter
from appell.control.references import Hold
from appell.control.sampled import NO_EFFORT_LIMIT, clip, integration_factor
from appell.model.joint import Limits, Mimic

ARM = appell.load("planar2r")
TWO = Axes((10, 20), (-50.0, 100.0), (8.0, 4.0), (2.0, 1.0), (-1.0, 0.0), (3.0, 2.0))

# --- cards --------------------------------------------------------------------------------------------------------------------


def test_counts_and_angles_of_two_axes():
    """40 and 80 counts per turn of the motor, 50 turns backwards and 100 forwards per turn of the joint."""
    count = np.array([-2.0 * math.pi / 2000.0, 2.0 * math.pi / 8000.0])
    assert_close(TWO.angle_per_count, count, tolerance=1e-15)
    assert_close(TWO.resolution, np.abs(count), tolerance=1e-15)
    assert TWO.counts(count * [10.5, -3.5]).tolist() == [10, -4]
    assert_close(TWO.angles(np.array([10, -4])), count * [10.5, -3.5], tolerance=1e-15)
    assert_close(TWO.potentiometer_volts(np.array([0.0, 0.5])), [1.25, 1.25])
    assert_close(
        TWO.coarse_angles(np.array([0, 4095])), [-1.0 + 4.0 * 0.5 / 4096, 2.0 * 4095.5 / 4096], tolerance=1e-15
    )
    assert len(TWO) == 2
    with pytest.raises(appell.ArgumentError, match="different numbers of entries"):
        replace(TWO, gear=(1.0,))


def test_outputs_carry_their_rounding_but_not_saturation():
    step = np.array([8.0, 4.0]) / 2048
    codes, left = TWO.outputs(step * [3.4, -2.7], np.zeros(2))
    assert codes.tolist() == [2051, 2045]
    assert_close(left, step * [0.4, 0.3], tolerance=1e-12)
    codes, left = TWO.outputs(step * [3.4, -2.7], left)
    assert codes.tolist() == [2052, 2046]
    assert_close(left, step * [-0.2, -0.4], tolerance=1e-12)
    codes, left = TWO.outputs(np.array([20.0, -20.0]), np.zeros(2))
    assert codes.tolist() == [4095, 0]
    assert_close(left, step * [1.0, -1.0], tolerance=1e-12)
    assert_close(TWO.torques(np.array([2048 + 512, 0])), [2.0, -4.0])
    assert Commands.zero(3) == Commands((2048, 2048, 2048), (False, False))


def test_counters_of_every_phase():
    """Both channels over a line; a jump of two counts has no direction."""
    assert [encoder_channels(k, 3)[:2] for k in range(-1, 5)] == [(0, 1), (0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
    assert [encoder_channels(k, 3)[2] for k in range(-3, 4)] == [1, 0, 0, 1, 0, 0, 1]
    counter = Counter((0, 0, 0))
    for channels, count in (
        ((1, 0, 0), 1),
        ((1, 1, 0), 2),
        ((1, 0, 0), 1),
        ((0, 1, 0), 1),
        ((0, 0, 1), 2),
        ((0, 1, 1), 1),
    ):
        counter.update(channels)
        assert counter.count == count
    assert (counter.latch, counter.pulses) == (2, 1)


def test_wrapped_counters_at_half_their_range():
    counter = WrappedCounter(16, 3)
    assert [counter.near(raw) for raw in (3, 10, 11, 12, 2)] == [0, 7, -8, -7, -1]
    counter.update(10)
    assert (counter.count, counter.last, counter.near(9)) == (7, 10, 6)
    assert ComediChannel("d", 1, 2)[3:] == (0, 0)


def test_messages_have_fixed_sizes():
    codec = plant.Codec(2)
    assert codec.reading.size == 8 + 2 * 2 + 3 * 2 * 8 + 2
    assert codec.command.size == 2 * 2 + 2
    readings = Readings(3, (1, 2), (-3, 4), (5, -6), (7, 8), (True, False))
    assert codec.pack_readings(readings) == struct.pack("<QHHqqqqQQ??", 3, 1, 2, -3, 4, 5, -6, 7, 8, True, False)
    assert codec.unpack_readings(codec.pack_readings(readings)) == readings
    commands = Commands((5, 4095), (False, True))
    assert codec.unpack_commands(codec.pack_commands(commands)) == commands


# --- the simulated arm --------------------------------------------------------------------------------------------------------


def arm_of(faults=(), **options) -> SimulatedArm:
    return SimulatedArm(ARM, TWO, [0.2, 0.4], [parse_fault(text, 2) for text in faults], **options)


@pytest.mark.parametrize(
    ("seconds", "steps"), [(1e-3, 1), (1.0000000001e-3, 1), (1.1e-3, 2), (4e-3, 4), (4.1e-3, 5), (0.0, 1), (1e-5, 1)]
)
def test_steps_of_the_arm_are_at_most_a_millisecond(seconds, steps, monkeypatch):
    own, taken = arm_of(), []
    monkeypatch.setattr(own, "next_state", lambda h: (taken.append(h), (own.q, own.qd))[1])
    own.advance(seconds)
    assert not taken  # brakes
    assert own.time == pytest.approx(seconds)
    own.apply(Commands((2048, 2048)))
    own.advance(seconds)
    assert_close(taken, np.full(steps, seconds / steps), scale=1e-3)
    assert own.time == pytest.approx(2 * seconds)


def test_heat_follows_the_square_of_the_torque():
    """Towards (4 / 2)² and (-1 / 1)² with the time constant; a switch opens above one."""
    own = arm_of(thermal=0.5)
    own.next_state = lambda h: (own.q, own.qd)  # type: ignore[method-assign]
    own.apply(Commands((2048 + 1024, 2048 - 512)))
    own.advance(0.1)
    factor = 1.0 - (1.0 - 1e-3 / 0.5) ** 100
    assert_close(own.heat, factor * np.array([4.0, 1.0]), tolerance=1e-12)
    assert own.readings().overheated == (False, False)
    own.advance(0.06)
    assert own.readings().overheated == (own.heat[0] > 1.0, False) == (True, False)
    own.heat = np.array([1.0, 1.0 + 1e-9])
    assert own.readings().overheated == (False, True)
    assert [own.readings().tick for _ in range(2)] == [4, 5]
    assert arm_of().thermal == 600.0


def test_faults_begin_at_their_time():
    own = arm_of(["drive:2@0.5", "overheat:1@1", "encoder:2@1.5", "die@2.25"])
    assert own.faults == (
        Fault("drive", 1, 0.5),
        Fault("overheat", 0, 1.0),
        Fault("encoder", 1, 1.5),
        Fault("die", -1, 2.25),
    )
    for at, failed in ((0.49, False), (0.5, True), (0.6, True)):
        own.time = at
        assert own.has_failed("drive", 1) == failed
        assert not own.has_failed("drive", 0)
    assert not own.has_failed("die")
    own.time = 2.25
    assert own.has_failed("die")
    own.q = np.zeros(2)
    assert own.channels(0, 1)[0] == 1
    assert own.channels(1, 1) == (0, 0, 0)
    for text in ("drive:0@1", "drive:3@1", "drive@1", "explode:1@1", "drive:1"):
        with pytest.raises(appell.ArgumentError):
            parse_fault(text, 2)


def test_a_failed_drive_and_passive_forces_of_the_arm():
    damped = replace(ARM, joints=tuple(replace(joint, damping=0.3) for joint in ARM.joints))
    q, qd = np.array([0.2, 0.4]), np.array([0.5, -0.3])
    for robot in (ARM, damped):
        own = SimulatedArm(robot, TWO, q, [Fault("drive", 1, 0.0)])
        own.commands = Commands((2048 + 512, 2048 + 512))
        tau = np.array([2.0, 0.0]) + robot.passive_forces(qd)
        assert_close(own.acceleration(q, qd), robot.forward_dynamics(q, qd, tau), tolerance=1e-12)
        assert own.passive == (robot is damped)
    own.apply(own.commands)
    own.qd = qd
    assert own.powered
    own.switch_off()
    assert (own.powered, own.qd.tolist(), own.commands.codes) == (False, [0.0, 0.0], (2048, 2048))


def test_every_count_passes_the_counters():
    own = arm_of()
    start = own.counts.copy()
    for way in ([7.0, -5.0], [-9.0, 4.0], [0.0, 0.0]):
        own.q = own.q + TWO.angle_per_count * way
        own.update_counters()
        assert [counter.count for counter in own.counters] == (own.counts - start).tolist()
    assert (own.counts - start).tolist() == [-2, -1]
    assert (arm.MAX_STEP, arm.THERMAL_TIME_CONSTANT) == (1e-3, 600.0)


# --- observer and detector ----------------------------------------------------------------------------------------------------


def test_one_step_of_the_observer_is_the_trapezoidal_rule():
    """r⁺ = K (p⁺ - p(0) - ∫ ...), with the mean of the rates and of the residuals over the period."""
    robot = replace(ARM, joints=tuple(replace(joint, damping=0.3) for joint in ARM.joints))
    observer = MomentumObserver(robot, gain=[30.0, 80.0], period=0.01)
    rng = np.random.default_rng(3)
    (q0, q1), (v0, v1), tau = rng.normal(size=(2, 2)), rng.normal(size=(2, 2)), rng.normal(size=2)

    def terms(q, qd):
        rate = robot.coriolis_matrix(q, qd).T @ qd - robot.gravity(q) - 0.3 * qd
        return robot.mass_matrix(q) @ qd, rate

    (p0, a0), (p1, a1) = terms(q0, v0), terms(q1, v1)
    first = observer.initial_state(q0, v0)
    assert_close(first.integral, p0, tolerance=1e-12)
    assert (first.residual == 0.0).all()
    state = first._replace(residual=np.array([0.7, -0.4]))
    found = observer.step(state, q1, v1, tau)
    K, T = np.array([30.0, 80.0]), 0.01
    expected = found.residual
    whole = p0 + T * (tau + 0.5 * (a0 + a1) + 0.5 * (state.residual + expected))
    assert_close(expected, K * (p1 - whole), tolerance=1e-12)
    assert_close(found.integral, whole, tolerance=1e-12)
    assert_close(found.rate, a1, tolerance=1e-12)
    assert_close(observer.residuals([q0, q1], [v0, v1], [tau, 9 * tau])[1], observer.step(first, q1, v1, tau).residual)
    assert MomentumObserver(ARM).gain == (50.0, 50.0)
    assert MomentumObserver(ARM).period == 1e-3


def test_thresholds_and_samples_of_alarms():
    observer = MomentumObserver(ARM, period=0.01)
    for wrong in ([1.0, 0.0], [-1.0, 1.0]):
        with pytest.raises(appell.ArgumentError):
            FaultDetector(observer, wrong)
    with pytest.raises(appell.ArgumentError, match="samples"):
        FaultDetector(observer, 1.0, samples=0)
    own = FaultDetector(observer, [1.0, 2.0], samples=2)
    residuals = np.zeros((6, 2))
    residuals[1:4, 0] = 1.0  # at the threshold is not beyond it
    assert own.detect(residuals) is None
    residuals[4:6, 1] = -2.1
    found = own.detect(residuals)
    assert found is not None
    assert (found.time, found.onset, found.joint, found.kind) == (
        pytest.approx(0.05),
        pytest.approx(0.04),
        "joint2",
        "drive",
    )
    assert found.residual.tolist() == [0.0, -2.1]
    assert own.alarm(5, np.array([1.01, 2.1])).kind == "collision"
    assert own.alarm(5, np.array([1.0, 2.1])).kind == "drive"
    assert own.alarm(5, np.array([3.0, 2.1])).joint == "joint2"
    one = FaultDetector(observer, 1.0, samples=1).detect(np.array([[0.0, 0.0], [1.1, 0.0]]))
    assert one is not None
    assert one.time == pytest.approx(0.01)
    zero = np.zeros((5, 2))
    hold = np.tile(ARM.gravity(zero[0]) - [1.0, 0.0], (5, 1))
    hold[:, 1] += 1e-2
    calibrated = FaultDetector.calibrated(observer, zero, zero, hold)
    assert_close(calibrated.threshold, 1.5 * np.abs(observer.residuals(zero, zero, hold)).max(axis=0), tolerance=1e-12)
    assert appell.control.thresholds([[2.0, -1.0]]).tolist() == [3.0, 1.5]


def test_alarms_in_a_row_by_steps(monkeypatch):
    """Reported once, at the second sample in a row; counted from the first sample of the record."""
    own = FaultDetector(MomentumObserver(ARM, period=0.01), [1.0, 1.0], samples=2)
    values = iter([0.0, 2.0, 1.0, 2.0, 2.0, 2.0])
    monkeypatch.setattr(
        MomentumObserver, "step", lambda self, state, *_: state._replace(residual=np.array([next(values), 0.0]))
    )
    state = own.initial_state(np.zeros(2), np.zeros(2))
    found = []
    for _ in range(6):
        state, alarm = own.step(state, np.zeros(2), np.zeros(2), np.zeros(2))
        found.append(alarm and (round(alarm.time, 9), round(alarm.onset, 9)))
    assert found == [None, None, None, None, (0.05, 0.04), None]
    assert (state.sample, state.beyond) == (6, 3)


def test_followers_are_not_named():
    """A joint that follows another one has no residual of its own: the joint that it follows is named."""
    builder = appell.RobotBuilder("gripper")
    for name in ("arm", "left", "right"):
        builder = builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.01, 0.01, 0.01))
    builder = builder.revolute("shoulder", parent="base", child="arm").revolute("finger", parent="arm", child="left")
    robot = builder.revolute("other", parent="arm", child="right", mimic=Mimic("finger", -1.0)).build()
    own = FaultDetector(MomentumObserver(robot), 1.0)
    assert own.alarm(20, np.array([0.0, 3.0])).joint == "finger"
    assert own.alarm(20, np.array([2.0, 3.0])).kind == "collision"


# --- laws ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cut_off", "rate", "factor"), [(1.0, -2.0, 0.0), (-1.0, 2.0, 0.0), (1.0, 2.0, 1.0), (0.0, 5.0, 1.0),
                                                         (-1.0, -2.0, 1.0), (3.0, 0.0, 1.0)])  # fmt: skip
def test_integrals_of_saturated_joints(cut_off, rate, factor):
    assert integration_factor(cut_off, rate) == factor


@pytest.mark.parametrize(
    ("x", "bound", "expected"), [(3.0, 2.0, 2.0), (-3.0, 2.0, -2.0), (1.5, 2.0, 1.5), (-1.5, 2.0, -1.5)]
)
def test_clipped_efforts(x, bound, expected):
    assert float(clip(x, bound)) == expected
    assert clip(0.0, 1.0) == 0.0
    assert NO_EFFORT_LIMIT == 3.0e38 < np.finfo(np.float32).max


def test_default_gains_by_their_rules():
    assert {name: value.tolist() for name, value in default_gains(ARM, "integral_tracking").items()} == {
        "kp": [100.0] * 2, "kd": [20.0] * 2, "ki": [100.0] * 2,
    }  # fmt: skip
    q = np.array([0.3, 1.1])
    M = ARM.mass_matrix(q)
    free = default_gains(ARM, "pd", q)
    assert_close(free["kp"], 100.0 * np.diag(M), tolerance=1e-12)
    assert_close(free["kd"], 20.0 * np.diag(M), tolerance=1e-12)
    assert_close(default_gains(ARM, "pd")["kp"], 100.0 * np.diag(ARM.mass_matrix(np.zeros(2))), tolerance=1e-12)
    effective = 1.0 / np.diag(np.linalg.inv(M))
    for efforts, period in (((3.0, math.inf), 1e-3), ((1e6, 0.2), 1e-2), ((0.0, 0.5), None)):
        bounds = [Limits(effort=effort) for effort in efforts]
        limited = replace(
            ARM, joints=tuple(replace(j, limits=each) for j, each in zip(ARM.joints, bounds, strict=True))
        )
        found = default_gains(limited, "pd_gravity", q, **({"period": period} if period else {}))
        for i, effort in enumerate(efforts):
            finite = 0.0 < effort < math.inf
            kp = 2.0 * effort if finite else 100.0 * M[i, i]
            kd = min(kp / 20.0, effective[i] / (2.0 * (period or 1e-3))) if finite else 20.0 * M[i, i]
            assert found["kp"][i] == pytest.approx(kp)
            assert found["kd"][i] == pytest.approx(kd)


def test_numbers_that_are_not_negative():
    assert nonnegative_vector("x", 0.0, 2) == (0.0, 0.0)
    assert nonnegative_vector("x", [1.0, 2.0], 2) == (1.0, 2.0)
    for wrong in (-1e-9, math.inf, [1.0, math.nan], [1.0], [[1.0, 2.0]]):
        with pytest.raises(appell.ArgumentError):
            nonnegative_vector("x", wrong, 2)
    for wrong in (0.0, -1.0, math.inf):
        with pytest.raises(appell.ArgumentError):
            scaled_masses(ARM, wrong)
    heavy = scaled_masses(ARM, 2.0)
    assert_close(heavy.mass_matrix(np.zeros(2)), 2.0 * ARM.mass_matrix(np.zeros(2)), tolerance=1e-12)


def test_references_in_tables(monkeypatch):
    """Samples at multiples of the period up to the end of the reference and one more; other times are asked for."""
    asked = []

    class Line:
        duration = 0.01

        def __call__(self, t):
            asked.append(np.array(t))
            t = np.asarray(t)[..., None]
            return t * np.ones(2), np.ones(2) + 0.0 * t, np.zeros(2) + 0.0 * t

    controller = appell.control.PD(ARM, Line(), kp=1.0, kd=1.0, period=4e-3)  # type: ignore[arg-type]
    assert controller.signals(2 * 4e-3).tolist() == [0.008, 0.008, 1.0, 1.0]
    assert [len(np.atleast_1d(each)) for each in asked] == [4]  # 0, 4, 8 and 12 ms
    controller.signals(3 * 4e-3)
    assert len(asked) == 1
    for t in (4 * 4e-3, 0.0081, -4e-3):
        assert_close(controller.signals(t)[:2], [t, t])
    assert len(asked) == 4
    for size, tabulated in ((2, False), (2.5, True), (3, True)):
        monkeypatch.setattr("appell.control.controller.MAX_TABLE_SIZE", size)
        fresh = appell.control.PD(ARM, Line(), kp=1.0, kd=1.0, period=4e-3)  # type: ignore[arg-type]
        assert (fresh._table is not None) == tabulated
    assert appell.control.PD(ARM, Line(), kp=1.0, kd=1.0, period=None)._table is None  # type: ignore[arg-type]
    for wrong in ((1.0, 2.0), np.zeros(3), (1.0, 2.0, 3.0, 4.0)):
        with pytest.raises(appell.ArgumentError, match="three arrays"):
            signals_of(controller.law, lambda t, wrong=wrong: wrong, 0.0)  # type: ignore[arg-type, return-value]


def test_arrays_that_do_not_fit_a_kernel():
    ready = SimpleNamespace(
        kernel=SimpleNamespace(run=lambda inputs, out: True), signature=SimpleNamespace(inputs=(("q", 2), ("qd", 3)))
    )
    run = checked_call(ready)  # type: ignore[arg-type]
    good = np.zeros(2), np.zeros(3)
    assert run(good, np.zeros(1))
    wrong = [(np.zeros(3), np.zeros(3)), (np.zeros(2), np.zeros(3, dtype=np.float32)), (np.zeros(2), [0.0] * 3),
             (np.zeros(2), np.zeros(6)[::2]), (np.zeros(2), np.zeros((1, 3)))]  # fmt: skip
    for inputs in wrong:
        with pytest.raises(ValueError, match="shapes and types"):
            run(inputs, np.zeros(1))  # type: ignore[arg-type]


def test_constant_references():
    q, qd, qdd = Hold((0.1, 0.2))(np.zeros(3))
    assert q.tolist() == [[0.1, 0.2]] * 3
    assert qd.tolist() == qdd.tolist() == [[0.0, 0.0]] * 3
    assert Hold((0.1,)).duration == math.inf


def test_tables_hold_a_million_samples():
    """A finite reference of at most so many periods is sampled in advance."""

    class Long:
        def __init__(self, duration):
            self.duration, self.asked = duration, 0

        def __call__(self, t):
            self.asked = len(np.atleast_1d(t))
            return (np.zeros((*np.shape(t), 2)),) * 3

    for duration, samples in ((1000.0, 1_000_001), (1000.5, 0)):
        line = Long(duration)
        controller = appell.control.PD(ARM, line, kp=1.0, kd=1.0)  # type: ignore[arg-type]
        assert (controller._table is not None) == bool(samples)
        assert line.asked == samples
