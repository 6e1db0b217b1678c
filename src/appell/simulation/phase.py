"""The pieces that a motion is made of, and what lies between them.

A `Phase` is a stretch of time in which the equations of motion do not change: free flight, or contact at certain points.
An `Environment` says, at the beginning and after every event, what happens at that instant (impacts) and which phase
comes next. The loop in `appell.simulation.loop` knows nothing else about them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from appell.simulation.grip import Grip, first_change, grip_in_flight

if TYPE_CHECKING:
    from appell.simulation.plant import Motion, Plant
    from appell.simulation.record import Impact


class Solver(Protocol):
    """An integrator at work: the interface of `scipy.integrate.OdeSolver`."""

    t: float
    t_old: float | None
    y: np.ndarray
    status: str

    def step(self) -> str | None:
        """Make a step; a text says why it could not be made."""
        ...

    def dense_output(self) -> Any:
        """State vectors (m, N) at times (N,) within the last step."""
        ...


class Step:
    """The last step of an integrator.

    Attributes:
        start, end: its times. [s]
        final: state vector at its end.
    """

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self.start, self.end, self.final = float(solver.t_old or 0.0), float(solver.t), solver.y

    @cached_property
    def _interpolant(self) -> Any:
        return self._solver.dense_output()  # costs evaluations, so only if something is asked; before the next step

    def states(self, times: np.ndarray) -> np.ndarray:
        """State vectors (n, N) at times within it."""
        return self._interpolant(times)

    def state(self, t: float) -> np.ndarray:
        """State vector (n,) at a time within it."""
        return self.final if t == self.end else self._interpolant(t)


class Phase(Protocol):
    """Equations of motion that hold for a while."""

    @property
    def contacts(self) -> tuple[tuple[str, int], ...]:
        """Points in contact and the numbers of their walls."""
        ...

    def motion(self, t: float, q: np.ndarray, qd: np.ndarray) -> Motion:
        """Accelerations, and the power of the forces."""
        ...

    def first_event(self, step: Step) -> float | None:
        """The first time in the step at which something else must happen, or None."""
        ...

    def tidied(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state that obeys all constraints exactly: errors of the integrator are taken out."""
        ...

    def drift(self, q: np.ndarray, qd: np.ndarray) -> float:
        """How far a state is from obeying them. [m]"""
        ...


class Settled(NamedTuple):
    """What happened at an instant, the state after it, and how the motion goes on."""

    q: np.ndarray
    qd: np.ndarray
    phase: Phase
    impacts: tuple[Impact, ...]


class Environment(Protocol):
    """What is around the robot."""

    def settle(self, t: float, q: np.ndarray, qd: np.ndarray) -> Settled:
        """Let happen what must happen at this instant."""
        ...


class Free:
    """No walls around."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant

    def settle(self, t: float, q: np.ndarray, qd: np.ndarray) -> Settled:
        phase = Flight(self.plant, grip_in_flight(self.plant, t, q, qd))
        return Settled(*phase.tidied(q, qd), phase, ())


class Flight:
    """Motion without walls, in which certain joints stick and the others slide one way."""

    contacts: tuple[tuple[str, int], ...] = ()

    def __init__(self, plant: Plant, grip: Grip) -> None:
        self.plant, self.grip = plant, grip

    def motion(self, t: float, q: np.ndarray, qd: np.ndarray) -> Motion:
        return self.plant.motion(t, q, qd, self.grip)

    def first_event(self, step: Step) -> float | None:
        if not self.plant.friction.any():
            return None

        def holding(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
            return self.plant.holding(t, q, qd, self.grip)

        return first_change(self.plant, self.grip, step, holding)

    def tidied(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, qd = self.plant.model.project_to_constraints(q, qd)
        return q, np.where(self.grip.sticks, 0.0, qd) if len(self.grip.stuck) else qd

    def drift(self, q: np.ndarray, qd: np.ndarray) -> float:
        return self.plant.model.constraint_error(q, qd)
