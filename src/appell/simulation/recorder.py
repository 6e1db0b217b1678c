"""Keeps the states of a motion that were asked for: every step of the integrator, or given times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.impact.record import Contact
from appell.simulation.phase import Phase, Step

if TYPE_CHECKING:
    from appell.impact.record import Impact
    from appell.simulation.plant import Plant


class Recorder:
    """Collects samples, impacts and contacts while a motion is computed.

    Attributes:
        times: increasing times to sample at; None for every step, and both sides of every impact.
    """

    def __init__(self, plant: Plant, times: np.ndarray | None) -> None:
        self.plant, self.times = plant, times
        self.samples: list[tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
        self.impacts: list[Impact] = []
        self.contacts: list[Contact] = []
        self._next = 0
        self._open: dict[tuple[str, int], float] = {}

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray, phase: Phase, impacts: tuple[Impact, ...]) -> None:
        """A phase begins in this state, after these impacts."""
        self.impacts += impacts
        if self.times is None and (impacts or not self.samples):
            self._keep(t, q, qd, phase)
        self._touch(t, phase.contacts)

    def piece(self, step: Step, until: float, phase: Phase) -> None:
        """The motion of a step was accepted from its start until this time."""
        if self.times is None:
            wanted = [until]
        else:
            end = int(np.searchsorted(self.times, until, side="left"))
            wanted = self.times[self._next : end].tolist()
            self._next = max(end, self._next)
        for t in wanted:
            self._keep(t, *phase.tidied(*self.plant.split(step.state(t))), phase)

    def finish(self, t: float, q: np.ndarray, qd: np.ndarray, phase: Phase) -> None:
        """The motion ends in this state."""
        if self.times is not None and self._next < len(self.times) and self.times[self._next] == t:
            self._keep(t, q, qd, phase)
        self._touch(t, ())

    def _keep(self, t: float, q: np.ndarray, qd: np.ndarray, phase: Phase) -> None:
        self.samples.append((t, q, qd, phase.acceleration(t, q, qd), self.plant.torque(t, q, qd)))

    def _touch(self, t: float, now: tuple[tuple[str, int], ...]) -> None:
        for pair in [pair for pair in self._open if pair not in now]:
            self.contacts.append(Contact(*pair, self._open.pop(pair), t))
        for pair in now:
            self._open.setdefault(pair, t)
