"""The end of a run: outputs to zero and the card closed, whatever ends it. `docs/safety.md` has what is covered.

The last writes are repeated if they fail, made in a thread so that one that hangs does not hold up the next, and shielded:
signals that arrive meanwhile take effect afterwards.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from appell.control.hardware.card import Card, Commands
from appell.errors import HardwareError

ATTEMPTS = 5
"""Calls of `write`, and of `close`, before each is given up; a quarter of a period passes between two."""
WRITE_TIMEOUT, CLOSE_TIMEOUT = 1.0, 10.0
"""Time allowed for one of these calls. [s]"""
ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK")
"""Signals that stop a run in any case; of the others those that would end or suspend the process."""
UNCAUGHT = (
    "SIGKILL", "SIGSTOP", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGSYS",
    "SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGINFO",
)  # fmt: skip
"""Signals that Python cannot catch or that report a crash, and those that do nothing by default."""


class Shutdown(NamedTuple):
    """How the outputs were brought to zero.

    Attributes:
        zero: whether the card was closed, which sets its outputs to zero. If not, they are unknown: switch the power off.
        attempts: calls of `write` with zero outputs.
        detail: the calls that failed, as sentences.
    """

    zero: bool
    attempts: int
    detail: str


class Outputs:
    """The outputs of a card during one run; at zero after `zero`, which also runs when the interpreter exits."""

    def __init__(self, card: Card, n: int, period: float) -> None:
        self.card, self.commands, self.pause = card, Commands.zero(n), 0.25 * period
        self.accepted = self.commands
        self.lock, self.process, self.ended = threading.Lock(), os.getpid(), False
        self.shutdown: Shutdown | None = None
        atexit.register(self.zero)

    def write(self, commands: Commands) -> None:
        """Set the outputs; not after their last value."""
        with self.lock:
            if self.ended:
                raise HardwareError("the outputs are at zero because the program ends.")
            self.card.write(commands)
            self.accepted = commands

    def zero(self) -> Shutdown | None:
        """Set the outputs to zero and close the card, once; None in a forked process, which leaves them to its parent."""
        self.ended = True
        if self.shutdown is None and self.process == os.getpid():
            free = self.lock.acquire(timeout=WRITE_TIMEOUT)  # a write that hangs in another thread does not release it
            writes = self.repeat(lambda: self.card.write(self.commands), WRITE_TIMEOUT)
            if len(writes) < ATTEMPTS:
                self.accepted = self.commands
            closes = self.repeat(self.card.close, CLOSE_TIMEOUT)
            details = [f"write: {x}" for x in writes] + [f"close: {x}" for x in closes]
            attempts = min(len(writes) + 1, ATTEMPTS)
            self.shutdown = Shutdown(len(closes) < ATTEMPTS, attempts, "; ".join(dict.fromkeys(details)))
            if free:
                self.lock.release()
        atexit.unregister(self.zero)
        return self.shutdown

    def repeat(self, call: Callable[[], None], timeout: float) -> list[str]:
        """Call until it succeeds; sentences of the calls that failed, at most `ATTEMPTS`."""
        failures: list[str] = []
        while len(failures) < ATTEMPTS and (failure := failure_of(call, timeout)):
            failures.append(failure)
            time.sleep(self.pause if len(failures) < ATTEMPTS else 0.0)
        return failures


def failure_of(call: Callable[[], None], timeout: float) -> str:
    """A sentence if a call raises or does not return in time, else an empty text."""
    outcome = [f"no return within {timeout:g} s."]

    def attempt() -> None:
        try:
            call()
            outcome[0] = ""
        except BaseException as error:
            outcome[0] = f"{type(error).__name__}: {error}"

    thread = threading.Thread(target=attempt, daemon=True)
    try:
        thread.start()
    except RuntimeError:  # no thread can be started, for instance while the interpreter exits
        attempt()
    else:
        thread.join(timeout)
    return outcome[0]


class StopSignal(BaseException):
    """A signal that ends a run."""


class StopSignals:
    """Signal handlers of a run: the first signal raises `StopSignal`, once; all others wait for the end of the context.

    There they are delivered to the handlers from before the run, and so is the first one unless it is Ctrl-C. Python has
    signal handlers in the main thread only: in other threads this context does nothing.

    Attributes:
        armed: whether a signal raises.
        first: name of the signal that ends the run, empty without one.
    """

    def __enter__(self) -> StopSignals:
        self.armed, self.first, self.waiting, self.previous = False, "", list[int](), dict[int, Any]()
        if threading.current_thread() is threading.main_thread():
            ending, uncaught = ({getattr(signal, name, None) for name in names} for names in (ENDING, UNCAUGHT))
            for number in signal.valid_signals() - uncaught:
                handler = signal.getsignal(number)
                if callable(handler) or handler == signal.SIG_DFL:
                    self.previous[number] = handler
            self.own = {x for x, handler in self.previous.items() if callable(handler) and x not in ending}
            for number in self.previous:
                signal.signal(number, self.handle)
        return self

    def handle(self, number: int, frame: Any) -> None:
        if not self.armed:
            self.waiting.append(number)
        elif number in self.own:  # a handler of the program that need not end it
            self.previous[number](number, frame)
        else:
            self.armed = False
            self.first = next((x.name for x in signal.Signals if x == number), f"signal {number}")
            if number != signal.SIGINT:
                self.waiting.append(number)
            raise StopSignal(self.first)

    def arm(self) -> None:
        """Raise for signals from now on, and for one that has arrived."""
        self.armed = True
        if self.waiting:
            self.handle(self.waiting.pop(0), None)

    def check(self) -> None:
        """Raise again if a callback has caught the exception."""
        if self.first:
            raise StopSignal(self.first)

    def __exit__(self, *_: object) -> None:
        for number, handler in self.previous.items():
            signal.signal(number, handler)
        for number in sorted(self.waiting, key=lambda number: number == signal.SIGINT):  # that one may raise: last
            signal.raise_signal(number)
