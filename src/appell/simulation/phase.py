"""Phases of a motion and the instants between them.

A `Phase` is a time interval in which the equations of motion do not change: certain contacts are closed, certain joints stick.
An `Environment` resolves the instants between phases: impacts, and the choice of the next phase. These two protocols are all
that the loop (`appell.simulation.loop`) uses of contact and friction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from appell.simulation.joint_friction import JointFrictionState, first_stick_slip_event, initial_friction_state

if TYPE_CHECKING:
    from appell.simulation.integrators import Solver
    from appell.simulation.plant import MotionDerivative, Plant
    from appell.simulation.records import Impact


class IntegratorStep:
    """The last step of a solver.

    Attributes:
        start, end: its times. [s]
        final: state vector at its end.
    """

    def __init__(self, solver: Solver) -> None:
        self._solver = solver
        self.start, self.end, self.final = float(solver.t_old or 0.0), float(solver.t), solver.y

    @cached_property
    def _interpolant(self) -> Any:
        return self._solver.dense_output()  # costs evaluations, so only on demand; before the next step

    def states(self, times: np.ndarray) -> np.ndarray:
        """State vectors (m, N) at times within it."""
        return self._interpolant(times)

    def state(self, t: float) -> np.ndarray:
        """State vector (m,) at a time within it."""
        return self.final if t == self.end else self._interpolant(t)


class Phase(Protocol):
    """Equations of motion that hold for a time interval.

    Attributes:
        contacts: names of the points in contact and the indices of their surfaces.

    Methods:
        derivative: accelerations and powers.
        first_event: the first time in a step at which the phase ends, or None.
        project_to_constraints: the nearest state that satisfies all constraints exactly.
        constraint_error: distance of a state to the constraints. [m]
    """

    @property
    def contacts(self) -> tuple[tuple[str, int], ...]: ...
    def derivative(self, t: float, q: np.ndarray, qd: np.ndarray) -> MotionDerivative: ...
    def first_event(self, step: IntegratorStep) -> float | None: ...
    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...
    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float: ...


class InstantResult(NamedTuple):
    """State after an instant, the phase that follows, and the impacts that occurred."""

    q: np.ndarray
    qd: np.ndarray
    phase: Phase
    impacts: tuple[Impact, ...]


class Environment(Protocol):
    """The surroundings of the robot."""

    def resolve_instant(self, t: float, q: np.ndarray, qd: np.ndarray) -> InstantResult:
        """Resolve impacts and contact changes at time t."""
        ...


@dataclass(frozen=True)
class NoContactEnvironment:
    """No surfaces."""

    plant: Plant

    def resolve_instant(self, t: float, q: np.ndarray, qd: np.ndarray) -> InstantResult:
        phase = FreePhase(self.plant, initial_friction_state(self.plant, t, q, qd))
        return InstantResult(*phase.project_to_constraints(q, qd), phase, ())


@dataclass(frozen=True)
class FreePhase:
    """Motion without contact, with certain joints sticking and the others slipping in one direction."""

    plant: Plant
    joints: JointFrictionState
    contacts: tuple[tuple[str, int], ...] = ()

    def derivative(self, t: float, q: np.ndarray, qd: np.ndarray) -> MotionDerivative:
        return self.plant.derivative(t, q, qd, self.joints)

    def first_event(self, step: IntegratorStep) -> float | None:
        if not self.plant.friction.any():
            return None
        forces = partial(self.plant.sticking_forces, joints=self.joints)
        return first_stick_slip_event(self.plant, self.joints, step, forces)

    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q, qd = self.plant.model.project_to_constraints(q, qd)
        return q, np.where(self.joints.sticking, 0.0, qd)

    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float:
        return self.plant.model.constraint_error(q, qd)
