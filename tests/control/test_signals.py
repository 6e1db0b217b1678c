"""The signals of the cards: converters, encoders and their counters, homing, speeds from counts, faults in words."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.control_rigs import AXES, LocalCard
from hypothesis import given
from hypothesis import strategies as st

import appell
from appell.control.hardware.arm import Counter, Fault, encoder_channels, parse_fault
from appell.control.hardware.card import Commands, Readings, input_codes, input_volts, output_codes, output_volts
from appell.control.hardware.estimation import Estimate, Observer, coarse_offset, home, search_end
from appell.control.hardware.plant import Codec


@given(st.floats(-20, 20))
def test_converters_are_right_to_half_a_step_within_their_range(volts):
    v = np.array([volts])
    code = int(output_codes(v)[0])
    assert 0 <= code <= 4095
    assert abs(output_volts(np.array([code]))[0] - np.clip(volts, -10.0, 10.0 - 20 / 4096)) <= 20 / 4096 / 2 + 1e-12
    seen = int(input_codes(v)[0])
    assert abs(input_volts(np.array([seen]))[0] - np.clip(volts, 0.0, 5.0)) <= 5 / 4096 / 2 + 1e-12


def test_zero_torque_is_zero_volts():
    assert (AXES.output_codes(np.zeros(6)) == 2048).all()
    assert (AXES.torques(np.full(6, 2048)) == 0.0).all()


def test_the_resolution_of_the_axes():
    """A quarter line through the gear: 200 and 250 lines, gears 62.6 to 107.8."""
    lines, gear = (
        np.array([200, 200, 250, 250, 250, 250]),
        np.array([62.6111, 107.815, 53.7063, 76.0364, 71.923, 76.686]),
    )
    assert_close(AXES.resolution, 2 * np.pi / (4 * lines * gear))
    q = np.random.default_rng(0).uniform(-3, 3, 6)
    assert (np.abs(AXES.angles(AXES.counts(q)) - q) <= AXES.resolution / 2 * (1 + 1e-9)).all()


@given(st.integers(-3000, 3000), st.lists(st.sampled_from([-1, 1]), max_size=60), st.integers(0, 40))
def test_a_counter_follows_its_encoder_and_latches_whole_turns(start, steps, run):
    turn, place = 32, start
    counter = Counter(encoder_channels(place, turn))
    for step in [way for way in steps for _ in range(run % 7 + 1)]:
        place += step
        counter.update(encoder_channels(place, turn))
    assert counter.count == place - start
    if counter.pulses:
        assert (start + counter.latch) % turn == 0


def test_a_broken_channel_counts_to_and_fro():
    counter = Counter((0, *encoder_channels(0, 800)[1:]))
    for place in range(1, 401):
        counter.update((0, *encoder_channels(place, 800)[1:]))
    assert abs(counter.count) <= 1


def test_rounding_of_outputs_is_carried_over():
    """The mean of the outputs is the torque that was asked for, far below one step of the converter."""
    tau, residue, sent = np.full(6, 0.00321), np.zeros(6), []
    for _ in range(2000):
        codes, residue = AXES.outputs(tau, residue)
        sent.append(AXES.torques(codes))
    step = np.array(AXES.torque) / 2048
    assert (np.abs(np.mean(sent, axis=0) - tau) < step / 1000).all()
    codes, residue = AXES.outputs(np.full(6, 1e6), np.zeros(6))
    assert (codes == 4095).all()
    assert (residue <= step).all()


def carry(arm, goal) -> None:
    """Turn the joints by hand."""
    for q in np.linspace(arm.q, goal, 200):
        arm.q = q
        arm.update_counters()


@pytest.mark.parametrize("seed", range(8))
def test_homing_finds_the_true_counts_from_anywhere(seed):
    """The arm is carried through the search by hand; the offsets are exact, to the count."""
    rng = np.random.default_rng(seed)
    card = LocalCard(start=rng.uniform(-3.5, 3.5, 6))
    first = card.read()
    coarse = AXES.angles(np.array(first.counts) + coarse_offset(AXES, first))
    assert (np.abs(coarse - card.arm.q) < 0.003).all()
    carry(card.arm, search_end(AXES, card.arm.q))
    now = card.arm.readings()
    homed = home(AXES, first, now)
    assert (np.array(now.counts) + homed.offset == AXES.counts(card.arm.q)).all()
    assert (np.abs(homed.index_disagreement) < 0.1).all()


def test_homing_refuses_a_missing_pulse_and_a_wrong_potentiometer():
    card = LocalCard()
    first = card.read()
    with pytest.raises(appell.errors.HardwareError, match=r"no index pulse on joints \[1, 2, 3, 4, 5, 6\]"):
        home(AXES, first, first)
    carry(card.arm, search_end(AXES, card.arm.q))
    now = card.arm.readings()

    def turned(reading):
        codes = list(reading.potentiometers)
        codes[1] += 12
        return reading._replace(potentiometers=tuple(codes))

    with pytest.raises(appell.errors.HardwareError, match="potentiometer and index of joint 2 disagree"):
        home(AXES, turned(first), turned(now))


def test_speeds_from_counts_are_smooth_and_true():
    """A joint at a constant acceleration, seen through an encoder: the speed is right to a fraction of a count a period."""
    observer, count = Observer(1e-3), 1e-4
    estimate, a = Estimate(np.zeros(1), np.zeros(1)), 0.5
    errors = []
    for k in range(1, 1500):
        t = 1e-3 * k
        measured = (np.floor(0.5 * a * t**2 / count) + 0.5) * count
        estimate = observer.step(estimate, np.array([measured]), np.array([a]))
        errors.append(estimate.qd[0] - a * t)
    assert np.abs(errors[300:]).max() < 0.1 * count / 1e-3


@given(
    st.integers(0, 2**63), st.lists(st.integers(0, 4095), min_size=6, max_size=6),
    st.lists(st.integers(-(2**40), 2**40), min_size=12, max_size=12), st.lists(st.booleans(), min_size=6, max_size=6),
)  # fmt: skip
def test_messages_arrive_as_they_were_sent(tick, codes, counts, switches):
    codec = Codec(6)
    readings = Readings(tick, tuple(codes), tuple(counts[:6]), tuple(counts[6:]), (3,) * 6, tuple(switches))
    assert codec.unpack_readings(codec.pack_readings(readings)) == readings
    commands = Commands(tuple(codes), (switches[0], switches[1]))
    assert codec.unpack_commands(codec.pack_commands(commands)) == commands


def test_faults_in_words():
    assert parse_fault("die@0.8", 6) == Fault("die", -1, 0.8)
    for text, words in (
        ("boom@1", "unknown fault 'boom'"),
        ("overheat:7@1", "expected 1 to 6"),
        ("die", "not valid"),
    ):
        with pytest.raises(appell.ArgumentError, match=words):
            parse_fault(text, 6)
