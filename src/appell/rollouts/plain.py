"""Rollouts with a batch call for every step: the definition of what the kernels compute."""

from __future__ import annotations

from typing import cast

import numpy as np

from appell.algorithms.coordinate_rates import coordinate_rates, normalize_quaternions
from appell.algorithms.laws import Signals, Vector
from appell.model.joint_friction import JointFriction
from appell.robot.compiled import CompiledRobot
from appell.rollouts.integrators import INTEGRATORS
from appell.rollouts.plan import RolloutPlan, empty_states, signal_rows, split_states, state_rows


class BatchModel:
    """A compiled robot for control laws, which work on lists of lanes."""

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


class BatchRolloutModel:
    """A `RolloutModel`: the robot under its control law."""

    def __init__(self, model: BatchModel, plan: RolloutPlan, signals: Signals, gains: Signals) -> None:
        self.model, self.plan, self.signals, self.gains = model, plan, signals, gains
        self.friction = cast(JointFriction, model.dyn.friction)

    def coordinate_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        qd, joints = v[: self.plan.nv], self.plan.quasi_velocity_joints
        return np.array(coordinate_rates(joints, [*q], [*qd])) if joints else qd

    def velocity_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        law, nv = self.plan.law, self.plan.nv
        qd, memories = v[:nv], v[nv:].reshape(-1, nv, v.shape[-1])
        memory = {name: [*vector] for name, vector in zip(law.memory, memories, strict=True)}
        tau = law.torque(self.model, [*q], [*qd], self.signals, self.gains, memory)
        if self.plan.passive_forces:
            tau = [a + b for a, b in zip(tau, self.friction.forces(qd.T).T, strict=True)]
        qdd = self.model.forward_dynamics([*q], [*qd], tau)
        rates = law.rates([*q], [*qd], self.signals)
        return np.array([*qdd, *(lane for name in law.memory for lane in rates[name])])


def run(dyn: CompiledRobot, plan: RolloutPlan) -> tuple[np.ndarray, np.ndarray]:
    """q and qd, (..., T, n), or (n, T, ...) in columns."""
    dtype = dyn.options.dtype
    result, saved = empty_states(np, plan, dtype)
    q, qd = (
        np.broadcast_to(state_rows(np, x, plan), (len(saved), x.shape[0 if plan.columns else -1])).T for x in plan.start
    )
    v = np.concatenate([qd, np.zeros((plan.memory, len(saved)), dtype)])
    gains = {name: [*state_rows(np, x, plan).T] for name, x in plan.gains.items()}
    signals = {name: signal_rows(np, x, plan) for name, x in plan.signals.items()}
    model = BatchModel(dyn, None if plan.parameters is None else state_rows(np, plan.parameters, plan))
    step = INTEGRATORS[plan.integrator].step
    for k in range(plan.steps):
        values = {name: [*x[:, k // (plan.control_every or plan.steps)].T] for name, x in signals.items()}
        q, v = step(BatchRolloutModel(model, plan, values, gains), q, v, plan.dt)
        q = np.array(normalize_quaternions(plan.quasi_velocity_joints, [*q])) if plan.quasi_velocity_joints else q
        if (k + 1) % plan.save_every == 0:
            saved[:, k // plan.save_every, : plan.nq] = q.T
            saved[:, k // plan.save_every, plan.nq :] = v[: plan.nv].T
    return split_states(result, plan)
