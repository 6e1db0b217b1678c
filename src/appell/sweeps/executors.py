"""Tasks over threads of this process or over the workers of a Dask scheduler, a bounded number of them at once."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from typing import Any
from urllib.parse import urlsplit

from appell.errors import AppellError, ArgumentError, SweepError
from appell.sweeps.layout import ChunkSeconds
from appell.sweeps.options import Execution

TASKS_PER_THREAD = 3
"""Tasks that are submitted for each thread: one runs, the others wait at the worker."""
COUNT_PERIOD = 5.0
"""Time between two counts of the workers' threads, as workers come and go. [s]"""


class TaskRunner:
    """An executor, and how many tasks it is given at once."""

    def __init__(self, executor: Executor, threads: Callable[[], int]) -> None:
        self.executor, self._threads = executor, threads
        self._limit, self._counted = 0, -COUNT_PERIOD

    @property
    def limit(self) -> int:
        if time.monotonic() - self._counted >= COUNT_PERIOD:
            self._limit, self._counted = TASKS_PER_THREAD * max(1, self._threads()), time.monotonic()
        return self._limit

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple], done: Callable[[Any], None]) -> None:
        """Call the function with every task and `done` with every result, in the order in which they come.

        The first error stops it; what runs then goes on to its end.
        """
        running: set[Future] = set()

        def collect() -> None:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                running.remove(future)
                done(future.result())

        try:
            for task in tasks:
                running.add(self.executor.submit(function, *task))
                while len(running) >= self.limit:
                    collect()
            while running:
                collect()
        finally:
            for future in running:
                future.cancel()


@contextlib.contextmanager
def task_runner(client: Any, threads: int | None) -> Iterator[TaskRunner]:
    """Threads of this process without a client, else the workers of a `distributed.Client` or of a scheduler's address."""
    if client is None:
        count = thread_count(threads)
        with ThreadPoolExecutor(count, "appell-sweep") as pool:
            yield TaskRunner(pool, lambda: count)
    elif isinstance(client, str):
        with connected(client) as own, task_runner(own, threads) as runner:
            yield runner
    else:
        executor = client.get_executor(pure=False)
        try:
            yield TaskRunner(executor, lambda: sum(client.nthreads().values()))
        except CancelledError:
            raise SchedulerLost("the connection to the Dask scheduler was lost") from None
        finally:
            executor.shutdown(wait=False)


class SchedulerLost(Exception):
    """A scheduler that ended while it had tasks."""


class ProgressCounter:
    """Counts finished entries and the time of the work; called with the result of every task."""

    def __init__(self, count: int, progress: Callable[[float], None] | None, finished: int = 0) -> None:
        self.count, self.finished, self.progress = count, finished, progress
        self.work, self.started = ChunkSeconds(), time.perf_counter()

    def __call__(self, result: tuple[int, ChunkSeconds]) -> None:
        self.finished += result[0]
        self.work += result[1]
        if self.progress is not None:
            self.progress(self.finished / self.count)


def run_chunks(
    store: Any, function: Callable[..., Any], task: Callable[[int], tuple], client: Any, execution: Execution
) -> ProgressCounter:
    """Run the function for every chunk of a store that is not finished; `task` makes its arguments."""
    finished = store.finished()
    first = sum(stop - start for start, stop in map(store.bounds, finished))
    done = ProgressCounter(store.count, execution.progress, first)
    try:
        with task_runner(client, execution.threads) as runner:
            runner.run(function, (task(k) for k in range(store.chunks) if k not in finished), done)
    except AppellError:
        raise
    except Exception as error:
        known = isinstance(error, (OSError, SchedulerLost))
        count, text = len(store.finished()), str(error) if known else f"{type(error).__name__}: {error}"
        raise SweepError(
            f"{store.path}: {text}. {count} of {store.chunks} chunks are finished and kept: the same call goes on from there.",
            finished=count, chunks=store.chunks,
        ) from error  # fmt: skip
    store.remove_partial_files()
    return done


def thread_count(threads: int | None) -> int:
    """The given number of threads, or one for every core that the process may use."""
    if threads is not None:
        return threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def connected(address: str) -> Any:
    """A client of the scheduler at an address."""
    require_secure_address(address)
    try:
        from distributed import Client
    except ImportError:
        raise missing_extra() from None
    try:
        return Client(address, timeout="10s")
    except (OSError, ValueError) as error:
        raise AppellError(
            f"no Dask scheduler answers at {address}: {error or type(error).__name__}. "
            "Start one with `dask scheduler --host 127.0.0.1`, and workers with `dask worker ADDRESS`."
        ) from None


def require_secure_address(address: str) -> None:
    """Raise unless an address is of this machine or encrypted: workers run whatever clients send."""
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if not _is_loopback(parts.hostname or "") and parts.scheme not in ("tls", "inproc"):
        raise ArgumentError(
            f"the scheduler's address {address} is neither of this machine nor encrypted, and workers run whatever they are "
            "sent. Use tls:// with certificates (docs/howto/sweep_on_a_cluster.md), or pass a distributed.Client that you "
            "have made for a network that you trust."
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def missing_extra() -> AppellError:
    """The error for packages of the extra `dask`."""
    return AppellError(
        "stores and clients of sweeps need dask, distributed, zarr and xarray. Install them, for instance with: "
        "pip install 'appell[dask]'"
    )
