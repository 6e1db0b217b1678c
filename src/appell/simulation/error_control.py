"""Steps whose length follows an estimate of their error.

Hairer, Nørsett and Wanner, Solving Ordinary Differential Equations I, section II.4.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

FACTOR_OF_NONFINITE = 0.1
"""Factor of a step whose error is not finite."""


class StepFactors(NamedTuple):
    """Factors of the step size control: safety, and the smallest and largest change from one step to the next."""

    safety: float
    smallest: float
    largest: float


class ErrorControlledSolver(ABC):
    """A `Solver` whose steps are tried until their error is within the tolerance.

    Attributes:
        factors: of the step size control.
        exponent: the step changes as this power of the error.
        attempts: number of steps that were tried until the last one was accepted.
        t_old, y_old: time and state at the start of the last step.
    """

    factors: StepFactors
    exponent: float

    def __init__(self, t: float, y: np.ndarray, end: float, max_step: float) -> None:
        self.t, self.y, self.end, self.max_step, self.status = t, y, end, max_step, "running"
        self.t_old: float | None = None
        self.y_old = y
        self.attempts, self.h = 0, max_step

    @abstractmethod
    def attempt(self, t: float, y: np.ndarray, h: float) -> tuple[np.ndarray, float, Any]:
        """The state after a step, its error relative to the tolerance, and what `accept` needs."""

    def accept(self, y: np.ndarray, h: float, found: Any) -> None:
        """Keep what an accepted step from y found; nothing by default."""
        return

    @abstractmethod
    def dense_output(self) -> Callable[[np.ndarray], np.ndarray]:
        """State vectors (m, N) at times (N,) within the last step."""

    def step(self) -> str | None:
        t, y, rest = self.t, self.y, self.end - self.t
        least, (safety, smallest, growth) = 10.0 * (math.nextafter(t, math.inf) - t), self.factors
        self.attempts = 0
        while True:
            self.attempts += 1
            h = min(max(self.h, least), self.max_step)
            last = h >= rest
            h = rest if last else h
            y_new, error, found = self.attempt(t, y, h)
            if error < 1.0:
                break
            factor = max(smallest, safety * error**self.exponent) if error < math.inf else FACTOR_OF_NONFINITE
            self.h, growth = h * factor, 1.0
            if not self.h >= least:
                self.status = "failed"
                return "the required step is below the spacing of numbers"
        factor = growth if error == 0.0 else min(growth, safety * error**self.exponent)
        self.h = h * max(smallest, factor)
        self.accept(y, h, found)
        self.t_old, self.y_old, self.t, self.y = t, y, self.end if last else t + h, y_new
        self.status = "finished" if last else "running"
        return None

    def shorten(self, t: float) -> str | None:
        """Repeat the last step with this end; returns the reason if its error is above the tolerance."""
        start = float(self.t_old or 0.0)
        y_new, error, found = self.attempt(start, self.y_old, t - start)
        if not error < 1.0:
            return "the error of the step is above its tolerance"
        self.accept(self.y_old, t - start, found)
        self.t, self.y, self.status = t, y_new, "running"
        return None
