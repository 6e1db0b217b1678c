"""Bounds of runs on both sides: durations, stages, tools, clocks, messages, the watchdog, records, the last calls."""

from __future__ import annotations

import gc
import inspect
import math
import multiprocessing
import socket
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.control_rigs import AXES, LocalCard, StillCard, driven, short_task

import appell
from appell.control import Commands, Readings, RealClock
from appell.control.hardware import clock, plant, runtime, shutdown, watchdog
from appell.control.hardware.card import Axes
from appell.control.hardware.estimation import Estimate, Observer, search_end
from appell.control.hardware.plant import PlantServer, SimulatedCard, receive
from appell.control.hardware.record import Run, as_run, killed_outcome, outcome_of
from appell.control.hardware.record_file import Cycle, RunRecorder, read_record, row_type
from appell.control.hardware.runtime import RunOptions, Runtime, checked_duration, no_garbage_collection, tool_outputs
from appell.control.hardware.shutdown import Outputs, Shutdown
from appell.control.references import Hold
from appell.errors import HardwareError

TWO = Axes((10, 20), (-50.0, 100.0), (8.0, 4.0), (2.0, 1.0), (-1.0, 0.0), (3.0, 2.0))
READINGS = Readings(1, (1, 2), (-3, 4), (5, -6), (7, 8), (True, False))

# --- runs ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("duration", "good"), [(98.0, True), (98.001, False), (1e-9, True), (0.0, False), (math.inf, False)]
)
def test_durations_of_runs(duration, good):
    """Index search included, at most 10¹¹ periods."""
    controller = SimpleNamespace(period=1e-9, robot=SimpleNamespace(nv=2), reference=Hold((0.0, 0.0)))
    if good:
        assert checked_duration(controller, TWO, duration) == duration  # type: ignore[arg-type]
    else:
        with pytest.raises(appell.ArgumentError):
            checked_duration(controller, TWO, duration)  # type: ignore[arg-type]
    controller.reference = SimpleNamespace(duration=3.0)
    assert checked_duration(controller, TWO, None) == 3.0  # type: ignore[arg-type]
    with pytest.raises(appell.ArgumentError, match="2 joints, the axes are 6"):
        checked_duration(controller, AXES, 1.0)  # type: ignore[arg-type]


def test_stages_of_a_run():
    """Two seconds of index search and half a second of approach at least, then the reference."""
    calls = []
    follow = SimpleNamespace(first=SimpleNamespace(q=np.array([[1.0, 2.0], [3.0, 4.0]])))
    run = SimpleNamespace(
        axes=TWO, controller=SimpleNamespace(reference="reference"), estimate=SimpleNamespace(q=np.array([0.0, 1.5])),
        stage=lambda *arguments: (calls.append(arguments), follow)[1], first_reading=lambda: calls.append("read"),
        move_to=lambda name, goal, least: (name, goal.tolist(), least), track=calls.append,
        apply_homing=lambda: calls.append("home"),
    )  # fmt: skip
    assert Runtime.run(run, 7.0) is None  # type: ignore[arg-type]
    assert calls == [
        ("follow", "reference", 7.0), "read", ("home", search_end(TWO, run.estimate.q).tolist(), 2.0), "home",
        ("approach", [1.0, 2.0], 0.5), follow,
    ]  # fmt: skip


def test_the_index_search_passes_a_turn_of_each_motor_towards_the_middle():
    q = np.array([1.5, 0.2])
    assert_close(search_end(TWO, q) - q, 1.05 * 2.0 * math.pi * np.array([-1.0 / 50.0, 1.0 / 100.0]), tolerance=1e-12)
    assert search_end(TWO, np.array([1.0, 1.0]))[0] > 1.0  # in the middle: upwards


@pytest.mark.parametrize(("outputs", "good"), [((True, False), True), ([np.bool_(False), True], True), ((True,), False),
                                               ((1, 0), False), ((True, False, True), False), (None, False)])  # fmt: skip
