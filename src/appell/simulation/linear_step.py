"""Steps whose velocities in between are interpolated linearly: those of time stepping, and implicit ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from appell.simulation.plant import Plant


class StateAtTime(NamedTuple):
    """A state of a run: time, q, qd, and works of actuators, passive forces and contact (3,)."""

    t: float
    q: np.ndarray
    qd: np.ndarray
    work: np.ndarray


@dataclass(frozen=True)
class LinearStep:
    """A step with the interface of `IntegratorStep` that event functions and samples need.

    Attributes:
        repeat: the last state of the step made again with an earlier end, None where that fails.
    """

    plant: Plant
    first: StateAtTime
    last: StateAtTime
    repeat: Callable[[float], StateAtTime | None] = field(default=lambda end: None, kw_only=True)

    @property
    def start(self) -> float:
        return self.first.t

    @property
    def end(self) -> float:
        return self.last.t

    @property
    def initial(self) -> np.ndarray:
        """The state vector at its start."""
        return self.plant.join(*self.first[1:])

    def at(self, t: float) -> StateAtTime:
        """The state at a time within it."""
        if t == self.end:
            return self.last
        x = (t - self.start) / (self.end - self.start)
        q, qd, work = ((1.0 - x) * a + x * b for a, b in zip(self.first[1:], self.last[1:], strict=True))
        first, last = (self.plant.model.coordinate_rates(state.q, state.qd) for state in (self.first, self.last))
        q -= 0.5 * x * (1.0 - x) * (self.end - self.start) * (last - first)
        return StateAtTime(t, *self.plant.model.project_to_constraints(q, qd), work)

    def ended(self, t: float) -> LinearStep:
        """The step with an earlier end, made again; with the interpolated state where that fails."""
        return replace(self, last=self.repeat(t) or self.at(t)) if t > self.start else replace(self, last=self.first)

    def state(self, t: float) -> np.ndarray:
        """The state vector at a time within it."""
        return self.plant.join(*self.at(t)[1:])
