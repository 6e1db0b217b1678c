"""Clocks of a run: real time, or virtual time for simulated robots."""

from __future__ import annotations

import os
import time
from typing import Protocol

SPIN_TIME = 100e-6
"""Time before a deadline that is spent in a busy loop instead of asleep. [s]"""


class Clock(Protocol):
    """Timing of the periods; `real` is true for real time."""

    @property
    def real(self) -> bool: ...

    def start(self) -> None:
        """Begin the first period."""
        ...

    def wait(self, tick: int, period: float) -> float:
        """Wait for the beginning of period number `tick` and return its lateness. [s]"""
        ...


class RealClock:
    """Real time. Deadlines are multiples of the period after the start, so that lateness does not accumulate."""

    real = True

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        self.start_time = time.perf_counter()

    def wait(self, tick: int, period: float) -> float:
        deadline = self.start_time + tick * period
        while (rest := deadline - time.perf_counter()) > 0.0:
            if rest > SPIN_TIME:
                time.sleep(rest - SPIN_TIME)
        return -rest


class StepClock:
    """Virtual time, for a simulated robot that advances by one period per reading; no period is late."""

    real = False

    def start(self) -> None:
        """Nothing to do."""

    def wait(self, tick: int, period: float) -> float:
        return 0.0


def set_realtime_priority(level: int) -> bool:
    """Request real-time priority (SCHED_FIFO) from the operating system; whether it was granted."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(level))
    except (AttributeError, OSError):
        return False
    return True
