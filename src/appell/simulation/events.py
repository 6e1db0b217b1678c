"""Events of the user's own: functions of (t, q, qd) whose zeros are found, as in `scipy.integrate.solve_ivp`.

A function may have the attributes `terminal` (the run ends there) and `direction` (1: only where it rises through zero,
-1: only where it falls; 0, the default: both).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import ArgumentError
from appell.simulation.drive import takes_state
from appell.simulation.roots import PIECES, root

if TYPE_CHECKING:
    from appell.simulation.phase import Step
    from appell.simulation.plant import Plant

EventFunction = Callable[[float, np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class Event:
    """A zero of an event function.

    Attributes:
        name: of the function.
        number: its place among those that were given.
        time: [s]
        q, qd: state there, (nq,), (nv,).
    """

    name: str
    number: int
    time: float
    q: np.ndarray = field(repr=False)
    qd: np.ndarray = field(repr=False)


class Watch:
    """Looks for the zeros of event functions in one run.

    Attributes:
        found: events so far, in order of time.
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
            takes_state(function, f"event {_name(function, number)!r}")
        self.plant, self.functions = plant, tuple(functions)
        self.found: list[Event] = []
        self.stopped_by: str | None = None
        self._last: list[float] | None = None

    def begin(self, t: float, q: np.ndarray, qd: np.ndarray) -> bool:
        """A phase begins in this state; says whether an impact has taken a terminal function through its zero."""
        values = [self._value(i, t, q, qd) for i in range(len(self.functions))]
        before, self._last = self._last, values
        for i, value in enumerate(values):
            if before is not None and self._crosses(i, before[i], value):
                self._keep(i, t, q, qd)
        return self.stopped_by is not None

    def look(self, step: Step, until: float) -> float:
        """Find the events of a step up to this time; the time of a terminal one, or `until`."""
        if not self.functions or until <= step.start:
            return until
        times = np.linspace(step.start, until, PIECES + 1).tolist()
        found: list[tuple[float, int]] = []
        for i in range(len(self.functions)):
            values = [self._along(i, step, t) for t in times]
            for (a, b), (before, after) in zip(pairwise(times), pairwise(values), strict=True):
                if self._crosses(i, before, after):
                    found.append((root(lambda t, i=i: self._along(i, step, t), a, b), i))
        for t, i in sorted(found):
            self._keep(i, t, *self.plant.split(step.state(t)))
            if self.stopped_by is not None:
                return t
        self._last = [self._along(i, step, until) for i in range(len(self.functions))]
        return until

    def _along(self, number: int, step: Step, t: float) -> float:
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

    def _keep(self, number: int, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        function = self.functions[number]
        self.found.append(Event(_name(function, number), number, t, np.array(q), np.array(qd)))
        if getattr(function, "terminal", False):
            self.stopped_by = _name(function, number)


def _name(function: EventFunction, number: int) -> str:
    return getattr(function, "__name__", f"event {number}")
