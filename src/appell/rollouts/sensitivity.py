"""Derivatives of whole rollouts: forward sensitivities and the adjoint.

A step of a Runge-Kutta method without quaternions is X_1 = x, X_{i+1} = x + a_i dt y(X_i), x' = x + dt Σ b_i y(X_i), so with the
weights λ of x' its adjoint is, for i = s, ..., 1,
    Ȳ_i = b_i dt λ + a_i dt X̄_{i+1}        X̄_i = (∂y/∂x)^T Ȳ_i        x̄ = λ + Σ X̄_i
and likewise for controls, gains and inertial parameters. The rate y and its derivatives along directions are compiled (`vjp`,
`jvp`); states between two checkpoints are computed again, so that about 2 √T states of T steps are in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from appell.algorithms.coordinate_rates import quaternions, tangent_map
from appell.checks import require_choice
from appell.compiler.archive.store import directional_store
from appell.compiler.directional import DirectionalCalls
from appell.compiler.evaluate import Evaluator
from appell.errors import ArgumentError, SimulationError
from appell.robot.compiled import CompiledRobot
from appell.rollouts.integrators import INTEGRATORS
from appell.rollouts.plan import (
    RolloutPlan,
    RolloutWeights,
    arguments,
    as_host,
    real_numbers,
    signal_rows,
    split_states,
    state_rows,
)


class RolloutDerivatives:
    """Steps of one rollout and their derivatives, over rows of states (N, n)."""

    def __init__(self, dyn: CompiledRobot, plan: RolloutPlan) -> None:
        self.plan, self.dtype = plan, np.dtype(dyn.options.dtype)
        self.count = math.prod(plan.batch_shape)
        self.tableau = INTEGRATORS[plan.integrator].tableau
        self.quaternions = [slice(first, first + 4) for _, first in quaternions(plan.quasi_velocity_joints)]
        self.state = plan.state_size
        self.signals = np.concatenate([self.rows(signal_rows, x) for x in plan.signals.values()], axis=-1)
        constants = [self.rows(state_rows, x) for x in plan.constants]
        self.constants = [np.concatenate(constants, axis=-1)] if constants else []
        self.functions = rate_derivatives(dyn, plan)

    def rows(self, as_rows: Callable[..., Any], array: Any) -> np.ndarray:
        rows = as_rows(np, array, self.plan).astype(self.dtype, copy=False)
        return np.broadcast_to(rows, (self.count, *rows.shape[1:]))

    def start(self) -> np.ndarray:
        memory = np.zeros((self.count, self.plan.memory), self.dtype)
        return np.concatenate([*(self.rows(state_rows, x) for x in self.plan.start), memory], axis=-1)

    def values(self, k: int) -> list[np.ndarray]:
        """The inputs of the rate besides the state, in step k."""
        signals = self.signals[:, k // (self.plan.control_every or self.plan.steps)]
        return [np.ascontiguousarray(signals), *self.constants]

    def stages(self, x: np.ndarray, values: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """X_i and y(X_i)."""
        points, rates = [x], []
        for ahead in (*self.tableau.ahead, None):
            rates.append(self.functions.value(points[-1], *values, check=False))
            if ahead is not None:
                points.append(x + self.plan.dt * ahead * rates[-1][:, : self.state])
        return points, rates

    def sum(self, x: np.ndarray, rates: Sequence[np.ndarray]) -> np.ndarray:
        """x' before quaternions are given unit length."""
        dt, weighted = self.plan.dt, np.zeros((1, 1), self.dtype)
        for b, y in zip(self.tableau.weights, rates, strict=True):
            weighted = weighted + b * y
        x = x + dt * weighted[:, : self.state]
        if self.tableau.new_speeds:
            x[:, : self.plan.nq] += dt * dt * weighted[:, self.state :]
        return x

    def step(self, x: np.ndarray, k: int) -> np.ndarray:
        x = self.sum(x, self.stages(x, self.values(k))[1])
        for place in self.quaternions:
            x[:, place] /= np.linalg.norm(x[:, place], axis=1, keepdims=True)
        return x

    def along_step(
        self, x: np.ndarray, k: int, dx: np.ndarray, given: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The state after step k, and its change from changes of x and of each other input of the rate."""
        values, changes = self.values(k), []
        points, rates = self.stages(x, values)
        moved = dx
        for i, point in enumerate(points):
            changes.append(self.functions.jvp(point, *values, moved, *given, check=False))
            if i < len(self.tableau.ahead):
                moved = dx + self.plan.dt * self.tableau.ahead[i] * changes[-1][:, : self.state]
        end, change = self.sum(x, rates), self.sum(dx, changes)
        for place in self.quaternions:
            length = np.linalg.norm(end[:, place], axis=1, keepdims=True)
            end[:, place] /= length
            change[:, place] = across(end[:, place], change[:, place]) / length
        return end, change

    def against_step(self, x: np.ndarray, k: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of x and of the other inputs of the rate, from those of the state after step k."""
        values, dt = self.values(k), self.plan.dt
        points, rates = self.stages(x, values)
        if self.quaternions:
            end, weights = self.sum(x, rates), weights.copy()
            for place in self.quaternions:
                length = np.linalg.norm(end[:, place], axis=1, keepdims=True)
                weights[:, place] = across(end[:, place] / length, weights[:, place]) / length
        total, others, carried = weights, 0.0, 0.0
        extra = [dt * dt * weights[:, : self.plan.nq]] if self.tableau.new_speeds else []
        for i in reversed(range(len(points))):
            b = self.tableau.weights[i]
            of_rate = np.concatenate([dt * b * weights + carried, *(b * x for x in extra)], axis=-1)
            back = self.functions.vjp(points[i], *values, of_rate, check=False)
            total, others = total + back[:, : self.state], others + back[:, self.state :]
            carried = dt * self.tableau.ahead[i - 1] * back[:, : self.state] if i else 0.0
        return total, np.asarray(others)

    def require_finite(self, name: str, k: int, *arrays: np.ndarray) -> None:
        """Raise for derivatives that have grown beyond the range of numbers by step k, where that is checked."""
        if self.plan.check and not all(np.isfinite(array).all() for array in arrays):
            wider = "" if self.dtype == np.float64 else ", or dtype='float64'"
            raise SimulationError(
                f"the {name} of the rollout is not finite at t = {k * self.plan.dt:g} s: the motion is unstable, and derivatives "
                f"grow beyond the range of {self.dtype}. Take fewer steps, or controls that stabilize the motion{wider}."
            )

    def segments(self) -> Iterator[tuple[int, list[np.ndarray]]]:
        """From the last to the first segment, its first step and the states before each of its steps."""
        steps = self.plan.saved * self.plan.save_every
        length = math.isqrt(steps - 1) + 1
        x, checkpoints = self.start(), []
        for k in range(steps):
            if k % length == 0:
                checkpoints.append(x)
            if k < steps - 1:
                x = self.step(x, k)
        for first, x in reversed(list(zip(range(0, steps, length), checkpoints, strict=True))):
            states = [x]
            for k in range(first, min(first + length, steps) - 1):
                states.append(self.step(states[-1], k))
            yield first, states


def rate_derivatives(dyn: CompiledRobot, plan: RolloutPlan) -> DirectionalCalls:
    """The rate of the state, as a function of state, signals and constants, with its derivatives along directions."""
    key, listed = dyn.state_rate(plan.law, plan.passive_forces, plan.runtime_parameters)
    new_speeds = INTEGRATORS[plan.integrator].tableau.new_speeds

    def build() -> DirectionalCalls:
        operations, state = listed(), plan.state_size
        rate = replace(operations, outputs=operations.outputs[: state + (plan.nq if new_speeds else 0)])
        inputs = {"state": state, "signals": plan.signal_count}
        if plan.constants:
            inputs["constants"] = operations.size_in - sum(inputs.values())
        options = replace(dyn.options, target="cpu", layout="rows", parameters="baked")
        return DirectionalCalls(Evaluator(directional_store(key, inputs, rate), options))

    return dyn.functions.program(("sensitivity", key, new_speeds), build)


def across(unit: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The part of vectors across unit vectors, (N, 4)."""
    return vector - unit * (unit * vector).sum(axis=1, keepdims=True)


@np.errstate(over="ignore", invalid="ignore")
def rollout_jvp(dyn: CompiledRobot, plan: RolloutPlan, tangents: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Changes of the saved q and qd, of their shapes, from changes of arguments, of theirs."""
    plan = plan.with_arrays(lambda name, value: as_host(value))
    derivatives, given = RolloutDerivatives(dyn, plan), arguments(plan)
    for name in tangents:
        require_choice("argument of the rollout", name, given)

    shapes = {name: np.shape(value) for name, value in given.items()}
    shapes["q0"] = (plan.nv, *shapes["q0"][1:]) if plan.columns else (*shapes["q0"][:-1], plan.nv)

    def shaped(name: str) -> np.ndarray:
        change = real_numbers(f"tangent of {name}", as_host(tangents.get(name, 0.0)), plan.check)
        if plan.columns and change.ndim:  # entries come first: one direction for all robots
            change = change.reshape(*change.shape, *[1] * (len(shapes[name]) - change.ndim))
        try:
            return np.broadcast_to(change, shapes[name])
        except ValueError:
            raise ArgumentError(
                f"tangent of {name} has shape {change.shape}, expected {shapes[name]} as the argument of the rollout, or a shape "
                "that broadcasts to it."
            ) from None

    def rows(as_rows: Callable[..., Any], *names: str) -> np.ndarray:
        return np.concatenate([derivatives.rows(as_rows, shaped(name)) for name in names], axis=-1)

    constants = [name for name in given if name not in ("q0", "qd0", *plan.signals)]
    signals, fixed = rows(signal_rows, *plan.signals), [rows(state_rows, *constants)] if constants else []
    x, out = derivatives.start(), np.empty((derivatives.count, plan.saved, plan.nq + plan.nv), derivatives.dtype)
    N = tangent_map(plan.quasi_velocity_joints, x[:, : plan.nq], plan.nv)
    by_q0 = np.einsum("nij,nj->ni", N, rows(state_rows, "q0"))
    dx = np.concatenate([by_q0, rows(state_rows, "qd0"), np.zeros((len(x), plan.memory), x.dtype)], axis=-1)
    for k in range(plan.saved * plan.save_every):
        x, dx = derivatives.along_step(x, k, dx, [signals[:, k // (plan.control_every or plan.steps)], *fixed])
        if (k + 1) % plan.save_every == 0:
            derivatives.require_finite("forward sensitivity", k + 1, dx)
            out[:, k // plan.save_every] = dx[:, : plan.nq + plan.nv]
    out = out.reshape(*plan.batch_shape, *out.shape[1:])
    out = np.moveaxis(out, (-1, -2), (0, 1)) if plan.columns else out
    return split_states(out, plan)


@np.errstate(over="ignore", invalid="ignore")
def backward(dyn: CompiledRobot, plan: RolloutPlan, weights: np.ndarray) -> RolloutWeights:
    """Gradients from the weights of saved states, (N, T, nq + nv)."""
    derivatives = RolloutDerivatives(dyn, plan)
    count, n, per_step = derivatives.count, plan.nq + plan.nv, plan.signal_count
    total = np.zeros((count, derivatives.state), derivatives.dtype)
    signals = np.zeros(derivatives.signals.shape, derivatives.dtype)
    constants = np.zeros((count, sum(array.shape[-1] for array in derivatives.constants)), derivatives.dtype)
    for first, states in derivatives.segments():
        for k in reversed(range(first, first + len(states))):
            if (k + 1) % plan.save_every == 0:
                total[:, :n] += weights[:, k // plan.save_every]
            total, others = derivatives.against_step(states[k - first], k, total)
            signals[:, k // (plan.control_every or plan.steps)] += others[:, :per_step]
            constants += others[:, per_step:]
        derivatives.require_finite("gradient", first, total, constants)
    derivatives.require_finite("gradient", 0, signals)
    return RolloutWeights(total, signals, constants)
