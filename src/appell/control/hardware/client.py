"""The simulated robot as a card: starts its process and talks to it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Sequence
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
        plant: the process.
        ended: what it said at its end, empty before.
    """

    def __init__(self, n: int = 6, options: Sequence[str] = (), patience: float = 5.0) -> None:
        """Start the plant with these options of the command, and connect. It may take `patience` seconds to answer."""
        self.codec, self.ended = Codec(n), dict[str, Any]()
        self.plant = subprocess.Popen(
            [sys.executable, "-m", "appell", "control", "plant", *options], stdout=subprocess.PIPE, text=True
        )
        try:
            ready = self.heard()
            self.connection = socket.create_connection(("127.0.0.1", int(ready["port"])), timeout=START)
        except (HardwareError, OSError, KeyError, ValueError) as error:
            self.plant.kill()
            self.plant.wait()
            raise HardwareError(f"the simulated robot did not start: {error}") from None
        self.connection.settimeout(patience)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def heard(self) -> dict[str, Any]:
        """The next line that the plant says."""
        line = self.plant.stdout.readline() if self.plant.stdout else ""
        if not line:
            raise HardwareError("its process ended without a word.")
        return json.loads(line)

    def read(self) -> Readings:
        send(self.connection, READ)
        return self.codec.unpack_readings(receive(self.connection, self.codec.reading.size))

    def write(self, commands: Commands) -> None:
        send(self.connection, WRITE + self.codec.pack_commands(commands))

    def close(self) -> None:
        """End the connection; the plant switches its drives off, says how it ended and goes."""
        try:
            send(self.connection, QUIT)
            self.ended = self.heard()
        except HardwareError:
            self.plant.kill()
        finally:
            self.connection.close()
            self.plant.wait()
            if self.plant.stdout:
                self.plant.stdout.close()

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
