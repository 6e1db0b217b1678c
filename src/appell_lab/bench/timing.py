"""Timing of contenders in turns on one core, with ratios within a turn.

Contenders that run one after the other within a tenth of a second see the same load of the machine. So a ratio is the median
of the ratios of all turns, with its quartiles. On one core the clock is the processor time of this process.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

SAMPLE = 0.02
"""Minimal duration of a sample; shorter calls are repeated. [s]"""

ROUNDS = 15

Clock = Callable[[], int]
ONE_CORE: Clock = time.process_time_ns
SEVERAL_CORES: Clock = time.perf_counter_ns
"""Clocks, in nanoseconds: processor time adds up over threads, so several threads are timed by the wall clock."""


class Spread(NamedTuple):
    """Median and quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: np.ndarray) -> Spread:
        low, median, high = np.quantile(samples, (0.25, 0.5, 0.75)).tolist()
        return cls(median, low, high)


@dataclass(frozen=True)
class Contender:
    """A call to time, and the number of states that it evaluates."""

    name: str
    call: Callable[[], object]
    states: int = 1


@dataclass(frozen=True)
class Race:
    """Times of all contenders, one sample per round. [ns per state]"""

    samples: dict[str, np.ndarray]

    def time(self, name: str) -> Spread:
        return Spread.of(self.samples[name])

    def ratio(self, faster: str, slower: str) -> Spread:
        """Ratios of the times of two contenders, round by round."""
        return Spread.of(self.samples[slower] / self.samples[faster])


def race(
    contenders: Sequence[Contender], rounds: int = ROUNDS, sample: float = SAMPLE, clock: Clock = ONE_CORE
) -> Race:
    """Time the contenders in turns."""
    repeats = [_repeats(contender, sample, clock) for contender in contenders]
    samples: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    with _no_garbage_collection():
        for _ in range(rounds):
            for contender, count in zip(contenders, repeats, strict=True):
                samples[contender.name].append(_timed(contender.call, count, clock) / (count * contender.states))
    return Race({name: np.array(times) for name, times in samples.items()})


def _repeats(contender: Contender, sample: float, clock: Clock) -> int:
    """Calls that fill a sample; the first call, which may build something, does not count."""
    contender.call()
    count = 1
    while (taken := _timed(contender.call, count, clock)) < 0.25e9 * sample:
        count *= 4
    return max(1, round(count * 1e9 * sample / taken))


def _timed(call: Callable[[], object], count: int, clock: Clock) -> int:
    start = clock()
    for _ in range(count):
        call()
    return clock() - start


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Run on the first `count` cores of this process, if the system supports it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def busy() -> list[str]:
    """A note for wall-clock tables if other processes compete for the cores."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return [f"The machine was busy: load {load:.1f} on {cores()} cores."] if load > cores() else []
