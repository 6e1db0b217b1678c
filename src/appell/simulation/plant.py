"""The plant: a robot with actuators, damping and joint friction as differential equations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.robot.simulation_model import SimulationModel
from appell.simulation.actuation import Actuation
from appell.simulation.joint_friction import JointFrictionState

if TYPE_CHECKING:
    from appell.simulation.phase import Phase

STIFF_DAMPING, DAMPING_TIME = 1e5, 1e-4
"""Damping that would stop a joint faster than this [1/s] is stiff: explicit methods give way to an implicit one, and where there
are surfaces it acts on the velocity so much later [s]."""
NEAR = 0.1
"""Rates of damping are those of a configuration whose coordinates are so near. [rad, m]"""


class MotionDerivative(NamedTuple):
    """Accelerations (nv,), and the power of actuators, of damping and joint friction, and of contact friction. [W]"""

    qdd: np.ndarray
    power: tuple[float, float, float]


class Plant:
    """A simulation model with actuation.

    Its state vector y is (q, qd) and, where non-conservative forces act, the work of each power of `MotionDerivative`.

    Attributes:
        effort_limits: largest forces of the actuators, (nu,), or None. [N m, N]
        friction: Coulomb friction at each generalized velocity, (nv,).
        tracks_work: whether work is part of the state vector.
        added_inertia: D T of joints whose damping D acts on their velocity a time T later (`follow_light_joints`), (nv,).
        first_nonfinite: time and text of the last non-finite number in a finite state.
    """

    def __init__(
        self,
        model: SimulationModel,
        actuation: Actuation,
        effort_limits: np.ndarray | None = None,
        tracks_work: bool = True,
    ) -> None:
        self.model, self.actuation, self.effort_limits = model, actuation, effort_limits
        self.friction = np.array(model.joint_friction.friction)
        self.passive = any(model.joint_friction.damping) or bool(self.friction.any())
        self.tracks_work = tracks_work or self.passive
        self.added_inertia = np.zeros(model.nv)
        self._damping_rate: tuple[np.ndarray, float] | None = None
        self.first_nonfinite: tuple[float, str] | None = None

    def follow_light_joints(self, q: np.ndarray) -> None:
        """Let damping that stops a joint at once act on its velocity DAMPING_TIME later, -D (qd + T qdd).

        The velocity then follows the forces within that time. Contacts would have to be resolved in the time in which it does
        so otherwise.
        """
        if not any(self.model.joint_friction.damping):
            return
        D = self.damping_matrix(q)
        light = damping_rates(self.model.mass_matrix(q), D) > STIFF_DAMPING
        if np.array_equal(D, np.diag(np.diag(D))):
            self.added_inertia = np.where(light, DAMPING_TIME * np.diag(D), 0.0)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M with the added inertia."""
        return self.model.mass_matrix(q) + np.diag(self.added_inertia)

    # --- state vectors ------------------------------------------------------------------------------------------------

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and qd of a state vector (m,) or of many (m, N)."""
        nq, nv = self.model.nq, self.model.nv
        return y[:nq], y[nq : nq + nv]

    def join(self, q: np.ndarray, qd: np.ndarray, work: np.ndarray) -> np.ndarray:
        """The state vector."""
        return np.concatenate([q, qd, work] if self.tracks_work else [q, qd])

    def work(self, y: np.ndarray) -> np.ndarray:
        """Work of the three powers, (3,). [J]"""
        return y[self.model.nq + self.model.nv :] if self.tracks_work else np.zeros(3)

    def balance(self, y: np.ndarray) -> float:
        """Energy less the work in a state vector. [J]"""
        return float(self.model.energy(*self.split(y)) - self.work(y).sum())

    def project(self, y: np.ndarray, phase: Phase) -> np.ndarray:
        """The state vector projected to the constraints of a phase."""
        return self.join(*phase.project_to_constraints(*self.split(y)), self.work(y))

    # --- forces -------------------------------------------------------------------------------------------------------

    def tau(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Forces of the actuators within their limits, (nu,) [N m, N], and a mask of those at their limit.

        Functions of the state get unit quaternions and closed loops, which trial states of an integrator do not have; where
        these are not finite, forces are not, either.
        """
        if not self.actuation.held:
            if not (np.isfinite(q).all() and np.isfinite(qd).all()):
                size = len(self.model.actuator_names)
                return np.full(size, np.nan), np.zeros(size, dtype=bool)
            q, _ = self.model.project_to_constraints(q, qd)
        tau, saturated = self.limited(self.actuation.desired_tau(t, q, qd))
        if not self.actuation.constant and not all_finite(tau):
            self.note_nonfinite(t, q, qd, "tau", tau)
        return tau, saturated

    def limited(self, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Forces within the limits of the actuators, and a mask of those at their limit."""
        if self.effort_limits is None:
            return tau, np.zeros(len(tau), dtype=bool)
        size = np.abs(tau)
        saturated = (size >= self.effort_limits) & (size > 0.0)
        return np.clip(tau, -self.effort_limits, self.effort_limits), saturated

    def derivative(self, t: float, q: np.ndarray, qd: np.ndarray, joints: JointFrictionState) -> MotionDerivative:
        """Motion under actuators, damping and friction of the slipping joints, without contact and with no joint held."""
        tau, _ = self.tau(t, q, qd)
        forces = active = self.model.actuator_forces(q, tau)
        passive_power = 0.0
        if self.passive:
            passive = self.model.damping_forces(q, qd) - self.friction * joints.slip_direction
            forces, passive_power = active + passive, float(passive @ qd)
        qdd = self.model.forward_dynamics(q, qd, forces)
        if not np.isfinite(qdd).all():
            self.note_nonfinite(t, q, qd, *(("qdd", qdd) if np.isfinite(tau).all() else ("tau", tau)))
        elif self.added_inertia.any():
            qdd = np.linalg.solve(self.mass_matrix(q), self.model.mass_matrix(q) @ qdd)
            passive_power -= float(self.added_inertia * qdd @ qd)
        return MotionDerivative(qdd, (float(active @ qd), passive_power, 0.0))

    def damping_matrix(self, q: np.ndarray) -> np.ndarray:
        """D with the generalized forces -D qd of damping, (nv, nv)."""
        if not any(self.model.joint_friction.damping):
            return np.zeros((self.model.nv, self.model.nv))
        return -np.array([self.model.damping_forces(q, unit) for unit in np.eye(self.model.nv)])

    def damping_rate(self, q: np.ndarray) -> float:
        """The largest of `damping_rates` at q, or near it. [1/s]"""
        if not any(self.model.joint_friction.damping):
            return 0.0
        if self._damping_rate is None or np.abs(q - self._damping_rate[0]).max() > NEAR:
            rates = damping_rates(self.mass_matrix(q), self.damping_matrix(q))
            self._damping_rate = np.array(q), float(rates.max())
        return self._damping_rate[1]

    def fastest(self, q: np.ndarray, qd: np.ndarray) -> str:
        """The largest velocity, and why accelerations are not finite if the model knows."""
        k, reason = int(np.argmax(np.abs(qd))), self.model.nonfinite_reason(q)
        return f"qd[{k}] = {qd[k]:.6g}{f' ({reason})' if reason else ''}"

    def note_nonfinite(self, t: float, q: np.ndarray, qd: np.ndarray, name: str, array: np.ndarray) -> None:
        """Keep the first entry of an array that is not finite as `first_nonfinite` if the state is finite."""
        if np.isfinite(q).all() and np.isfinite(qd).all():
            reason = self.model.nonfinite_reason(q)
            self.first_nonfinite = (t, f"{first_nonfinite(name, array)}{f' ({reason})' if reason else ''}")


def all_finite(array: np.ndarray) -> bool:
    """Whether all entries are finite, in less time than `np.isfinite` where they are."""
    return math.isfinite(np.add.reduce(array)) or bool(np.isfinite(array).all())


def first_nonfinite(name: str, array: np.ndarray) -> str:
    """The first entry of an array that is not finite."""
    first = int(np.flatnonzero(~np.isfinite(array))[0])
    return f"{name}[{first}] = {array[first]}"


def damping_rates(M: np.ndarray, D: np.ndarray) -> np.ndarray:
    """How fast damping would stop each joint while the others are free: the diagonal of D times that of M⁻¹, (nv,). [1/s]"""
    return np.diag(D) * np.diag(np.linalg.inv(M)) if D.any() else np.zeros(len(D))
