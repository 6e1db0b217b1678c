"""Integrators by name: SciPy's adaptive ones, and those of fixed step. To add one, list it in `ADAPTIVE` or `FIXED`.

A fixed-step rule computes one step. It works on robots: configurations with quaternions are integrated on their manifold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import BDF, DOP853, LSODA, RK23, RK45, Radau

from appell.algorithms.runge_kutta import RK4
from appell.checks import require_in_range, require_positive
from appell.errors import AppellError, ArgumentError, unknown_name_message
from appell.simulation.extrapolation import ExtrapolationSolver
from appell.simulation.phase import Phase, Solver
from appell.simulation.plant import STIFF_DAMPING, Plant
from appell.simulation.runge_kutta import EmbeddedSolver, embedded_tableau, stages_by_rate

MIN_ATOL = 1e-20
"""Smallest absolute tolerance, so that quantities that are exactly zero do not stop an adaptive integrator."""
DEFAULT_DT = 1e-3
"""Step of the fixed-step integrators where none is given. [s]"""
RK4_WEIGHTS = np.array(RK4.weights)
RK4_STAGES, RK4_TIMES = np.diag(RK4.ahead, -1), np.array([0.0, *RK4.ahead])
STEP_TIME, LEAST_PART = 0.1, 1e-4
"""A step of a method of order p is divided where contacts slip and the error of qd is above (dt / STEP_TIME)^p rad/s, m/s or of
the largest velocity, so that the order is kept; the smallest part of dt."""
DRIVING_WORK = 1e-11
"""Friction of contacts does no more work than this in a step; more is a pole of the forces. [J]"""
MAX_MIDPOINT_ITERATIONS = 60
MIDPOINT_TOL = 1e-13
"""Change of v, relative to its size, at which the iteration of an implicit step ends."""
LEAST_ACCELERATION = 10.0
"""Velocities smaller than those that this gives in a step are taken for these: forces that cancel are rounded. [rad/s², m/s²]"""


@dataclass(frozen=True)
class PhaseEquations:
    """The differential equation of one phase, ẏ = rate(t, y)."""

    plant: Plant
    phase: Phase

    def rate(self, t: float, y: np.ndarray) -> np.ndarray:
        q, qd = self.plant.split(y)
        motion = self.phase.motion
        if motion is not None:
            rate = np.empty(len(y))
            if motion.rate(np.ascontiguousarray(y), self.plant.tau(t, q, qd)[0], rate):
                return rate
        qdd, power = self.phase.derivative(t, q, qd)
        rates = [self.plant.model.coordinate_rates(q, qd), qdd]
        return np.concatenate([*rates, power] if self.plant.tracks_work else rates)

    def stages(
        self, t: float, y: np.ndarray, f: np.ndarray, h: float, A: np.ndarray, c: np.ndarray, done: int = 1
    ) -> np.ndarray:
        motion = self.phase.motion
        if motion is None or not self.plant.actuation.held:
            return stages_by_rate(self.rate, t, y, f, h, A, c, done)
        K = np.empty((len(c), len(y)))
        K[:done] = f
        if not motion.stages(y, self.plant.tau(t, *self.plant.split(y))[0], A, K, h, done):
            K[done:] = np.nan
        return K

    def implicit_step(self, t: float, y: np.ndarray, h: float) -> np.ndarray:
        """The state vector after a linearly implicit Euler step, (M + h D) (qd⁺ - qd) = h F(q, qd), q⁺ = q + h q̇(q, qd⁺)."""
        q, qd = self.plant.split(y)
        if self.phase.motion is None:
            return self.phase.implicit_step(t, y, h)
        y = np.array(y)
        if not self.phase.motion.implicit_step(self.plant.tau(t, q, qd)[0], y, h):
            y[:] = np.nan
        return y

    def damped(self, y: np.ndarray, change: np.ndarray, h: float) -> np.ndarray:
        """What damping leaves of a change of the state vector y after a time h: (M + h D)⁻¹ M of velocities."""
        q, _ = self.plant.split(y)
        M, change = self.plant.mass_matrix(q), np.array(change)
        qd = self.plant.split(change)[1]
        if np.isfinite(qd).all():
            qd[:] = np.linalg.solve(M + h * self.plant.damping_matrix(q), M @ qd)
        return change


StepRule = Callable[[PhaseEquations, float, np.ndarray, float, Callable[[], np.ndarray]], np.ndarray]
"""The state vector one step of h later: rule(equations, t, y, h, rate at the start)."""


def semi_implicit_euler(
    equations: PhaseEquations, t: float, y: np.ndarray, h: float, start: Callable[[], np.ndarray]
) -> np.ndarray:
    """qd⁺ = qd + h qdd(q, qd),  q⁺ = q ⊕ h qd⁺."""
    plant = equations.plant
    y_next = y + h * start()
    q, (_, qd_next) = plant.split(y)[0], plant.split(y_next)
    return plant.join(plant.model.integrate(q, h * qd_next), qd_next, plant.work(y_next))


def rk4(equations: PhaseEquations, t: float, y: np.ndarray, h: float, start: Callable[[], np.ndarray]) -> np.ndarray:
    """The classical Runge-Kutta method."""
    return y + h * RK4_WEIGHTS @ equations.stages(t, y, start(), h, RK4_STAGES, RK4_TIMES)


def midpoint(
    equations: PhaseEquations, t: float, y: np.ndarray, h: float, start: Callable[[], np.ndarray]
) -> np.ndarray:
    """The variational midpoint rule: the implicit midpoint rule of Hamilton's equations for q and p = M qd.

        q_m = q ⊕ h v/2,   M(q_m) v = p + h/2 ṗ(q_m, v),   q⁺ = q ⊕ h v,   p⁺ = p + h ṗ

    with ṗ = M qdd + Ṁ v and Ṁ = C + C^T. Without actuators and losses it is symplectic where qd = q̇: the energy error stays
    bounded for all times. With quasi-velocities it is symmetric in time.
    """
    plant, model = equations.plant, equations.plant.model
    q, qd = plant.split(y)
    p, v = model.mass_matrix(q) @ qd, qd
    for _ in range(MAX_MIDPOINT_ITERATIONS):
        previous = v
        q_m = model.integrate(q, h / 2 * v)
        M, C = model.mass_matrix(q_m), model.coriolis_matrix(q_m, v)
        qdd, power = equations.phase.derivative(t + h / 2, q_m, v)
        p_rate = M @ qdd + (C + C.T) @ v
        v = np.linalg.solve(M, p + h / 2 * p_rate)
        change = float(np.abs(v - previous).max(initial=0.0))
        size = float(np.abs(v).max(initial=LEAST_ACCELERATION * h))
        if change <= MIDPOINT_TOL * size or not np.isfinite(change):
            q_next = model.integrate(q, h * v)
            qd_next = np.linalg.solve(model.mass_matrix(q_next), p + h * p_rate)
            return plant.join(q_next, qd_next, plant.work(y) + h * np.array(power))
    raise NotConverged(f"the implicit step of {h:g} s does not converge, take a smaller dt")


class NotConverged(AppellError):
    """The iteration of an implicit step found no solution."""


class FixedStepSolver:
    """A `Solver` that steps from one multiple of dt to the next, and to the end.

    Within a step the state is the cubic with the values and rates of its ends. Where friction turns with the slip of contacts,
    forces can change within much less than dt: there a step is divided until its error is below a tolerance.

    Attributes:
        tol: largest error of qd of a step that is not divided, as part of the largest velocity or of 1 rad/s, m/s.
        h: length to try next; dt where steps are not divided. [s]
    """

    def __init__(
        self,
        rule: StepRule,
        equations: PhaseEquations,
        t: float,
        y: np.ndarray,
        end: float,
        dt: float,
        tol: float,
        h: float,
    ) -> None:
        self.rule, self.equations, self.end, self.dt, self.tol, self.h = rule, equations, end, dt, tol, min(h, dt)
        self.t, self.y, self.status = t, y, "running"
        self.t_old: float | None = None
        self._y_old = y
        self._rates: dict[float, np.ndarray] = {}

    def step(self) -> str | None:
        self.t_old, self._y_old = self.t, self.y
        self._rates = {time: rate for time, rate in self._rates.items() if time == self.t}
        if not self.equations.phase.slips:
            self.h = self.dt
            return self._step_to(self._next_time())
        while True:
            end = self._next_time()
            message, h = self._step_to(end), end - self.t_old
            error = self._error() if message is None else math.inf
            if error <= 1.0 or h <= LEAST_PART * self.dt:
                self.h = min(2.0 * self.h, self.dt) if error < 2.0**-5 else self.h
                return message
            self.t, self.y, self.h = self.t_old, self._y_old, 0.5 * h

    def _next_time(self) -> float:
        """The end of the next step: a multiple of dt, h later, or the end."""
        multiple = (math.floor(self.t / self.dt + 1e-6) + 1) * self.dt
        t_next = multiple if multiple <= self.t + (1.0 + 1e-6) * self.h else self.t + self.h
        self.status = "finished" if t_next > self.end - 1e-6 * self.h else "running"
        return self.end if self.status == "finished" else t_next

    def _error(self) -> float:
        """How far qd is from Simpson's integral of its rate, as part of the tolerance; infinite where friction does work."""
        plant, a, h = self.equations.plant, float(self.t_old or 0.0), self.t - float(self.t_old or 0.0)
        if (plant.work(self.y) - plant.work(self._y_old))[2] > DRIVING_WORK:
            return math.inf
        middle = self.equations.rate(a + 0.5 * h, self.dense_output()(np.array(a + 0.5 * h)))
        integral = h / 6.0 * (self._rate(a, self._y_old) + 4.0 * middle + self._rate(self.t, self.y))
        error, (_, qd) = plant.split(self.y - self._y_old - integral)[1], plant.split(self.y)
        error = float(np.abs(error).max()) / (self.tol * max(1.0, float(np.abs(qd).max())))
        return error if error < math.inf else math.inf

    def shorten(self, t: float) -> str | None:
        """Repeat the last step with this end."""
        self._rates.pop(self.t, None)
        self.status = "running"
        return self._step_to(t)

    def _step_to(self, t: float) -> str | None:
        start = float(self.t_old or 0.0)
        try:
            y = self.rule(self.equations, start, self._y_old, t - start, lambda: self._rate(start, self._y_old))
        except NotConverged as reason:
            self.status = "failed"
            return str(reason)
        if not np.isfinite(y).all():
            self.status = "failed"
            return "the state is no longer finite"
        self.t, self.y = t, y
        return None

    def _rate(self, t: float, y: np.ndarray) -> np.ndarray:
        if t not in self._rates:
            self._rates[t] = self.equations.rate(t, y)
        return self._rates[t]

    def dense_output(self) -> Callable[[np.ndarray], np.ndarray]:
        a, y = float(self.t_old or 0.0), self._y_old
        h = self.t - a
        change, first, last = self.y - y, h * self._rate(a, y), h * self._rate(self.t, self.y)

        def cubic(t: np.ndarray) -> np.ndarray:
            x = ((np.asarray(t) - a) / h)[..., None]
            return (y + x * (first + x * (3.0 * change - 2.0 * first - last + x * (first + last - 2.0 * change)))).T

        return cubic


