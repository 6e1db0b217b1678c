"""Monitors of a run: steps of an integrator that collapse, events that accumulate, motions that diverge."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

COLLAPSED, EVENT_STEPS = ((40, 4e-5), (100, 1e-3), (300, 2e-2)), 3
"""Steps have collapsed when so many, tried or accepted, advance by less than such a time [s]; an event counts as so many."""
IMPLICIT_SPANS, GROWTH, SOON = (1e-3, 5e-2), 4.0, 10.0
"""Shortest and longest time of implicit steps before the integrator goes on [s], and its growth where steps collapse again within
so many times the last one."""
PACE_STEPS, PACE = 20, 0.5
"""After so many implicit steps, their mean length must be this part of the time by which a step of the integrator advanced."""
SHORTEST_PROGRESS = 1e-9
"""Implicit steps that advance by less do not keep a run from ending without progress. [s]"""
DIVERGENCE_WINDOW = 500
"""Number of steps between two checks of divergence."""
DIVERGENCE_VELOCITY = 1e4
"""Velocities up to this are never regarded as divergence. [rad/s, m/s]"""
MAX_REMAINING_STEPS = 1e6
"""A diverging run stops when it would need more steps than this."""


@dataclass
class PaceMonitor:
    """Detects steps of an adaptive integrator that collapse while contacts slip slowly.

    Attributes:
        limits: numbers of steps and times.
        collapsed: whether the last steps are as short as one of these.
    """

    limits: tuple[tuple[int, float], ...] = COLLAPSED
    collapsed: bool = False
    _span: float = IMPLICIT_SPANS[0]
    _mean: float = 0.0  # time by which a step advanced where steps collapsed
    _end: float = -math.inf  # of the last implicit steps

    def __post_init__(self) -> None:
        self._times = deque[float](maxlen=max(count for count, _ in self.limits))

    def count(self, t: float, steps: int) -> None:
        """So many steps from time t have been tried."""
        self._times.extend([t] * steps)
        self.collapsed = has_stalled(self._times, self.limits)
        if self.collapsed:
            self._mean = min(
                (t - self._times[-number]) / number for number, _ in self.limits if number <= len(self._times)
            )

    def keeps_up(self, steps: int, time: float) -> bool:
        """Whether so many implicit steps in a time are not much shorter than those of the integrator were."""
        return steps < PACE_STEPS or time >= steps * PACE * self._mean

    def implicit_end(self, t: float) -> float:
        """Until when implicit steps follow: ever longer where steps collapse again soon. [s]"""
        if t >= self._end:
            shortest, longest = IMPLICIT_SPANS
            self._span = min(GROWTH * self._span, longest) if t - self._end < SOON * self._span else shortest
            self._end = t + self._span
        return self._end

    def restart(self, start: float, t: float, steps: int = 1) -> None:
        """Implicit steps from `start` have ended at time t; after an impact they go on, unless there was little progress."""
        self._times.clear()
        self.collapsed = t < self._end and t - start >= SHORTEST_PROGRESS and self.keeps_up(steps, t - start)
        self._end = self._end if self.collapsed else t


@dataclass
class DivergenceMonitor:
    """Detects a motion that diverges although every number is still finite: velocities grow, and steps shrink.

    A motion diverges when, at the end of a window, the largest velocity is above `DIVERGENCE_VELOCITY`, larger than a window
    ago, and steps as long as those of the window would need more than `MAX_REMAINING_STEPS` to the end.
    """

    duration: float
    _count: int = 0
    _start: float = 0.0
    _velocity: float = 0.0

    def diverges(self, t: float, qd: np.ndarray) -> bool:
        """Check the state at the end of a step."""
        self._count += 1
        if self._count < DIVERGENCE_WINDOW:
            return False
        velocity, step = float(np.abs(qd).max(initial=0.0)), (t - self._start) / DIVERGENCE_WINDOW
        grows = velocity > max(DIVERGENCE_VELOCITY, self._velocity)
        self._count, self._start, self._velocity = 0, t, velocity
        return grows and self.duration - t > MAX_REMAINING_STEPS * step


def has_stalled(times: deque[float], stalled: tuple[tuple[int, float], ...]) -> bool:
    """Whether the last events, or steps, are too close together for the run to progress."""
    return any(len(times) >= count and times[-1] - times[-count] < span for count, span in stalled)
