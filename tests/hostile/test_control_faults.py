"""Whatever ends a run of the controller, its outputs are at zero within two periods, or the report has why not."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
from helpers.control_rigs import GOAL, PUMA, LocalCard, StillCard, driven, short_task

import appell
from appell.control import Commands, RunOptions, SafetyLimits, StepClock
from appell.control.hardware import shutdown as shutdown_module
from appell.errors import HardwareError

FAULT_TICK = 20
ERRORS = (
    HardwareError, OSError, ValueError, RuntimeError, MemoryError, RecursionError, KeyboardInterrupt, SystemExit, GeneratorExit,
    TimeoutError,
)  # fmt: skip


@pytest.fixture(autouse=True)
def ctrl_c():
    """Ctrl-C as at a terminal, also where the tests run in the background and it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def due(error):
    """A function that raises."""

    def fail(*_):
        raise error("injected")

    return fail


def read_raises(error):
    def install(card, options):
        read = card.read
        card.read = lambda: due(error)() if card.ticks >= FAULT_TICK else read()

    return install


def reading_becomes(**changes):
    def install(card, options):
        read = card.read

        def changed():
            readings = read()
            given = {name: value(readings) for name, value in changes.items()}
            return readings._replace(**given) if card.ticks > FAULT_TICK else readings

        card.read = changed

    return install


def write_raises(error):
    """Once, in the middle of the run."""

    def install(card, options):
        state = {"done": False}

        def fail(commands):
            if card.ticks > FAULT_TICK and not state["done"]:
                state["done"] = True
                raise error("injected")

        card.on_write = fail

    return install


def callback(action):
    def install(card, options):
        options["callback"] = lambda cycle: action() if card.ticks > FAULT_TICK else None

    return install


def clock_is(wait):
    def install(card, options):
        options["clock"] = StepClock()
        options["clock"].wait = lambda tick, period: wait() if tick >= FAULT_TICK else 0.0

    return install


def bad_reference(values):
    """A reference that is not a number from some time on, and a run that reaches it."""

    def install(card, options):
        line = short_task().reference

        def reference(t):
            q, qd, qdd = line(t)
            return q, qd, np.where(np.asarray(t)[..., None] > 0.01, values, qdd)

        options["controller"] = appell.control.ComputedTorque(PUMA, reference, kp=400.0, kd=40.0)
        options["duration"] = 0.3

    return install


def tool(value):
    def install(card, options):
        options["options"] = RunOptions(tool=lambda t: value() if t > 0.01 else (False, False))

    return install


def record_fails(card, options):
    options["record_fails"] = True


FAULTS = {
    **{f"read {error.__name__}": read_raises(error) for error in ERRORS},
    **{f"write {error.__name__}": write_raises(error) for error in ERRORS[:5]},
    **{f"callback {error.__name__}": callback(due(error)) for error in ERRORS},
    "repeated reading": reading_becomes(tick=lambda r: r.tick - 1),
    "skipped reading": reading_becomes(tick=lambda r: r.tick + 1),
    "too hot": reading_becomes(overheated=lambda r: (False,) * 5 + (True,)),
    "count jumps": reading_becomes(counts=lambda r: (10_000, *r.counts[1:])),
    "count is NaN": reading_becomes(counts=lambda r: (float("nan"), *r.counts[1:])),
    "potentiometer jumps": reading_becomes(potentiometers=lambda r: (0, *r.potentiometers[1:])),
    "too few counts": reading_becomes(counts=lambda r: r.counts[:3]),
    "no counts": reading_becomes(counts=lambda r: None),
    "late": clock_is(lambda: 0.1),
    "late by NaN": clock_is(lambda: float("nan")),
    "clock fails": clock_is(due(OSError)),
    "SIGTERM handler": callback(lambda: signal.raise_signal(signal.SIGTERM)),
    "Ctrl-C": callback(lambda: signal.raise_signal(signal.SIGINT)),
    "interrupt_main": callback(_thread.interrupt_main),
}
FOLLOW_FAULTS = {
    "torque NaN": bad_reference(np.nan),
    "torque infinite": bad_reference(np.inf),
    "tool text": tool(lambda: "xx"),
    "tool three": tool(lambda: (True, True, True)),
    "tool numbers": tool(lambda: (0.5, 1)),
    "tool none": tool(lambda: None),
    "tool raises": tool(due(ZeroDivisionError)),
}


def outcome(card, options):
    """A run or its exception; SIGTERM does nothing after the run."""
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        return driven(card, **options)
    except BaseException as error:
        return error
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("name", FAULTS)
def test_outputs_are_zero_within_two_periods_of_a_fault(name):
    card, options = StillCard(), {}
    FAULTS[name](card, options)
    result = outcome(card, options)
    assert card.at_zero
    assert card.closed
    assert FAULT_TICK <= card.ticks <= FAULT_TICK + 2
    assert Commands.zero(6) not in card.accepted[: FAULT_TICK - 1]
    assert isinstance(result, BaseException) or (result.shutdown.zero and result.stop)