@dataclass(frozen=True)
class IntegrationMethod:
    """An integrator."""

    rule: Any  # a class of `scipy.integrate`, the rule of one fixed step, or the name of a method with steps of its own
    order: int | None  # the global error decreases as the step to this power; None for methods of variable order
    fixed: bool  # whether its step is fixed

    @property
    def name(self) -> str:
        return self.rule if isinstance(self.rule, str) else self.rule.__name__

    def start(
        self, equations: PhaseEquations, t: float, y: np.ndarray, end: float, options: Integration, first: float | None
    ) -> Solver:
        """A solver from the state vector y at time t to the end, with this first step if it is given."""
        if self.fixed:
            dt = DEFAULT_DT if options.dt is None else float(options.dt)
            tol = (dt / STEP_TIME) ** (self.order or 1)
            return FixedStepSolver(self.rule, equations, t, y, end, dt, tol, first or dt)
        step = None if first is None else min(first, end - t)
        atol = float(options.rtol) if options.atol is None else max(float(options.atol), MIN_ATOL)
        settings = {"rtol": options.rtol, "atol": atol, "max_step": options.max_step, "first_step": step}
        if self.rule in EXPLICIT and equations.plant.damping_rate(equations.plant.split(y)[0]) > STIFF_DAMPING:
            return ExtrapolationSolver(equations, t, y, end, **settings)
        if self.rule in EXPLICIT:
            return EmbeddedSolver(embedded_tableau(self.rule), equations, t, y, end, **settings)
        return self.rule(equations.rate, t, y, end, **settings)


