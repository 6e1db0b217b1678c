"""The plain rollout: a batch call for every step. It defines what the kernels compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from appell.algorithms.coordinate_rates import coordinate_rates, normalize_quaternions
from appell.algorithms.laws import Signals, Vector
from appell.model.joint_friction import JointFriction
from appell.rollouts.arrays import parted, rows, states, timed
from appell.rollouts.integrators import INTEGRATORS

if TYPE_CHECKING:
    from appell.robot.compiled import CompiledRobot
    from appell.rollouts.plan import Plan


class BatchModel:
    """A compiled robot for laws that are called with lists of lanes."""

    def __init__(self, dyn: CompiledRobot, parameters: np.ndarray | None) -> None:
        self.dyn = dyn
        self.axis = 0 if dyn.options.layout == "columns" else -1
        self.options = {"check": False, "parameters": None if parameters is None else self.joined([*parameters.T])}

    def inverse_dynamics(self, q: Vector, qd: Vector, qdd: Vector) -> Vector:
        return self.lanes(self.dyn.inverse_dynamics(*map(self.joined, (q, qd, qdd)), **self.options))

    def forward_dynamics(self, q: Vector, qd: Vector, tau: Vector) -> Vector:
        return self.lanes(self.dyn.forward_dynamics(*map(self.joined, (q, qd, tau)), **self.options))

    def gravity(self, q: Vector) -> Vector:
        return self.lanes(self.dyn.gravity(self.joined(q), **self.options))

    def joined(self, lanes: Vector) -> np.ndarray:
        return np.stack(np.broadcast_arrays(*lanes), axis=self.axis).astype(self.dyn.options.dtype, copy=False)

    def lanes(self, array: np.ndarray) -> Vector:
        return list(np.moveaxis(array, self.axis, 0))


class PlainMotion:
    """The robot under its law (`appell.rollouts.integrators.Motion`), on arrays of lanes (n, N)."""

    def __init__(self, model: BatchModel, plan: Plan, signals: Signals, gains: Signals) -> None:
        self.model, self.plan, self.signals, self.gains = model, plan, signals, gains
        self.friction = cast(JointFriction, model.dyn.friction)

    def coordinate_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        speeds = v[: self.plan.nv]
        return np.array(coordinate_rates(self.plan.free, [*q], [*speeds])) if self.plan.free else speeds

    def speed_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        law, nv = self.plan.law, self.plan.nv
        speeds, kept = v[:nv], v[nv:].reshape(-1, nv, v.shape[-1])
        memory = {name: [*vector] for name, vector in zip(law.memory, kept, strict=True)}
        tau = law.torque(self.model, [*q], [*speeds], self.signals, self.gains, memory)
        if self.plan.passive:
            tau = [a + b for a, b in zip(tau, self.friction.forces(speeds.T).T, strict=True)]
        qdd = self.model.forward_dynamics([*q], [*speeds], tau)
        changes = law.rates([*q], [*speeds], self.signals)
        return np.array([*qdd, *(lane for name in law.memory for lane in changes[name])])


def run(dyn: CompiledRobot, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and speeds, (..., T, n), or (n, T, ...) in columns."""
    dtype = dyn.options.dtype
    result, seen = states(np, plan, dtype)
    q, qd = (np.broadcast_to(rows(np, x, plan), (len(seen), x.shape[0 if plan.columns else -1])).T for x in plan.start)
    v = np.concatenate([qd, np.zeros((plan.memory, len(seen)), dtype)])
    gains = {name: [*rows(np, x, plan).T] for name, x in plan.gains.items()}
    signals = {name: timed(np, x, plan) for name, x in plan.signals.items()}
    model = BatchModel(dyn, None if plan.parameters is None else rows(np, plan.parameters, plan))
    step = INTEGRATORS[plan.integrator].step
    for k in range(plan.steps):
        now = {name: [*x[:, k // (plan.hold or plan.steps)].T] for name, x in signals.items()}
        q, v = step(PlainMotion(model, plan, now, gains), q, v, plan.dt)
        q = np.array(normalize_quaternions(plan.free, [*q])) if plan.free else q
        if (k + 1) % plan.every == 0:
            seen[:, k // plan.every, : plan.nq] = q.T
            seen[:, k // plan.every, plan.nq :] = v[: plan.nv].T
    return parted(result, plan)
