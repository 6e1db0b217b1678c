"""Parts of the open controller with known answers: axes of the PUMA, stages, tables of a run, samples of references."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.control.hardware import card, runtime
from appell.control.hardware.record import Run
from appell.control.hardware.runtime import RunOptions, Runtime


def test_the_axes_of_the_puma():
    """Encoder lines of Valera 2003, gear ratios of Corke, largest torques of Armstrong, and half of these for ever."""
    axes = card.PUMA
    assert axes.lines == (200, 200, 250, 250, 250, 250)
    assert axes.gear == (-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686)
    assert axes.torque == (97.6, 186.4, 89.4, 24.2, 20.1, 21.3)
    assert_close(axes.continuous, np.array(axes.torque) / 2.0, tolerance=1e-12)
    assert_close(axes.lower, np.full(6, -1.5 * np.pi))
    assert_close(axes.upper, np.full(6, 1.5 * np.pi))
    assert axes.counts_per_turn.tolist() == [800, 800, 1000, 1000, 1000, 1000]
    assert_close(axes.angle_per_count[0], np.array(-2.0 * np.pi / (800 * 62.6111)), tolerance=1e-12)


def test_voltages_and_codes():
    assert card.input_codes(np.array([-1.0, 0.0, 2.5, 4.9999, 9.0])).tolist() == [0, 0, 2048, 4095, 4095]
    assert_close(card.input_volts(np.array([0, 2048])), np.array([0.5, 2048.5]) / 4096 * 5.0)
    assert card.output_codes(np.array([-11.0, -10.0, 0.0, 5.0, 11.0])).tolist() == [0, 0, 2048, 3072, 4095]
    assert_close(card.output_volts(np.array([0, 2048, 4095])), np.array([-10.0, 0.0, 10.0 * 2047 / 2048]))
    axes = card.PUMA
    assert_close(axes.potentiometer_volts(np.zeros(6)), np.full(6, 2.5))
    assert_close(
        axes.coarse_angles(np.full(6, 1024)), np.full(6, -1.5 * np.pi + 3.0 * np.pi * 1024.5 / 4096), tolerance=1e-12
    )


@pytest.mark.parametrize(
    ("duration", "periods"), [(1.0, 1000), (1.0 + 1e-13, 1000), (1.0001, 1001), (0.0, 1), (0.3, 300), (0.0015, 2)]
)
def test_periods_of_a_stage(duration, periods):
    asked = []
    run = SimpleNamespace(period=1e-3, samples=lambda reference, start, count: asked.append((start, count)))
    stage = Runtime.stage(run, "follow", None, duration)  # type: ignore[arg-type]
    assert stage.periods == stage.block == periods
    assert asked == [(0, periods)]


def test_long_stages_are_sampled_in_blocks(monkeypatch):
    monkeypatch.setattr(runtime, "MAX_TABLE_SIZE", 100)
    monkeypatch.setattr(runtime, "LONG_RUN_BLOCK", 30)
    for periods, block in ((100, 100), (101, 30)):
        run = SimpleNamespace(period=1.0, samples=lambda *arguments: arguments)
        stage = Runtime.stage(run, "follow", None, float(periods))  # type: ignore[arg-type]
        assert (stage.periods, stage.block) == (periods, block)
    cycles, asked = [], []
    run = SimpleNamespace(
        tick=1, samples=lambda reference, start, count: (asked.append((start, count)), np.arange(start, start + count)[None])[1],
        cycle=lambda name, k, value: cycles.append((k, int(value))),
    )  # fmt: skip
    Runtime.track(run, stage._replace(first=np.arange(30)[None]))  # type: ignore[arg-type]
    assert cycles == [(k, k) for k in range(101)]
    assert asked == [(30, 30), (60, 30), (90, 11)]


@pytest.mark.parametrize(("goal", "duration"), [([0.1, 0.0], 0.5), ([0.0, -3.0], 15.0 / 8.0 * 3.0 / 0.5)])
def test_motions_to_a_goal_keep_the_largest_velocity(goal, duration, monkeypatch):
    """The peak velocity of the fifth-order polynomial, at most 0.5 rad/s, is 15/8 of the mean."""
    monkeypatch.setattr(runtime, "joint_line", lambda robot, start, goal, duration: duration)
    run = SimpleNamespace(
        estimate=SimpleNamespace(q=np.zeros(2)),
        controller=SimpleNamespace(robot=None),
        stage=lambda *arguments: arguments,
    )
    found = Runtime.move_to(run, "approach", np.array(goal), 0.5)  # type: ignore[arg-type]
    assert found[1:] == pytest.approx((duration, duration))


def test_options_of_a_run():
    assert RunOptions().bandwidth == 200.0


def run_of(**changes) -> SimpleNamespace:
    """A record of four periods of two joints."""
    values = {
        "real_time": True, "nominal_period": 1e-3, "law": "pd", "stop": None, "warning": (), "joint_names": ("a", "b"),
        "resolution": np.array([1e-4, 2e-4]), "stage": np.array(["home", "follow", "follow", "follow"]),
        "q": np.array([[9.0, 9.0], [0.1, 0.2], [0.3, 0.1], [0.1, -0.4]]), "reference": np.full((4, 2), [0.1, 0.2]),
        "start_time": np.array([0.0, 1.0e-3, 2.1e-3, 3.0e-3]), "lateness": np.array([0.0, 1e-5, 2e-5, 5e-5]),
        "compute_time": np.full(4, 1e-5), "io_time": np.full(4, 2e-5),
    } | changes  # fmt: skip
    run = SimpleNamespace(**values)
    for name in ("error", "period", "jitter"):
        setattr(run, name, getattr(Run, name).fget(run))
    for name in ("timing", "tracking_error"):
        setattr(run, name, lambda name=name: getattr(Run, name)(run))
    return run


def test_tables_of_a_run():
    run = run_of()
    assert_close(run.jitter, np.array([0.0, 1e-4, 1e-4]), tolerance=1e-9)
    timing = run.timing()
    assert timing["lateness"] == pytest.approx({"mean": 2e-5, "p99": np.percentile(run.lateness, 99), "worst": 5e-5})
    rows = {row[0]: row[1:] for row in Run.timing_table(run).rows}  # type: ignore[arg-type]
    assert rows["lateness"] == pytest.approx((20.0, 1e6 * np.percentile(run.lateness, 99), 50.0))
    assert rows["period"][0] == pytest.approx(1000.0)
    assert_close(run.tracking_error(), np.array([[0.0, 0.0], [0.2, -0.1], [0.0, -0.6]]), tolerance=1e-12)
    table = Run.table(run)  # type: ignore[arg-type]
    assert table.rows[0][1:] == pytest.approx((0.1, 200.0, 2000.0))
    assert table.rows[1][1:] == pytest.approx((0.2, 600.0, 3000.0))
    assert table.notes == ("finished",)
    empty = Run.table(run_of(stage=np.array(["home"] * 4)))  # type: ignore[arg-type]
    assert empty.rows[0][2:] == (None, None)


def test_faults_are_detected_along_the_reference():
    """From its second period on; times are those of the run."""
    steps = []

    @dataclass(frozen=True)
    class Alarm:
        time: float
        onset: float

    detector = SimpleNamespace(
        initial_state=lambda q, qd: "first",
        step=lambda state, q, qd, tau: (steps.append((state, tau)), ("next", Alarm(0.2, 0.1)))[1],
    )
    run = SimpleNamespace(
        estimate=(np.zeros(1), np.zeros(1)), detector=detector, applied="tau", time=5.0, period=0.5, detector_state=None
    )
    assert Runtime.detect(run, "approach", 3) is None  # type: ignore[arg-type]
    assert Runtime.detect(run, runtime.FOLLOW, 0) is None  # type: ignore[arg-type]
    assert (run.detector_state, steps) == ("first", [])
    found = Runtime.detect(run, runtime.FOLLOW, 4)  # type: ignore[arg-type]
    assert steps == [("first", "tau")]
    assert run.detector_state == "next"
    assert found == Alarm(3.2, 3.1)
    run.detector = None
    assert Runtime.detect(run, runtime.FOLLOW, 4) is None  # type: ignore[arg-type]


def test_effort_limits_below_one():
    arm = appell.load("planar2r")
    controller = appell.control.PDGravity(arm, [0.0, 0.0], kp=1.0, kd=1.0, effort_limit={"joint2": 0.5})
    assert controller.effort_limits.tolist() == [np.inf, 0.5]
    with pytest.raises(appell.ArgumentError, match="not negative"):
        appell.control.PDGravity(arm, [0.0, 0.0], kp=1.0, kd=1.0, effort_limit={"joint2": -0.5})


def test_laws_without_memory_have_none():
    controller = appell.control.PDGravity(appell.load("planar2r"), [0.0, 0.0], kp=1.0, kd=1.0)
    assert controller.initial_memory(0.0, np.zeros(2), np.zeros(2)).shape == (0,)
