"""Fixed steps: how a state moves on by dt, over arrays, and as CUDA text.

Each integrator is written twice: `step` over arrays is the plain one that defines it, `text` is what a kernel runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

Rate = Callable[[Any, Any], Any]
"""Accelerations from q and qd."""


class Integrator(NamedTuple):
    """A rule for one step.

    Attributes:
        order: the error of a whole rollout falls as dt to this power.
        step: (rate, q, qd, dt) to the next (q, qd).
        text: CUDA statements that move q[] and v[] on by dt, given `rate(q, v, y)` with y = (q̇, q̈) and N degrees.
    """

    name: str
    order: int
    step: Callable[[Rate, Any, Any, float], tuple[Any, Any]]
    text: str


def _semi_implicit_euler(rate: Rate, q: Any, qd: Any, dt: float) -> tuple[Any, Any]:
    qd = qd + dt * rate(q, qd)
    return q + dt * qd, qd


def _rk4(rate: Rate, q: Any, qd: Any, dt: float) -> tuple[Any, Any]:
    k1, l1 = qd, rate(q, qd)
    k2 = qd + dt / 2 * l1
    l2 = rate(q + dt / 2 * k1, k2)
    k3 = qd + dt / 2 * l2
    l3 = rate(q + dt / 2 * k2, k3)
    k4 = qd + dt * l3
    l4 = rate(q + dt * k3, k4)
    return q + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), qd + dt / 6 * (l1 + 2 * l2 + 2 * l3 + l4)


EULER_TEXT = """\
        state_rate(x, y);
        #pragma unroll
        for (int j = 0; j < N; j++) {
            v[j] += dt * y[N + j];
            q[j] += dt * v[j];
            x[j] = q[j];
            x[N + j] = v[j];
        }
"""

RK4_TEXT = """\
        #pragma unroll
        for (int j = 0; j < N; j++) {
            sum_q[j] = q[j];
            sum_v[j] = v[j];
        }
        #pragma unroll 1
        for (int stage = 0; stage < 4; stage++) {
            state_rate(x, y);
            const real weight = dt * ((stage == 0 || stage == 3) ? (real)(1.0 / 6) : (real)(1.0 / 3));
            const real ahead = stage == 2 ? dt : (real)0.5 * dt;
            #pragma unroll
            for (int j = 0; j < N; j++) {
                sum_q[j] += weight * x[N + j];
                sum_v[j] += weight * y[N + j];
                x[j] = q[j] + ahead * x[N + j];
                x[N + j] = v[j] + ahead * y[N + j];
            }
        }
        #pragma unroll
        for (int j = 0; j < N; j++) {
            x[j] = q[j] = sum_q[j];
            x[N + j] = v[j] = sum_v[j];
        }
"""

INTEGRATORS = {
    rule.name: rule
    for rule in (
        Integrator("semi_implicit_euler", 1, _semi_implicit_euler, EULER_TEXT),
        Integrator("rk4", 4, _rk4, RK4_TEXT),
    )
}
