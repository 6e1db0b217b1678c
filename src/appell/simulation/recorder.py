"""Keeps what a run is asked for: every step of the integrator, or given times; impacts, contacts, limits that are passed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.simulation.excess import ExcessWatch
from appell.simulation.record import Contact

if TYPE_CHECKING:
    from appell.simulation.phase import Phase, Step
    from appell.simulation.plant import Plant
    from appell.simulation.record import Impact


class Sample(NamedTuple):
    """A state of the motion and what acts in it; `work` is that of drives, joints and walls since the beginning, (3,)."""

    t: float
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    saturated: np.ndarray
    work: np.ndarray


class Recorder:
    """Collects samples while a motion is computed.

    Attributes:
        times: increasing times to sample at; None for every step, and both sides of every impact.
    """

    def __init__(self, plant: Plant, times: np.ndarray | None) -> None:
        self.plant, self.times = plant, times
        self.excess = ExcessWatch(plant.model)
        self.samples: list[Sample] = []
        self.impacts: list[Impact] = []
        self.contacts: list[Contact] = []
        self._lost = 0.0
        self._before: Sample | None = None
        self._next = 0
        self._open: dict[tuple[str, int], float] = {}

    def begin(self, t: float, y: np.ndarray, phase: Phase, impacts: tuple[Impact, ...]) -> None:
        """A phase begins in this state, after these impacts."""
        if impacts and self._before is not None:
            self.samples.append(self._before)
        self._before = None
        self.impacts += impacts
        self._lost += sum(impact.energy_after - impact.energy_before for impact in impacts)
        self.excess.look(t, *self.plant.split(y))
        if self.times is None:
            self.samples.append(self._sample(t, y, phase))
        self._touch(t, phase.contacts)

    def piece(self, step: Step, until: float, phase: Phase, last: bool) -> None:
        """The motion of a step was accepted from its start until this time, where the phase ends if it is the last."""
        if self.times is None:
            wanted = [] if last else [until]
        else:
            end = int(np.searchsorted(self.times, until, side="left"))
            wanted = self.times[self._next : end].tolist()
            self._next = max(end, self._next)
        for t in wanted:
            self.samples.append(self._sample(t, self._tidied(step.state(t), phase), phase))
        self.excess.look(until, *self.plant.split(step.state(until)))

    def end(self, t: float, y: np.ndarray, phase: Phase) -> None:
        """A phase ends in this state; it is a sample if an impact follows."""
        if self.times is None:
            self._before = self._sample(t, y, phase)

    def finish(self, t: float, y: np.ndarray, phase: Phase) -> None:
        """The motion ends in this state."""
        missing = t > self.samples[-1].t if self.times is None else self._next < len(self.times)
        if missing:
            self.samples.append(self._sample(t, y, phase))
        self._touch(t, ())

    def _sample(self, t: float, y: np.ndarray, phase: Phase) -> Sample:
        q, qd = self.plant.split(y)
        drives, joints, walls = self.plant.work(y)
        return Sample(
            t, q, qd, phase.motion(t, q, qd).qdd, self.plant.torque(t, q, qd), self.plant.saturated(t, q, qd),
            np.array([drives, joints, walls + self._lost]),
        )  # fmt: skip

    def _tidied(self, y: np.ndarray, phase: Phase) -> np.ndarray:
        return self.plant.joined(*phase.tidied(*self.plant.split(y)), self.plant.work(y))

    def _touch(self, t: float, now: tuple[tuple[str, int], ...]) -> None:
        for pair in [pair for pair in self._open if pair not in now]:
            self.contacts.append(Contact(*pair, self._open.pop(pair), t))
        for pair in now:
            self._open.setdefault(pair, t)
