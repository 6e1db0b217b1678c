"""Computed torque whose model is identified while it runs: recursive least squares on base parameters (Valera 2003, section 4).

Parameters of a robot change: payload, wear. With the base parameters β = β_0 + δ the forces are linear in δ, and over a period in
which the forces τ are constant

    K_b(q, q̇, q̈) δ = y = τ + passive forces - ID_0(q, q̇, q̈),      q, q̇ at the middle, q̈ = Δq̇ / T.

Both sides pass the same low-pass filter, which removes the noise of q̈. Recursive least squares with forgetting factor λ,

    P ← P / λ,    L = P K^T (K P K^T + R)⁻¹,    δ ← δ + L (y - K δ),    P ← P - L K P,

runs inside the controller's period. P does not grow beyond its start, so that motions which excite little forget nothing. New
parameters are handed over to the control law only if they predict the recent forces better than those in use and give a mass
matrix that is plausible; they are then blended in. If the mass matrix in use ceases to be plausible, the model returns to the
start.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import NamedTuple, cast

import numpy as np

from appell.checks import require_in_range, require_integer, require_positive
from appell.control.controller import ComputedTorque
from appell.control.sampled import NO_EFFORT_LIMIT
from appell.errors import ArgumentError
from appell.identification.base import BaseParameters, base_parameters, base_regressor
from appell.robot.compiled import CompiledRobot, compile

SCALE_STATES = 100
"""Random states at which the size of the regressor's columns is measured."""


@dataclass(frozen=True)
class Adaptation:
    """Options of `AdaptiveComputedTorque`.

    Attributes:
        memory: time in which the weight of a sample falls to 1/e: the forgetting factor of a period T is exp(-T / memory). [s]
        bandwidth: of the filter of regressor and forces. [rad/s]
        noise: standard deviation of the filtered forces, relative to the largest force of gravity of each joint.
        spread: standard deviation of the parameters at the start, as forces relative to those of gravity.
        every: periods between updates.
        warm_up: time before the first hand-over. [s]
        improvement: parameters are handed over if their squared prediction error is smaller than this part of that in use, and
            the one in use is above the noise.
        blend: time constant with which they are blended in. [s]
        mass_ratio: largest ratio of the mass matrix to that of the start, along any motion, and the largest of its inverse.
    """

    memory: float = 0.5
    bandwidth: float = 60.0
    noise: float = 1e-3
    spread: float = 0.5
    every: int = 5
    warm_up: float = 0.3
    improvement: float = 0.5
    blend: float = 0.1
    mass_ratio: float = 4.0

    def __post_init__(self) -> None:
        for name in ("memory", "bandwidth", "noise", "spread", "blend"):
            require_positive(name, getattr(self, name))
        require_integer("every", self.every, 1)
        require_in_range("warm_up", self.warm_up)
        require_in_range("improvement", self.improvement, 0.0, 1.0)
        if not self.mass_ratio > 1.0:
            raise ArgumentError(f"mass_ratio is {self.mass_ratio!r}, expected a number above 1.")


class AdaptationState(NamedTuple):
    """The memory of the controller by parts.

    Attributes:
        periods: so far.
        q, qd, tau: of the last period, (n,).
        K, y: filtered regressor (n, b) and forces (n,).
        change: identified change of the base parameters, (b,).
        P: its covariance, (b, b).
        target, used: change that was handed over, and the one in use, (b,).
        errors: mean squared prediction errors of `change` and of `used`, (2,).
    """

    periods: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    tau: np.ndarray
    K: np.ndarray
    y: np.ndarray
    change: np.ndarray
    P: np.ndarray
    target: np.ndarray
    used: np.ndarray
    errors: np.ndarray

    def packed(self) -> np.ndarray:
        return np.concatenate([part.ravel() for part in self])


