"""Fixed-step integrators of rollouts, over arrays and for kernels.

`step` over arrays defines an integrator; kernels run its `tableau` (LLVM) or its `text` (CUDA). All integrate the configuration
by q̇ = N(q) v, and v by its own rate; v holds the generalized velocities and the memory of the control law.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from appell.algorithms.runge_kutta import TABLEAUX, Tableau, rk4_step


class RolloutModel(Protocol):
    """Robots under a control law, on arrays (n, N): q̇ = N(q) v, and v̇, accelerations and then rates of the memory."""

    def coordinate_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray: ...
    def velocity_rates(self, q: np.ndarray, v: np.ndarray) -> np.ndarray: ...


StepFunction = Callable[[RolloutModel, np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]
"""The next (q, v) from a model, q, v and dt."""


class Integrator(NamedTuple):
    """A rule for one step.

    Its text are statements in CUDA that advance x[0] .. x[STATE - 1] by dt, given `state_rate(x, y)` with
    y = (q̇, v̇, N(q) v̇), the numbers NQ and STATE of coordinates and of all, and scratch arrays `start` and `sum`.
    """

    name: str
    order: int  # the global error decreases as dt to this power
    tableau: Tableau  # for LLVM
    step: StepFunction  # over arrays
    text: str

    @property
    def stages(self) -> int:
        """Rate evaluations per step."""
        return len(self.tableau.weights)


def _semi_implicit_euler(model: RolloutModel, q: np.ndarray, v: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    v = v + dt * model.velocity_rates(q, v)
    return q + dt * model.coordinate_rates(q, v), v


def _rk4(model: RolloutModel, q: np.ndarray, v: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    nq = len(q)

    def rate(_: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([model.coordinate_rates(x[:nq], x[nq:]), model.velocity_rates(x[:nq], x[nq:])])

    x = rk4_step(rate, np.concatenate([q, v]), dt)
    return x[:nq], x[nq:]


EULER_TEXT = """\
        state_rate(x, y);
        UNROLL
        for (int j = 0; j < NQ; j++) x[j] += dt * (y[j] + dt * y[STATE + j]);
        UNROLL
        for (int j = NQ; j < STATE; j++) x[j] += dt * y[j];
"""

RK4_TEXT = """\
        UNROLL
        for (int j = 0; j < STATE; j++) start[j] = sum[j] = x[j];
        ROLL
        for (int stage = 0; stage < 4; stage++) {
            const real weight = dt * ((stage == 0 || stage == 3) ? (real)(1.0 / 6) : (real)(1.0 / 3));
            const real ahead = stage == 2 ? dt : (real)0.5 * dt;
            state_rate(x, y);
            UNROLL
            for (int j = 0; j < STATE; j++) {
                sum[j] += weight * y[j];
                x[j] = start[j] + ahead * y[j];
            }
        }
        UNROLL
        for (int j = 0; j < STATE; j++) x[j] = sum[j];
"""

INTEGRATORS = {
    rule.name: rule
    for rule in (
        Integrator("semi_implicit_euler", 1, TABLEAUX["semi_implicit_euler"], _semi_implicit_euler, EULER_TEXT),
        Integrator("rk4", 4, TABLEAUX["rk4"], _rk4, RK4_TEXT),
    )
}
