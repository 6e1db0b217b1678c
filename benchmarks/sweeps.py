"""Sweeps and Monte Carlo studies of the PUMA on two cores: time and its parts, memory, a plain loop, one and two workers.

python benchmarks/sweeps.py [--largest 1e8] [--runs 10000] [--rounds 3] [--folder FOLDER]

Needs an idle machine with two cores and 2.5 GB of disk in the folder for results, which are removed; takes about four minutes.
Every sweep is a process of its own with two threads, or a scheduler, two workers and a client. The plain loop makes states, calls
the kernel and writes to Zarr in one thread; it alternates with a sweep in one thread. The study is that of
`appell montecarlo puma560`, with a period of 2 ms. Where something is repeated, the shortest times count.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import zarr
from local_cluster import ENVIRONMENT, local_cluster, processor_seconds

import appell
from appell.cli.montecarlo import draw_scales, track
from appell.sweeps import Execution, random_states
from appell.sweeps.layout import ArrayLayout, default_chunk
from appell.sweeps.states import BLOCK
from appell.sweeps.store import FlushedStore
from appell.table import Table

FUNCTIONS = ["inverse_dynamics"]


def one_sweep(count: int, store: str, address: str | None, threads: int) -> None:
    """Sweep once; prints the processor time of this process, the time, and its parts. [s]"""
    robot = appell.load("puma560")
    one = Execution(chunk=1)
    appell.sweep(robot, FUNCTIONS, random_states(robot, 20), f"{store}.first", address, dtype="float32", execution=one)
    begin, execution = time.process_time(), Execution(threads=threads)  # kernels are compiled
    done = appell.sweep(
        robot, FUNCTIONS, random_states(robot, count), store, address, dtype="float32", execution=execution
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
    """One line of the table of sweeps."""
    store, (address, pids) = folder / "sweep.zarr", cluster or ("", [])
    command = [sys.executable, __file__, "--one", str(count), str(store), address, str(threads)]
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
    beyond = (parts[0] + parts[-1]) / (threads * seconds)
    where = "scheduler, 2 workers" if cluster else f"{threads} threads"
    return (
        where,
        f"{count:.0e}",
        f"{seconds:.3g}",
        *(f"{each:.1f}" for each in ns),
        f"{beyond:.1%}",
        f"{watch.most:.0f}",
    )


def growth(largest: int, folder: Path) -> Table:
    """Sweeps from 1e5 states on, the largest one also over two workers."""
    rows = [row(10**k, folder) for k in range(5, round(np.log10(largest)) + 1)]
    with local_cluster(2) as (_, address, pids):
        rows.append(row(largest, folder, (address, pids)))
    parts = ("states", "kernels", "disk", "rest")
    columns = ("where", "states", "time [s]", "time", "processor", *parts, "states and rest", "memory [MB]")
    note = "Times from the second on in ns per state; from states to rest of both threads together, with waiting."
    return Table("Sweeps of the PUMA's inverse dynamics, float32", columns, tuple(rows), (note,))


def plain_loop(count: int, folder: Path) -> None:
    robot = appell.load("puma560")
    dyn, states = appell.compile(robot, dtype="float32", threads=1), random_states(robot, count)
    chunk = default_chunk([ArrayLayout((6,), "float32", ())], 0, count, BLOCK)
    array = zarr.create_array(
        FlushedStore(folder / "loop.zarr"), shape=(count, 6), chunks=(chunk, 6), dtype="float32", compressors=None
    )
    tau = np.empty((chunk, 6), "float32")
    for start in range(0, count, chunk):
        stop = min(start + chunk, count)
        for low in range(start, stop, BLOCK):
            part = states.part(low, min(low + BLOCK, stop), "float32")
            dyn.inverse_dynamics(part.q, part.qd, part.qdd_or_tau, out=tau[low - start :][: len(part)])
        array[start:stop] = tau[: stop - start]


def sweep_in_one_thread(count: int, folder: Path) -> None:
    robot, one = appell.load("puma560"), Execution(threads=1)
    states, store = random_states(robot, count), folder / "sweep.zarr"
    appell.sweep(robot, FUNCTIONS, states, store, dtype="float32", execution=one)


def against_a_loop(count: int, folder: Path, rounds: int) -> str:
    functions: list[Callable[[int, Path], None]] = [sweep_in_one_thread, plain_loop]
    times: list[list[tuple[float, float]]] = [[], []]
    for _ in range(rounds):
        for found, function in zip(times, functions, strict=True):
            wall, processor = time.perf_counter(), time.process_time()
            function(count, folder)
            found.append((time.perf_counter() - wall, time.process_time() - processor))
            for store in folder.iterdir():
                shutil.rmtree(store)
    (wall, processor), (loop_wall, loop_processor) = (np.min(found, axis=0) for found in times)
    return (
        f"one thread, {count:.0e} states: sweep {wall:.3g} s, plain loop {loop_wall:.3g} s, ratio {wall / loop_wall:.3f}; "
        f"processor time {processor:.3g} s, {loop_processor:.3g} s, ratio {processor / loop_processor:.3f}"
    )


def study_seconds(runs: int, workers: int, folder: Path, period: float = 2e-3) -> tuple[float, float]:
    """Wall-clock time of a study, without the start of the workers, and processor time of all workers. [s]"""
    robot = appell.load("puma560")
    t = np.linspace(0.0, 2.0, round(2.0 / period) + 1)
    reference = appell.trajectories.joint_line(robot, np.zeros(6), np.ones(6), duration=2.0)
    run = partial(track, reference=tuple(reference(t)), period=period, gains=(100.0, 20.0))
    dyn, draw = appell.compile(robot, parameters="runtime", threads=1), partial(draw_scales, links=6, spread=0.2)
    study = partial(appell.monte_carlo, dyn, draw, run, batch=True)
    with local_cluster(workers) as (client, _, (_, *pids)):
        study(20, folder / "first.zarr", client, execution=Execution(chunk=1))  # compiles
        before = processor_seconds(pids)
        seconds, used = study(runs, folder / "s.zarr", client).seconds, processor_seconds(pids) - before
    for store in folder.iterdir():
        shutil.rmtree(store)
    return seconds, used


def one_and_two_workers(runs: int, folder: Path, rounds: int) -> str:
    times = [[study_seconds(runs, workers, folder) for workers in (1, 2)] for _ in range(rounds)]
    (one, one_processor), (two, two_processor) = np.min(times, axis=0)
    return (
        f"{runs} simulated PUMAs: {one:.1f} s with one worker, {two:.1f} s with two, {one / two:.2f} times as fast; "
        f"processor time of the workers {one_processor:.1f} s and {two_processor:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=float, default=1e8)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        count, store, address, threads = given.one
        one_sweep(int(count), store, address or None, int(threads))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = Path(place)
        print(growth(int(given.largest), folder), flush=True)
        print(against_a_loop(int(given.largest) // 10, folder, given.rounds), flush=True)
        print(one_and_two_workers(given.runs, folder, max(1, given.rounds - 1)), flush=True)


if __name__ == "__main__":
    main()
