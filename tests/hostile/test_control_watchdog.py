"""The watchdog process brings the outputs to zero where the controller cannot: it is killed, suspended, or hangs."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.control_rigs import FileCard, driven

import appell
from appell.control import Commands, WatchdogCard
from appell.errors import HardwareError

TIMEOUT = 0.2
ZERO = "2048 2048 2048 2048 2048 2048"
CHILD = """
import functools, os, sys, time
sys.path.insert(0, {tests!r})
from helpers.control_rigs import FileCard, driven, short_task
from appell.control import RealClock, SafetyLimits, WatchdogCard

def wait(cycle):
    if {hang} and cycle.time > 0.1:
        time.sleep(60.0)

card = WatchdogCard(functools.partial(FileCard, {path!r}), timeout={timeout})
print(card.process.pid, flush=True)
driven(card, short_task(period=0.02), clock=RealClock(), limits=SafetyLimits(lateness=10.0), callback=wait)
"""


def lines_of(path: Path) -> list[tuple[float, str]]:
    return [(float(time), rest) for time, rest in (line.split(" ", 1) for line in path.read_text().splitlines())]


def wait_for(condition) -> None:
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("how", ["SIGKILL", "SIGSTOP", "SIGSEGV", "SIGABRT", "hang"])
def test_a_controller_that_cannot_act(tmp_path, how):
    path = tmp_path / "outputs"
    text = CHILD.format(tests=str(Path(__file__).parents[1]), path=str(path), timeout=TIMEOUT, hang=how == "hang")
    child = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        child.stdout.readline()
        wait_for(lambda: path.exists() and len(lines_of(path)) > 3)
        sent = time.monotonic()
        if how != "hang":
            os.kill(child.pid, getattr(signal, how))
        wait_for(lambda: lines_of(path)[-1][1] == "closed")
    finally:
        child.kill()
        child.communicate()
    lines = lines_of(path)
    assert [rest for _, rest in lines[-2:]] == [ZERO, "closed"]
    last = next(time for time, rest in reversed(lines) if rest not in (ZERO, "closed"))
    silent = lines[-2][0] - (sent if how in ("SIGKILL", "SIGSEGV", "SIGABRT") else last)
    assert silent < TIMEOUT + 0.5  # room for a busy machine
    if how in ("SIGSTOP", "hang"):
        assert lines[-2][0] - last > 0.9 * TIMEOUT


def watched(path, timeout: float = 10.0, reply_timeout: float = 10.0, **options) -> WatchdogCard:
    make = functools.partial(FileCard, str(path), **options)
    return WatchdogCard(make, timeout=timeout, reply_timeout=reply_timeout)


def test_a_run_through_the_watchdog(tmp_path):
    """The same outputs as without it; a terminal's Ctrl-C reaches both processes and is a stop."""
    path, plain = tmp_path / "outputs", tmp_path / "plain"
    card = watched(path)

    def interrupt(cycle):
        if cycle.time > 0.0195:
            os.kill(card.process.pid, signal.SIGINT)
            raise KeyboardInterrupt

    def stop(cycle):
        if cycle.time > 0.0195:
            raise KeyboardInterrupt

    run = driven(card, callback=interrupt)
    driven(FileCard(str(plain)), callback=stop)
    assert run.stop.reason == "interrupted"
    assert run.shutdown == (True, 1, "")
    assert [rest for _, rest in lines_of(path)][-2:] == [ZERO, "closed"]
    codes = [[rest for _, rest in lines_of(file) if rest not in (ZERO, "closed")] for file in (path, plain)]
    assert codes[0] == codes[1]


@pytest.mark.parametrize(
    ("fault", "words", "zero"),
    [("fail", "OSError: no such device", True), ("hang", "does not reply within", False), ("exit", "has ended", False)],
)
def test_a_card_that_fails_behind_the_watchdog(tmp_path, fault, words, zero):
    run = driven(watched(tmp_path / "outputs", reply_timeout=0.5 if fault == "hang" else 10.0, fault=fault))
    assert run.stop.reason == "dead plant"
    assert words in run.stop.detail
    assert run.shutdown.zero == zero
    if zero:
        assert [rest for _, rest in lines_of(tmp_path / "outputs")][-2:] == [ZERO, "closed"]


def test_a_controller_that_comes_back_too_late_is_stopped(tmp_path):
    card = watched(tmp_path / "outputs", TIMEOUT)
    card.read()
    card.write(Commands((2100,) * 6))
    time.sleep(TIMEOUT + 0.3)
    with pytest.raises(HardwareError, match=r"no outputs within 0\.2 s"):
        card.write(Commands((2100,) * 6))
    with pytest.raises(HardwareError, match="was not completed"):
        card.read()
    card.close()
    assert [rest for _, rest in lines_of(tmp_path / "outputs")][-2:] == [ZERO, "closed"]


def test_readings_alone_do_not_keep_the_watchdog_quiet(tmp_path):
    card = watched(tmp_path / "outputs", TIMEOUT)
    card.write(Commands((2100,) * 6))

    def read_on():
        while True:
            card.read()

    with pytest.raises(HardwareError, match="the watchdog has ended"):
        read_on()
    card.close()


def test_a_watchdog_that_is_terminated_brings_the_outputs_to_zero(tmp_path):
    card = watched(tmp_path / "outputs")
    card.write(Commands((2100,) * 6))
    card.process.terminate()
    card.close()
    assert [rest for _, rest in lines_of(tmp_path / "outputs")][-2:] == [ZERO, "closed"]


def test_a_card_that_cannot_be_opened(tmp_path):
    with pytest.raises(HardwareError, match="cannot be opened: TypeError"):
        watched(tmp_path / "outputs", unknown=1)
    with pytest.raises(appell.ArgumentError, match="timeout"):
        WatchdogCard(functools.partial(FileCard, ""), timeout=0.0)


def test_an_interrupted_call_is_not_answered_by_the_next_one(tmp_path):
    card = watched(tmp_path / "outputs")
    card.write(Commands((2100,) * 6))

    def interrupted(timeout):
        raise KeyboardInterrupt

    connection = card.connection
    card.connection = type("Interrupted", (), {"send": connection.send, "poll": staticmethod(interrupted)})()
    with pytest.raises(KeyboardInterrupt):
        card.read()
    card.connection = connection
    with pytest.raises(HardwareError, match="was not completed"):
        card.write(Commands.zero(6))
    card.close()
    assert [rest for _, rest in lines_of(tmp_path / "outputs")][-2:] == [ZERO, "closed"]
