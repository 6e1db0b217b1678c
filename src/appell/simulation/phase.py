"""The phases of a motion, and the surroundings of the robot.

A `Phase` is a time interval in which the equations of motion do not change: certain contacts are closed, certain joints stick.
An `Environment` resolves the instants between phases: impacts, and the choice of the next phase. These two classes are all that
the loop (`appell.simulation.loop`) uses of contact and friction; `appell.simulation.contact` derives its own from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from appell.simulation.contact.mode import ModeRows, force_margin, joint_rows, joint_slip
from appell.simulation.joint_friction import JointFrictionState, first_reversal, moving_joints, with_joints_at_rest
from appell.simulation.plant import MotionDerivative, Plant
from appell.simulation.records import Impact
from appell.simulation.roots import first_true, root

CHECKS_PER_STEP, SHORT_STEP = 4, 2.5e-3
"""Number of checks per step whether forces have left their bounds; shorter steps are checked at their end only. [s]"""


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


@runtime_checkable
class ShorteningSolver(Solver, Protocol):
    """An integrator whose last step can be repeated with an earlier end; `shorten` returns the reason if that failed."""

    def shorten(self, t: float) -> str | None: ...


class IntegratorStep:
    """The last step of a solver.

    Attributes:
        start, end: its times. [s]
        initial, final: state vectors at its ends.
    """

    def __init__(self, solver: Solver, initial: np.ndarray) -> None:
        self._solver = solver
        self.start, self.end, self.initial, self.final = float(solver.t_old or 0.0), float(solver.t), initial, solver.y

    @cached_property
    def _interpolant(self) -> Any:
        return self._solver.dense_output()  # costs evaluations, so only on demand; before the next step

    @property
    def end_rates(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Rates of the state vector at both ends, where the solver has them."""
        return getattr(self._solver, "end_rates", None)

    def states(self, times: np.ndarray) -> np.ndarray:
        """State vectors (m, N) at times within it."""
        return self._interpolant(times)

    def state(self, t: float) -> np.ndarray:
        """State vector (m,) at a time within it."""
        return self.final if t == self.end else self.initial if t == self.start else self._interpolant(t)

    def checks(self) -> list[float]:
        """Times between which forces and slip are checked; only the ends of a short step."""
        if self.end - self.start <= SHORT_STEP:
            return [self.start, self.end]
        return np.linspace(self.start, self.end, CHECKS_PER_STEP + 1).tolist()


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
        free = self.plant.derivative(t, q, qd, self.joints)
        if not self.has_rows or not np.isfinite(free.qdd).all():
            return free
        rows, qdd, f = self._constrained(q, qd, free.qdd)
        qdd[self.joints.sticking_indices] = 0.0
        active, passive, _ = free.power
        passive += float(self.plant.added_inertia * (free.qdd - qdd) @ qd)
        contact = len(f) - len(self.joints.sticking_indices)
        return MotionDerivative(qdd, (active, passive, float(f[:contact] @ (rows.J[:contact] @ qd))))

    def implicit_step(self, t: float, y: np.ndarray, h: float) -> np.ndarray:
        """The state vector after a linearly implicit Euler step (`PhaseEquations.implicit_step`); work is along the mean qd."""
        (q, qd), plant, model = self.plant.split(y), self.plant, self.plant.model
        free, M, D = plant.derivative(t, q, qd, self.joints).qdd, plant.mass_matrix(q), plant.damping_matrix(q)
        rows, held = self.rows(q, qd), self.joints.sticking_indices
        qdd, f = rows.accelerations(M + h * D, M @ free)
        qdd[held] = 0.0
        qd_next, mean, contact = qd + h * qdd, qd + 0.5 * h * qdd, len(f) - len(held)
        active = model.actuator_forces(q, plant.tau(t, q, qd)[0])
        passive = -D @ qd_next - plant.added_inertia * qdd - plant.friction * self.joints.slip_direction
        power = np.array([active @ mean, passive @ mean, f[:contact] @ (rows.J[:contact] @ mean)])
        return plant.join(q + h * model.coordinate_rates(q, qd_next), qd_next, plant.work(y) + h * power)

    @property
    def motion(self) -> Any:
        """The compiled equations of motion, or None where there are none."""
        return None

    def forces(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations (nv,), and forces on the points in contact along the world's axes (m, 3)."""
        return self.derivative(t, q, qd).qdd, np.zeros((0, 3))

    @property
    def has_rows(self) -> bool:
        """Whether contacts are closed or joints stick."""
        return bool(len(self.joints.sticking_indices))

    @property
    def slips(self) -> bool:
        """Whether contacts slip with friction."""
        return False

    def rows(self, q: np.ndarray, qd: np.ndarray) -> ModeRows:
        """The rows without acceleration: of contacts, then of sticking joints."""
        return joint_rows(self.joints.sticking_indices, self.plant.model.nv)

    def _constrained(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> tuple[ModeRows, np.ndarray, np.ndarray]:
        """Rows, accelerations with them and their forces, from the accelerations without."""
        rows, M = self.rows(q, qd), self.plant.mass_matrix(q)
        return rows, *rows.accelerations(M, M @ qdd)

    # --- events -------------------------------------------------------------------------------------------------------

    def first_event(self, step: IntegratorStep) -> float | None:
        """The first time in a step at which the phase ends, or None."""
        times = [self._first_stop(step)]
        if self.has_rows:
            times.append(self._first_overload(step))
        return min((time for time in times if time is not None), default=None)

    def _first_stop(self, step: IntegratorStep) -> float | None:
        """The first time in a step at which a slipping joint comes to rest."""
        slipping, rates = np.flatnonzero(self.joints.slip_direction), step.end_rates
        if rates is not None and len(slipping):  # the interpolant costs evaluations
            speeds = [self.joints.slip_direction * self.plant.split(y)[1] for y in (step.initial, step.final)]
            change = 2.0 * (step.end - step.start) * np.maximum(*(np.abs(self.plant.split(rate)[1]) for rate in rates))
            if (np.minimum(*speeds) > change)[slipping].all():
                return None
        return first_reversal(self.joints, step, lambda y: self.plant.split(y)[1])

    def begin_step(self, t: float, y: np.ndarray) -> None:
        """An integrator step begins at this state vector."""

    def continues(self, t: float, y: np.ndarray) -> bool:
        """Whether the phase continues after a change of the actuators' forces."""
        return False

    def margin(self, t: float, y: np.ndarray) -> float:
        """How far forces are from leaving their bounds."""
        q, qd = self.plant.split(y)
        rows, _, f = self._constrained(q, qd, self.plant.derivative(t, q, qd, self.joints).qdd)
        return force_margin(rows, f, self.plant.friction[self.joints.sticking_indices])

    def _first_overload(self, step: IntegratorStep) -> float | None:
        """The first time at which forces leave their bounds."""

        def margin(t: float) -> float:
            return self.margin(t, step.state(t))

        def ended(t: float) -> bool:
            return margin(t) < 0.0 and not self._still_holds(t, *self.plant.split(step.state(t)))

        for a, b in pairwise(step.checks()):
            if ended(b):
                return root(margin, a, b) if margin(a) >= 0.0 else first_true(ended, a, b)
        return None

    def _still_holds(self, t: float, q: np.ndarray, qd: np.ndarray) -> bool:
        """Whether other forces than those of least norm, within their bounds, give the same motion."""
        return False

    # --- constraints --------------------------------------------------------------------------------------------------

    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest state that satisfies all constraints exactly."""
        q, qd = self.plant.model.project_to_constraints(q, qd)
        return q, np.where(self.joints.sticking, 0.0, qd)

    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float:
        """Distance of a state to the constraints. [m]"""
        return self.plant.model.constraint_error(q, qd)


class InstantResult(NamedTuple):
    """State after an instant, the phase that follows, the impacts that occurred, the work beside them, as of `Plant` [J], and
    whether the phase obeys the law of contact."""

    q: np.ndarray
    qd: np.ndarray
    phase: Phase
    impacts: tuple[Impact, ...]
    work: np.ndarray = np.zeros(3)
    resolved: bool = True


class Environment:
    """The surroundings of the robot: no surfaces.

    Attributes:
        residual: largest error of the contact law so far, relative to the velocities or accelerations.
        steps_implicitly: whether there are `implicit_steps`.
        elastic: whether there are impacts with e = 1.
    """

    steps_implicitly = False
    elastic = False

    def __init__(self, plant: Plant) -> None:
        self.plant, self.residual = plant, 0.0

    def resolve_instant(self, t: float, q: np.ndarray, qd: np.ndarray) -> InstantResult:
        """Resolve impacts and contact changes at time t."""
        joints, at_rest = moving_joints(self.plant.friction, qd)
        if len(at_rest):
            qdd = self.plant.derivative(t, q, qd, joints).qdd
            if np.isfinite(qdd).all():
                M = self.plant.model.mass_matrix(q)
                directions, residual = joint_slip(M, qdd, at_rest, self.plant.friction[at_rest])
                self.residual = max(self.residual, residual)
                joints = with_joints_at_rest(joints, at_rest, directions)
        phase = Phase(self.plant, joints)
        return InstantResult(*phase.project_to_constraints(q, qd), phase, ())

    def short_step(
        self, t: float, q: np.ndarray, qd: np.ndarray, h: float
    ) -> tuple[float, np.ndarray, np.ndarray, np.ndarray] | None:
        """Time, q, qd and works (3,) of a step of time stepping of at most h [s]; None where there is no such step."""
        return None

    def implicit_steps(
        self, phase: Phase, t: float, y: np.ndarray, end: float, rtol: float, keeps_up: Callable[[int, float], bool]
    ) -> Iterator[Any]:
        """Steps from a state of a phase where those of the integrator collapse: up to the end, up to an impact, or none.

        They end where `keeps_up` is false for their number and time.
        """
        return iter(())
