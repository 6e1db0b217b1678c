"""The plain rollout: a batch call for every step. It defines what the kernels compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.rollouts.integrators import INTEGRATORS
from appell.control.laws import Vector

if TYPE_CHECKING:
    from appell.compiler.api import CompiledRobot
    from appell.rollouts.plan import Plan


class BatchModel:
    """A compiled robot for laws that are called with lists of lanes."""

    def __init__(self, dyn: CompiledRobot) -> None:
        self.dyn = dyn
        self.axis = 0 if dyn.options.layout == "columns" else -1

    def inverse_dynamics(self, q: Vector, qd: Vector, qdd: Vector) -> Vector:
        return self.lanes(self.dyn.inverse_dynamics(*(self.joined(x) for x in (q, qd, qdd)), check=False))

    def gravity(self, q: Vector) -> Vector:
        return self.lanes(self.dyn.gravity(self.joined(q), check=False))

    def joined(self, lanes: Vector) -> np.ndarray:
        return np.stack(np.broadcast_arrays(*lanes), axis=self.axis)

    def lanes(self, array: np.ndarray) -> Vector:
        return list(np.moveaxis(array, self.axis, 0))


def run(dyn: CompiledRobot, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and speeds, (..., T, n), or (n, T, ...) in columns."""
    model = BatchModel(dyn)
    dtype = dyn.options.dtype
    shape = (plan.n, *plan.lead) if plan.columns else (*plan.lead, plan.n)
    q, qd = (np.broadcast_to(_aligned(x, plan, dtype), shape) for x in (plan.q0, plan.qd0))
    gains = {name: model.lanes(np.asarray(x, dtype)) for name, x in plan.gains.items()}
    signals = {}
    step = INTEGRATORS[plan.integrator].step
    kept_q, kept_qd = [], []
    lost = dyn.losses

    def rate(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        lanes = plan.law.torque(model, model.lanes(q), model.lanes(qd), signals, gains)
        tau = model.joined([np.broadcast_to(lane, plan.lead) for lane in lanes])
        if plan.passive:
            rows = lost.forces(np.moveaxis(qd, model.axis, -1))
            tau = tau + np.moveaxis(rows, -1, model.axis)
        return dyn.forward_dynamics(q, qd, tau.astype(dtype), check=False)

    for k in range(plan.steps):
        if k % (plan.hold or plan.steps) == 0:
            signals = {name: model.lanes(_at(x, plan, k, dtype)) for name, x in plan.signals.items()}
        q, qd = step(rate, q, qd, plan.dt)
        if (k + 1) % plan.every == 0:
            kept_q.append(q)
            kept_qd.append(qd)
    axis = 1 if plan.columns else -2
    return np.stack(kept_q, axis=axis), np.stack(kept_qd, axis=axis)


def _aligned(x, plan: Plan, dtype) -> np.ndarray:
    """An array that broadcasts to (n, batch) in columns: missing batch dimensions come after the entries."""
    array = np.asarray(x, dtype)
    if plan.columns:
        return array.reshape(plan.n, *([1] * (len(plan.lead) - array.ndim + 1)), *array.shape[1:])
    return array


def _at(x, plan: Plan, k: int, dtype) -> np.ndarray:
    """A signal during step k."""
    array = np.asarray(x, dtype)
    if plan.hold is None:
        return array
    return array[:, k // plan.hold] if plan.columns else array[..., k // plan.hold, :]