def test_tools_have_two_truth_values(outputs, good):
    if good:
        assert tool_outputs(lambda t: outputs, 1.0) == tuple(map(bool, outputs))
    else:
        with pytest.raises(runtime.SafetyViolation) as caught:
            tool_outputs(lambda t: outputs, 1.0)
        assert caught.value.reason == "bad tool"


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_comes_back_as_it_was(enabled):
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        with no_garbage_collection():
            assert not gc.isenabled()
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if before else gc.disable)()


def test_periods_of_a_run_by_number():
    """Times are multiples of the period from its first one; the detector and the tool count along the reference."""
    seen, tools = [], []
    card = LocalCard(period=4e-3)
    task = short_task(0.1, period=4e-3)
    found = driven(
        card, task, callback=seen.append, options=RunOptions(tool=lambda t: (tools.append(t), (t > 0.05, False))[1])
    )
    assert found.ok
    assert_close(found.t, 4e-3 * np.arange(1, len(found.t) + 1), tolerance=1e-12)
    assert [cycle.time for cycle in seen] == found.t.tolist()
    assert_close(tools, 4e-3 * np.arange(25), tolerance=1e-12, scale=1.0)
    assert (found.stage == "follow").sum() == 25
    assert found.stage[0] == "home"
    assert (found.stage == "home").sum() == 500
    assert found.real_time is False
    assert found.nominal_period == 4e-3
    for taken in (found.compute_time, found.io_time):
        assert 0.0 < taken.min() <= taken.max() < 1.0
    assert_close(found.reference[-25:], np.array([task.reference(t)[0] for t in 4e-3 * np.arange(25)]), tolerance=1e-12)  # type: ignore


def test_defaults_of_cards():
    def defaults(function):
        return {
            name: p.default for name, p in inspect.signature(function).parameters.items() if p.default is not p.empty
        }

    assert defaults(watchdog.WatchdogCard.__init__) == {"reply_timeout": 5.0, "n": 6}
    simulated = defaults(plant.SimulatedCard.__init__)
    assert (simulated["watchdog"], simulated["timeout"], simulated["robot"]) == (5.0, 5.0, "puma560")
    assert defaults(plant.PlantServer.run) == {"timeout": 60.0}
    assert (plant.START_TIMEOUT, watchdog.START_TIMEOUT, plant.POLL_INTERVAL, clock.SPIN_TIME) == (
        60.0,
        60.0,
        2e-3,
        1e-4,
    )
    assert (shutdown.ATTEMPTS, shutdown.WRITE_TIMEOUT, shutdown.CLOSE_TIMEOUT) == (5, 1.0, 10.0)
    assert RunOptions() == RunOptions(200.0, None, None, None)


def test_the_clock_waits_asleep_and_then_awake(monkeypatch):
    """Deadlines are multiples of the period; the last 0.1 ms are not slept."""
    now, slept = [10.0], []

    def sleep(seconds):
        slept.append(seconds)
        now[0] += seconds

    def perf_counter():
        now[0] += 1e-5
        return now[0]

    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=perf_counter, sleep=sleep))
    real = RealClock()
    start = real.start_time
    late = real.wait(3, 2e-3)
    assert now[0] == pytest.approx(start + 6e-3 + late)
    assert 0.0 <= late <= 1.1e-5
    assert slept == pytest.approx([6e-3 - 1e-5 - 1e-4])
    now[0] = start + 0.5
    assert real.wait(4, 2e-3) == pytest.approx(0.5 + 1e-5 - 8e-3)
    assert len(slept) == 1
    assert clock.StepClock().wait(5, 1e-3) == 0.0


# --- the plant and the watchdog -----------------------------------------------------------------------------------------------


