"""The simulated robot as a card: starts its process and talks to it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from appell.control.hardware.signals import Commands, Readings
from appell.control.hardware.wire import QUIT, READ, WRITE, Codec, receive, send
from appell.errors import HardwareError

START = 60.0
"""How long the plant may take to be there. [s]"""


class SimulatedCard:
    """A `Card` whose robot is `appell control plant`, a process of its own on this machine.

    Attributes:
        plant: the process, None where it was started by hand.
        ended: what it said at its end; empty before, and where it ended without a word.
    """

    def __init__(self, n: int = 6, options: Sequence[str] = (), patience: float = 5.0, port: int | None = None) -> None:
        """Start the plant with these options of the command, or find the one at a port, and connect.

        Args:
            n: joints of the robot.
            options: such as `appell.control.plant_options` writes them.
            patience: how long it may take to answer before it counts as dead. [s]
            port: where a plant waits that was started by hand; then none is started.
        """
        self.codec, self.patience, self.ended = Codec(n), patience, dict[str, Any]()
        self.plant: subprocess.Popen[str] | None = None
        if port is None:
            command = [sys.executable, "-m", "appell", "control", "plant", *options]
            self.plant = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            self.connection = socket.create_connection(("127.0.0.1", port or self.heard()["port"]), timeout=START)
        except (HardwareError, OSError, KeyError, ValueError) as error:
            self.end()
            raise HardwareError(f"the simulated robot is not there: {error}") from None
        self.connection.settimeout(patience)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def heard(self) -> dict[str, Any]:
        """The next line that our plant says; nothing of one that was started by hand."""
        if self.plant is None or self.plant.stdout is None:
            return {}
        line = self.plant.stdout.readline()
        if not line:
            raise HardwareError("its process ended without a word.")
        return json.loads(line)

    def read(self) -> Readings:
        send(self.connection, READ)
        return self.codec.unpack_readings(receive(self.connection, self.codec.reading.size))

    def write(self, commands: Commands) -> None:
        send(self.connection, WRITE + self.codec.pack_commands(commands))

    def close(self) -> None:
        """End the connection; the plant switches its drives off, says how it ended and goes. One that does not is ended."""
        with suppress(HardwareError):
            send(self.connection, QUIT)
        self.connection.close()
        self.end()

    def end(self) -> None:
        """See our plant off."""
        if self.plant is None:
            return
        try:
            said, _ = self.plant.communicate(timeout=self.patience)
        except subprocess.TimeoutExpired:
            self.plant.kill()
            said, _ = self.plant.communicate()
        self.ended = json.loads(said.splitlines()[-1]) if said.strip() else {}

    def __enter__(self) -> SimulatedCard:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def plant_options(
    *, robot: str = "puma560", rate: float | None = None, watchdog: float = 5.0, start: Sequence[float] = (),
    faults: Sequence[str] = (), truth: Path | None = None,
) -> list[str]:  # fmt: skip
    """Options of `appell control plant`: virtual time at a rate [Hz], or the clock's without one."""
    options = ["--robot", robot, "--watchdog", str(watchdog)]
    options += ["--virtual", str(rate)] if rate else []
    options += ["--start=" + ",".join(map(repr, map(float, start)))] if len(start) else []
    options += [word for fault in faults for word in ("--fault", fault)]
    return options + (["--truth", str(truth)] if truth else [])
