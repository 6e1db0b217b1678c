"""Events of a run.

Event functions of (t, q, qd) are located at their zeros, as in `scipy.integrate.solve_ivp`. A function may have the attributes
`terminal` (the run stops at its zeros) and `direction` (1: rising zeros only, -1: falling zeros only, 0, the default: both).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from appell.errors import ArgumentError
from appell.simulation.actuation import require_state_function
from appell.simulation.linear_step import LinearStep
from appell.simulation.phase import IntegratorStep
from appell.simulation.plant import Plant
from appell.simulation.records import Event
from appell.simulation.roots import SUBDIVISIONS, root

EventFunction = Callable[[float, np.ndarray, np.ndarray], float]


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

    def scan_linear(self, step: LinearStep) -> LinearStep:
        """Record the events of a step; returns the step, made again so that it ends at its terminal event."""
        until = self.scan(step, step.end)
        if self.stopped_by is None:
            return step
        event, span = self.events[-1], (step.end - step.start) / SUBDIVISIONS

        def value(t: float) -> float:
            return self._value(event.number, *step.ended(t).last[:3])

        step = step.ended(root(value, max(step.start, until - span), min(step.end, until + span)))
        self.end(*step.last[:3])
        return step

    def end(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """The run ends in this state, which is that of a terminal event, too."""
        if self.stopped_by is not None:
            self.events[-1] = replace(self.events[-1], time=t, q=np.array(q), qd=np.array(qd))

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
