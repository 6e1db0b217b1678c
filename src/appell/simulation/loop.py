"""The loop of every simulation: integrate a phase until something happens, let it happen, go on."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import SimulationError
from appell.simulation.fixed import Problem
from appell.simulation.pace import STEPS, Pace
from appell.simulation.phase import Environment, Phase, Solver, Step

if TYPE_CHECKING:
    from appell.progress import Progress
    from appell.simulation.events import Watch
    from appell.simulation.methods import Method, Options
    from appell.simulation.plant import Plant
    from appell.simulation.recorder import Recorder

DRIFT = 1e-10
"""Integration errors in constraints are taken out when they are larger than this. [m]"""
STUCK = ((300, 3e-5), (30, 1e-11))
"""A run is given up when so many events follow each other within such a time. [s]"""

FINISHED, TOO_MANY_IMPACTS, NO_PROGRESS, STOPPED = "finished", "too many impacts", "no progress", "stopped by "
"""How a run can end; the last with the name of the event."""


@dataclass
class Loop:
    """One run."""

    plant: Plant
    environment: Environment
    method: Method
    options: Options
    recorder: Recorder
    watch: Watch
    progress: Progress
    _length: float | None = None  # of the last step that was not cut off by the end of a phase

    def run(self, q: np.ndarray, qd: np.ndarray, duration: float, max_impacts: int) -> str:
        """Move from this state at t = 0 to the end; says how the run ended."""
        t, work, events = 0.0, np.zeros(3), deque[float](maxlen=STUCK[0][0])
        drive, pace = self.plant.drive, Pace(duration)
        while True:
            if t >= drive.next_sample:
                drive.sample(t, q, qd)
            q, qd, phase, impacts = self.environment.settle(t, q, qd)
            y = self.plant.joined(q, qd, work)
            self.recorder.begin(t, y, phase, impacts)
            stopped = self.watch.begin(t, q, qd)
            if stopped or len(self.recorder.impacts) > max_impacts:
                status = TOO_MANY_IMPACTS
                break
            if impacts:
                self._length = None
            t, y = self._fly(phase, t, y, min(duration, drive.next_sample), pace)
            events.append(t)
            if t >= duration or self.watch.stopped_by or _stuck(events):
                status = FINISHED if t >= duration else NO_PROGRESS
                break
            self.recorder.end(t, y, phase)
            (q, qd), work = self.plant.split(y), self.plant.work(y)
        self.recorder.finish(t, y, phase)
        return STOPPED + self.watch.stopped_by if self.watch.stopped_by else status

    def _fly(self, phase: Phase, t: float, y: np.ndarray, end: float, pace: Pace) -> tuple[float, np.ndarray]:
        """Integrate a phase until its first event or the end, and give time and state there."""
        problem = Problem(self.plant, phase)
        if self._length is None and not np.isfinite(problem.rate(t, y)).all():
            self._give_up(t, y, "there is no acceleration to go on with")
        while t < end:
            solver = self.method.start(problem, t, y, end, self.options, self._length)
            while True:
                step = self._step(solver)
                cut = self._length if step.end == end else None
                self._length = max(step.end - step.start, cut or 0.0)
                event = phase.first_event(step)
                t = self.watch.look(step, step.end if event is None else event)
                over = event is not None or self.watch.stopped_by is not None
                self.recorder.piece(step, t, phase, last=over or t >= end)
                self.progress.show(t)
                y = step.state(t)
                if pace.diverges(t, self.plant.split(y)[1]):
                    self._give_up(t, y, f"speeds grow, and the rest would take more than {STEPS:.0e} steps")
                if over:
                    return t, self._tidied(y, phase)
                if solver.status != "running" or phase.drift(*self.plant.split(y)) > DRIFT:
                    break
            y = self._tidied(y, phase)
        return t, y

    def _tidied(self, y: np.ndarray, phase: Phase) -> np.ndarray:
        return self.plant.joined(*phase.tidied(*self.plant.split(y)), self.plant.work(y))

    def _step(self, solver: Solver) -> Step:
        """The solver's next step; a state that is not finite, or a step that cannot be made, is an error."""
        message = solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            self._give_up(float(solver.t), solver.y, message or "the state is no longer finite")
        return Step(solver)

    def _give_up(self, t: float, y: np.ndarray, message: str) -> None:
        q, qd = self.plant.split(y)
        worst = int(np.argmax(np.abs(qd)))
        when, what = self.plant.bad or (t, f"qd[{worst}] = {qd[worst]:.6g}")
        look = "for parts without inertia (`appell.check`)" if what.startswith("qdd") else "at the drives"
        raise SimulationError(
            f"the motion of {self.plant.model.name!r} cannot be followed beyond t = {t:.9g} s "
            f"({message.strip().rstrip('.')}): {what} at t = {when:.9g} s. "
            f"q = {np.array2string(q, precision=6)}, qd = {np.array2string(qd, precision=6)}. "
            f"Look {look} and at the initial state, or ask for another tolerance, step or method.",
            time=t, state=np.concatenate([q, qd]), quantity=what,
        )  # fmt: skip


def _stuck(events: deque[float]) -> bool:
    """Whether the last events are too close together to lead anywhere."""
    return any(len(events) >= count and events[-1] - events[-count] < time for count, time in STUCK)
