"""The loop of every simulation: integrate a phase until something happens, let it happen, go on."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.integrate import OdeSolver

from appell.errors import SimulationError
from appell.simulation.phase import Environment, Phase, Step

if TYPE_CHECKING:
    from appell.simulation.plant import Plant
    from appell.simulation.recorder import Recorder

DRIFT = 1e-10
"""Integration errors in constraints are taken out when they are larger than this. [m]"""
STUCK, CRAWL = 300, 3e-5
"""A run is given up when so many events follow each other within this time. [s]"""

FINISHED, TOO_MANY_IMPACTS, NO_PROGRESS = "finished", "too many impacts", "no progress"
"""How a run can end."""


@dataclass(frozen=True)
class Integrator:
    """A method with its tolerances."""

    method: type[OdeSolver]
    rtol: float
    atol: float
    max_step: float

    def start(self, rate, t: float, y: np.ndarray, end: float, first_step: float | None) -> OdeSolver:
        """A solver at this state. Its first step is chosen by itself unless it is given."""
        step = None if first_step is None else min(first_step, end - t)
        options: dict = {"rtol": self.rtol, "atol": self.atol, "max_step": self.max_step, "first_step": step}
        return self.method(rate, t, y, end, **options)


class Loop:
    """One run."""

    def __init__(self, plant: Plant, environment: Environment, integrator: Integrator, recorder: Recorder) -> None:
        self.plant, self.environment, self.integrator, self.recorder = plant, environment, integrator, recorder

    def run(self, q: np.ndarray, qd: np.ndarray, duration: float, max_impacts: int) -> str:
        """Move from this state at t = 0 to the end; says how the run ended."""
        t, events = 0.0, deque[float](maxlen=STUCK)
        while True:
            q, qd, phase, impacts = self.environment.settle(t, q, qd)
            self.recorder.begin(t, q, qd, phase, impacts)
            if len(self.recorder.impacts) > max_impacts:
                status = TOO_MANY_IMPACTS
                break
            t, q, qd = self._fly(phase, t, q, qd, duration)
            events.append(t)
            if t >= duration or (len(events) == STUCK and t - events[0] < CRAWL):
                status = FINISHED if t >= duration else NO_PROGRESS
                break
        self.recorder.finish(t, q, qd, phase)
        return status

    def _fly(
        self, phase: Phase, t: float, q: np.ndarray, qd: np.ndarray, duration: float
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Integrate a phase until its first event or the end, and give the state there."""
        first_step: float | None = None
        while t < duration:
            solver = self.integrator.start(self._rate(phase), t, np.concatenate([q, qd]), duration, first_step)
            while True:
                step = self._step(solver)
                event = phase.first_event(step)
                t = step.end if event is None else event
                self.recorder.piece(step, t, phase)
                q, qd = self.plant.split(step.state(t))
                if event is not None:
                    return t, *phase.tidied(q, qd)
                if solver.status != "running" or phase.drift(q, qd) > DRIFT:
                    break
            first_step = step.end - step.start
            q, qd = phase.tidied(q, qd)
        return t, q, qd

    def _rate(self, phase: Phase):
        def rate(t: float, y: np.ndarray) -> np.ndarray:
            return self.plant.rate(y, phase.acceleration(t, *self.plant.split(y)))

        return rate

    def _step(self, solver: OdeSolver) -> Step:
        """The solver's next step; a state that is not finite, or a step that cannot be made, is an error."""
        message = solver.step()
        if solver.status == "failed" or not np.isfinite(solver.y).all():
            self._give_up(solver, message or "the state is no longer finite")
        return Step(solver)

    def _give_up(self, solver: OdeSolver, message: str) -> None:
        robot, t = self.plant.mechanism, float(solver.t)
        q, qd = self.plant.split(solver.y)
        when, what = self.plant.bad or (t, f"qd[{int(np.argmax(np.abs(qd)))}] = {qd[np.argmax(np.abs(qd))]:.6g}")
        raise SimulationError(
            f"the motion of {robot.name!r} cannot be followed beyond t = {t:.9g} s ({message.strip().rstrip('.')}): {what} at "
            f"t = {when:.9g} s. q = {np.array2string(q, precision=6)}, qd = {np.array2string(qd, precision=6)}. "
            "Look at the drives and the initial state, or ask for another tolerance or method.",
            time=t, state=np.array(solver.y), quantity=what,
        )  # fmt: skip
