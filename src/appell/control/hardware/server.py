"""The simulated robot as a process: `appell control plant` runs this.

It listens on the loopback interface, serves one controller, and says what happens as lines of JSON on its standard output:
`{"event": "ready", "port": ...}` first, then how it ended, with its outputs. Time is either virtual, one period for every
reading, or the clock's. A controller that goes away, or that sets no outputs for longer than the watchdog waits, is taken
for dead: outputs go to zero and the drives off.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from pathlib import Path
from typing import Any

import numpy as np

from appell.control.hardware.arm import Arm
from appell.control.hardware.wire import QUIT, READ, WRITE, Codec, receive, send
from appell.errors import HardwareError

QUANTUM = 2e-3
"""How often the arm moves on in real time while nobody asks. [s]"""


class Server:
    """One arm for one controller.

    Attributes:
        period: virtual time between two readings; None for the clock's time. [s]
        watchdog: wall time without new outputs after which the controller counts as dead. [s]
        truth: times and true angles at each reading, which no controller sees.
    """

    def __init__(self, arm: Arm, period: float | None, watchdog: float) -> None:
        self.arm, self.period, self.watchdog = arm, period, watchdog
        self.codec = Codec(len(arm.axes))
        self.truth: list[tuple[float, np.ndarray]] = []
        self.heard = self.moved = time.monotonic()

    def run(self, patience: float = 60.0) -> str:
        """Serve until the controller ends or is lost; says which."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(patience)
            tell(event="ready", port=listener.getsockname()[1])
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                return "no controller came"
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.heard = self.moved = time.monotonic()
            try:
                return self.serve(connection)
            except HardwareError:
                return "controller lost"
            finally:
                self.arm.switch_off()

    def serve(self, connection: socket.socket) -> str:
        connection.settimeout(self.watchdog)
        wait = self.watchdog if self.period else QUANTUM
        while True:
            asked = select.select([connection], [], [], wait)[0]
            if not self.period:
                self.follow_clock()
            if self.arm.powered and time.monotonic() - self.heard > self.watchdog:
                return "watchdog"
            if asked and not self.answer(connection, receive(connection, 1)):
                return "controller ended"

    def answer(self, connection: socket.socket, kind: bytes) -> bool:
        """One message; false at the last one."""
        if kind == READ:
            if self.period and self.arm.tick:
                self.arm.advance(self.period)
            self.strike()
            self.truth.append((self.arm.time, self.arm.q.copy()))
            send(connection, self.codec.pack_readings(self.arm.readings()))
        elif kind == WRITE:
            self.arm.apply(self.codec.unpack_commands(receive(connection, self.codec.command.size)))
            self.heard = time.monotonic()
        return kind != QUIT

    def follow_clock(self) -> None:
        """Bring the arm to the present."""
        now = time.monotonic()
        self.arm.advance(now - self.moved)
        self.moved = now

    def strike(self) -> None:
        """Faults of the whole process."""
        if self.arm.has_failed("die"):
            os._exit(9)
        while self.arm.has_failed("hang"):
            time.sleep(0.1)


def serve_arm(arm: Arm, period: float | None, watchdog: float, truth: Path | None = None) -> str:
    """Serve one controller, then say how it ended; `truth` is a file for the true motion (.npz)."""
    server = Server(arm, period, watchdog)
    ended = server.run()
    if truth is not None:
        t, q = (np.array(column) for column in zip(*server.truth, strict=True)) if server.truth else ([], [])
        np.savez(truth, t=t, q=q)
    tell(event="ended", by=ended, time=arm.time, codes=list(arm.commands.codes), powered=arm.powered)
    return ended


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)
