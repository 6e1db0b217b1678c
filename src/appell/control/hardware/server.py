"""The simulated robot as a process, `appell control plant`.

It listens on the loopback interface, serves one controller, and prints lines of JSON: `{"event": "ready", "port": ...}` at
first, then how it ended, with its outputs. Time is either virtual, one period per reading, or real. If the controller
disconnects, or sets no outputs for longer than the watchdog time, outputs go to zero and the actuators off.
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

from appell.control.hardware.arm import SimulatedArm
from appell.control.hardware.wire import QUIT, READ, WRITE, Codec, receive, send
from appell.errors import HardwareError

POLL_INTERVAL = 2e-3
"""Interval at which the arm advances in real time without messages. [s]"""


class PlantServer:
    """Server of one arm for one controller.

    Attributes:
        period: virtual time between two readings; None for real time. [s]
        watchdog: wall time without new outputs after which the plant stops. [s]
        ground_truth: times and true angles at each reading, hidden from the controller.
    """

    def __init__(self, arm: SimulatedArm, period: float | None, watchdog: float) -> None:
        self.arm, self.period, self.watchdog = arm, period, watchdog
        self.codec = Codec(len(arm.axes))
        self.ground_truth: list[tuple[float, np.ndarray]] = []
        self.last_write = self.last_advance = time.monotonic()

    def run(self, timeout: float = 60.0) -> str:
        """Serve until the controller ends or is lost; returns which."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            listener.settimeout(timeout)
            print_json_line(event="ready", port=listener.getsockname()[1])
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                return "no controller came"
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.last_write = self.last_advance = time.monotonic()
            try:
                return self.serve(connection)
            except HardwareError:
                return "controller lost"
            finally:
                self.arm.switch_off()

    def serve(self, connection: socket.socket) -> str:
        connection.settimeout(self.watchdog)
        wait = self.watchdog if self.period else POLL_INTERVAL
        while True:
            pending = select.select([connection], [], [], wait)[0]
            if not self.period:
                self.advance_to_now()
            if self.arm.powered and time.monotonic() - self.last_write > self.watchdog:
                return "watchdog"
            if pending and not self.handle(connection, receive(connection, 1)):
                return "controller ended"

    def handle(self, connection: socket.socket, kind: bytes) -> bool:
        """Process one message; false at the last one."""
        if kind == READ:
            if self.period and self.arm.tick:
                self.arm.advance(self.period)
            self.inject_process_faults()
            self.ground_truth.append((self.arm.time, self.arm.q.copy()))
            send(connection, self.codec.pack_readings(self.arm.readings()))
        elif kind == WRITE:
            self.arm.apply(self.codec.unpack_commands(receive(connection, self.codec.command.size)))
            self.last_write = time.monotonic()
        return kind != QUIT

    def advance_to_now(self) -> None:
        """Advance the arm to the present time."""
        now = time.monotonic()
        self.arm.advance(now - self.last_advance)
        self.last_advance = now

    def inject_process_faults(self) -> None:
        """Exit or hang if such a fault is due."""
        if self.arm.has_failed("die"):
            os._exit(9)
        while self.arm.has_failed("hang"):
            time.sleep(0.1)


def serve_arm(arm: SimulatedArm, period: float | None, watchdog: float, ground_truth: Path | None = None) -> str:
    """Serve one controller and print how it ended; `ground_truth` is a file for the true motion (.npz)."""
    server = PlantServer(arm, period, watchdog)
    outcome = server.run()
    if ground_truth is not None:
        samples = server.ground_truth
        t, q = (np.array(column) for column in zip(*samples, strict=True)) if samples else ([], [])
        np.savez(ground_truth, t=t, q=q)
    print_json_line(event="ended", by=outcome, time=arm.time, codes=list(arm.commands.codes), powered=arm.powered)
    return outcome


def print_json_line(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)