@pytest.mark.parametrize("name", FOLLOW_FAULTS)
def test_outputs_are_zero_within_two_periods_of_a_fault_along_the_reference(name):
    card, options = LocalCard(), {}
    FOLLOW_FAULTS[name](card, options)
    writes, write = [], card.write
    card.write = lambda commands: (writes.append(commands), write(commands))
    result = outcome(card, options)
    assert writes[-1] == Commands.zero(6)
    assert card.closed
    if name == "tool raises":
        assert isinstance(result, ZeroDivisionError)
    else:
        assert result.stop.reason == ("bad tool" if "tool" in name else "bad torque")
        assert np.count_nonzero(result.stage == "follow") in (11, 12)


@pytest.mark.parametrize("failures", [1, 2, 4])
@pytest.mark.parametrize("error", [HardwareError, OSError, KeyboardInterrupt, SystemExit])
def test_a_failing_write_of_zero_is_repeated(failures, error):
    card = StillCard()

    def fail(commands):
        if commands == Commands.zero(6) and fail.left:
            fail.left -= 1
            raise error("not now")

    fail.left, card.on_write = failures, fail
    run = driven(card, callback=callback_at(due(KeyboardInterrupt)))
    assert card.at_zero
    assert run.stop.reason == "interrupted"
    assert run.shutdown == (True, failures + 1, f"write: {error.__name__}: not now")


def test_all_attempts_are_made_within_two_periods():
    """With 50 ms, and 0.3 s for a busy machine; calls that hang have the times of the documentation."""
    times, zero = [], Commands.zero(6)
    card = StillCard(
        on_write=lambda commands: (times.append(time.monotonic()), due(OSError)()) if commands == zero else None
    )
    driven(card, short_task(period=0.05), callback=due(KeyboardInterrupt))
    assert len(times) == 5
    assert times[-1] - times[0] < 2 * 0.05 + 0.3
    text = Path(__file__).parents[2].joinpath("docs", "safety.md").read_text(encoding="utf-8")
    timeouts = shutdown_module.WRITE_TIMEOUT, shutdown_module.CLOSE_TIMEOUT
    assert "after {:g} s (`write`) or {:g} s (`close`)".format(*timeouts) in " ".join(text.split())


def callback_at(action):
    return lambda cycle: action() if cycle.time > 0.0195 else None


def test_a_card_that_takes_no_zero_is_closed_and_reported():
    card = StillCard(on_write=lambda commands: due(OSError)() if commands == Commands.zero(6) else None)
    run = driven(card, callback=callback_at(due(KeyboardInterrupt)))
    assert run.shutdown == (True, 5, "write: OSError: injected")
    assert set(run.outputs.codes) != {2048}


@pytest.mark.parametrize("failures", [1, 4])
def test_a_failing_close_is_repeated(failures):
    card = StillCard()

    def fail():
        fail.left -= 1
        if fail.left >= 0:
            raise HardwareError("stuck relay")

    fail.left, card.on_close = failures, fail
    run = driven(card, callback=callback_at(due(KeyboardInterrupt)))
    assert card.closed
    assert run.shutdown == (True, 1, "close: HardwareError: stuck relay")


def test_a_card_that_cannot_be_closed_is_reported():
    """In the result, and as an error where an exception ends the run."""
    run = driven(StillCard(on_close=due(OSError)), callback=callback_at(due(KeyboardInterrupt)))
    assert not run.ok
    assert run.shutdown == (False, 1, "close: OSError: injected")
    assert "OUTPUTS MAY NOT BE ZERO" in str(run.table())
    assert run.as_dict()["shutdown"]["zero"] is False
    with pytest.raises(HardwareError, match="OUTPUTS MAY NOT BE ZERO") as caught:
        driven(StillCard(on_close=due(OSError)), callback=callback_at(due(ZeroDivisionError)))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("call", ["on_write", "on_close"])
def test_a_last_call_that_hangs_is_given_up_and_reported(call, monkeypatch):
    monkeypatch.setattr(shutdown_module, "WRITE_TIMEOUT", 0.05)
    monkeypatch.setattr(shutdown_module, "CLOSE_TIMEOUT", 0.05)
    release, card = threading.Event(), StillCard()

    def hang(*commands):
        if commands in ((), (Commands.zero(6),)):
            release.wait(10.0)

    setattr(card, call, hang)
    start = time.monotonic()
    run = driven(card, callback=callback_at(due(KeyboardInterrupt)))
    assert time.monotonic() - start < 5.0
    release.set()
    assert "no return within 0.05 s" in run.shutdown.detail
    assert run.shutdown.zero == (call == "on_write")


@pytest.mark.parametrize("call", ["on_write", "on_close"])
def test_ctrl_c_during_the_last_calls_waits_for_them(call):
    """Ten signals while the outputs are brought to zero: all calls are completed, then the signal is delivered."""
    card = StillCard()

    def interrupt(*commands):
        if commands in ((), (Commands.zero(6),)):
            for _ in range(10):
                signal.raise_signal(signal.SIGINT)
                time.sleep(0.001)

    setattr(card, call, interrupt)
    with pytest.raises(KeyboardInterrupt):
        driven(card, callback=callback_at(due(KeyboardInterrupt)))
    assert card.at_zero
    assert card.closed
    assert card.accepted.count(Commands.zero(6)) == 2


