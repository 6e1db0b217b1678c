"""The simulated robot as a process, `appell control plant`, and its card.

The process listens on the loopback interface, serves one controller, and prints lines of JSON:
`{"event": "ready", "port": ...}` at first, then how it ended, with its outputs. Time is either virtual, one period per
reading, or real. If the controller disconnects, or sets no outputs for longer than the watchdog time, outputs go to zero and
the actuators off.

A message is a letter and content of fixed size: `R` requests readings, `W` carries commands, `Q` ends the connection. Only `R`
has a reply.
"""

from __future__ import annotations

import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from appell.control.hardware.arm import SimulatedArm
from appell.control.hardware.card import PUMA, Commands, Readings
from appell.deprecation import renamed_arguments, renamed_attribute
from appell.errors import HardwareError
from appell.files import write_npz

READ, WRITE, QUIT = b"R", b"W", b"Q"
START_TIMEOUT = 60.0
"""Time allowed for the start of the plant process. [s]"""
POLL_INTERVAL = 2e-3
"""Interval at which the arm advances in real time without messages. [s]"""


class Codec:
    """Messages for n axes."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.reading = struct.Struct(f"<Q{n}H{n}q{n}q{n}Q{n}?")
        self.command = struct.Struct(f"<{n}H2?")

    def pack_readings(self, readings: Readings) -> bytes:
        tick, *vectors = readings
        return self.reading.pack(tick, *(x for vector in vectors for x in vector))

    def unpack_readings(self, content: bytes) -> Readings:
        tick, *flat = self.reading.unpack(content)
        vectors = [tuple(flat[k : k + self.n]) for k in range(0, len(flat), self.n)]
        return Readings(tick, *vectors)

    def pack_commands(self, commands: Commands) -> bytes:
        return self.command.pack(*commands.codes, *commands.tool)

    def unpack_commands(self, content: bytes) -> Commands:
        *codes, first, second = self.command.unpack(content)
        return Commands(tuple(codes), (first, second))


def receive(connection: socket.socket, size: int) -> bytes:
    """Exactly `size` bytes; raises if the connection ends or times out before."""
    content = bytearray()
    while len(content) < size:
        try:
            part = connection.recv(size - len(content))
        except TimeoutError:
            raise HardwareError(f"no reply within {connection.gettimeout():g} s.") from None
        except OSError as error:
            raise HardwareError(f"the connection broke: {error.strerror or error}.") from None
        if not part:
            raise HardwareError("the connection was closed by the other side.")
        content += part
    return bytes(content)


def send(connection: socket.socket, content: bytes) -> None:
    try:
        connection.sendall(content)
    except OSError as error:
        raise HardwareError(f"the connection broke: {error.strerror or error}.") from None


class SimulatedCard:
    """A `Card` whose robot is `appell control plant`, a simulated PUMA in a process of its own on this machine.

    Args:
        rate: virtual time, one period at this rate per reading; None for real time. [Hz]
        start: joint angles at power-on; those of `appell control plant` by default. [rad]
        faults: faults to inject, such as `"overheat:2@1.5"` (`appell control plant --help`).
        robot: the simulated robot, a file or a built-in name, with the axes of the PUMA.
        watchdog: time without outputs after which the plant stops. [s]
        timeout: time allowed for a reply of the plant. [s]
        ground_truth: file for the true motion (.npz), written at the end.
        port: of a plant that is running already; no process is started.

    Attributes:
        plant: the plant process; None if it was running already.
        exit_message: last message of the plant; empty before its end, and if it exits without one.

    Example:
        >>> import appell
        >>> with appell.control.SimulatedCard(rate=1000.0) as card:
        ...     readings = card.read()
        >>> len(readings.potentiometers), readings.counts, card.exit_message["by"]
        (6, (0, 0, 0, 0, 0, 0), 'controller ended')
    """

    ended = renamed_attribute("ended", "exit_message")

    @renamed_arguments(patience="timeout", truth="ground_truth")
    def __init__(
        self, *, rate: float | None = None, start: Sequence[float] = (), faults: Sequence[str] = (),
        robot: str = "puma560", watchdog: float = 5.0, timeout: float = 5.0, ground_truth: str | PathLike | None = None,
        port: int | None = None,
    ) -> None:  # fmt: skip
        self.codec, self.timeout, self.exit_message = Codec(len(PUMA)), timeout, dict[str, Any]()
        self.plant: subprocess.Popen[str] | None = None
        self.unconfirmed: bool | None = None
        if port is None:
            options = ["--robot", robot, "--watchdog", str(watchdog), *(f"--fault={fault}" for fault in faults)]
            options += [f"--virtual-time={rate}"] if rate else []
            options += ["--start=" + ",".join(str(float(x)) for x in start)] if len(start) else []
            options += [f"--ground-truth={ground_truth}"] if ground_truth else []
            command = [sys.executable, "-m", "appell", "control", "plant", *options]
            # In a session of its own: Ctrl-C in a terminal is for the controller.
            self.plant = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        try:
            self.connection = socket.create_connection(
                ("127.0.0.1", port or self.next_message()["port"]), timeout=START_TIMEOUT
            )
        except (HardwareError, OSError, KeyError, ValueError) as error:
            self.end()
            raise HardwareError(f"the simulated robot did not start: {error}") from None
        self.connection.settimeout(timeout)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def next_message(self) -> dict[str, Any]:
        """The next line of the plant's standard output; empty for a plant that was running already."""
        if self.plant is None or self.plant.stdout is None:
            return {}
        line = self.plant.stdout.readline()
        if not line:
            raise HardwareError("the plant process exited without a message.")
        return json.loads(line)

    def read(self) -> Readings:
        send(self.connection, READ)
        return self.codec.unpack_readings(receive(self.connection, self.codec.reading.size))

    def write(self, commands: Commands) -> None:
        send(self.connection, WRITE + self.codec.pack_commands(commands))

    def close(self) -> None:
        """End the connection; the plant switches its actuators off and exits, or `HardwareError` has why not."""
        if self.unconfirmed is None:
            self.unconfirmed = sent = True
            try:
                send(self.connection, QUIT)
            except HardwareError:
                sent = False
            self.connection.close()
            self.end()
            self.unconfirmed = self.exit_message.get("powered", True) if self.plant else not sent
        if self.unconfirmed:
            raise HardwareError("the plant ended without a report that its outputs are zero.")

    def end(self) -> None:
        """Wait for the plant process; kill it if it hangs."""
        if self.plant is None:
            return
        try:
            output, _ = self.plant.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            self.plant.kill()
            output, _ = self.plant.communicate()
        self.exit_message = json.loads(output.splitlines()[-1]) if output.strip() else {}

    def __enter__(self) -> SimulatedCard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


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
        write_npz(ground_truth, {"t": t, "q": q})
    print_json_line(event="ended", by=outcome, time=arm.time, codes=list(arm.commands.codes), powered=arm.powered)
    return outcome


def print_json_line(**fields: Any) -> None:
    print(json.dumps(fields), flush=True)