def served(messages: bytes, **options) -> tuple[str, bytes, list]:
    """Outcome, replies and calls of a plant whose controller has sent these messages."""
    calls: list = []
    arm: Any = SimpleNamespace(
        axes=TWO, time=0.0, tick=0, q=np.zeros(2), powered=False, advance=lambda t: calls.append(("advance", t)),
        apply=lambda commands: calls.append(("apply", commands)), has_failed=lambda kind: False,
    )  # fmt: skip

    def readings() -> Readings:
        arm.tick += 1
        return READINGS._replace(tick=arm.tick)

    arm.readings = readings
    arm.powered = options.pop("powered", False)
    server = PlantServer(arm, **{"period": 4e-3, "watchdog": 5.0} | options)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(messages)
        outcome = server.serve(theirs)
        theirs.shutdown(socket.SHUT_WR)
        replies = b"".join(iter(lambda: ours.recv(1000), b""))
    assert len(server.ground_truth) == arm.tick
    return outcome, replies, calls


def test_a_plant_in_virtual_time_advances_between_readings():
    codec = plant.Codec(2)
    commands = Commands((5, 6), (True, False))
    messages = b"R" + b"W" + codec.pack_commands(commands) + b"R" + b"R" + b"Q"
    outcome, replies, calls = served(messages)
    assert outcome == "controller ended"
    assert replies == b"".join(codec.pack_readings(READINGS._replace(tick=k)) for k in (1, 2, 3))
    assert calls == [("apply", commands), ("advance", 4e-3), ("advance", 4e-3)]


def test_a_plant_in_real_time_advances_with_the_clock(monkeypatch):
    now = [100.0]

    def monotonic() -> float:
        now[0] += 0.25
        return now[0]

    monkeypatch.setattr(plant, "time", SimpleNamespace(monotonic=monotonic))
    outcome, _, calls = served(b"RRQ", period=None)
    assert outcome == "controller ended"
    assert [seconds for _, seconds in calls] == pytest.approx([0.25] * 3)


@pytest.mark.parametrize(("powered", "watchdog", "outcome"), [
    (True, 0.6, "watchdog"), (False, 0.6, "controller ended"), (True, 2.0, "controller ended"),
])  # fmt: skip
def test_the_watchdog_of_a_plant_counts_from_the_last_outputs(powered, watchdog, outcome, monkeypatch):
    """Each message takes a quarter of a second."""
    now = [100.0]

    def monotonic() -> float:
        now[0] += 0.25
        return now[0]

    monkeypatch.setattr(plant, "time", SimpleNamespace(monotonic=monotonic))
    assert served(b"RRRRQ", powered=powered, watchdog=watchdog)[0] == outcome


def test_messages_come_in_parts_or_not_at_all():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"abcd")
        assert receive(theirs, 3) == b"abc"
        theirs.settimeout(0.01)
        with pytest.raises(HardwareError, match=r"no reply within 0\.01 s"):
            receive(theirs, 2)
        ours.close()
        with pytest.raises(HardwareError, match="closed by the other side"):
            receive(theirs, 1)
    parts = iter([b"ab", b"c", b"def"])
    sizes = []
    split: Any = SimpleNamespace(recv=lambda size: (sizes.append(size), next(parts))[1])
    assert receive(split, 6) == b"abcdef"
    assert sizes == [6, 4, 3]


def test_faults_of_the_plant_process(monkeypatch):
    ended, slept = [], []
    failing = {"die": True, "hang": False}
    arm: Any = SimpleNamespace(axes=TWO, has_failed=lambda kind: failing[kind])
    server = PlantServer(arm, 1e-3, 5.0)
    monkeypatch.setattr(plant.os, "_exit", ended.append)
    server.inject_process_faults()
    assert ended == [9]
    failing.update(die=False, hang=True)
    monkeypatch.setattr(
        plant.time, "sleep", lambda seconds: (slept.append(seconds), failing.update(hang=len(slept) < 3))
    )
    server.inject_process_faults()
    assert len(slept) == 3


