"""Fixed steps: how a state moves on by dt, over arrays, and as text for kernels.

Each integrator is written twice: `step` over arrays is the plain one that defines it, `text` is what a kernel runs. Both
move coordinates q by q̇ = N(q) v, and everything behind them, v, by its own rate; v holds the speeds and what a control law
remembers.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Motion(Protocol):
    """What moves."""

    def coordinate_rates(self, q: Any, v: Any) -> Any:
        """q̇ = N(q) v."""
        ...

    def speed_rates(self, q: Any, v: Any) -> Any:
        """v̇: accelerations, then rates of the memory."""
        ...


class Step(Protocol):
    """The next (q, v) from a motion, q, v and dt."""

    def __call__(self, motion: Motion, q: Any, v: Any, dt: float, /) -> tuple[Any, Any]: ...


class Integrator(NamedTuple):
    """A rule for one step.

    Attributes:
        order: the error of a whole rollout falls as dt to this power.
        stages: how often a step asks for the rate.
        step: over arrays.
        text: statements in C and CUDA that move x[0] .. x[STATE - 1] on by dt, given `state_rate(x, y)` with
            y = (q̇, v̇, N(q) v̇), the numbers NQ and STATE of coordinates and of all, and scratch arrays `start` and `sum`.
    """

    name: str
    order: int
    stages: int
    step: Step
    text: str


def _semi_implicit_euler(motion: Motion, q: Any, v: Any, dt: float) -> tuple[Any, Any]:
    v = v + dt * motion.speed_rates(q, v)
    return q + dt * motion.coordinate_rates(q, v), v


def _rk4(motion: Motion, q: Any, v: Any, dt: float) -> tuple[Any, Any]:
    k1, l1 = motion.coordinate_rates(q, v), motion.speed_rates(q, v)
    q2, v2 = q + dt / 2 * k1, v + dt / 2 * l1
    k2, l2 = motion.coordinate_rates(q2, v2), motion.speed_rates(q2, v2)
    q3, v3 = q + dt / 2 * k2, v + dt / 2 * l2
    k3, l3 = motion.coordinate_rates(q3, v3), motion.speed_rates(q3, v3)
    q4, v4 = q + dt * k3, v + dt * l3
    k4, l4 = motion.coordinate_rates(q4, v4), motion.speed_rates(q4, v4)
    return q + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), v + dt / 6 * (l1 + 2 * l2 + 2 * l3 + l4)


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
        Integrator("semi_implicit_euler", 1, 1, _semi_implicit_euler, EULER_TEXT),
        Integrator("rk4", 4, 4, _rk4, RK4_TEXT),
    )
}
