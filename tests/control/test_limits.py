"""Every safety check at its limit: just within it there is no stop, just beyond it there is; and what homing relies on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.control_rigs import AXES, GOAL, PUMA, START, LocalCard, StillCard, driven, short_task

import appell
from appell.control import SafetyLimits, StepClock
from appell.control.hardware.card import Readings, input_codes
from appell.control.hardware.estimation import Estimate, HomingError, HomingResult, Observer, home, search_end
from appell.control.hardware.safety import CHECKS, SafetyState, first_failed_check

Q = np.array(START)
EPSILON = 1e-9


def state(limits: SafetyLimits | None = None, **changes) -> SafetyState:
    """A robot at rest at its reference, in the middle of a run, with some of the inputs changed."""
    pots = tuple(input_codes(AXES.potentiometer_volts(Q)).tolist())
    readings = Readings(7, pots, (0,) * 6, (0,) * 6, (1,) * 6, (False,) * 6)
    offset = AXES.counts(AXES.coarse_angles(np.array(pots)))
    whole_turns = np.rint(offset / AXES.counts_per_turn).astype(int) * AXES.counts_per_turn
    now = SafetyState(
        AXES, limits or SafetyLimits(), readings, readings._replace(tick=6), offset, HomingResult(whole_turns, np.zeros(6)),
        Estimate(Q, np.zeros(6)), Q, 0.0, 1e-3,
    )  # fmt: skip
    for name, change in changes.items():
        now = now._replace(**{name: change(getattr(now, name)) if callable(change) else change})
    return now


def reason(**changes) -> str | None:
    failed = first_failed_check(state(**changes))
    return failed and failed[0]


def test_defaults_of_the_limits():
    """As documented in docs/howto/hardware.md: one period, 0.1 rad, 15 mrad, 2 counts."""
    assert SafetyLimits() == SafetyLimits(lateness=None, tracking_error=0.1, disagreement=0.015, slip=2)
    assert reason() is None


@pytest.mark.parametrize(("limit", "lateness"), [(None, 1e-3), (0.02, 0.02), (5e-4, 5e-4)])
def test_lateness_at_its_limit(limit, lateness):
    limits = SafetyLimits(lateness=limit)
    assert reason(limits=limits, lateness=lateness) is None
    assert reason(limits=limits, lateness=lateness * (1 + EPSILON)) == "missed deadline"
    assert reason(limits=limits, lateness=math.nan) == "missed deadline"


@pytest.mark.parametrize("period", [1e-3, 4e-3])
def test_one_period_of_lateness_is_the_limit_of_a_run(period):
    """By the clock of a run: exactly one period late is allowed, a little more is not."""

    class Late(StepClock):
        def __init__(self, lateness: float) -> None:
            self.lateness = lateness

        def wait(self, tick: int, period: float) -> float:
            return self.lateness if tick == 10 else 0.0

    def stopped(lateness: float) -> float | None:
        run = driven(StillCard(), short_task(period=period), clock=Late(lateness), callback=interrupt_at(20 * period))
        return run.stop.time if run.stop.reason == "missed deadline" else None

    assert stopped(period) is None
    assert stopped(1.001 * period) == pytest.approx(10 * period)


def interrupt_at(time: float):
    def interrupt(cycle):
        if cycle.time > time - 1e-9:
            raise KeyboardInterrupt

    return interrupt


@pytest.mark.parametrize("step", [-1, 0, 2, 3, 100])
def test_readings_count_up_by_one(step):
    """A reading that is repeated, one that is skipped, and a counter that starts anew."""
    assert reason(last=lambda last: last._replace(tick=7 - step)) == "dead plant"


@pytest.mark.parametrize("skipped", [1, 2])
def test_a_skipped_reading_stops_a_run(skipped):
    card = StillCard()
    read = card.read

    def skip():
        card.ticks += skipped if card.ticks == 10 else 0
        return read()

    card.read = skip
    run = driven(card)
    assert run.stop.reason == "dead plant"
    assert f"increases by {1 + skipped}" in run.stop.detail
    assert len(run.t) == 9


@pytest.mark.parametrize("joint", range(6))
@pytest.mark.parametrize("limit", [0.1, 0.02])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_following_error_at_its_limit(joint, limit, sign):
    limits = SafetyLimits(tracking_error=limit) if limit != 0.1 else None
    within, beyond = (Q + sign * limit * (1 + e) * np.eye(6)[joint] for e in (-EPSILON, EPSILON))
    assert reason(limits=limits, reference=within) is None
    assert reason(limits=limits, reference=beyond) == "following error"


@pytest.mark.parametrize("joint", range(6))
@pytest.mark.parametrize("limit", [0.015, 0.004])
@pytest.mark.parametrize("sign", [-1, 1])
def test_disagreement_of_encoder_and_potentiometer_at_its_limit(joint, limit, sign):
    """Counts are moved away from the potentiometer to the last count within the limit, and one further."""
    limits = SafetyLimits(disagreement=limit) if limit != 0.015 else None
    now = state()
    potentiometer = AXES.coarse_angles(np.array(now.readings.potentiometers))

    def apart(counts: int) -> float:
        return abs(AXES.angles(counts * np.eye(6, dtype=int)[joint] + now.offset) - potentiometer)[joint]

    def moved(counts: int) -> str | None:
        change = tuple((counts * np.eye(6, dtype=int)[joint]).tolist())
        return reason(limits=limits, readings=lambda readings: readings._replace(counts=change))

    counts = sign * int(limit / AXES.resolution[joint])
    while apart(counts + sign) <= limit:
        counts += sign
    while apart(counts) > limit:
        counts -= sign
    assert 0.99 * limit < apart(counts) + AXES.resolution[joint]
    assert moved(counts) is None
    assert moved(counts + sign) == "lost encoder"


@pytest.mark.parametrize("joint", range(6))
@pytest.mark.parametrize(("limit", "slip"), [(2, 2), (2, -2), (5, 5), (0, 0)])
def test_slip_of_the_index_at_its_limit(joint, limit, slip):
    """Only at a new pulse, only after homing."""
    limits = SafetyLimits(slip=limit)

    def pulse(slip: int, **changes) -> str | None:
        one = np.eye(6, dtype=int)[joint]
        latches, pulses = tuple((slip * one).tolist()), tuple((1 + one).tolist())
        new = {"readings": lambda readings: readings._replace(latches=latches, pulses=pulses)}
        return reason(limits=limits, **(new | changes))

    beyond = slip + (1 if slip >= 0 else -1)
    assert pulse(slip) is None
    assert pulse(beyond) == "lost encoder"
    assert pulse(beyond, homing=None) is None
    assert (
        pulse(beyond, last=lambda last: last._replace(pulses=tuple((1 + np.eye(6, dtype=int)[joint]).tolist()))) is None
    )


def test_every_check_of_the_list_is_here():
    """A new check needs a test at its limit."""
    assert [check.__name__ for _, check in CHECKS] == [
        "over_temperature", "missed_deadline", "stale_readings", "encoder_and_potentiometer", "index_on_whole_turns",
        "following_error",
    ]  # fmt: skip


@pytest.mark.parametrize("joint", range(6))
def test_one_hot_motor_is_enough(joint):
    hot = tuple(k == joint for k in range(6))
    assert reason(readings=lambda readings: readings._replace(overheated=hot)) == "over-temperature"


def test_a_torque_that_is_not_finite_is_not_put_out():
    """The reference acceleration is not a number from 10 ms on: the run stops there, and no code was written for it."""
    line = short_task().reference

    def reference(t):
        q, qd, qdd = line(t)
        return q, qd, np.where(np.asarray(t)[..., None] > 0.0095, np.nan, qdd)

    card = LocalCard()
    run = driven(card, appell.control.ComputedTorque(PUMA, reference, kp=400.0, kd=40.0), duration=0.2)
    assert run.stop.reason == "bad torque"
    assert "not finite" in run.stop.detail
    assert np.count_nonzero(run.stage == "follow") == 10
    assert np.isfinite(run.tau).all()
    assert set(card.written.codes) == {2048}


def test_index_search_and_approach_keep_the_velocity():
    """The peak of a point-to-point motion with rest at both ends is 15/8 of its mean, and it is 0.5 rad/s on long ways."""
    far = np.add(START, (1.0, 0.4, -0.5, 0.6, 0.3, 0.2))
    move = appell.trajectories.joint_line(PUMA, far, np.add(far, 0.01), duration=0.1)
    run = driven(LocalCard(), appell.control.ComputedTorque(PUMA, move, kp=400.0, kd=40.0))
    assert run.ok
    velocity = np.abs(np.diff(run.reference[run.stage == "approach"], axis=0)).max() / run.nominal_period
    assert velocity == pytest.approx(0.5, rel=1e-3)
    assert np.count_nonzero(run.stage == "home") == 2000
    near = driven(LocalCard(), short_task())
    approach = np.abs(np.diff(near.reference[near.stage == "approach"], axis=0)).max() / near.nominal_period
    assert approach == pytest.approx(min(0.5, 15 / 8 * np.abs(near.reference[2000] - GOAL).max() / 0.5), rel=1e-3)


def readings_at(counts: int, error: float, latch: int = 0, pulses: int = 0) -> Readings:
    """Joint 1 at an absolute count, its potentiometer wrong by turns of the motor; the others at zero, homed by pulses."""
    absolute = np.zeros(6, dtype=int)
    absolute[0] = counts
    angles = AXES.angles(absolute + np.array([error, 0, 0, 0, 0, 0]) * AXES.counts_per_turn)
    codes = tuple(input_codes(AXES.potentiometer_volts(angles)).tolist())
    return Readings(1, codes, (counts, 0, 0, 0, 0, 0), (latch, 0, 0, 0, 0, 0), (pulses,) * 6, (False,) * 6)


@pytest.mark.parametrize(
    ("first", "last"), [(-0.5, 0.5), (0.5, -0.5), (-0.4, 0.4), (0.2, 0.2), (0.55, 0.0), (0.0, -0.55)]
)
def test_homing_takes_the_mean_of_both_potentiometer_readings(first, last):
    """An error that changes along the search: neither end alone gives the turn, their mean does."""
    turn = int(AXES.counts_per_turn[0])
    found = home(AXES, readings_at(3 * turn - 400, first), readings_at(3 * turn + 400, last, latch=3 * turn, pulses=1))
    assert found.offset[0] == 0
    assert found.index_disagreement[0] == pytest.approx(0.5 * (first + last), abs=0.03)


@pytest.mark.parametrize("error", [0.27, -0.27, 0.33, -0.33, 0.49])
def test_homing_needs_potentiometers_within_three_tenths_of_a_turn(error):
    turn = int(AXES.counts_per_turn[0])
    start, now = readings_at(-400, error), readings_at(400, error, pulses=1)
    if abs(error) < 0.3:
        assert abs(home(AXES, start, now).offset[0]) < turn
    else:
        with pytest.raises(HomingError, match="joint 1 disagree"):
            home(AXES, start, now)


def test_the_index_search_leads_away_from_the_ends_of_the_potentiometers():
    """A little more than a turn of every motor, towards the middle."""
    for q, sign in ((np.array(AXES.upper) - 0.01, -1.0), (np.array(AXES.lower) + 0.01, 1.0)):
        turns = (search_end(AXES, q) - q) * np.abs(AXES.gear) / (2.0 * np.pi)
        np.testing.assert_allclose(turns, sign * 1.05, rtol=1e-12)


@pytest.mark.parametrize(("period", "bandwidth"), [(1e-3, 200.0), (4e-3, 100.0)])
def test_both_poles_of_the_observer_are_at_the_bandwidth(period, bandwidth):
    """The error after a period is linear in the error before; its matrix has trace 2 p and determinant p²."""
    observer, zero = Observer(period, bandwidth), np.zeros(2)
    q, qd = observer.step(Estimate(np.array([1.0, 0.0]), np.array([0.0, 1.0])), zero, zero)
    pole = math.exp(-bandwidth * period)
    assert q[0] + qd[1] == pytest.approx(2.0 * pole, rel=1e-12)
    assert q[0] * qd[1] - q[1] * qd[0] == pytest.approx(pole**2, rel=1e-12)


def test_the_estimate_is_the_true_configuration_and_uses_the_reference_acceleration(monkeypatch):
    """After homing, which removes the errors of the potentiometers of some milliradians."""
    given, step = [], Observer.step

    def listening(self, last, measured, qdd):
        given.append(qdd.copy())
        return step(self, last, measured, qdd)

    monkeypatch.setattr(Observer, "step", listening)
    card = LocalCard()
    run = driven(card)
    known = run.stage != "home"
    assert (np.abs(run.q - np.array(card.truth)[1:])[known] < 2.0 * run.resolution).all()
    assert np.abs(run.q - np.array(card.truth)[1:])[~known].max() > 2.0 * run.resolution.max()
    following = np.flatnonzero(run.stage == "follow")
    acceleration = short_task().reference(1e-3 * np.arange(len(following)))[2]
    np.testing.assert_allclose(np.array(given)[following[1:]], acceleration[:-1], rtol=1e-12)
