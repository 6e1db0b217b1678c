"""The open controller and the simulated PUMA as two processes: Valera's line through the cards, and the death of either."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from helpers.control_rigs import PUMA, START, LocalCard, driven, short_task

import appell
from appell.control import Commands, SimulatedCard
from appell.errors import HardwareError

RATE = 1000.0
COMMAND = [sys.executable, "-m", "appell", "control", "plant"]


def card(timeout: float = 60.0, **options) -> SimulatedCard:
    return SimulatedCard(start=START, rate=RATE, timeout=timeout, watchdog=60.0, **options)


def line_controller():
    """Valera's line with ramps: 0.1 m/s, 9.1 s from rest to rest."""
    line = appell.trajectories.valera2003_line(PUMA, profile="trapezoidal", acceleration=0.2)
    return appell.control.ComputedTorque(PUMA, line, kp=400.0, kd=40.0)


def test_the_line_through_encoders_and_converters_within_three_counts():
    """At 1 kHz: the true angles, which only the plant knows, and the measured ones."""
    rig = LocalCard()
    run = driven(rig, line_controller())
    assert run.ok
    following = run.stage == "follow"
    truth = np.array(rig.truth)[1:][following]
    assert np.abs((truth - run.reference[following]) / run.resolution).max() < 3.0
    assert np.abs(run.tracking_error() / run.resolution).max() < 3.0


def test_two_processes_do_what_one_does_to_the_last_bit(tmp_path):
    rig, local = card(ground_truth=tmp_path / "truth.npz"), LocalCard()
    apart, together = (driven(each, line_controller(), duration=0.5) for each in (rig, local))
    assert apart.ok
    assert (apart.q == together.q).all()
    assert (apart.codes == together.codes).all()
    assert (np.load(tmp_path / "truth.npz")["q"] == np.array(local.truth)).all()
    assert rig.exit_message["by"] == "controller ended"
    assert set(rig.exit_message["codes"]) == {2048}
    assert not rig.exit_message["powered"]


@pytest.mark.parametrize(
    ("fault", "timeout", "words"), [("die@0.3", 60.0, "closed"), ("hang@0.3", 0.5, "no reply within 0.5 s")]
)
def test_a_plant_that_dies_or_hangs(fault, timeout, words):
    rig = card(timeout, faults=[fault])
    run = driven(rig)
    assert run.stop.reason == "dead plant"
    assert words in run.stop.detail or "broke" in run.stop.detail
    assert run.stop.time == pytest.approx(0.3, abs=0.01)
    assert not run.shutdown.zero
    assert "without a report that its outputs are zero" in run.table().notes[-1]
    assert rig.plant.poll() is not None


def test_a_plant_that_is_killed():
    rig = card()

    def kill(cycle):
        if cycle.time > 0.2 and rig.plant.poll() is None:
            rig.plant.kill()
            rig.plant.wait()

    run = driven(rig, callback=kill)
    assert run.stop.reason == "dead plant"
    assert not run.shutdown.zero


CONTROLLER = """
import sys
from appell.control import Commands, SimulatedCard
card = SimulatedCard(port=int(sys.argv[1]))
while True:
    card.read()
    card.write(Commands((2100,) * 6))
    print("alive", flush=True)
"""


def started(*options: str) -> tuple[subprocess.Popen, int]:
    """A plant by itself, and its port."""
    plant = subprocess.Popen([*COMMAND, *options], stdout=subprocess.PIPE, text=True)
    return plant, json.loads(plant.stdout.readline())["port"]


def last_words(plant: subprocess.Popen) -> dict:
    out, _ = plant.communicate(timeout=60)
    return json.loads(out)


def test_a_controller_that_is_killed():
    plant, port = started("--virtual-time", "1000", "--watchdog", "60")
    controller = subprocess.Popen([sys.executable, "-c", CONTROLLER, str(port)], stdout=subprocess.PIPE, text=True)
    assert [controller.stdout.readline() for _ in range(3)] == ["alive\n"] * 3
    controller.kill()
    controller.communicate()
    said = last_words(plant)
    assert said["by"] == "controller lost"
    assert set(said["codes"]) == {2048}
    assert not said["powered"]


@pytest.mark.parametrize("time", [("--virtual-time", "1000"), ()], ids=["virtual", "clock"])
def test_a_controller_that_falls_silent(time):
    """It stays connected, but sets no outputs: the watchdog does."""
    plant, port = started(*time, "--watchdog", "0.3")
    silent = SimulatedCard(port=port)
    silent.read()
    silent.write(Commands((2100,) * 6))
    said = last_words(plant)
    assert said["by"] == "watchdog"
    assert set(said["codes"]) == {2048}
    assert not said["powered"]
    with pytest.raises(HardwareError):
        silent.read()
    with pytest.raises(HardwareError, match="without a report"):
        silent.close()


def test_the_clock_keeps_the_rate():
    """In real time at 100 Hz, with room for a busy machine: periods are there, and none is skipped to keep up."""
    rig = SimulatedCard(start=START, watchdog=30.0, timeout=30.0)
    limits = appell.control.SafetyLimits(lateness=20.0, tracking_error=10.0, disagreement=10.0)
    run = driven(rig, short_task(0.1, period=0.01), clock=appell.control.RealClock(), limits=limits)
    assert run.ok
    assert rig.exit_message["by"] == "controller ended"
    assert rig.exit_message["time"] >= run.t[-1] * 0.9
    assert 0.0099 < run.timing()["period"]["mean"] < 0.03


def test_a_plant_that_cannot_start_says_why():
    with pytest.raises(HardwareError, match="did not start"):
        SimulatedCard(start=[1.0, 2.0, 3.0])
