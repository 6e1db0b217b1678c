"""Coulomb friction in the joints: a joint slips, with friction against its motion, or sticks.

    slips     f_k = -F_k sign(qd_k), constant while the sign of qd_k is
    sticks    qdd_k = 0, with the f_k that this needs, |f_k| <= F_k

A slipping joint that comes to rest sticks if that is possible; a sticking joint slips when it would need more than F_k. So
there is no chattering about zero velocity and no creep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from appell.simulation.roots import SUBDIVISIONS, root

if TYPE_CHECKING:
    from appell.simulation.phase import IntegratorStep

REST_VELOCITY_TOL = 1e-9
"""A slower joint is at rest. [rad/s, m/s]"""
STOP_TIME = 1e-6
"""Joints that their friction would stop within a shorter time stop at once. [s]"""


@dataclass(frozen=True)
class JointFrictionState:
    """Mask of the joints that stick, (nv,), and the direction in which the others slip, (nv,): 1, -1, or 0 without friction."""

    sticking: np.ndarray
    slip_direction: np.ndarray

    @cached_property
    def sticking_indices(self) -> np.ndarray:
        return np.flatnonzero(self.sticking)


def frictionless(size: int) -> JointFrictionState:
    """The state without friction."""
    return JointFrictionState(np.zeros(size, dtype=bool), np.zeros(size))


def moving_joints(
    friction: np.ndarray, qd: np.ndarray, stopping: np.ndarray | bool = False
) -> tuple[JointFrictionState, np.ndarray]:
    """The state of the joints that move, and the indices of joints with friction that are at rest, or stop at once (mask)."""
    has_friction = friction > 0.0
    at_rest = has_friction & (stopping | (np.abs(qd) <= REST_VELOCITY_TOL))
    directions = np.where(has_friction & ~at_rest, np.sign(qd), 0.0)
    return JointFrictionState(np.zeros_like(at_rest), directions), np.flatnonzero(at_rest)


def stopping_joints(friction: np.ndarray, qd: np.ndarray, M: np.ndarray) -> np.ndarray:
    """Mask of the moving joints that their friction alone would stop within STOP_TIME."""
    speed = np.abs(qd)
    slow = (speed > REST_VELOCITY_TOL) & (friction > 0.0)
    if slow.any():
        slow &= speed <= STOP_TIME * friction * np.diagonal(np.linalg.inv(M))
    return slow


def with_joints_at_rest(moving: JointFrictionState, at_rest: np.ndarray, directions: np.ndarray) -> JointFrictionState:
    """The same with joints at rest that slip in these directions from now on, or stick (0)."""
    if not len(at_rest):
        return moving
    sticking, slip = moving.sticking.copy(), moving.slip_direction.copy()
    sticking[at_rest], slip[at_rest] = directions == 0.0, directions
    return JointFrictionState(sticking, slip)


def first_reversal(
    joints: JointFrictionState, step: IntegratorStep, velocities: Callable[[np.ndarray], np.ndarray]
) -> float | None:
    """The first time in a step at which a slipping joint comes to rest.

    A joint is at rest when its velocity in slip direction falls below zero, or below its value at the start of the step.

    Args:
        velocities: qd of state vectors (m, N), (nv, N).
    """
    slipping = np.flatnonzero(joints.slip_direction)
    if not len(slipping):
        return None
    direction = joints.slip_direction[slipping]

    def speeds(times: np.ndarray) -> np.ndarray:
        return direction[:, None] * velocities(step.states(times))[slipping]

    times = np.linspace(step.start, step.end, SUBDIVISIONS + 1)
    values = speeds(times)
    floor = np.minimum(values[:, 0], 0.0) - 1e-3 * REST_VELOCITY_TOL
    for i, (a, b) in enumerate(pairwise(times.tolist())):
        events = []
        for k in np.flatnonzero(values[:, i + 1] < floor).tolist():
            target = 0.0 if values[k, i] > REST_VELOCITY_TOL else float(floor[k])
            events.append(root(lambda t, k=k, target=target: float(speeds(np.array([t]))[k, 0]) - target, a, b))
        if events:
            return min(events)
    return None
