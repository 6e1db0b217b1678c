"""The simulated robot as a card: starts its process and talks to it."""

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
from appell.control.hardware.signals import Commands, Readings
from appell.control.hardware.wire import QUIT, READ, WRITE, Codec, receive, send
from appell.errors import HardwareError

START = 60.0
"""How long the plant may take to be there. [s]"""


class SimulatedCard:
    """A `Card` whose robot is `appell control plant`, a simulated PUMA in a process of its own on this machine.

    Args:
        rate: virtual time, one period at this rate for every reading; None for the clock's time. [Hz]
        start: joint angles when it is switched on, the plant's own by default. [rad]
        faults: what shall go wrong, such as `"overheat:2@1.5"` (`appell control plant --help`).
        robot: what is simulated, a file or a built-in name, with the axes of the PUMA.
        watchdog: how long the plant waits for outputs before it takes its controller for dead. [s]
        patience: how long the plant may take to answer before it counts as dead. [s]
        truth: file for its true motion (.npz), written when it ends.
        port: where a plant waits that was started by hand; then none is started.

    Attributes:
        plant: the process, None where it was started by hand.
        ended: what it said at its end; empty before, and where it ended without a word.

    Example:
        >>> import appell
        >>> with appell.control.SimulatedCard(rate=1000.0) as card:
        ...     readings = card.read()
        >>> len(readings.potentiometers), readings.counts, card.ended["by"]
        (6, (0, 0, 0, 0, 0, 0), 'controller ended')
    """

    def __init__(
        self, *, rate: float | None = None, start: Sequence[float] = (), faults: Sequence[str] = (),
        robot: str = "puma560", watchdog: float = 5.0, patience: float = 5.0, truth: str | PathLike | None = None,
        port: int | None = None,
    ) -> None:  # fmt: skip
        self.codec, self.patience, self.ended = Codec(len(PUMA)), patience, dict[str, Any]()
        self.plant: subprocess.Popen[str] | None = None
        if port is None:
            options = ["--robot", robot, "--watchdog", str(watchdog), *(f"--fault={fault}" for fault in faults)]
            options += [f"--virtual={rate}"] if rate else []
            options += ["--start=" + ",".join(str(float(x)) for x in start)] if len(start) else []
            options += [f"--truth={truth}"] if truth else []
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
