"""Inverse kinematics of any robot: damped least squares within joint limits, for many poses at once.

A step is that of Levenberg and Marquardt with the damping of Sugihara (2011), which falls with the square of the error: far
from the goal steps are safe, near it they are Newton's.

    dq = J^T (J J^T + λ 1)⁻¹ e,    λ = μ (|e|²/2 + ε)

Joints at a limit that the step would leave are held and the step is made with the others. μ grows while steps fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.kinematics.inverse.bounds import Bounds
from appell.kinematics.inverse.frame_motion import FrameMotion
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.robot.robot import Robot

LONGEST = 1.0
"""Longest step of a coordinate. [rad, m]"""
FLOOR = 1e-14
"""ε: keeps the step defined where J loses rank."""
GROWTH, STUCK = 10.0, 1e7
"""μ grows by this when a step fails; a search ends when it has become so large."""
FULL_STALL = 12
"""Steps in a row that gain less than a thousandth after which a search ends."""


class Found(NamedTuple):
    """Coordinates (N, nq), lengths of the errors (N,) and steps taken (N,)."""

    q: np.ndarray
    error: np.ndarray
    iterations: np.ndarray


def descend(
    motion: FrameMotion,
    q: np.ndarray,
    target: np.ndarray,
    bounds: Bounds,
    free: np.ndarray,
    tolerance: float,
    iterations: int,
) -> Found:
    """The descent from starts q (N, nq) to targets (N, 4, 4); `free` (nv,) marks the joints that may move."""
    slot, single = coordinates_of_speeds(motion.robot)
    q = bounds.clipped(q)
    e = motion.error(q, target)
    size = np.linalg.norm(e, axis=-1)
    mu, stall, taken = np.ones(len(q)), np.zeros(len(q), dtype=int), np.zeros(len(q), dtype=int)
    for _ in range(iterations):
        busy = np.flatnonzero((size > tolerance) & (mu < STUCK) & (stall < FULL_STALL))
        if not len(busy):
            break
        now, err = q[busy], e[busy]
        J = motion.jacobian(now) * free
        damping = mu[busy] * (0.5 * size[busy] ** 2 + FLOOR)
        step = _step(J, err, damping)
        at = now[:, slot]
        held = single & (((at <= bounds.lower[slot]) & (step < 0.0)) | ((at >= bounds.upper[slot]) & (step > 0.0)))
        if held.any():
            step = np.where(held, 0.0, _step(np.where(held[:, None, :], 0.0, J), err, damping))
        step *= np.minimum(1.0, LONGEST / np.maximum(np.abs(step).max(axis=-1, keepdims=True), LONGEST))
        moved = bounds.clipped(motion.moved(now, step))
        left = motion.error(moved, target[busy])
        length = np.linalg.norm(left, axis=-1)
        better = length < size[busy]
        stall[busy] = np.where(length < (1.0 - 1e-3) * size[busy], 0, stall[busy] + 1)
        mu[busy] = np.where(better, np.maximum(mu[busy] / GROWTH, 1.0), mu[busy] * GROWTH)
        chosen = busy[better]
        q[chosen], e[chosen], size[chosen] = moved[better], left[better], length[better]
        taken[busy] += 1
    return Found(q, size, taken)


def search(
    motion: FrameMotion,
    q0: np.ndarray,
    target: np.ndarray,
    bounds: Bounds,
    free: np.ndarray,
    tolerance: float,
    iterations: int,
    restarts: int,
    seed: int,
) -> Found:
    """The descent from q0 (N, nq), and again from seeded random starts for what is not solved; the best of all."""
    rng = np.random.default_rng(seed)
    fixed = frozen_coordinates(motion.robot, free)
    bounds = bounds.without(fixed)
    best = descend(motion, q0, target, bounds, free, tolerance, iterations)
    for _ in range(restarts):
        unsolved = np.flatnonzero(best.error > tolerance)
        if not len(unsolved):
            break
        drawn = np.array([motion.robot.random_configuration(rng) for _ in unsolved])
        starts = np.where(fixed, q0[unsolved], drawn)
        again = descend(motion, starts, target[unsolved], bounds, free, tolerance, iterations)
        better = again.error < best.error[unsolved]
        chosen = unsolved[better]
        best.q[chosen], best.error[chosen] = again.q[better], again.error[better]
        best.iterations[unsolved] += again.iterations
    return best


def coordinates_of_speeds(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """For each speed the coordinate that it moves, and whether it is the only one of its joint, (nv,) each."""
    slot, single = np.zeros(robot.nv, dtype=int), np.zeros(robot.nv, dtype=bool)
    for joint in robot.moving_joints:
        kind, (q, v) = KINDS[joint.kind], robot.first_coordinates[joint.name]
        slot[v : v + kind.nv], single[v : v + kind.nv] = q, kind.nq == 1
    return slot, single


def frozen_coordinates(robot: Robot, free: np.ndarray) -> np.ndarray:
    """Which coordinates belong to joints that may not move, (nq,)."""
    fixed = np.zeros(robot.nq, dtype=bool)
    for joint in robot.moving_joints:
        q, v = robot.first_coordinates[joint.name]
        fixed[q : q + KINDS[joint.kind].nq] = not free[v]
    return fixed


def _step(J: np.ndarray, e: np.ndarray, damping: np.ndarray) -> np.ndarray:
    transposed = np.swapaxes(J, 1, 2)
    A = J @ transposed + damping[:, None, None] * np.eye(J.shape[1])
    return (transposed @ np.linalg.solve(A, e[..., None]))[..., 0]
