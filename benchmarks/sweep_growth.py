"""Sweeps of the PUMA's inverse dynamics in float32: time per state from 1e5 to 1e8, its parts, memory, and a plain loop.

python benchmarks/sweep_growth.py [largest] [folder]

Every sweep is a process of its own with two threads, or a scheduler, two workers and a client (the last row). The plain loop
makes states, calls the kernel and writes to Zarr in one thread; it alternates with a sweep in one thread. Processor times do
not depend on what else the machine does, as wall-clock times do.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import zarr
from local_cluster import ENVIRONMENT, local_cluster, processor_seconds

import appell
from appell.sweeps import random_states, sweep
from appell.sweeps.layout import ArrayLayout, default_chunk
from appell.sweeps.states import BLOCK
from appell.sweeps.store import FlushedStore
from appell.table import Table

ROUNDS = 5


def one_sweep(count: int, store: str, address: str | None, threads: int) -> None:
    """Sweep once; prints the time, its parts and the processor time of this process. [s]"""
    robot = appell.load("puma560")
    first = random_states(robot, 20)
    sweep(robot, ["inverse_dynamics"], first, f"{store}.first", address, dtype="float32", chunk=1)  # compiles
    begin = time.process_time()
    done = sweep(
        robot, ["inverse_dynamics"], random_states(robot, count), store, address, dtype="float32", threads=threads
    )
    shutil.rmtree(f"{store}.first")
    print(json.dumps([time.process_time() - begin, done.seconds, *done.work]))


class MemoryWatch(threading.Thread):
    """Largest sum of the resident memory of processes. [MB]"""

    def __init__(self, pids: list[int]) -> None:
        super().__init__(daemon=True)
        self.pids, self.most, self.over = pids, 0.0, False
        self.start()

    def run(self) -> None:
        while not self.over:
            with contextlib.suppress(psutil.NoSuchProcess):
                self.most = max(self.most, sum(psutil.Process(pid).memory_info().rss for pid in self.pids) / 2**20)
            time.sleep(0.05)


def row(count: int, folder: Path, cluster: tuple[str, list[int]] | None = None, threads: int = 2) -> tuple:
    store, (address, pids) = folder / "sweep.zarr", cluster or ("", [])
    command = [sys.executable, __file__, "one", str(count), str(store), address, str(threads)]
    before = processor_seconds(pids)
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    watch = MemoryWatch([process.pid, *pids])
    output = process.communicate()[0]
    watch.over = True
    processor, seconds, *parts = json.loads(output.splitlines()[-1])
    processor += processor_seconds(pids) - before
    shutil.rmtree(store)
    parts.append(threads * seconds - sum(parts))
    ns = [1e9 * part / count for part in (seconds, processor, *parts)]
    where = "scheduler, 2 workers" if cluster else f"{threads} threads"
    return where, f"{count:.0e}", f"{seconds:.3g}", *(f"{each:.0f}" for each in ns), f"{watch.most:.0f}"


def plain_loop(count: int, folder: Path) -> None:
    robot = appell.load("puma560")
    dyn, states = appell.compile(robot, dtype="float32", threads=1), random_states(robot, count)
    chunk = default_chunk([ArrayLayout((6,), "float32", ())], 0, count, BLOCK)
    array = zarr.create_array(
        FlushedStore(folder / "loop.zarr"), shape=(count, 6), chunks=(chunk, 6), dtype="float32", compressors=None
    )
    for start in range(0, count, chunk):
        stop = min(start + chunk, count)
        tau = np.empty((stop - start, 6), "float32")
        for low in range(start, stop, BLOCK):
            part = states.part(low, min(low + BLOCK, stop), "float32")
            dyn.inverse_dynamics(part.q, part.qd, part.qdd_or_tau, out=tau[low - start :][: len(part)])
        array[start:stop] = tau


def sweep_in_one_thread(count: int, folder: Path) -> None:
    robot = appell.load("puma560")
    sweep(robot, ["inverse_dynamics"], random_states(robot, count), folder / "sweep.zarr", dtype="float32", threads=1)


def shortest(functions: list[Callable[[int, Path], None]], count: int, folder: Path) -> list[tuple[float, float]]:
    """Shortest wall-clock and processor time of each function; they alternate. [s]"""
    times: list[list[tuple[float, float]]] = [[] for _ in functions]
    for _ in range(ROUNDS):
        for found, function in zip(times, functions, strict=True):
            wall, processor = time.perf_counter(), time.process_time()
            function(count, folder)
            found.append((time.perf_counter() - wall, time.process_time() - processor))
            for store in folder.iterdir():
                shutil.rmtree(store)
    return [tuple(np.min(found, axis=0).tolist()) for found in times]


def main(largest: float, folder: Path) -> None:
    rows = [row(10**k, folder) for k in range(5, round(np.log10(largest)) + 1)]
    with local_cluster(2) as (_, address, pids):
        rows.append(row(int(largest), folder, (address, pids)))
    columns = ("where", "states", "time [s]", "time", "processor", "states", "kernels", "disk", "rest", "memory [MB]")
    note = (
        "Columns from time to rest in ns per state; from states to rest wall-clock time of both threads, with waiting."
    )
    print(Table("Sweeps of the PUMA's inverse dynamics, float32", columns, tuple(rows), (note,)))
    count = int(largest) // 10
    (wall, processor), (loop_wall, loop_processor) = shortest([sweep_in_one_thread, plain_loop], count, folder)
    print(f"one thread, {count:.0e} states: {wall:.3g} s, plain loop {loop_wall:.3g} s, ratio {wall / loop_wall:.3f};")
    print(
        f"processor time {processor:.3g} s, plain loop {loop_processor:.3g} s, ratio {processor / loop_processor:.3f}"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["one"]:
        one_sweep(int(sys.argv[2]), sys.argv[3], sys.argv[4] or None, int(sys.argv[5]))
    else:
        place = Path(tempfile.mkdtemp(dir=sys.argv[2] if len(sys.argv) > 2 else None))
        try:
            main(float(sys.argv[1]) if len(sys.argv) > 1 else 1e8, place)
        finally:
            shutil.rmtree(place)
