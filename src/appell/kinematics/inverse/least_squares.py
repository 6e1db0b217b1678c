"""Inverse kinematics of any robot: damped least squares within joint limits, for many poses at once.

Levenberg-Marquardt steps with the damping of Sugihara (2011), which decreases with the square of the error: far from the
target steps are short, near it they are Newton's.

    dq = J^T (J J^T + λ 1)⁻¹ e,    λ = μ (|e|²/2 + ε)

Joints at a limit that the step would exceed are fixed, and the step is repeated with the others. μ grows while steps fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from appell.kinematics.inverse.frame_motion import CoordinateBounds, FrameMotion, velocity_coordinates
from appell.model.joints import KINDS
from appell.robot.robot import Robot

MAX_STEP = 1.0
"""Largest step of a coordinate. [rad, m]"""
MIN_DAMPING = 1e-14
"""ε: regularizes the step where J loses rank."""
DAMPING_GROWTH, MAX_DAMPING = 10.0, 1e7
"""Factor of μ after a failed step; value of μ that ends a descent."""
STALL_LIMIT = 12
"""Consecutive steps with a relative gain below 1e-3 that end a descent."""


@dataclass(frozen=True)
class LeastSquaresOptions:
    """Options of the least-squares method of `appell.inverse_kinematics`. Equal options give equal results.

    Attributes:
        tolerance: norm of the pose error [m, rad together] below which a pose is solved.
        iterations: steps per descent.
        restarts: further descents from random configurations.
        seed: of the random configurations.
    """

    tolerance: float = 1e-12
    iterations: int = 200
    restarts: int = 20
    seed: int = 0


class LeastSquaresResult(NamedTuple):
    """Configurations (N, nq), norms of the errors (N,) and steps taken (N,)."""

    q: np.ndarray
    error: np.ndarray
    iterations: np.ndarray


def damped_least_squares(
    motion: FrameMotion,
    q: np.ndarray,
    target: np.ndarray,
    bounds: CoordinateBounds,
    free: np.ndarray,
    options: LeastSquaresOptions,
) -> LeastSquaresResult:
    """One descent from q (N, nq) to targets (N, 4, 4); `free` (nv,) marks the velocities that may be used."""
    index, single = velocity_coordinates(motion.robot)
    q = bounds.clip(q)
    e = motion.error(q, target)
    size = np.linalg.norm(e, axis=-1)
    mu, stalled, steps = np.ones(len(q)), np.zeros(len(q), dtype=int), np.zeros(len(q), dtype=int)
    for _ in range(options.iterations):
        active = np.flatnonzero((size > options.tolerance) & (mu < MAX_DAMPING) & (stalled < STALL_LIMIT))
        if not len(active):
            break
        q_now, error = q[active], e[active]
        J = motion.jacobian(q_now) * free
        damping = mu[active] * (0.5 * size[active] ** 2 + MIN_DAMPING)
        step = _step(J, error, damping)
        at = q_now[:, index]
        blocked = single & (((at <= bounds.lower[index]) & (step < 0.0)) | ((at >= bounds.upper[index]) & (step > 0.0)))
        if blocked.any():
            step = np.where(blocked, 0.0, _step(np.where(blocked[:, None, :], 0.0, J), error, damping))
        step *= np.minimum(1.0, MAX_STEP / np.maximum(np.abs(step).max(axis=-1, keepdims=True), MAX_STEP))
        q_next = bounds.clip(motion.integrate(q_now, step))
        e_next = motion.error(q_next, target[active])
        size_next = np.linalg.norm(e_next, axis=-1)
        better = size_next < size[active]
        stalled[active] = np.where(size_next < (1.0 - 1e-3) * size[active], 0, stalled[active] + 1)
        mu[active] = np.where(better, np.maximum(mu[active] / DAMPING_GROWTH, 1.0), mu[active] * DAMPING_GROWTH)
        improved = active[better]
        q[improved], e[improved], size[improved] = q_next[better], e_next[better], size_next[better]
        steps[active] += 1
    return LeastSquaresResult(q, size, steps)


def solve_with_restarts(
    motion: FrameMotion,
    q0: np.ndarray,
    target: np.ndarray,
    bounds: CoordinateBounds,
    free: np.ndarray,
    options: LeastSquaresOptions,
) -> LeastSquaresResult:
    """A descent from q0 (N, nq), and for unsolved poses from seeded random configurations; the best of all."""
    rng = np.random.default_rng(options.seed)
    fixed = fixed_coordinates(motion.robot, free)
    lower, upper = np.where(fixed, -np.inf, bounds.lower), np.where(fixed, np.inf, bounds.upper)
    bounds = bounds._replace(lower=lower, upper=upper)
    best = damped_least_squares(motion, q0, target, bounds, free, options)
    for _ in range(options.restarts):
        unsolved = np.flatnonzero(best.error > options.tolerance)
        if not len(unsolved):
            break
        random = np.array([motion.robot.random_configuration(rng) for _ in unsolved])
        starts = np.where(fixed, q0[unsolved], random)
        retry = damped_least_squares(motion, starts, target[unsolved], bounds, free, options)
        better = retry.error < best.error[unsolved]
        improved = unsolved[better]
        best.q[improved], best.error[improved] = retry.q[better], retry.error[better]
        best.iterations[unsolved] += retry.iterations
    return best


def fixed_coordinates(robot: Robot, free: np.ndarray) -> np.ndarray:
    """Whether each coordinate belongs to a joint that may not move, (nq,)."""
    fixed = np.zeros(robot.nq, dtype=bool)
    for joint in robot.moving_joints:
        q, v = robot.first_coordinates[joint.name]
        fixed[q : q + KINDS[joint.kind].nq] = not free[v]
    return fixed


def _step(J: np.ndarray, e: np.ndarray, damping: np.ndarray) -> np.ndarray:
    JT = np.swapaxes(J, 1, 2)
    A = J @ JT + damping[:, None, None] * np.eye(J.shape[1])
    return (JT @ np.linalg.solve(A, e[..., None]))[..., 0]
