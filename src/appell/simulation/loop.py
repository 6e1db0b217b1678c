"""The simulation loop: integrate a phase until its first event, resolve the event, continue with the next phase.

Event functions of (t, q, qd) are located at their zeros, as in `scipy.integrate.solve_ivp`. A function may have the attributes
`terminal` (the run stops at its zeros) and `direction` (1: rising zeros only, -1: falling zeros only, 0, the default: both).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NoReturn

import numpy as np

from appell.errors import ArgumentError, SimulationError
from appell.progress import Progress
from appell.simulation.actuation import require_state_function
from appell.simulation.error_control import ErrorControlledSolver
from appell.simulation.integrators import DRIVING_WORK, FixedStepSolver, Integration, PhaseEquations, method_named
from appell.simulation.linear_step import LinearStep, StateAtTime
from appell.simulation.phase import Environment, IntegratorStep, Phase, Solver
from appell.simulation.plant import Plant
from appell.simulation.records import Event, Impact, Recorder
from appell.simulation.roots import SUBDIVISIONS, root

EventFunction = Callable[[float, np.ndarray, np.ndarray], float]
CONSTRAINT_TOL = 1e-10
"""Constraint error above which a state is projected to its constraints. [m]"""
STALLED = ((300, 3e-5), (60, 2e-6), (30, 1e-11))
"""Where so many events follow each other within such a time, a step of time stepping follows. [s]"""
FIRST_FALLBACK, FALLBACK_GROWTH, LONGEST_FALLBACK = 1e-6, 4.0, 1e-3
"""Length of the first such step, growth of those that follow it within ten times its length, and longest one. [s]"""
ACCUMULATING = ((60, 5e-3), *STALLED)
"""The same for a run that goes on with time stepping. [s]"""
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


class EventDetector:
    """Locates the zeros of event functions in one run.

    Attributes:
        events: so far, in order of time.
        stopped_by: name of the terminal event that has ended the run.
    """

    def __init__(self, plant: Plant, functions: EventFunction | Sequence[EventFunction] | None) -> None:
        functions = (functions,) if callable(functions) else () if functions is None else functions
        if not isinstance(functions, Iterable):
            raise ArgumentError(f"events is a {type(functions).__name__}, expected functions of (t, q, qd).")
        for number, function in enumerate(functions):
            if not callable(function):
                raise ArgumentError(
                    f"events has a {type(function).__name__}, expected functions of (t, q, qd) that return a number."
                )
            require_state_function(f"event {_name(function, number)!r}", function)
        self.plant, self.functions = plant, tuple(functions)
        self.events: list[Event] = []
        self.stopped_by: str | None = None
        self._last: list[float] | None = None

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> bool:
        """Start a phase in this state; returns whether an impact has taken a terminal function through its zero."""
        values = [self._value(i, t, q, qd) for i in range(len(self.functions))]
        previous, self._last = self._last, values
        for i, value in enumerate(values):
            if previous is not None and self._crosses(i, previous[i], value):
                self._append(i, t, q, qd)
        return self.stopped_by is not None

    def scan(self, step: IntegratorStep | LinearStep, until: float) -> float:
        """Record the events of a step up to a time; returns the time of a terminal one, or `until`."""
        if not self.functions or until <= step.start:
            return until
        times = np.linspace(step.start, until, SUBDIVISIONS + 1).tolist()
        zeros: list[tuple[float, int]] = []
        for i in range(len(self.functions)):
            values = [self._value_in(i, step, t) for t in times]
            for (a, b), (before, after) in zip(pairwise(times), pairwise(values), strict=True):
                if self._crosses(i, before, after):
                    zeros.append((root(lambda t, i=i: self._value_in(i, step, t), a, b), i))
        for t, i in sorted(zeros):
            self._append(i, t, *self.plant.split(step.state(t)))
            if self.stopped_by is not None:
                return t
        self._last = [self._value_in(i, step, until) for i in range(len(self.functions))]
        return until

    def _value_in(self, number: int, step: IntegratorStep | LinearStep, t: float) -> float:
        return self._value(number, t, *self.plant.split(step.state(t)))

    def _value(self, number: int, t: float, q: np.ndarray, qd: np.ndarray) -> float:
        function = self.functions[number]
        value = np.asarray(function(t, q, qd), dtype=float)
        if value.size != 1 or not np.isfinite(value).all():
            raise ArgumentError(f"event {_name(function, number)!r} returns {value} at t = {t:g} s, expected a number.")
        return float(value.item())

    def _crosses(self, number: int, before: float, after: float) -> bool:
        direction = getattr(self.functions[number], "direction", 0)
        rises, falls = before < 0.0 <= after, before > 0.0 >= after
        return (rises and direction >= 0) or (falls and direction <= 0)

    def _append(self, number: int, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        function = self.functions[number]
        self.events.append(Event(_name(function, number), number, t, np.array(q), np.array(qd)))
        if getattr(function, "terminal", False):
            self.stopped_by = _name(function, number)


def _name(function: EventFunction, number: int) -> str:
    return getattr(function, "__name__", f"event {number}")


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
    falls_back: bool = True  # whether steps of time stepping follow where events stall or steps collapse
    fallback_steps: list[tuple[float, float]] = field(default_factory=list)  # starts and lengths
    implicit: list[tuple[float, float]] = field(default_factory=list)  # time intervals of implicit steps
    pace: PaceMonitor = field(default_factory=lambda: PaceMonitor())
    _failed_at: float = -1.0  # time from which a step has failed
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
            y = self.plant.join(q, qd, work)
            if event or phase is None or not phase.continues(t, y):
                q, qd, phase, impacts, instant_work, resolved = self.environment.resolve_instant(t, q, qd)
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
                self.pace.count(t, EVENT_STEPS if self._may_step_implicitly(phase) else 0)
                if t < duration and not self.detector.stopped_by and _has_stalled(event_times, self.stalled):
                    over = self._step_over(phase, t, y, end)
                    if over is None:
                        status = NO_PROGRESS
                        break
            if over is not None:
                (t, y), event = over, True
                event_times.clear()
            elif self.pace.collapsed and t < end and not self.detector.stopped_by:
                t, y, phase, event = *self._implicit_steps(phase, t, y, end), True
            if t >= duration or self.detector.stopped_by:
                status = FINISHED
                break
            self.recorder.end(t, y, phase)
            (q, qd), work = self.plant.split(y), self.plant.work(y)
        self.recorder.finish(t, y, phase)
        return STOPPED + self.detector.stopped_by if self.detector.stopped_by else status

    def _impacts_accumulate(self) -> bool:
        """Whether the last impacts, without loss of energy, are as close together as `ELASTIC_IMPACTS`."""
        (count, span), impacts = ELASTIC_IMPACTS, self.recorder.impacts
        if not self.environment.elastic or len(impacts) < count:
            return False
        return impacts[-1].time - impacts[-count].time < span

    def _step_over(self, phase: Phase, t: float, y: np.ndarray, end: float) -> tuple[float, np.ndarray] | None:
        """Time and state after a step of time stepping; None where there is none."""
        h, (q, qd) = FIRST_FALLBACK, self.plant.split(y)
        if self.fallback_steps:
            start, last = self.fallback_steps[-1]
            h = min(FALLBACK_GROWTH * last, LONGEST_FALLBACK) if t - start < 10.0 * last else h
        found = self.environment.short_step(t, q, qd, min(h, end - t)) if self.falls_back and end > t else None
        if found is None:
            return None
        work = self.plant.work(y)
        step = LinearStep(self.plant, StateAtTime(t, q, qd, work), StateAtTime(*found[:3], work + found[3]))
        until = self.detector.scan(step, step.end)
        self.recorder.accept(step, until, phase, last=True)
        if not self.plant.tracks_work:
            self.recorder.add_work(found[3])
        self.fallback_steps.append((t, h))
        return until, step.state(until)

    def _may_step_implicitly(self, phase: Phase) -> bool:
        """Whether implicit steps may follow: contacts are closed, the integrator is adaptive, actuator forces are held."""
        fixed, plant = method_named(self.integration.method).fixed, self.plant
        return (
            self.falls_back
            and not fixed
            and self.environment.steps_implicitly
            and phase.has_rows
            and plant.tracks_work
            and plant.actuation.held
        )

    def _implicit_steps(self, phase: Phase, t: float, y: np.ndarray, end: float) -> tuple[float, np.ndarray, Phase]:
        """Time, state and contacts after implicit steps of the environment."""
        start, until, count = t, min(end, self.pace.implicit_end(t)), 0
        for step in self.environment.implicit_steps(phase, t, y, until, self.integration.rtol, self.pace.keeps_up):
            phase, count = step.phase, count + (step.end > step.start)
            self.recorder.begin(step.start, step.initial, phase, (), np.zeros(3))
            t = self.detector.scan(step, step.end)
            self.recorder.accept(step, t, phase, last=True)
            y = step.state(t)
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
                self.pace.count(t, getattr(solver, "attempts", 0) if self._may_step_implicitly(phase) else 0)
                failed = solver.status == "failed" or not np.isfinite(solver.y).all()
                if failed and phase.has_rows and t > self._failed_at:  # forces may grow without end: another mode
                    self._failed_at = t
                    return t, self.plant.project(y, phase), True
                if failed:
                    self._raise_diverged(float(solver.t), solver.y, message or "the state is no longer finite")
                step = IntegratorStep(solver, y)
                cut_off = self._step_size if step.end == end else None
                self._step_size = max(getattr(solver, "h", step.end - step.start), cut_off or 0.0)
                event = phase.first_event(step)
                if event is None and phase.has_rows and t > self._failed_at and self._shrinks(solver, step):
                    self._failed_at = t
                    return t, self.plant.project(y, phase), True
                if not isinstance(solver, FixedStepSolver) and self._friction_drives(step, event):
                    t, y, self._step_size = step.start, step.initial, 0.1 * (step.end - step.start)
                    break
                if event is not None and isinstance(solver, (FixedStepSolver, ErrorControlledSolver)):
                    step, event = _step_to_event(solver, phase, step, event, self._ends_badly)
                    distance = 0.0 if isinstance(solver, FixedStepSolver) else event - step.start
                    if distance > SHORT_EVENT and self._ends_badly(solver, step, event):
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

    def _ends_badly(self, solver: Solver, step: IntegratorStep, event: float) -> bool:
        """Whether the interpolated state at an event within a step is not exact enough: of fixed steps it never is."""
        within = step.start < event < step.end
        if not within or isinstance(solver, FixedStepSolver):
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
        fastest = int(np.argmax(np.abs(qd)))
        reason = self.plant.model.nonfinite_reason(q)
        here = f"qd[{fastest}] = {qd[fastest]:.6g}{f' ({reason})' if reason else ''}"
        when, quantity = self.plant.first_nonfinite or (t, here)
        suspect = "bodies without inertia (`appell.check`)" if quantity.startswith("qdd") else "the actuators"
        raise SimulationError(
            f"the motion of {self.plant.model.name!r} cannot be continued beyond t = {t:.9g} s "
            f"({message.strip().rstrip('.')}): {quantity} at t = {when:.9g} s. "
            f"q = {np.array2string(q, precision=6)}, qd = {np.array2string(qd, precision=6)}. "
            f"Check {suspect} and the initial state, or choose another tolerance, step or method.",
            time=t, state=np.concatenate([q, qd]), quantity=quantity,
        )  # fmt: skip


@dataclass
class PaceMonitor:
    """Detects steps of an adaptive integrator that collapse while contacts slip slowly.

    Attributes:
        collapsed: whether the last steps are as short as `COLLAPSED`.
    """

    collapsed: bool = False
    _times: deque[float] = field(default_factory=lambda: deque(maxlen=COLLAPSED[-1][0]))
    _span: float = IMPLICIT_SPANS[0]
    _mean: float = 0.0  # time by which a step advanced where steps collapsed
    _end: float = -math.inf  # of the last implicit steps

    def count(self, t: float, steps: int) -> None:
        """So many steps from time t have been tried."""
        self._times.extend([t] * steps)
        self.collapsed = _has_stalled(self._times, COLLAPSED)
        if self.collapsed:
            self._mean = min(
                (t - self._times[-number]) / number for number, _ in COLLAPSED if number <= len(self._times)
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


def _step_to_event(
    solver: FixedStepSolver | ErrorControlledSolver, phase: Phase, step: IntegratorStep, event: float,
    ends_badly: Callable[[Solver, IntegratorStep, float], bool],
) -> tuple[IntegratorStep, float]:  # fmt: skip
    """The step repeated, where it ends badly, so that it ends at its first event, which its interpolant only approximates."""
    for _ in range(MAX_SHORTENINGS):
        if not ends_badly(solver, step, event) or solver.shorten(event):
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


def _has_stalled(times: deque[float], stalled: tuple[tuple[int, float], ...]) -> bool:
    """Whether the last events, or steps, are too close together for the run to progress."""
    return any(len(times) >= count and times[-1] - times[-count] < span for count, span in stalled)
