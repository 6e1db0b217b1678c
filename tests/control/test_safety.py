"""Everything that can go wrong ends in a safe stop, outputs at zero; each is caused here. In virtual time, in one process."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import pytest
from helpers.control_rigs import AXES, GOAL, PUMA, LocalCard, assert_safe, driven, short_task

import appell
from appell.control import RealClock, RunOptions, SafetyLimits, StepClock
from appell.errors import HardwareError


def test_a_run_ends_with_its_task_done():
    card = LocalCard()
    run = driven(card)
    assert run.ok
    assert list(dict.fromkeys(run.stage)) == ["home", "approach", "follow"]
    assert (run.homing.offset + np.array(card.arm.readings().counts) == AXES.counts(card.arm.q)).all()
    assert np.abs(run.tracking_error() / run.resolution).max() < 3.0
    assert_safe(card, run)


def test_the_tool_acts_along_the_reference_and_is_off_elsewhere():
    card, seen = LocalCard(), []
    write = card.write

    def listening(commands):
        seen.append(commands.tool)
        write(commands)

    card.write = listening
    run = driven(card, options=RunOptions(tool=lambda t: (t < 0.1, t >= 0.2)))
    following = np.flatnonzero(run.stage == "follow")
    grip = [seen[k] for k in following]
    assert grip.count((True, False)) == 100
    assert grip.count((False, True)) == len(following) - 200
    assert set(seen[: following[0]]) == {(False, False)}
    assert seen[-1] == (False, False)


def test_over_temperature():
    card = LocalCard(faults=["overheat:2@0.5"])
    run = driven(card)
    assert run.stop.reason == "over-temperature"
    assert "joints [2]" in run.stop.detail
    assert run.stop.time == pytest.approx(0.5, abs=2e-3)
    assert_safe(card, run)


def heat_of(run, joint: int, continuous: float, thermal: float) -> float:
    """∫ (τ/τ_c)² exp(-(T - t)/T_th) dt / T_th over the torques that were put out."""
    load = AXES.torques(run.codes)[:, joint] / continuous
    fading = np.exp(-(run.t[-1] - run.t) / thermal)
    return float((load**2 * fading).sum() * run.nominal_period / thermal)


def test_a_motor_that_works_too_hard_gets_too_hot():
    """Joint 2 holds up the arm with 55 N m: good for ever where the motor stands 93 N m, too much where it stands 40."""
    card = LocalCard(thermal=0.5)
    run = driven(card)
    assert run.ok
    assert card.arm.heat[1] == pytest.approx(heat_of(run, 1, 93.2, 0.5), rel=0.01)
    weak = LocalCard(thermal=0.5)
    weak.arm.axes = replace(AXES, continuous=(48.8, 40.0, 44.7, 12.1, 10.05, 10.65))
    run = driven(weak)
    assert run.stop.reason == "over-temperature"
    assert "joints [2]" in run.stop.detail
    assert heat_of(run, 1, 40.0, 0.5) == pytest.approx(1.0, rel=0.01)
    assert_safe(weak, run)


@pytest.mark.parametrize("joint", [1, 3, 6])
def test_a_lost_encoder(joint):
    card = LocalCard(faults=[f"encoder:{joint}@0.7"])
    run = driven(card)
    assert run.stop.reason == "lost encoder"
    assert f"joint {joint}" in run.stop.detail
    assert 0.7 < run.stop.time < 1.5
    assert np.abs(card.arm.q - card.truth[700]).max() < 0.15
    assert_safe(card, run)


def test_lost_counts_show_at_the_next_index_pulse():
    """Ten counts vanish: too little for the potentiometers to see."""

    def spoil(readings):
        if readings.tick < 2600:
            return readings
        less = (readings.counts[0] - 10, *readings.counts[1:])
        latch = readings.latches[0] - (10 if readings.pulses[0] > 2 else 0)
        return readings._replace(counts=less, latches=(latch, *readings.latches[1:]))

    card = LocalCard(spoil=spoil)
    far = appell.trajectories.joint_line(PUMA, GOAL, np.add(GOAL, 0.5), duration=2.0)
    run = driven(card, appell.control.ComputedTorque(PUMA, far, kp=400.0, kd=40.0))
    assert run.stop.reason == "lost encoder"
    assert "10 counts from a whole turn" in run.stop.detail
    assert_safe(card, run)


def test_readings_that_stand_still():
    card = LocalCard(spoil=lambda readings: readings._replace(tick=min(readings.tick, 300)))
    run = driven(card)
    assert run.stop.reason == "dead plant"
    assert "increases by 0" in run.stop.detail
    assert_safe(card, run)


def test_a_robot_that_does_not_follow():
    """A blocked joint: brakes that did not open."""
    card = LocalCard()
    card.arm.next_state = lambda h: (card.arm.q, card.arm.qd)
    run = driven(card, limits=SafetyLimits(tracking_error=0.02))
    assert run.stop.reason == "following error"
    assert_safe(card, run)


def test_homing_that_fails():
    card = LocalCard(spoil=lambda readings: readings._replace(pulses=(0,) * 6))
    run = driven(card)
    assert run.stop.reason == "homing"
    assert run.homing is None
    assert_safe(card, run)


class LateClock(StepClock):
    """Virtual time with one late period."""

    def wait(self, tick, period):
        return 0.004 if tick == 250 else 0.0


def test_a_missed_deadline():
    card = LocalCard()
    run = driven(card, clock=LateClock())
    assert run.stop.reason == "missed deadline"
    assert run.stop.time == pytest.approx(0.25)
    assert "4 ms late, allowed 1 ms" in run.stop.detail
    assert_safe(card, run)
    assert driven(LocalCard(), clock=LateClock(), limits=SafetyLimits(lateness=0.005)).ok


def test_a_slow_period_misses_the_next_deadline_by_the_clock():
    """However busy the machine is, a period that sleeps for 0.3 s makes the next one late."""
    card = LocalCard(period=0.02)
    controller = short_task(period=0.02)

    def slow(cycle):
        if cycle.time > 0.1:
            time.sleep(0.3)

    run = driven(card, controller, clock=RealClock(), limits=SafetyLimits(lateness=0.2), callback=slow)
    assert run.stop.reason == "missed deadline"
    assert run.real_time
    assert set(run.timing()) == {"period", "jitter", "lateness", "compute_time", "io_time"}
    assert_safe(card, run)


def test_a_card_that_breaks_ends_the_run_even_if_it_cannot_be_told():
    card = LocalCard()
    read, write = card.read, card.write

    def while_whole(call, *arguments):
        if card.arm.tick > 400:
            raise HardwareError("no answer within 5 s.")
        return call(*arguments)

    card.read = lambda: while_whole(read)
    card.write = lambda commands: while_whole(write, commands)
    run = driven(card)
    assert run.stop == ("dead plant", "no answer within 5 s.", pytest.approx(0.4))
    assert card.closed
    assert run.shutdown == (True, 5, "write: HardwareError: no answer within 5 s.")
    assert set(run.outputs.codes) != {2048}


def test_ctrl_c_is_a_safe_stop():
    card = LocalCard()

    def interrupt(cycle):
        if cycle.time > 0.1:
            raise KeyboardInterrupt

    run = driven(card, callback=interrupt)
    assert run.stop.reason == "interrupted"
    assert_safe(card, run)


def test_an_unexpected_error_still_leaves_outputs_at_zero():
    card = LocalCard()

    def fail(cycle):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        driven(card, callback=fail)
    assert card.closed
    assert set(card.written.codes) == {2048}


def test_what_does_not_fit_is_refused():
    card = LocalCard()
    with pytest.raises(appell.ArgumentError, match="a sampled controller is needed"):
        driven(card, short_task(period=None))
    assert card.closed
    with pytest.raises(appell.ArgumentError, match="expected a positive number of seconds"):
        driven(LocalCard(), appell.control.PDGravity(appell.load("puma560"), [0.0] * 6, kp=1.0, kd=1.0))
    arm = appell.load("planar2r")
    with pytest.raises(appell.ArgumentError, match="has 2 joints, the axes are 6"):
        driven(LocalCard(), appell.control.PD(arm, [0.0, 0.0], kp=1.0, kd=1.0), duration=1.0)


def test_a_run_tells_and_draws_itself(tmp_path):
    run = driven(LocalCard(faults=["overheat:1@2.3"]))
    assert "over-temperature at 2.3" in str(run.table())
    assert "compute_time" in str(run.timing_table())
    assert run.as_dict()["stop"]["reason"] == "over-temperature"
    run.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 10_000
