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
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import lsq_linear

from appell.simulation.roots import SUBDIVISIONS, root

if TYPE_CHECKING:
    from appell.simulation.phase import IntegratorStep, Plant

REST_VELOCITY_TOL = 1e-9
"""A slower joint is at rest. [rad/s, m/s]"""
FRICTION_TOL = 1e-9
"""Relative excess over its friction at which a joint stops to stick."""


@dataclass(frozen=True)
class JointFrictionState:
    """Mask of the joints that stick, (nv,), and the direction in which the others slip, (nv,): 1, -1, or 0 without friction."""

    sticking: np.ndarray
    slip_direction: np.ndarray

    @cached_property
    def sticking_indices(self) -> np.ndarray:
        return np.flatnonzero(self.sticking)

    @cached_property
    def free_indices(self) -> np.ndarray | slice:
        """Indices of the joints that do not stick; a slice, which costs no copy, if that is all of them."""
        return np.flatnonzero(~self.sticking) if self.sticking.any() else slice(None)

    def free_block(self, M: np.ndarray) -> np.ndarray:
        """Rows and columns of a matrix (nv, nv) of the joints that do not stick."""
        free = self.free_indices
        return M if isinstance(free, slice) else M[np.ix_(free, free)]

    def with_joint(self, k: int, direction: float) -> JointFrictionState:
        """The same with joint k slipping in this direction, or sticking if it is 0."""
        sticking, directions = self.sticking.copy(), self.slip_direction.copy()
        sticking[k], directions[k] = direction == 0.0, direction
        return JointFrictionState(sticking, directions)


def frictionless(size: int) -> JointFrictionState:
    """The state without friction."""
    return JointFrictionState(np.zeros(size, dtype=bool), np.zeros(size))


def initial_friction_state(plant: Plant, t: float, q: np.ndarray, qd: np.ndarray) -> JointFrictionState:
    """Sticking and slipping joints in a state without contact.

    Friction of all joints at rest reduces their accelerations as far as possible (Gauss' principle):
    min f^T G f / 2 + a · f within |f_k| <= F_k, with the accelerations a without it and the block G of M⁻¹.
    """
    has_friction = plant.friction > 0.0
    at_rest = has_friction & (np.abs(qd) <= REST_VELOCITY_TOL)
    directions = np.where(has_friction & ~at_rest, np.sign(qd), 0.0)
    joints = JointFrictionState(np.zeros_like(at_rest), directions)
    if not at_rest.any():
        return joints
    indices, limit = np.flatnonzero(at_rest), plant.friction[at_rest]
    a = plant.derivative(t, q, qd, joints).qdd[indices]
    if not np.isfinite(a).all():
        return JointFrictionState(at_rest, directions)
    f = _max_dissipation(plant.inverse_mass_columns(q, indices)[indices], a, limit)
    slips = np.abs(f) >= limit * (1.0 - 1e-12)
    directions, sticking = directions.copy(), at_rest.copy()
    directions[indices[slips]], sticking[indices[slips]] = -np.sign(f[slips]), False
    return JointFrictionState(sticking, directions)


def corrected_friction_state(
    plant: Plant, joints: JointFrictionState, qd: np.ndarray, qdd: np.ndarray, forces: np.ndarray
) -> JointFrictionState:
    """The state after correcting the most violated joint; the same object if none is violated.

    Args:
        qdd: accelerations in this state, (nv,).
        forces: friction of the sticking joints. [N m, N]
    """
    load = np.abs(forces) / plant.friction[joints.sticking_indices]
    if len(load) and load.max() > 1.0 + FRICTION_TOL:
        worst = int(np.argmax(load))
        return joints.with_joint(int(joints.sticking_indices[worst]), -float(np.sign(forces[worst])))
    backwards = joints.slip_direction * qdd < -FRICTION_TOL * max(1.0, np.abs(qdd).max())
    reversing = np.flatnonzero(backwards & (np.abs(qd) <= REST_VELOCITY_TOL))
    return joints.with_joint(int(reversing[0]), 0.0) if len(reversing) else joints


def first_stick_slip_event(
    plant: Plant,
    joints: JointFrictionState,
    step: IntegratorStep,
    sticking_forces: Callable[[float, np.ndarray, np.ndarray], np.ndarray],
) -> float | None:
    """The first time in a step at which a slipping joint comes to rest, or a sticking one needs more than its friction.

    A joint is at rest when its velocity in slip direction falls below zero, or below its value at the start of the step.

    Args:
        sticking_forces: friction of the sticking joints as a function of time and state.
    """
    times = np.linspace(step.start, step.end, SUBDIVISIONS + 1)
    velocities = joints.slip_direction[:, None] * plant.split(step.states(times))[1]
    floor = np.minimum(velocities[:, 0], 0.0) - 1e-3 * REST_VELOCITY_TOL
    slipping = joints.slip_direction != 0.0

    def velocity(t: float, k: int) -> float:
        return float(joints.slip_direction[k] * plant.split(step.state(t))[1][k])

    def overload(t: float) -> float:
        forces = sticking_forces(t, *plant.split(step.state(t)))
        return float((np.abs(forces) / plant.friction[joints.sticking_indices]).max()) - 1.0 - FRICTION_TOL

    for i, (a, b) in enumerate(pairwise(times.tolist())):
        events = []
        for k in np.flatnonzero(slipping & (velocities[:, i + 1] < floor)).tolist():
            target = 0.0 if velocities[k, i] > REST_VELOCITY_TOL else float(floor[k])
            events.append(root(lambda t, k=k, target=target: velocity(t, k) - target, a, b))
        if len(joints.sticking_indices) and overload(b) > 0.0:
            events.append(root(overload, a, b))
        if events:
            return min(events)
    return None


def _max_dissipation(G: np.ndarray, a: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """min f^T G f / 2 + a · f within |f| <= limit: least squares with G = R^T R."""
    R = cholesky(0.5 * (G + G.T))
    return lsq_linear(R, -solve_triangular(R, a, trans=1), (-limit, limit), method="bvls", tol=1e-14).x