def card_on(connection, process=None) -> SimulatedCard:
    card = object.__new__(SimulatedCard)
    card.codec, card.timeout, card.exit_message, card.unconfirmed = plant.Codec(2), 0.1, {}, None
    card.connection, card.plant = connection, process
    return card


def test_a_card_is_closed_once_and_its_plant_confirms():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        card = card_on(ours)
        card.write(Commands((7, 8), (False, True)))
        card.close()
        card.close()
        sent = receive(theirs, 1 + card.codec.command.size + 1)
        assert sent == b"W" + card.codec.pack_commands(Commands((7, 8), (False, True))) + b"Q"
        assert theirs.recv(1) == b""
    broken = card_on(ours)  # closed already
    for _ in range(2):
        with pytest.raises(HardwareError, match="without a report"):
            broken.close()


@pytest.mark.parametrize(("output", "good"), [('{"event": "ready"}\n{"powered": false}\n', True), ('{"powered": true}\n', False),
                                              ("", False), ('{"event": "ended"}\n', False)])  # fmt: skip
def test_the_last_line_of_a_plant_is_its_report(output, good):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        card = card_on(ours, SimpleNamespace(communicate=lambda timeout: (output, None)))
        if good:
            card.close()
            assert card.exit_message == {"powered": False}
        else:
            with pytest.raises(HardwareError, match="without a report"):
                card.close()


def test_the_watchdog_ends_when_no_outputs_come():
    """A tenth of a second after the last ones; until then calls have replies."""
    ours, theirs = multiprocessing.Pipe()
    outputs: Any = SimpleNamespace(card=SimpleNamespace(read=lambda: READINGS), write=lambda commands: None)
    for message in (("start", ()), ("read", ()), ("write", (Commands.zero(2),)), ("read", ())):
        ours.send(message)
    begun = time.monotonic()
    watchdog.serve(theirs, outputs, 0.1)
    assert 0.09 < time.monotonic() - begun < 1.0
    assert [ours.recv() for _ in range(4)] == [None, READINGS, None, READINGS]


def test_a_watchdog_without_outputs_waits_for_the_controller():
    """Readings alone do not start it; the end of the controller ends it. Errors are replies."""
    ours, theirs = multiprocessing.Pipe()

    def broken() -> None:
        raise OSError("no such device")

    outputs: Any = SimpleNamespace(card=SimpleNamespace(read=broken), write=None)
    ours.send(("read", ()))
    ours.send(("start", ()))
    deadlines = []

    class Watched:
        def poll(self, seconds):
            deadlines.append(seconds)
            if len(deadlines) > 2:
                ours.close()
            return theirs.poll(1.0)

        recv, send = theirs.recv, theirs.send

    watchdog.serve(Watched(), outputs, 0.05)  # type: ignore[arg-type]
    assert deadlines == [None] * 3


# --- records ------------------------------------------------------------------------------------------------------------------


def header(**changes) -> dict[str, Any]:
    names = {"law": "pd", "joint_names": ["a", "b"]}
    return {**names, "nominal_period": 1e-3, "real_time": False, "resolution": [1e-4, 2e-4], **changes}


def test_rows_of_a_record():
    row = row_type(2)
    assert list(row.fields or ())[:2] == ["stage", "time"]
    assert row.itemsize == 8 * 4 + 5 * 8 + 5 * 2 * 8
    assert killed_outcome(np.zeros(0, row))["stop"][2] == 0.0
    rows = np.zeros(3, row)
    rows["time"], rows["codes"] = [0.5, 1.0, 1.5], [[1, 2], [5, 6], [3, 4]]
    found = killed_outcome(rows)
    assert (found["stop"][0], found["stop"][2]) == ("killed", 1.5)
    assert found["outputs"] == ([3, 4], (False, False))
    assert found["shutdown"][:2] == (False, 0)
    assert as_run(header(), rows, found).as_dict()["time"] == 1.5
    for wrong in ([0.0, 1e-4], [1e-4, -1e-4], [1e-4], [[1e-4, 1e-4]]):
        with pytest.raises(ValueError, match="resolution"):
            as_run(header(resolution=wrong), rows, found)


