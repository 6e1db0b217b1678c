"""Sweeps of the PUMA's inverse dynamics in float32: time per state from 1e5 to 1e8, its parts, memory, and a plain loop.

python benchmarks/sweep_growth.py [largest] [folder]

Every sweep is a process of its own (two threads), or a scheduler, two workers and a client (the last row). The plain loop
makes states, calls the kernel and writes to Zarr in one thread; it alternates with a sweep in one thread.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil

import appell
from appell.sweeps import random_states, sweep
from appell.sweeps.layout import CHUNK_BYTES
from appell.sweeps.store import FlushedStore
from appell.table import Table

ENVIRONMENT = {**os.environ, "PYTHONPATH": f"src{os.pathsep}benchmarks"}
SILENT = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
ROUNDS = 5


def one_sweep(count: int, store: str, address: str | None) -> None:
    """Sweep once; prints the time and its parts. [s]"""
    robot = appell.load("puma560")
    first = random_states(robot, 20)
    sweep(robot, ["inverse_dynamics"], first, f"{store}.first", address, dtype="float32", chunk=1)  # compiles
    done = sweep(robot, ["inverse_dynamics"], random_states(robot, count), store, address, dtype="float32", threads=2)
    shutil.rmtree(f"{store}.first")
    print(json.dumps([done.seconds, *done.work]))


class MemoryWatch(threading.Thread):
    """Largest sum of the resident memory of processes and their children. [MB]"""

    def __init__(self, pids: list[int]) -> None:
        super().__init__(daemon=True)
        self.pids, self.most, self.over = pids, 0.0, False
        self.start()

    def run(self) -> None:
        while not self.over:
            with contextlib.suppress(psutil.NoSuchProcess):
                parents = [psutil.Process(pid) for pid in self.pids]
                everyone = [*parents, *(child for parent in parents for child in parent.children(recursive=True))]
                self.most = max(self.most, sum(each.memory_info().rss for each in everyone) / 2**20)
            time.sleep(0.05)


def row(count: int, folder: Path, cluster: tuple[str, list[int]] | None = None) -> tuple:
    store, address = folder / "sweep.zarr", cluster[0] if cluster else ""
    command = [sys.executable, __file__, "one", str(count), str(store), address]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    watch = MemoryWatch([process.pid, *(cluster[1] if cluster else [])])
    output = process.communicate()[0]
    watch.over = True
    seconds, *parts = json.loads(output.splitlines()[-1])
    shutil.rmtree(store)
    rest = 2 * seconds - sum(parts)  # two threads
    ns = [1e9 * part / count for part in (*parts, rest)]
    where = "scheduler, 2 workers" if cluster else "2 threads"
    return where, f"{count:.0e}", seconds, 1e9 * seconds / count, *ns, f"{rest / 2 / seconds:.1%}", watch.most


def plain_loop(count: int, folder: Path) -> tuple[float, float]:
    """Shortest times of a sweep in one thread and of a loop that does the same without it. [s]"""
    import zarr

    robot = appell.load("puma560")
    dyn, states = appell.compile(robot, dtype="float32", threads=1), random_states(robot, count)
    chunk = CHUNK_BYTES // 24 // 8192 * 8192
    times = [[], []]
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        array = zarr.create_array(
            FlushedStore(folder / "loop.zarr"), shape=(count, 6), chunks=(chunk, 6), dtype="float32", compressors=None
        )
        for start in range(0, count, chunk):
            stop = min(start + chunk, count)
            tau = np.empty((stop - start, 6), "float32")
            for low in range(start, stop, 8192):
                part = states.part(low, min(low + 8192, stop), "float32")
                dyn.inverse_dynamics(part.q, part.qd, part.qdd_or_tau, out=tau[low - start :][: len(part)])
            array[start:stop] = tau
        times[0].append(time.perf_counter() - begin)
        times[1].append(
            sweep(robot, ["inverse_dynamics"], states, folder / "sweep.zarr", dtype="float32", threads=1).seconds
        )
        for name in ("loop.zarr", "sweep.zarr"):
            shutil.rmtree(folder / name)
    return min(times[1]), min(times[0])


def main(largest: float, folder: Path) -> None:
    columns = (
        "where",
        "states",
        "time [s]",
        "ns/state",
        "states",
        "kernels",
        "disk",
        "rest [ns]",
        "rest",
        "memory [MB]",
    )
    rows = [row(10**k, folder) for k in range(5, round(np.log10(largest)) + 1)]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address, run = f"tcp://127.0.0.1:{port}", [sys.executable, "-m"]
    worker = [*run, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    commands = [[*run, "distributed.cli.dask_scheduler", "--port", port], worker, worker]
    local = ["--host", "127.0.0.1", "--no-dashboard"]
    processes = [subprocess.Popen([*command, *local], env=ENVIRONMENT, **SILENT) for command in commands]
    try:
        time.sleep(10.0)
        rows.append(row(int(largest), folder, (address, [process.pid for process in processes])))
    finally:
        for process in processes:
            process.terminate()
            process.wait()
    note = "Columns states, kernels, disk and rest are processor or waiting time of both threads per state."
    print(Table("Sweeps of the PUMA's inverse dynamics, float32", columns, tuple(rows), (note,)))
    ours, loop = plain_loop(int(largest) // 10, folder)
    print(
        f"one thread, {largest / 10:.0e} states: sweep {ours:.3g} s, plain loop {loop:.3g} s, ratio {ours / loop:.3f}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one_sweep(int(sys.argv[2]), sys.argv[3], sys.argv[4] or None)
    else:
        place = Path(tempfile.mkdtemp(dir=sys.argv[2] if len(sys.argv) > 2 else None))
        try:
            main(float(sys.argv[1]) if len(sys.argv) > 1 else 1e8, place)
        finally:
            shutil.rmtree(place)
