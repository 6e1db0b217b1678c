"""What Dask's scheduler costs per chunk of a sweep: 64 workers that sleep as long as a chunk takes.

python benchmarks/sweep_scheduler.py [workers]

Scheduler, workers (all in one process, one thread each) and client are separate processes; tasks carry what those of a sweep
carry. Prints, for several durations of a chunk, the share of the time that the workers sleep and the processor time of each
process per chunk.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from typing import Any

import distributed
from local_cluster import local_cluster, processor_seconds

import appell
from appell.sweeps import random_states
from appell.sweeps.evaluate import SweepJob, library_version
from appell.sweeps.executors import task_runner
from appell.sweeps.store import ChunkStore
from appell.table import Table

DURATIONS = (0.1, 0.3, 1.0)
SECONDS = 10.0
"""Time that each measurement should take. [s]"""


def pretend(job: SweepJob, k: int, source: Any, start: int, stop: int, seconds: float) -> int:
    """A chunk that takes this long."""
    time.sleep(seconds)
    return stop - start


async def host_workers(address: str, workers: int) -> None:
    """Workers with one thread each, in this process."""
    all_of_them = [distributed.Worker(address, nthreads=1, host="127.0.0.1", dashboard=False) for _ in range(workers)]
    await asyncio.gather(*all_of_them)
    await asyncio.gather(*(worker.finished() for worker in all_of_them))


def main(workers: int = 64) -> None:
    with local_cluster(workers, (sys.executable, __file__)) as (client, _, pids):
        print(Table(*measured(client, workers, [*pids, os.getpid()])))


def measured(client: distributed.Client, workers: int, pids: list[int]) -> tuple[str, tuple, tuple, tuple]:
    robot = appell.load("puma560")
    states = random_states(robot, 10**12)
    store = ChunkStore("/shared/sweep.zarr", ("inverse_dynamics",), len(states), 2**20, "0" * 64)
    job = SweepJob(store, "0" * 64, ("inverse_dynamics",), "float32", "cpu", False, library_version())
    rows = []
    for seconds in DURATIONS:
        count = max(4 * workers, round(SECONDS / seconds * workers))
        with task_runner(client, None) as runner:
            before, begin = [processor_seconds([pid]) for pid in pids], time.perf_counter()
            runner.run(
                pretend,
                ((job, k, *states.carried(*store.bounds(k)), seconds) for k in range(count)),
                lambda result: None,
            )
            wall = time.perf_counter() - begin
            used = [(processor_seconds([pid]) - first) / count * 1e3 for pid, first in zip(pids, before, strict=True)]
        busy = count * seconds / workers / wall
        rows.append((seconds, count, f"{busy:.1%}", *used))
    columns = ("chunk [s]", "chunks", "workers busy", "scheduler [ms/chunk]", "workers [ms/chunk]", "client [ms/chunk]")
    return f"{workers} workers that sleep", columns, tuple(rows), ("Processor time of each process per chunk.",)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        asyncio.run(host_workers(sys.argv[1], int(sys.argv[2])))
    else:
        main(*map(int, sys.argv[1:]))
