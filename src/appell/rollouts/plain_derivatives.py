"""Derivatives of rollouts step by step where LLVM does not run; they define what the kernels compute.

A step of a Runge-Kutta method without quaternions is X_1 = x, X_{i+1} = x + a_i dt y(X_i), x' = x + dt Σ b_i y(X_i), so with the
weights λ of x' its adjoint is, for i = s, ..., 1,
    Ȳ_i = b_i dt λ + a_i dt X̄_{i+1}        X̄_i = (∂y/∂x)^T Ȳ_i        x̄ = λ + Σ X̄_i
and likewise for controls, gains and inertial parameters. All states are in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from appell.compiler.archive.store import directional_store
from appell.compiler.directional import DirectionalCalls
from appell.compiler.evaluate import Evaluator
from appell.robot.compiled import CompiledRobot
from appell.rollouts.plan import RolloutPlan, RolloutWeights, empty_states, rate_of, signal_rows, state_rows


class PlainSteps:
    """Steps of one rollout and their derivatives, over rows of states (N, n)."""

    def __init__(self, dyn: CompiledRobot, plan: RolloutPlan) -> None:
        self.plan, self.dtype = plan, np.dtype(dyn.options.dtype)
        self.count = math.prod(plan.batch_shape)
        self.tableau = plan.tableau
        self.quaternions = [slice(first, first + 4) for first in plan.quaternions]
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
        return [np.ascontiguousarray(self.signals[:, k // self.plan.hold]), *self.constants]

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


def rate_derivatives(dyn: CompiledRobot, plan: RolloutPlan) -> DirectionalCalls:
    """The rate of the state, as a function of state, signals and constants, with its derivatives along directions."""
    key, rate = rate_of(dyn, plan)

    def build() -> DirectionalCalls:
        operations = rate()
        inputs = {"state": plan.state_size, "signals": plan.signal_count}
        if plan.constants:
            inputs["constants"] = operations.size_in - sum(inputs.values())
        options = replace(dyn.options, target="cpu", layout="rows", parameters="baked")
        return DirectionalCalls(Evaluator(directional_store(key, inputs, operations), options))

    return dyn.functions.program(("derivatives of rollouts", key, plan.tableau.new_speeds), build)


def across(unit: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The part of vectors across unit vectors, (N, 4)."""
    return vector - unit * (unit * vector).sum(axis=1, keepdims=True)


@np.errstate(over="ignore", invalid="ignore")
def forward(dyn: CompiledRobot, plan: RolloutPlan, along: RolloutPlan) -> np.ndarray:
    """Directions of the saved states, as `empty_states`, from those of the arguments, which are in place of these in `along`."""
    steps, directions = PlainSteps(dyn, plan), PlainSteps(dyn, along)
    result, seen = empty_states(np, plan, dyn.options.dtype)
    x, dx = steps.start(), directions.start()
    for k in range(plan.last):
        x, dx = steps.along_step(x, k, dx, directions.values(k))
        if (k + 1) % plan.save_every == 0:
            seen[:, k // plan.save_every] = dx[:, : plan.nq + plan.nv]
    return result


@np.errstate(over="ignore", invalid="ignore")
def backward(dyn: CompiledRobot, plan: RolloutPlan, q: np.ndarray, qd: np.ndarray) -> tuple[RolloutWeights, int | None]:
    """Gradients from the weights of saved states, (N, T, n), and a step where they are not finite, or None."""
    steps = PlainSteps(dyn, plan)
    count, per_step, states = steps.count, plan.signal_count, [steps.start()]
    for k in range(plan.last - 1):
        states.append(steps.step(states[-1], k))
    total = np.zeros((count, steps.state), steps.dtype)
    signals = np.zeros(steps.signals.shape, steps.dtype)
    constants = np.zeros((count, sum(array.shape[-1] for array in steps.constants)), steps.dtype)
    failed = None
    for k, x in reversed([*enumerate(states)]):
        if (k + 1) % plan.save_every == 0:
            total[:, : plan.nq] += q[:, k // plan.save_every]
            total[:, plan.nq : plan.nq + plan.nv] += qd[:, k // plan.save_every]
        total, others = steps.against_step(x, k, total)
        signals[:, k // plan.hold] += others[:, :per_step]
        constants += others[:, per_step:]
        finite = np.isfinite(total).all() and np.isfinite(others).all()
        failed = k if failed is None and not finite else failed
    return RolloutWeights(total, signals, constants), failed
