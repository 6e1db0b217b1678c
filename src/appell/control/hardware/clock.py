"""When the next period begins: by the clock, or as soon as the last one is over."""

from __future__ import annotations

import os
import time
from typing import Protocol

SPIN = 100e-6
"""The last stretch before a deadline, in which the clock is watched instead of slept through. [s]"""


class Clock(Protocol):
    """What keeps the period; `real` says whether its periods take their time."""

    @property
    def real(self) -> bool: ...

    def start(self) -> None:
        """The first period begins now."""
        ...

    def wait(self, tick: int, period: float) -> float:
        """Wait for the beginning of period number `tick`; how late it is. [s]"""
        ...


class RealClock:
    """Deadlines at multiples of the period after the start, so that lateness does not add up."""

    real = True

    def __init__(self) -> None:
        self.begun = time.perf_counter()

    def start(self) -> None:
        self.begun = time.perf_counter()

    def wait(self, tick: int, period: float) -> float:
        deadline = self.begun + tick * period
        while (rest := deadline - time.perf_counter()) > 0.0:
            if rest > SPIN:
                time.sleep(rest - SPIN)
        return -rest


class StepClock:
    """Virtual time, for a robot that moves on by a period when it is read: nothing is ever late."""

    real = False

    def start(self) -> None:
        """There is nothing to start."""

    def wait(self, tick: int, period: float) -> float:
        return 0.0


def take_priority(level: int) -> bool:
    """Ask the operating system for real-time priority (SCHED_FIFO); whether it was granted."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(level))
    except (AttributeError, OSError):
        return False
    return True
