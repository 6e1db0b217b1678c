"""A Dask scheduler and workers as processes of their own, on the loopback."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE), "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s", **more}


class Cluster:
    """Processes by name: `scheduler`, `worker 0`, ...; `start` starts those that do not run."""

    def __init__(self, folder: Path, workers: int = 2, options: tuple[str, ...] = (), scheme: str = "tcp") -> None:
        self.folder, self.workers, self.options = folder, workers, options
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"{scheme}://127.0.0.1:{free.getsockname()[1]}"
        self.processes: dict[str, subprocess.Popen] = {}

    def start(self) -> None:
        port = self.address.rpartition(":")[2]
        self._start("scheduler", "dask_scheduler", "--port", port)
        for k in range(self.workers):
            self._start(f"worker {k}", "dask_worker", self.address, "--nthreads", "1", "--no-nanny")

    def _start(self, name: str, module: str, *words: str) -> None:
        if name in self.processes and self.processes[name].poll() is None:
            return
        command = [sys.executable, "-m", f"distributed.cli.{module}", *words, "--host", "127.0.0.1", "--no-dashboard"]
        with open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [*command, *self.options], stdout=log, stderr=log, env=environment(), cwd=self.folder
            )

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


@contextlib.contextmanager
def running_cluster(folder: Path, workers: int = 2, **options) -> Iterator[Cluster]:
    """A cluster that is ended with the block; its workers may still be starting."""
    cluster = Cluster(folder, workers, **options)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def wait_until(condition, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)
