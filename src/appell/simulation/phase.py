"""The plant, a robot with actuators, damping and joint friction as differential equations, and the phases of its motion.

A `Phase` is a time interval in which the equations of motion do not change: certain contacts are closed, certain joints stick.
An `Environment` resolves the instants between phases: impacts, and the choice of the next phase. These two classes are all that
the loop (`appell.simulation.loop`) uses of contact and friction; `appell.simulation.contact` derives its own from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from appell.robot.simulation_model import SimulationModel
from appell.simulation.actuation import Actuation
from appell.simulation.joint_friction import JointFrictionState, first_stick_slip_event, initial_friction_state
from appell.simulation.records import Impact


class MotionDerivative(NamedTuple):
    """Accelerations (nv,), and the power of actuators, of damping and joint friction, and of contact friction. [W]"""

    qdd: np.ndarray
    power: tuple[float, float, float]


class Plant:
    """A simulation model with actuation.

    Its state vector y is (q, qd) and, where non-conservative forces act, the work of each power of `MotionDerivative`.

    Attributes:
        effort_limits: largest forces of the actuators, (nu,), or None. [N m, N]
        friction: Coulomb friction at each generalized velocity, (nv,).
        tracks_work: whether work is part of the state vector.
        first_nonfinite: time and text of the last non-finite number in a finite state.
    """

    def __init__(
        self,
        model: SimulationModel,
        actuation: Actuation,
        effort_limits: np.ndarray | None = None,
        tracks_work: bool = True,
    ) -> None:
        self.model, self.actuation, self.effort_limits = model, actuation, effort_limits
        self.friction = np.array(model.joint_friction.friction)
        self.passive = any(model.joint_friction.damping) or bool(self.friction.any())
        self.tracks_work = tracks_work or self.passive
        self.first_nonfinite: tuple[float, str] | None = None

    # --- state vectors ------------------------------------------------------------------------------------------------

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and qd of a state vector (m,) or of many (m, N)."""
        nq, nv = self.model.nq, self.model.nv
        return y[:nq], y[nq : nq + nv]

    def join(self, q: np.ndarray, qd: np.ndarray, work: np.ndarray) -> np.ndarray:
        """The state vector."""
        return np.concatenate([q, qd, work] if self.tracks_work else [q, qd])

    def work(self, y: np.ndarray) -> np.ndarray:
        """Work of the three powers, (3,). [J]"""
        return y[self.model.nq + self.model.nv :] if self.tracks_work else np.zeros(3)

    def project(self, y: np.ndarray, phase: Phase) -> np.ndarray:
        """The state vector projected to the constraints of a phase."""
        return self.join(*phase.project_to_constraints(*self.split(y)), self.work(y))

    # --- forces -------------------------------------------------------------------------------------------------------

    def tau(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Forces of the actuators within their limits, (nu,) [N m, N], and a mask of those at their limit."""
        tau = self.actuation.desired_tau(t, q, qd)
        if self.effort_limits is None:
            return tau, np.zeros(len(tau), dtype=bool)
        size = np.abs(tau)
        saturated = (size >= self.effort_limits) & (size > 0.0)
        return np.clip(tau, -self.effort_limits, self.effort_limits), saturated

    def derivative(self, t: float, q: np.ndarray, qd: np.ndarray, joints: JointFrictionState) -> MotionDerivative:
        """Motion under actuators, damping and joint friction, without contact."""
        tau, _ = self.tau(t, q, qd)
        forces = active = self.model.actuator_forces(q, tau)
        passive_power = 0.0
        if self.passive:
            passive = self.model.damping_forces(q, qd) - self.friction * joints.slip_direction
            forces, passive_power = active + passive, float(passive @ qd)
        qdd = self.model.forward_dynamics(q, qd, forces)
        if not np.isfinite(qdd).all():
            self._note_nonfinite(t, q, qd, tau, qdd)
        elif len(joints.sticking_indices):
            columns = self.inverse_mass_columns(q, joints.sticking_indices)
            qdd = qdd + columns @ _stopping_forces(columns, qdd, joints)
            qdd[joints.sticking_indices] = 0.0
        return MotionDerivative(qdd, (float(active @ qd), passive_power, 0.0))

    def sticking_forces(
        self, t: float, q: np.ndarray, qd: np.ndarray, joints: JointFrictionState, contact: np.ndarray | None = None
    ) -> np.ndarray:
        """Friction that keeps the sticking joints at rest under generalized contact forces (nv,). [N m, N]"""
        slipping = JointFrictionState(np.zeros_like(joints.sticking), joints.slip_direction)
        qdd = self.derivative(t, q, qd, slipping).qdd
        if contact is not None:
            qdd = qdd + np.linalg.solve(self.model.mass_matrix(q), contact)
        return _stopping_forces(self.inverse_mass_columns(q, joints.sticking_indices), qdd, joints)

    def inverse_mass_columns(self, q: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Columns of M⁻¹, (nv, k): accelerations under unit generalized forces."""
        M = self.model.mass_matrix(q)
        return np.linalg.solve(M, np.eye(len(M))[:, indices])

    def _note_nonfinite(self, t: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, qdd: np.ndarray) -> None:
        if np.isfinite(q).all() and np.isfinite(qd).all():
            name, array = ("qdd", qdd) if np.isfinite(tau).all() else ("tau", tau)
            first = int(np.flatnonzero(~np.isfinite(array))[0])
            reason = self.model.nonfinite_reason(q)
            self.first_nonfinite = (t, f"{name}[{first}] = {array[first]}{f' ({reason})' if reason else ''}")


def _stopping_forces(columns: np.ndarray, qdd: np.ndarray, joints: JointFrictionState) -> np.ndarray:
    """Forces on the sticking joints that cancel their accelerations."""
    return -np.linalg.solve(columns[joints.sticking_indices], qdd[joints.sticking_indices])


class Solver(Protocol):
    """A running integrator: the interface of `scipy.integrate.OdeSolver`.

    `step` makes a step and returns the reason if it failed; `dense_output` is a function from times (N,) within the last step to
    state vectors (m, N).
    """

    t: float
    t_old: float | None
    y: np.ndarray
    status: str

    def step(self) -> str | None: ...
    def dense_output(self) -> Any: ...


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


@dataclass(frozen=True)
class Phase:
    """Equations of motion that hold for a time interval, without contact: some joints stick, the others slip in one direction."""

    plant: Plant
    joints: JointFrictionState

    @property
    def contacts(self) -> tuple[tuple[str, int], ...]:
        """Names of the points in contact and the indices of their surfaces."""
        return ()

    def derivative(self, t: float, q: np.ndarray, qd: np.ndarray) -> MotionDerivative:
        """Accelerations and powers."""
        return self.plant.derivative(t, q, qd, self.joints)

    def first_event(self, step: IntegratorStep) -> float | None:
        """The first time in a step at which the phase ends, or None."""
        if not self.plant.friction.any():
            return None
        return first_stick_slip_event(self.plant, self.joints, step, self.sticking_forces)

    def sticking_forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Friction that keeps the sticking joints at rest. [N m, N]"""
        return self.plant.sticking_forces(t, q, qd, self.joints)

    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state that satisfies all constraints exactly."""
        q, qd = self.plant.model.project_to_constraints(q, qd)
        return q, np.where(self.joints.sticking, 0.0, qd)

    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float:
        """Distance of a state to the constraints. [m]"""
        return self.plant.model.constraint_error(q, qd)


class InstantResult(NamedTuple):
    """State after an instant, the phase that follows, and the impacts that occurred."""

    q: np.ndarray
    qd: np.ndarray
    phase: Phase
    impacts: tuple[Impact, ...]


class Environment:
    """The surroundings of the robot: no surfaces."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant

    def resolve_instant(self, t: float, q: np.ndarray, qd: np.ndarray) -> InstantResult:
        """Resolve impacts and contact changes at time t."""
        phase = Phase(self.plant, initial_friction_state(self.plant, t, q, qd))
        return InstantResult(*phase.project_to_constraints(q, qd), phase, ())