def test_records_are_read_up_to_their_last_whole_row(tmp_path):
    """One line of JSON, rows, byte 255 and the outcome; without it, or with half a row, the process was killed."""
    path = tmp_path / "run"
    recorder = RunRecorder(path, header())
    two = np.array([1.0, 2.0])
    cycles = [
        Cycle(1e-3 * k, "follow", k * two, two, two, two, 2048.0 * two, 5.0 + k, 0.0, 1e-5, 2e-5) for k in (1, 2, 3)
    ]
    for cycle in cycles:
        recorder.add(cycle)
    with open(path, "ab") as file:
        file.write(b"half a row")
    rows = recorder.close({"stop": None, "homing": None})
    content = path.read_bytes()
    line, size = content.index(b"\n") + 1, rows.dtype.itemsize
    assert content[line + 3 * size] == 255
    assert rows["time"].tolist() == pytest.approx([1e-3, 2e-3, 3e-3])
    assert rows["q"].tolist() == [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]
    found, read, outcome = read_record(path)
    assert (found, outcome) == (header(), {"stop": None, "homing": None})
    assert (read == rows).all()
    for end, count in ((line + 3 * size, 3), (line + 3 * size - 1, 2), (line + 3 * size + 4, 3), (line, 0)):
        path.write_bytes(content[:end])
        found, read, outcome = read_record(path)
        assert (len(read), outcome) == (count, None)
    letter = int.from_bytes(content[line : line + 4], "little")
    assert letter == ord("f")
    for code, good in ((127, True), (128, False)):
        path.write_bytes(content[:line] + code.to_bytes(4, "little") + content[line + 4 :])
        if good:
            assert len(read_record(path)[1]) == 3
        else:
            with pytest.raises(appell.ArgumentError, match="is not a record"):
                read_record(path)
    for wrong in (b"[1]\n", b'{"format": "other"}\n', b"\n", content[: line - 1] + b" " * 1_000_000 + b"\n"):
        path.write_bytes(wrong)
        with pytest.raises(appell.ArgumentError, match="is not a record"):
            read_record(path)
    memory = RunRecorder(None, header())
    memory.add(cycles[0])
    assert len(memory.close({})) == 1
    with pytest.raises(appell.ArgumentError, match="Name a new file"):
        RunRecorder(path, header())


def test_estimates_between_measurements():
    """Prediction with the reference acceleration, then both corrections with poles at exp(-ω T)."""
    period, bandwidth = 0.01, 50.0
    last, qdd = Estimate(np.array([0.3, -0.2]), np.array([1.0, 2.0])), np.array([4.0, -3.0])
    predicted = last.q + period * last.qd + 0.5 * period**2 * qdd
    assert_close(Observer(period, bandwidth).step(last, predicted, qdd).q, predicted, tolerance=1e-14)
    error, p = np.array([0.01, -0.02]), math.exp(-0.5)
    found = Observer(period, bandwidth).step(last, predicted + error, qdd)
    assert_close(found.q, predicted + (1.0 - p**2) * error, tolerance=1e-14)
    assert_close(found.qd, last.qd + period * qdd + (1.0 - p) ** 2 / period * error, tolerance=1e-14)
    assert Observer(period).bandwidth == 200.0
    shifted = last.shifted(np.array([0.1, 0.2]))
    assert_close(shifted.q, [0.4, 0.0], scale=1.0)
    assert shifted.qd is last.qd


