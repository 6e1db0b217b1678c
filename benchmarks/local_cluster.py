"""A Dask scheduler and workers with one thread each, as processes on the loopback, for benchmarks."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import distributed
import psutil

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1] / "src")}
SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
LOCAL = ("--host", "127.0.0.1", "--no-dashboard")


def processor_seconds(pids: Sequence[int]) -> float:
    """Processor time of processes so far. [s]"""
    return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)


@contextlib.contextmanager
def local_cluster(
    workers: int, command: Sequence[str] | None = None
) -> Iterator[tuple[distributed.Client, str, list[int]]]:
    """A client, the scheduler's address, and the numbers of its processes, scheduler first.

    Args:
        command: hosts all workers in one process, with address and number as arguments; one process each by default.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address, run = f"tcp://127.0.0.1:{port}", (sys.executable, "-m")
    worker = (*run, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", *LOCAL)
    hosts = [(*command, address, str(workers))] if command else [worker] * workers
    commands = [(*run, "distributed.cli.dask_scheduler", "--port", port, *LOCAL), *hosts]
    processes = [subprocess.Popen(each, env=ENVIRONMENT, **SILENT) for each in commands]
    try:
        with distributed.Client(address, timeout="60s") as client:
            client.wait_for_workers(workers, timeout=120)
            yield client, address, [process.pid for process in processes]
    finally:
        for process in processes:
            process.terminate()
            process.wait()
