"""Every signal that can be caught brings the outputs to zero, in real processes: one that forks a run per signal."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

CAUGHT = (
    "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGUSR1", "SIGUSR2", "SIGALRM",
    "SIGVTALRM", "SIGPROF", "SIGXCPU", "SIGIO", "SIGRTMIN",
)  # fmt: skip
SUSPENDING = ("SIGTSTP", "SIGTTIN", "SIGTTOU")
PERIOD = 0.02
RUNS = """
import json, os, signal, sys, threading, time
sys.path.insert(0, {tests!r})
from helpers.control_rigs import StillCard, driven, short_task
from appell.control import RealClock, SafetyLimits

for number in {{*map(int, signal.valid_signals())}} - {{signal.SIGKILL, signal.SIGSTOP}}:
    if signal.getsignal(number) == signal.SIG_IGN:  # where the tests run in the background
        signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
controller = short_task(period={period})
controller.native_step
print("ready", flush=True)

def run(wait):
    card = StillCard(on_write=lambda c: print(json.dumps(["write", list(c.codes), time.monotonic()]), flush=True))
    driven(card, controller, clock=RealClock(), limits=SafetyLimits(lateness=10.0), callback=wait)

for line in sys.stdin:
    kind = line.strip()
    if not (child := os.fork()):
        os.setpgid(0, 0)  # with a parent in another group of the session, it can be suspended
        print(json.dumps(["pid", os.getpid()]), flush=True)
        if kind == "thread":
            threading.Thread(target=run, args=(None,), daemon=True).start()
            time.sleep(0.2)
            sys.exit()
        run((lambda cycle: time.sleep(30.0)) if kind == "blocked" else None)
        print(json.dumps(["returned"]), flush=True)
        os._exit(0)
    status = os.waitpid(child, os.WUNTRACED)[1]
    if os.WIFSTOPPED(status):
        print(json.dumps(["suspended", os.WSTOPSIG(status)]), flush=True)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print(json.dumps(["end", None]), flush=True)
    else:
        print(json.dumps(["end", os.waitstatus_to_exitcode(status)]), flush=True)
"""


@pytest.fixture(scope="module")
def runs():
    """A process that makes a run per line on its standard input."""
    text = RUNS.format(tests=str(Path(__file__).parents[1]), period=PERIOD)
    with subprocess.Popen(
        [sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


def told(runs, kind: str, send=lambda pid: None) -> tuple[list, list, float]:
    """Codes that were written, the other messages, and the time between the last two writes. A signal is sent early."""
    runs.stdin.write(kind + "\n")
    runs.stdin.flush()
    codes, others, times = [], [], []
    pid = json.loads(runs.stdout.readline())[1]
    while not others or others[-1][0] != "end":
        message = json.loads(runs.stdout.readline())
        if message[0] == "write":
            codes.append(message[1])
            times.append(message[2])
            if len(codes) == (1 if kind == "blocked" else 3):
                send(pid)
        else:
            others.append(message)
    return codes, others, times[-1] - times[-2]


@pytest.mark.parametrize("name", CAUGHT)
def test_a_signal_brings_the_outputs_to_zero(runs, name):
    """The process then ends or is suspended by the signal as if there had been no run; Ctrl-C is a stop."""
    number = getattr(signal, name)
    codes, others, last = told(runs, "run", lambda pid: os.kill(pid, number))
    assert codes[-1] == [2048] * 6
    assert all(set(written) != {2048} for written in codes[:-1])
    assert last < 2 * PERIOD + 0.5  # room for a busy machine
    expected = [["end", -number]]
    if name in SUSPENDING:
        expected = [["suspended", number], ["end", None]]
    assert others == ([["returned"], ["end", 0]] if name == "SIGINT" else expected)


def test_a_signal_ends_a_callback_that_blocks(runs):
    codes, others, _ = told(runs, "blocked", lambda pid: os.kill(pid, signal.SIGTERM))
    assert codes[-1] == [2048] * 6
    assert others == [["end", -signal.SIGTERM]]


def test_three_signals_at_once(runs):
    def send(pid):
        for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
            os.kill(pid, number)

    codes, others, _ = told(runs, "run", send)
    assert codes[-1] == [2048] * 6
    assert others == [["end", -signal.SIGTERM]]


def test_the_end_of_the_program_ends_a_run_in_a_daemon_thread(runs):
    """Python stops daemon threads where they are; the outputs are brought to zero before."""
    codes, others, _ = told(runs, "thread")
    assert len(codes) > 3
    assert codes[-1] == [2048] * 6
    assert others == [["end", 0]]


def test_ctrl_c_in_a_terminal_stops_the_controller_and_leaves_the_plant_to_it(tmp_path):
    """A terminal sends SIGINT to all processes of a group; the plant then reports to its controller that it is at zero."""
    record = tmp_path / "run.record"
    command = [sys.executable, "-m", "appell", "control", "run", "--rate", "50", "--max-lateness", "1e5", "--json"]
    options = {"stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    heard = functools.partial(
        signal.signal, signal.SIGINT, signal.SIG_DFL
    )  # also where the tests run in the background
    with subprocess.Popen([*command, "--record", record], preexec_fn=heard, **options) as run:
        end = time.monotonic() + 60.0
        while (not record.exists() or record.stat().st_size < 3000) and time.monotonic() < end:
            time.sleep(0.02)
        os.killpg(run.pid, signal.SIGINT)
        result = json.loads(run.communicate(timeout=60)[0])
    assert result["stop"]["reason"] == "interrupted"
    assert result["shutdown"] == {"zero": True, "attempts": 1, "detail": ""}
    assert run.returncode == 1