@dataclass(frozen=True)
class AdaptiveComputedTorque(ComputedTorque):
    """`ComputedTorque` with a model that is identified on line.

    The step is computed in Python, 0.13 to 0.18 ms for six joints; it has no C export.

    Attributes:
        adaptation: options of the identification and of the hand-over.

    Example:
        >>> import appell, numpy as np
        >>> arm = appell.load("planar2r")
        >>> controller = appell.control.AdaptiveComputedTorque(arm, [0.5, 0.25], kp=100.0, kd=20.0)
        >>> q, qd = np.zeros(2), np.zeros(2)
        >>> tau, memory = controller.step(0.0, q, qd, controller.initial_memory(0.0, q, qd))
        >>> len(controller.parameters(memory)), bool(controller.state(memory).used.any())
        (6, False)
    """

    _: KW_ONLY
    adaptation: Adaptation = Adaptation()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.period is None:
            raise ArgumentError("AdaptiveComputedTorque is sampled: give it a period in seconds.")

    @cached_property
    def base(self) -> BaseParameters:
        """The base parameters of the model."""
        return base_parameters(self.robot)

    @cached_property
    def dynamics(self) -> CompiledRobot:
        """The compiled model of the start."""
        return compile(self.robot, threads=1)

    def parameters(self, memory: np.ndarray) -> np.ndarray:
        """Identified base parameters, (b,), in the order of `base.base_names`."""
        return self.base.of(self.robot.parameters) + self.state(memory).change

    def standard_errors(self, memory: np.ndarray) -> np.ndarray:
        """Of the identified parameters, (b,)."""
        return np.sqrt(np.maximum(np.diag(self.state(memory).P), 0.0))

    def state(self, memory: np.ndarray) -> AdaptationState:
        """The memory by parts."""
        n, b = self.robot.nv, len(self.base)
        shapes = ((1,), (n,), (n,), (n,), (n, b), (n,), (b,), (b, b), (b,), (b,), (2,))
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
        return AdaptationState(
            *(part.reshape(shape) for part, shape in zip(np.split(memory, ends), shapes, strict=True))
        )

    @cached_property
    def scales(self) -> tuple[np.ndarray, np.ndarray]:
        """Size of the forces of gravity (n,), and standard deviations of the parameters at the start (b,)."""
        rng = np.random.default_rng(0)
        q = self.robot.random_configurations(SCALE_STATES, rng)
        gravity = np.abs(self.robot.gravity(q)).max(axis=0)
        forces = np.maximum(gravity, 1e-3 * max(float(gravity.max()), np.finfo(float).tiny))
        forces = forces if gravity.any() else np.ones_like(forces)
        K = self.regressor(q, *rng.uniform(-1.0, 1.0, (2, SCALE_STATES, self.robot.nv)))
        sizes = np.sqrt(np.mean((K / forces[:, None]) ** 2, axis=(0, 1)))
        return forces, self.adaptation.spread / np.maximum(sizes, 1e-6 * sizes.max())

    def initial_memory(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        n, b = self.robot.nv, len(self.base)
        none = np.zeros(b)
        return AdaptationState(
            np.zeros(1), q, qd, np.zeros(n), np.zeros((n, b)), np.zeros(n), none, np.diag(self.scales[1] ** 2), none, none,
            np.zeros(2),
        ).packed()  # fmt: skip

    def regressor(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """K_b, (..., n, b)."""
        return base_regressor(self.robot, self.base, (), q, qd, qdd, check=False)

    @cached_property
    def native_step(self) -> Callable[..., np.ndarray | None]:
        law = ComputedTorque(self.robot, self.reference, kp=self.kp, kd=self.kd, period=self.period).native_step
        n, limit = self.robot.nv, np.minimum(self.effort_limits, NO_EFFORT_LIMIT)
        kp, kd = self.gains["kp"], self.gains["kd"]

        def step(q: np.ndarray, qd: np.ndarray, signals: np.ndarray, memory: np.ndarray) -> np.ndarray | None:
            state = self.identified(self.state(memory), q, qd)
            tau = law(q, qd, signals, memory[:0])
            if tau is None:
                return None
            if state.used.any():
                v = signals[2 * n :] - kd * (qd - signals[n : 2 * n]) - kp * (q - signals[:n])
                tau = tau + self.regressor(q, qd, v) @ state.used
            tau = np.clip(tau, -limit, limit)
            after = state._replace(periods=state.periods + 1.0, q=q, qd=qd, tau=tau)
            return np.concatenate([tau, after.packed()])

        return step

    # --- identification -----------------------------------------------------------------------------------------------

    def identified(self, state: AdaptationState, q: np.ndarray, qd: np.ndarray) -> AdaptationState:
        """The state with the measurement of the last period."""
        if not state.periods[0]:
            return state
        options, T = self.adaptation, cast("float", self.period)
        q_mid, qd_mid, qdd = 0.5 * (q + state.q), 0.5 * (qd + state.qd), (qd - state.qd) / T
        measured = state.tau + self.robot.passive_forces(qd_mid)
        y = measured - self.dynamics.inverse_dynamics(q_mid, qd_mid, qdd, check=False)
        share = 1.0 - np.exp(-options.bandwidth * T)
        K = state.K + share * (self.regressor(q_mid, qd_mid, qdd) - state.K)
        state = state._replace(K=K, y=state.y + share * (y - state.y))
        if state.periods[0] % options.every == 0:
            state = self.handed_over(self.updated(state), q)
        blend = 1.0 - np.exp(-T / options.blend)
        return state._replace(used=state.used + blend * (state.target - state.used))

    def updated(self, state: AdaptationState) -> AdaptationState:
        """One step of recursive least squares, in units of the parameters' spread; unchanged where it is not finite."""
        options, (forces, spread) = self.adaptation, self.scales
        span = options.every * cast("float", self.period)
        forgetting = np.exp(-span / options.memory)
        K = state.K * spread / forces[:, None]
        y = (state.y - state.K @ state.change) / forces
        P = state.P / np.outer(spread, spread)
        grown = P / forgetting
        P = grown if np.trace(grown) <= len(P) else P  # at the start its trace is the number of parameters
        L = np.linalg.solve(K @ P @ K.T + options.noise**2 * np.eye(len(K)), K @ P).T
        P = P - L @ (K @ P)
        change = state.change + spread * (L @ y)
        P = 0.5 * (P + P.T) * np.outer(spread, spread)
        if not (np.isfinite(change).all() and np.isfinite(P).all()):
            return state
        share = 1.0 - np.exp(-span / options.memory)
        now = [np.sum(((state.y - state.K @ each) / forces) ** 2) for each in (change, state.used)]
        return state._replace(change=change, P=P, errors=state.errors + share * (np.array(now) - state.errors))

    def handed_over(self, state: AdaptationState, q: np.ndarray) -> AdaptationState:
        """The state with new parameters for the control law, if they are better and plausible; else with the old ones."""
        options = self.adaptation
        if state.used.any() and not self.plausible(q, state.used):
            none = np.zeros_like(state.used)
            return state._replace(target=none, used=none)
        warm = state.periods[0] * cast("float", self.period) >= options.warm_up
        better = max(state.errors[0], options.noise**2) < options.improvement * state.errors[1]
        return state._replace(target=state.change) if warm and better and self.plausible(q, state.change) else state

    def plausible(self, q: np.ndarray, change: np.ndarray) -> bool:
        """Whether the mass matrix with a change is positive definite and of the size of that of the start."""
        n = self.robot.nv
        M = self.dynamics.mass_matrix(q, check=False)
        still = np.zeros((n, n))
        inertial = self.regressor(np.broadcast_to(q, (n, len(q))), still, np.eye(n)) - self.regressor(
            q, still[0], still[0]
        )
        changed = M + (inertial @ change).T
        inverse = np.linalg.inv(np.linalg.cholesky(M))
        ratios = np.linalg.eigvalsh(inverse @ (0.5 * (changed + changed.T)) @ inverse.T)
        return bool(1.0 / self.adaptation.mass_ratio < ratios[0] and ratios[-1] < self.adaptation.mass_ratio)

    def __getstate__(self) -> dict:
        return {
            name: value for name, value in super().__getstate__().items() if name not in ("base", "dynamics", "scales")
        }