def test_a_run_without_periods_and_one_with_errors():
    row = row_type(2)
    outcome = outcome_of(None, Commands.zero(2), Shutdown(True, 1, ""), None)
    empty = as_run(header(), np.zeros(0, row), outcome).as_dict()
    assert (empty["time"], empty["error_rad"], empty["error_counts"], empty["stop"]) == (0.0, None, None, None)
    rows = np.zeros(3, row)
    rows["stage"] = ["home", "follow", "follow"]
    rows["q"], rows["reference"] = [[9.0, 9.0], [0.1, -0.3], [-0.2, 0.1]], 0.0
    rows["compute_time"] = [1.0, 2.0, 4.0]
    run = as_run(header(), rows, outcome)
    assert run.homing is None
    assert run.ok
    assert not as_run(header(), rows, outcome | {"shutdown": (False, 5, "")}).ok
    assert not as_run(header(), rows, outcome | {"stop": ("fault", "", 1.0)}).ok
    assert run.as_dict()["error_rad"] == [0.2, 0.3]
    assert run.as_dict()["error_counts"] == pytest.approx([2000.0, 1500.0])
    assert set(run.timing()) == {"compute_time", "io_time"}
    assert run.timing()["compute_time"] == {"mean": pytest.approx(7.0 / 3.0), "p99": pytest.approx(3.96), "worst": 4.0}
    assert set(as_run(header(real_time=True), rows, outcome).timing()) == {
        "period", "jitter", "lateness", "compute_time", "io_time",
    }  # fmt: skip
    assert isinstance(run, Run)


# --- shutdown -----------------------------------------------------------------------------------------------------------------


class FailingCard(StillCard):
    def __init__(self, writes: int, closes: int) -> None:
        super().__init__()
        self.left = {"write": writes, "close": closes}
        self.calls: list[str] = []

    def attempt(self, name: str) -> None:
        self.calls.append(name)
        self.left[name] -= 1
        if self.left[name] >= 0:
            raise HardwareError(f"{name} {self.left[name]}")

    def write(self, commands: Commands) -> None:
        self.attempt("write")

    def close(self) -> None:
        self.attempt("close")


@pytest.mark.parametrize(
    ("writes", "closes", "attempts", "zero"), [(0, 0, 1, True), (4, 4, 5, True), (5, 0, 5, True), (9, 9, 5, False)]
)
def test_last_calls_are_made_five_times(writes, closes, attempts, zero, monkeypatch):
    pauses = []
    monkeypatch.setattr(shutdown.time, "sleep", pauses.append)
    card = FailingCard(writes, closes)
    outputs = Outputs(card, 2, 0.04)
    found = outputs.zero()
    assert found is not None
    assert (found.zero, found.attempts) == (zero, attempts)
    failures = min(writes, 5), min(closes, 5)
    assert card.calls == ["write"] * min(writes + 1, 5) + ["close"] * min(closes + 1, 5)
    assert pauses == [pause for n in failures for pause in [0.01] * min(n, 4) + [0.0] * (n == 5)]
    assert outputs.zero() is found
    with pytest.raises(HardwareError, match="because the program ends"):
        outputs.write(Commands.zero(2))


def test_outputs_that_were_not_accepted_are_not_reported_as_accepted(monkeypatch):
    monkeypatch.setattr(shutdown.time, "sleep", lambda seconds: None)
    card = FailingCard(0, 0)
    outputs = Outputs(card, 2, 0.04)
    last = Commands((5, 6))
    outputs.write(last)
    assert outputs.accepted is last
    card.left["write"] = 9
    outputs.zero()
    assert outputs.accepted is last
    again = Outputs(FailingCard(4, 0), 2, 0.04)
    again.accepted = last
    again.zero()
    assert again.accepted == Commands.zero(2)


def test_calls_that_fail_or_hang_are_sentences():
    def broken():
        raise OSError("no such device")

    assert shutdown.failure_of(lambda: None, 1.0) == ""
    assert shutdown.failure_of(broken, 1.0) == "OSError: no such device"
    assert shutdown.failure_of(lambda: time.sleep(0.2), 0.01) == "no return within 0.01 s."
