"""A card in a process of its own, which brings the outputs to zero when the controller is killed, suspended or hangs."""

from __future__ import annotations

import math
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from appell.checks import require_positive
from appell.control.hardware.card import Card, Commands, Readings
from appell.control.hardware.shutdown import Outputs
from appell.errors import HardwareError

START_TIMEOUT = 60.0
"""Time allowed for the start of the process. [s]"""


class WatchdogCard:
    """A `Card` whose hardware is held by another process, the watchdog.

    The watchdog sets the outputs to zero and closes the card when the process of the controller ends, and after the first
    `write` also when no other one comes within the timeout. Signals from the keyboard do not reach it.

    Args:
        make: function without arguments that returns the card, called in the watchdog's process: one at the top level of a
            module, or `functools.partial` of one. A script that starts a watchdog needs `if __name__ == "__main__":`.
        timeout: longest time between two calls of `write`, a few periods. [s]
        reply_timeout: time allowed for a call of the card. [s]
        n: number of axes.
    """

    def __init__(self, make: Callable[[], Card], *, timeout: float, reply_timeout: float = 5.0, n: int = 6) -> None:
        require_positive("timeout", timeout, "s")
        self.timeout, self.reply_timeout = timeout, START_TIMEOUT
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=hold_card, args=(other, make, timeout, n), daemon=True)
        self.process.start()
        other.close()
        self.usable = True
        try:
            self.call("start")
        except HardwareError:
            self.close()
            raise
        self.reply_timeout = reply_timeout

    def call(self, name: str, *arguments: Any) -> Any:
        """A call of the card. After one that was interrupted only `close` is possible: its reply would come to the next one."""
        if not self.usable:
            raise HardwareError("an earlier call of the card was not completed.")
        self.usable = False
        try:
            self.connection.send((name, arguments))
            if not self.connection.poll(self.reply_timeout):
                raise HardwareError(f"the card does not reply within {self.reply_timeout:g} s.")
            reply = self.connection.recv()
        except (EOFError, OSError):
            raise HardwareError(
                f"the watchdog has ended: no outputs within {self.timeout:g} s, or a failure."
            ) from None
        self.usable = True
        if isinstance(reply, HardwareError):
            raise reply
        return reply

    def read(self) -> Readings:
        return self.call("read")

    def write(self, commands: Commands) -> None:
        self.call("write", commands)

    def close(self) -> None:
        """End the watchdog; raises if it does not report that the card is closed, which sets its outputs to zero."""
        self.connection.close()
        self.process.join(self.reply_timeout)
        if self.process.exitcode != 0:
            raise HardwareError("the watchdog ended without a report that the outputs are zero.")


def hold_card(connection: Connection, make: Callable[[], Card], timeout: float, n: int) -> None:
    """The watchdog's process: the calls of one controller, then outputs at zero; exit code 0 if they are."""
    for name in ("SIGINT", "SIGHUP", "SIGQUIT", "SIGTSTP"):
        if number := getattr(signal, name, None):
            signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        outputs = Outputs(make(), n, 0.0)
    except Exception as error:
        connection.send(HardwareError(f"the card cannot be opened: {type(error).__name__}: {error}"))
        return
    try:
        serve(connection, outputs, timeout)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        shutdown = outputs.zero()
        if shutdown and shutdown.detail:
            print(f"appell: watchdog: {shutdown.detail}", file=sys.stderr, flush=True)
        sys.exit(0 if shutdown and shutdown.zero else 1)


def serve(connection: Connection, outputs: Outputs, timeout: float) -> None:
    """Calls of the controller until it ends or is silent."""
    calls = {"start": lambda: None, "read": outputs.card.read, "write": outputs.write}
    deadline = math.inf
    while True:
        left = deadline - time.monotonic()
        if left <= 0.0 or not connection.poll(left if math.isfinite(left) else None):
            return
        try:
            name, arguments = connection.recv()
        except (EOFError, OSError):
            return
        try:
            reply = calls[name](*arguments)
        except Exception as error:
            reply = error if isinstance(error, HardwareError) else HardwareError(f"{type(error).__name__}: {error}")
        if name == "write" and reply is None:
            deadline = time.monotonic() + timeout
        try:
            connection.send(reply)
        except OSError:
            return
