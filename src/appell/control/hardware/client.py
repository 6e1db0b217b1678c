"""The simulated robot as a card: starts its process and exchanges messages with it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from os import PathLike
from typing import Any

from appell.control.hardware.axes import PUMA
from appell.control.hardware.card import Commands, Readings
from appell.control.hardware.wire import QUIT, READ, WRITE, Codec, receive, send
from appell.deprecation import renamed_arguments, renamed_attribute
from appell.errors import HardwareError

START_TIMEOUT = 60.0
"""Time allowed for the start of the plant process. [s]"""


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
        if port is None:
            options = ["--robot", robot, "--watchdog", str(watchdog), *(f"--fault={fault}" for fault in faults)]
            options += [f"--virtual-time={rate}"] if rate else []
            options += ["--start=" + ",".join(str(float(x)) for x in start)] if len(start) else []
            options += [f"--ground-truth={ground_truth}"] if ground_truth else []
            command = [sys.executable, "-m", "appell", "control", "plant", *options]
            self.plant = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
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
        """End the connection; the plant switches its actuators off and exits."""
        with suppress(HardwareError):
            send(self.connection, QUIT)
        self.connection.close()
        self.end()

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
