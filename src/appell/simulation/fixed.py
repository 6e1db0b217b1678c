"""Integrators of fixed step, over robots: coordinates that turn freely in space are moved, not added to.

A rule makes one step. To add one, write it and list it in `appell.simulation.methods`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from appell.errors import AppellError

if TYPE_CHECKING:
    from appell.simulation.phase import Phase
    from appell.simulation.plant import Plant

ITERATIONS = 60
CONVERGED = 1e-13
"""Most iterations of an implicit step, and the change, relative to the speeds, at which they end."""


class Problem:
    """The differential equation of one phase: y' = rate(t, y)."""

    def __init__(self, plant: Plant, phase: Phase) -> None:
        self.plant, self.motion = plant, phase.motion

    def rate(self, t: float, y: np.ndarray) -> np.ndarray:
        """Rate of a state vector."""
        return self.plant.rate(y, self.motion(t, *self.plant.split(y)))


class NotConverged(AppellError):
    """An implicit step without a solution that was found."""


Rule = Callable[[Problem, float, np.ndarray, float], np.ndarray]
"""The state vector one step of h later: rule(problem, t, y, h)."""


def semi_implicit_euler(problem: Problem, t: float, y: np.ndarray, h: float) -> np.ndarray:
    """qd⁺ = qd + h qdd(q, qd),  q⁺ = q ⊕ h qd⁺."""
    plant = problem.plant
    q, qd = plant.split(y)
    qdd, power = problem.motion(t, q, qd)
    after = qd + h * qdd
    return plant.joined(plant.model.integrate(q, h * after), after, plant.work(y) + h * np.array(power))


def rk4(problem: Problem, t: float, y: np.ndarray, h: float) -> np.ndarray:
    """The classical rule of Runge and Kutta."""
    k1 = problem.rate(t, y)
    k2 = problem.rate(t + h / 2, y + h / 2 * k1)
    k3 = problem.rate(t + h / 2, y + h / 2 * k2)
    k4 = problem.rate(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def midpoint(problem: Problem, t: float, y: np.ndarray, h: float) -> np.ndarray:
    """The variational midpoint rule, which is the implicit midpoint rule of Hamilton's equations for q and p = M qd.

        q_m = q ⊕ h v/2,   M(q_m) v = p + h/2 ṗ(q_m, v),   q⁺ = q ⊕ h v,   p⁺ = p + h ṗ

    with ṗ = M qdd + Ṁ v and Ṁ = C + C^T. Without drives and losses it is symplectic where speeds are the rates of
    coordinates: the error of the energy stays bounded for all times. With quasi-velocities it is symmetric in time.
    """
    plant, model = problem.plant, problem.plant.model
    q, qd = plant.split(y)
    p, v = model.mass_matrix(q) @ qd, qd
    for _ in range(ITERATIONS):
        before = v
        v, rate, power = _halfway(problem, t + h / 2, q, p, v, h / 2)
        change, size = float(np.abs(v - before).max(initial=0.0)), float(np.abs(v).max(initial=0.0))
        if change <= CONVERGED * size or not np.isfinite(change):
            after = model.integrate(q, h * v)
            speeds = np.linalg.solve(model.mass_matrix(after), p + h * rate)
            return plant.joined(after, speeds, plant.work(y) + h * np.array(power))
    raise NotConverged(f"the implicit step of {h:g} s does not converge, take a smaller dt")


def _halfway(problem: Problem, t: float, q: np.ndarray, p: np.ndarray, v: np.ndarray, h: float) -> tuple:
    """A better v for M(q_m) v = p + h ṗ(q_m, v), with ṗ and the power of the forces."""
    model = problem.plant.model
    q_m = model.integrate(q, h * v)
    M, C = model.mass_matrix(q_m), model.coriolis_matrix(q_m, v)
    qdd, power = problem.motion(t, q_m, v)
    rate = M @ qdd + (C + C.T) @ v
    return np.linalg.solve(M, p + h * rate), rate, power


class FixedSolver:
    """Steps from one multiple of dt to the next, and to the end: the interface of `scipy.integrate.OdeSolver`.

    Between the ends of a step the state is the cubic with the same values and rates there.
    """

    def __init__(self, rule: Rule, problem: Problem, t: float, y: np.ndarray, end: float, dt: float) -> None:
        self.rule, self.problem, self.end, self.dt = rule, problem, end, dt
        self.t, self.y, self.status = t, y, "running"
        self.t_old: float | None = None
        self._before = y

    def step(self) -> str | None:
        goal = (math.floor(self.t / self.dt + 1e-6) + 1) * self.dt
        if goal > self.end - 1e-6 * self.dt:
            goal, self.status = self.end, "finished"
        try:
            y = self.rule(self.problem, self.t, self.y, goal - self.t)
        except NotConverged as reason:
            self.status = "failed"
            return str(reason)
        if not np.isfinite(y).all():
            self.status = "failed"
            return "the state is no longer finite"
        self.t_old, self.t, self._before, self.y = self.t, goal, self.y, y
        return None

    def dense_output(self) -> Callable[[np.ndarray], np.ndarray]:
        rate, (a, b) = self.problem.rate, (float(self.t_old or 0.0), self.t)
        rates = np.stack([rate(a, self._before), rate(b, self.y)])
        cubic = CubicHermiteSpline([a, b], np.stack([self._before, self.y]), rates)
        return lambda t: cubic(t).T
