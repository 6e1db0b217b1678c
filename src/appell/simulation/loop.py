"""The simulation loop: integrate a phase until its first event, resolve the event, continue with the next phase."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from appell.errors import SimulationError
from appell.progress import Progress
from appell.simulation.event_detector import EventDetector
from appell.simulation.integrators import DRIVING_WORK, Integration, PhaseEquations, method_named
from appell.simulation.linear_step import LinearStep, StateAtTime
from appell.simulation.monitors import EVENT_STEPS, MAX_REMAINING_STEPS, DivergenceMonitor, PaceMonitor, has_stalled
from appell.simulation.phase import Environment, IntegratorStep, Phase, ShorteningSolver, Solver
from appell.simulation.plant import Plant
from appell.simulation.records import Impact, Recorder

CONSTRAINT_TOL = 1e-10
"""Constraint error above which a state is projected to its constraints. [m]"""
STALLED = ((300, 3e-5), (60, 2e-6), (30, 1e-11))
"""Where so many events follow each other within such a time, a step of time stepping follows. [s]"""
FIRST_FALLBACK, FALLBACK_GROWTH, LONGEST_FALLBACK = 1e-6, 4.0, 1e-3
"""Length of the first such step, growth of those that follow it within ten times its length, and longest one of a robot that
moves. [s]"""
REST = 1e-12
"""A robot whose coordinates change by no more in such a step is at rest. [rad, m]"""
ACCUMULATING, SHORT_STEPS = ((60, 5e-3), *STALLED), ((100, 1e-2),)
"""Where so many events follow each other, or so many steps are tried, within such a time, another method goes on. [s]"""
ELASTIC_IMPACTS = (500, 1e-2)
"""So many impacts within such a time [s] end a run with impacts that lose no energy: nothing would bring these to an end."""
FINISHED, TOO_MANY_IMPACTS, NO_PROGRESS, STOPPED = "finished", "too many impacts", "no progress", "stopped by "
"""Statuses of a run; the last is followed by the name of the event."""

SHORTEST_STEP = 1e-13
"""A longer step in which friction of contacts does work is repeated with shorter steps; where these shrink, the mode ends. [s]"""
MAX_SHORTENINGS = 4
"""A step is repeated so often to end exactly at an event."""
ENERGY_TOL = 5.0
"""Error of the energy of an interpolated state, as multiple of rtol, above which its step is repeated to end there. [J]"""
SHORT_EVENT = 1e-7
"""Where that fails, shorter steps lead to events that are so much later. [s]"""


@dataclass
class SimulationLoop:
    """One run."""

    plant: Plant
    environment: Environment
    integration: Integration
    recorder: Recorder
    detector: EventDetector
    progress: Progress
    stalled: tuple[tuple[int, float], ...] = STALLED  # numbers of events and times
    hands_over: bool = False  # whether the run ends without progress where events accumulate or steps are short
    fallback_steps: list[tuple[float, float]] = field(default_factory=list)  # starts and lengths
    implicit: list[tuple[float, float]] = field(default_factory=list)  # time intervals of implicit steps
    pace: PaceMonitor = field(default_factory=PaceMonitor)
    _failed_at: float = -1.0  # time from which a step has failed
    _failure: tuple[float, np.ndarray, str] | None = None  # of a step in every mode: time, state and reason
    _step_size: float | None = None  # of the last step that was not cut off by the end of a phase

    def run(self, q: np.ndarray, qd: np.ndarray, duration: float, max_impacts: int) -> str:
        """Simulate from this state at t = 0 to the end; returns the status."""
        t, work, event_times = 0.0, np.zeros(3), deque[float](maxlen=max(count for count, _ in self.stalled))
        actuation, monitor = self.plant.actuation, DivergenceMonitor(duration)
        phase, event, resolved = None, True, True
        while True:
            sampled = t >= actuation.next_sample
            if sampled:
                actuation.sample(t, q, qd)
            impacts: tuple[Impact, ...] = ()
            instant_work = np.zeros(3)
            before, y = phase, self.plant.join(q, qd, work)
            tau = self.plant.tau(t, q, qd)[0]
            if not np.isfinite(tau).all():
                self.plant.note_nonfinite(t, q, qd, "tau", tau)
                self._raise_diverged(t, y, "forces of the actuators are not finite")
            if event or phase is None or not phase.continues(t, y):
                q, qd, phase, impacts, instant_work, resolved = self.environment.resolve_instant(t, q, qd)
                if before is None:
                    self.recorder.end(t, y, phase)
                y = self.plant.join(q, qd, work)
            self.recorder.begin(t, y, phase, impacts, instant_work)
            stopped = self.detector.begin(t, q, qd)
            if stopped or len(self.recorder.impacts) > max_impacts or self._impacts_accumulate():
                status = TOO_MANY_IMPACTS
                break
            end = min(duration, actuation.next_sample)
            over = None if resolved else self._step_over(phase, t, y, end)
            if over is None and not self.pace.collapsed:
                t, y, event = self._integrate_phase(phase, t, y, end, monitor)
                event_times.append(t)
                self.pace.count(t, EVENT_STEPS if self._watches_pace(phase) else 0)
                stalled = self._failure is not None or has_stalled(event_times, self.stalled)
                if t < duration and not self.detector.stopped_by and stalled:
                    over = self._step_over(phase, t, y, end)
                    if over is None and self._failure is not None and not self.hands_over:
                        self._raise_diverged(*self._failure)
                    if over is None:
                        status = NO_PROGRESS
                        break
                    self._failure = None
            if over is not None:
                (t, y), event = over, True
                event_times.clear()
            elif self.pace.collapsed and t < end and not self.detector.stopped_by:
                if self.hands_over:
                    status = NO_PROGRESS
                    break
                t, y, phase, event = *self._implicit_steps(phase, t, y, end), True
            if t >= duration or self.detector.stopped_by:
                status = FINISHED
                break
            self.recorder.end(t, y, phase)
            (q, qd), work = self.plant.split(y), self.plant.work(y)
        self.detector.end(t, *self.plant.split(y))
        self.recorder.finish(t, y, phase, goes_on=self.hands_over and status == NO_PROGRESS)
        return STOPPED + self.detector.stopped_by if self.detector.stopped_by else status

    def _impacts_accumulate(self) -> bool:
        """Whether the last impacts, without loss of energy, are as close together as `ELASTIC_IMPACTS`."""
        (count, span), impacts = ELASTIC_IMPACTS, self.recorder.impacts
        if not self.environment.elastic or len(impacts) < count:
            return False
        return impacts[-1].time - impacts[-count].time < span

    def _step_over(self, phase: Phase, t: float, y: np.ndarray, end: float) -> tuple[float, np.ndarray] | None:
        """Time and state after a step of time stepping; None where there is none."""
        if self.hands_over or not end > t:
            return None
        h, (q, qd) = FIRST_FALLBACK, self.plant.split(y)
        if self.fallback_steps:
            start, last = self.fallback_steps[-1]
            longest = LONGEST_FALLBACK if qd.any() else math.inf
            h = min(FALLBACK_GROWTH * last, longest) if t - start < 10.0 * last else h
        found = self.environment.short_step(t, q, qd, min(h, end - t))
        if found is not None and h > LONGEST_FALLBACK and np.abs(found[1] - q).max() > REST:
            h = LONGEST_FALLBACK
            found = self.environment.short_step(t, q, qd, min(h, end - t))
        if found is None:
            return None
        work = self.plant.work(y)

        def repeat(end: float) -> StateAtTime | None:
            again = self.environment.short_step(t, q, qd, end - t)
            if again is None or again[0] != t + (end - t):
                return None
            return StateAtTime(end, again[1], again[2], work + again[3])

        step = LinearStep(
            self.plant, StateAtTime(t, q, qd, work), StateAtTime(*found[:3], work + found[3]), repeat=repeat
        )
        step = self.detector.scan_linear(step)
        self.recorder.accept(step, step.end, phase, last=True)
        if not self.plant.tracks_work:
            self.recorder.add_work(step.last.work - work)
        self.fallback_steps.append((t, h))
        return step.end, step.state(step.end)

    def _watches_pace(self, phase: Phase) -> bool:
        """Whether short steps are counted: those of an adaptive integrator with closed contacts, where something follows them."""
        if method_named(self.integration.method).fixed or not phase.has_rows:
            return False
        return self.hands_over or (
            self.environment.steps_implicitly and self.plant.tracks_work and self.plant.actuation.held
        )

    def _implicit_steps(self, phase: Phase, t: float, y: np.ndarray, end: float) -> tuple[float, np.ndarray, Phase]:
        """Time, state and contacts after implicit steps of the environment."""
        start, until, count = t, min(end, self.pace.implicit_end(t)), 0
        for step in self.environment.implicit_steps(phase, t, y, until, self.integration.rtol, self.pace.keeps_up):
            phase, count = step.phase, count + (step.end > step.start)
            self.recorder.begin(step.start, step.initial, phase, (), np.zeros(3))
            step = self.detector.scan_linear(step)
            t, y = step.end, step.state(step.end)
            self.recorder.accept(step, t, phase, last=True)
            self.progress.show(t)
            if self.detector.stopped_by is not None:
                break
        self.implicit += [(start, t)] if t > start else []
        self.pace.restart(start, t, count)
        return t, y, phase

    def _integrate_phase(
        self, phase: Phase, t: float, y: np.ndarray, end: float, monitor: DivergenceMonitor
    ) -> tuple[float, np.ndarray, bool]:
        """Time and state at the first event of a phase, or at the end, and whether it is an event."""
        equations, method = PhaseEquations(self.plant, phase), method_named(self.integration.method)
        if self._step_size is None and not np.isfinite(equations.rate(t, y)).all():
            self._raise_diverged(t, y, "the accelerations are not finite")
        allowed = CONSTRAINT_TOL  # grows by what a projection leaves, such as gaps that contradict each other
        while t < end:
            solver = method.start(equations, t, y, end, self.integration, self._step_size)
            while True:
                phase.begin_step(t, y)
                message = _step(solver)
                self.pace.count(t, getattr(solver, "attempts", 0) if self._watches_pace(phase) else 0)
                failed = solver.status == "failed" or not np.isfinite(solver.y).all()
                if failed and phase.has_rows and t > self._failed_at:  # forces may grow without end: another mode
                    self._failed_at = t
                    return t, self.plant.project(y, phase), True
                if failed:
                    self._failure = float(solver.t), solver.y, message or "the state is no longer finite"
                    if method.fixed or not phase.has_rows:
                        self._raise_diverged(*self._failure)
                    return t, self.plant.project(y, phase), True
                step = IntegratorStep(solver, y)
                cut_off = self._step_size if step.end == end else None
                self._step_size = max(getattr(solver, "h", step.end - step.start), cut_off or 0.0)
                event = phase.first_event(step)
                if event is None and phase.has_rows and t > self._failed_at and self._shrinks(solver, step):
                    self._failed_at = t
                    return t, self.plant.project(y, phase), True
                if not method.fixed and self._friction_drives(step, event):
                    t, y, self._step_size = step.start, step.initial, 0.1 * (step.end - step.start)
                    break
                if event is not None and isinstance(solver, ShorteningSolver):
                    step, event = _step_to_event(solver, phase, step, event, self._ends_badly)
                    distance = 0.0 if method.fixed else event - step.start
                    if distance > SHORT_EVENT and self._ends_badly(step, event):
                        t, y, self._step_size = step.start, step.initial, 0.5 * distance
                        break
                t = self.detector.scan(step, step.end if event is None else event)
                over = event is not None or self.detector.stopped_by is not None
                self.recorder.accept(step, t, phase, last=over or t >= end)
                self.progress.show(t)
                y = step.state(t)
                if monitor.diverges(t, self.plant.split(y)[1]):
                    message = f"velocities grow, and the rest would take more than {MAX_REMAINING_STEPS:.0e} steps"
                    self._raise_diverged(t, y, message)
                if over:
                    return t, self.plant.project(y, phase), True
                if self.pace.collapsed and t < end:
                    return t, self.plant.project(y, phase), True
                if solver.status != "running" or phase.constraint_error(*self.plant.split(y)) > allowed:
                    break
            y = self.plant.project(y, phase)
            allowed = max(CONSTRAINT_TOL, 2.0 * phase.constraint_error(*self.plant.split(y)))
        return t, y, False

    def _shrinks(self, solver: Solver, step: IntegratorStep) -> bool:
        """Whether steps become ever shorter: forces grow without end."""
        return getattr(solver, "h", np.inf) < step.end - step.start < SHORTEST_STEP and solver.status == "running"

    def _ends_badly(self, step: IntegratorStep, event: float) -> bool:
        """Whether the interpolated state at an event within a step is not exact enough: of fixed steps it never is."""
        within = step.start < event < step.end
        if not within or method_named(self.integration.method).fixed:
            return within
        error = self.plant.balance(step.state(event)) - self.plant.balance(step.initial)
        return not abs(error) <= ENERGY_TOL * self.integration.rtol

    def _friction_drives(self, step: IntegratorStep, event: float | None) -> bool:
        """Whether friction of contacts does work in a step until its event: some stages are beyond a pole of the forces."""
        if not step.end - step.start > SHORTEST_STEP:
            return False
        final = step.final if event is None else step.state(event)
        return float(self.plant.work(final)[2] - self.plant.work(step.initial)[2]) > DRIVING_WORK

    def _raise_diverged(self, t: float, y: np.ndarray, message: str) -> NoReturn:
        q, qd = self.plant.split(y)
        when, quantity = self.plant.first_nonfinite or (t, self.plant.fastest(q, qd))
        suspect = "bodies without inertia (`appell.check`)" if quantity.startswith("qdd") else "the actuators"
        raise SimulationError(
            f"the motion of {self.plant.model.name!r} cannot be continued beyond t = {t:.9g} s "
            f"({message.strip().rstrip('.')}): {quantity} at t = {when:.9g} s. "
            f"q = {np.array2string(q, precision=6)}, qd = {np.array2string(qd, precision=6)}. "
            f"Check {suspect} and the initial state, or choose another tolerance, step or method.",
            time=t, state=np.concatenate([q, qd]), quantity=quantity,
        )  # fmt: skip


def _step_to_event(
    solver: ShorteningSolver, phase: Phase, step: IntegratorStep, event: float,
    ends_badly: Callable[[IntegratorStep, float], bool],
) -> tuple[IntegratorStep, float]:  # fmt: skip
    """The step repeated, where it ends badly, so that it ends at its first event, which its interpolant only approximates."""
    for _ in range(MAX_SHORTENINGS):
        if not ends_badly(step, event) or solver.shorten(event):
            break
        step = IntegratorStep(solver, step.initial)
        earlier = phase.first_event(step)
        event = step.end if earlier is None else earlier
    return step, event


def _step(solver: Solver) -> str | None:
    """A step of the solver, and the reason if it failed; SciPy's implicit methods raise where numbers are not finite."""
    try:
        return solver.step()
    except ValueError as error:
        solver.status = "failed"
        return str(error)