EXPLICIT = {DOP853: 8, RK45: 5, RK23: 3}
ADAPTIVE = {**EXPLICIT, Radau: 5, BDF: None, LSODA: None}
FIXED = {semi_implicit_euler: 1, rk4: 4, midpoint: 2}
"""Orders of the integrators."""
METHODS = {
    rule.__name__: IntegrationMethod(rule, order, rule in FIXED) for rule, order in {**ADAPTIVE, **FIXED}.items()
}

MOREAU, AUTO = "moreau", "auto"
METHODS[MOREAU] = IntegrationMethod(MOREAU, 2, True)
"""Time stepping with contact, `appell.simulation.time_stepping`."""
AUTO_START = "DOP853"
"""The integrator that `method="auto"` begins with."""


def method_named(name: str) -> IntegrationMethod:
    """The integrator of this name, in upper or lower case; of `"auto"` the one it begins with."""
    if str(name).lower() == AUTO:
        name = AUTO_START
    for method in METHODS.values():
        if method.name.lower() == str(name).lower():
            return method
    raise ArgumentError(unknown_name_message("method", name, (*METHODS, AUTO)))


@dataclass(frozen=True)
class Integration:
    """Integrator of `appell.simulate` with its settings.

    Attributes:
        method: adaptive (SciPy's): `"DOP853"`, `"RK45"`, `"RK23"`, `"Radau"`, `"BDF"` or `"LSODA"`; fixed step:
            `"semi_implicit_euler"`, `"rk4"` or `"midpoint"` (symplectic, second order). `"moreau"` is time stepping after
            Moreau and Jean for many contacts and long runs: fixed steps, second order between impacts. `"auto"` is DOP853 with
            events, which goes over to time stepping where events accumulate or steps are short with closed contacts
            (`Trajectory.stepped_from`). Explicit adaptive methods give way to implicit steps where damping is stiff, and where
            contacts creep (`Trajectory.implicit_intervals`).
        rtol, atol: relative and absolute tolerance of adaptive integrators; atol = rtol by default, at least 1e-20.
        max_step: their longest step. [s]
        dt: step of fixed-step integrators, and of the time stepping of `"auto"`, 1e-3 by default. [s]
        progress: whether to show the progress of a long run; by default where stderr is a terminal.

    Example:
        >>> import appell
        >>> arm = appell.load("planar2r")
        >>> motion = appell.simulate(arm, [0.5, 0], [0, 0], 1.0, method=appell.Integration("rk4", dt=0.01))
        >>> len(motion)
        101
    """

    method: str = "DOP853"
    rtol: float = 1e-9
    atol: float | None = None
    max_step: float = math.inf
    dt: float | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        method = method_named(self.method)
        require_positive("rtol", self.rtol)
        require_positive("max_step", self.max_step, infinite=True)
        if self.atol is not None:
            require_in_range("atol", self.atol)
        automatic = self.method.lower() == AUTO
        if self.dt is not None and not (method.fixed or automatic):
            fixed = ", ".join([*(name for name, method in METHODS.items() if method.fixed), AUTO])
            raise ArgumentError(
                f"dt is given, but {method.name} chooses its steps itself. Give max_step or t_eval, or one of the methods "
                f"{fixed}."
            )
        if self.dt is not None:
            require_positive("dt", self.dt)