def test_handlers_of_the_program_are_called_and_come_back():
    """SIGUSR1 has a handler that does not end the run; SIGTERM's is called after the run."""
    seen, card = [], StillCard()
    before = {
        number: signal.signal(number, lambda n, _: seen.append((n, card.closed)))
        for number in (signal.SIGUSR1, signal.SIGTERM)
    }

    def send(cycle):
        if cycle.time > 0.0095:
            signal.raise_signal(signal.SIGTERM if cycle.time > 0.0195 else signal.SIGUSR1)

    try:
        run = driven(card, callback=send)
        assert run.stop == ("interrupted", "stopped by SIGTERM.", pytest.approx(0.02))
        assert seen == [(signal.SIGUSR1, False)] * 10 + [(signal.SIGTERM, True)]
        signal.raise_signal(signal.SIGUSR1)
        assert seen[-1] == (signal.SIGUSR1, True)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_further_signals_do_not_raise():
    """They may come before the handling of the first one has begun; they are delivered at the end, Ctrl-C as the last."""
    seen = []
    before = signal.signal(signal.SIGTERM, lambda *_: seen.append("SIGTERM"))

    def three_signals():
        with shutdown_module.StopSignals() as signals:
            signals.arm()
            with pytest.raises(shutdown_module.StopSignal, match="SIGINT"):
                signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)
            assert signals.first == "SIGINT"
            assert not seen

    try:
        with pytest.raises(KeyboardInterrupt):
            three_signals()
        assert seen == ["SIGTERM"]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_signal_before_the_run_begins_stops_it():
    with shutdown_module.StopSignals() as signals:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(shutdown_module.StopSignal):
            signals.arm()


def test_nothing_is_written_after_zero_and_nothing_is_left_behind():
    """A run in another thread may go on for a moment when the program ends; a card is not kept after its run."""
    card = StillCard()
    outputs = shutdown_module.Outputs(card, 6, 1e-3)
    outputs.write(Commands((2100,) * 6))
    assert outputs.zero() == outputs.zero() == (True, 1, "")
    with pytest.raises(HardwareError, match="at zero"):
        outputs.write(Commands((2100,) * 6))
    assert [set(commands.codes) for commands in card.accepted] == [{2100}, {2048}, {2048}]
    left = weakref.ref(card)
    del outputs, card
    gc.collect()
    assert left() is None


def test_a_callback_that_catches_everything_does_not_catch_the_stop():
    card = StillCard()

    def greedy(cycle):
        try:
            if cycle.time > 0.0195:
                signal.raise_signal(signal.SIGINT)
                time.sleep(0.1)
        except BaseException:
            pass

    assert driven(card, callback=greedy).stop.reason == "interrupted"
    assert card.at_zero
    assert card.ticks <= 23


def test_a_forked_process_leaves_the_card_alone():
    card, n = StillCard(), []

    def fork(cycle):
        if cycle.time > 0.0195:
            if not (child := os.fork()):
                raise SystemExit
            n.append(child)
            raise KeyboardInterrupt

    try:
        driven(card, callback=fork)
    except SystemExit:
        os._exit(0 if not card.closed and not card.at_zero else 1)
    assert os.waitpid(n[0], 0)[1] == 0
    assert card.closed


@pytest.mark.parametrize("room", [False, True], ids=["no room", "room for the outcome"])
def test_a_full_disk_stops_the_run(tmp_path, monkeypatch, room):
    """The rows before that are whole, and the run has the reason."""
    from appell.control.hardware.record_file import RunRecorder

    append = RunRecorder.append

    def full(self, content):
        if self.count == 20 and not (room and content[0] == 255):
            os.write(self.file.fileno(), content[:100])
            raise OSError(28, "No space left on device")
        return append(self, content)

    monkeypatch.setattr(RunRecorder, "append", full)
    card, path = StillCard(), tmp_path / "run.record"
    run = driven(card, options=RunOptions(record=path))
    assert run.stop[:2] == ("record", "the record cannot be written: No space left on device.")
    assert card.at_zero
    assert card.ticks == 22
    assert len(run.t) == 20
    loaded = appell.control.Run.load(path)
    assert (loaded.q == run.q).all()
    assert loaded.stop.reason == ("record" if room else "killed")


def test_the_limits_may_be_wide_and_the_tool_is_checked_all_the_same():
    run = driven(LocalCard(), limits=SafetyLimits(tracking_error=10.0), options=RunOptions(tool=lambda t: "xx"))
    assert run.stop == (
        "bad tool",
        "the tool is 'xx' at t = 0 s, expected two truth values.",
        pytest.approx(3.0, abs=1.0),
    )
    assert np.allclose(run.q[-1], GOAL, atol=1e-2)
