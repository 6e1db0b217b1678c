"""The robot as a system of differential equations: what moves it, how it accelerates, and the power of each force."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.simulation.grip import Grip

if TYPE_CHECKING:
    from appell.robot.simulation_model import SimulationModel
    from appell.simulation.drive import Drive


class Motion(NamedTuple):
    """How a state goes on.

    Attributes:
        qdd: accelerations, (nv,).
        power: of the drives, of damping and friction in the joints, of friction on walls, (3,). [W]
    """

    qdd: np.ndarray
    power: tuple[float, float, float]


class Plant:
    """A robot with its drives.

    Its state vector y is coordinates, speeds and, where anything but gravity does work, the work of the three forces of
    `Motion.power` since the beginning.

    Attributes:
        model: what moves.
        effort: what the drives can give at most, (nu,). [N m, N]
        friction: of each speed, (nv,).
        works: whether work is counted.
        bad: the last number that was not finite although the state was, in words, with its time.
    """

    def __init__(
        self, model: SimulationModel, drive: Drive, effort: np.ndarray | None = None, works: bool = True
    ) -> None:
        self.model, self.drive, self.effort = model, drive, effort
        self.friction = np.array(model.joint_friction.friction)
        self.passive = any(model.joint_friction.damping) or bool(self.friction.any())
        self.works = works or self.passive
        self.bad: tuple[float, str] | None = None

    # --- state vectors ------------------------------------------------------------------------------------------------

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and speeds of a state vector (m,) or of many (m, N)."""
        nq, nv = self.model.nq, self.model.nv
        return y[:nq], y[nq : nq + nv]

    def joined(self, q: np.ndarray, qd: np.ndarray, work: np.ndarray) -> np.ndarray:
        """The state vector."""
        return np.concatenate([q, qd, work] if self.works else [q, qd])

    def work(self, y: np.ndarray) -> np.ndarray:
        """Work of the three forces, (3,). [J]"""
        return y[self.model.nq + self.model.nv :] if self.works else np.zeros(3)

    def rate(self, y: np.ndarray, motion: Motion) -> np.ndarray:
        """Rate of a state vector."""
        q, qd = self.split(y)
        rates = self.model.coordinate_rates(q, qd)
        return np.concatenate([rates, motion.qdd, motion.power] if self.works else [rates, motion.qdd])

    # --- forces -------------------------------------------------------------------------------------------------------

    def torque(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Forces of the drives within their limits, (nu,). [N m, N]"""
        tau = self.drive.demand(t, q, qd)
        return tau if self.effort is None else np.clip(tau, -self.effort, self.effort)

    def saturated(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Which drives give all they can, (nu,)."""
        if self.effort is None:
            return np.zeros(len(self.model.actuator_names), dtype=bool)
        size = np.abs(self.drive.demand(t, q, qd))
        return (size >= self.effort) & (size > 0.0)

    def motion(self, t: float, q: np.ndarray, qd: np.ndarray, grip: Grip) -> Motion:
        """What the drives, damping and friction do, without walls; not finite where they are not."""
        tau = self.torque(t, q, qd)
        forces = driven = self.model.actuator_forces(q, tau)
        lost = 0.0
        if self.passive:
            passive = self.model.damping_forces(q, qd) - self.friction * grip.way
            forces, lost = driven + passive, float(passive @ qd)
        qdd = self.model.forward_dynamics(q, qd, forces)
        if not np.isfinite(qdd).all():
            self._note(t, q, qd, tau, qdd)
        elif len(grip.stuck):
            response = self.response(q, grip.stuck)
            qdd = qdd + response @ self._against(response, qdd, grip)
            qdd[grip.stuck] = 0.0
        return Motion(qdd, (float(driven @ qd), lost, 0.0))

    def holding(
        self, t: float, q: np.ndarray, qd: np.ndarray, grip: Grip, walls: np.ndarray | None = None
    ) -> np.ndarray:
        """Forces that hold the joints that stick, while walls act with these forces on the speeds (nv,). [N m, N]"""
        qdd = self.motion(t, q, qd, Grip(np.zeros_like(grip.sticks), grip.way)).qdd
        if walls is not None:
            qdd = qdd + np.linalg.solve(self.model.mass_matrix(q), walls)
        return self._against(self.response(q, grip.stuck), qdd, grip)

    def response(self, q: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Accelerations (nv, k) under unit forces on these speeds: columns of M⁻¹."""
        M = self.model.mass_matrix(q)
        return np.linalg.solve(M, np.eye(len(M))[:, which])

    def _against(self, response: np.ndarray, qdd: np.ndarray, grip: Grip) -> np.ndarray:
        """Forces on the joints that stick that take away their accelerations."""
        return -np.linalg.solve(response[grip.stuck], qdd[grip.stuck])

    def _note(self, t: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, qdd: np.ndarray) -> None:
        """Remember the first bad number, if the state is not to blame."""
        if np.isfinite(q).all() and np.isfinite(qd).all():
            name, array = ("qdd", qdd) if np.isfinite(tau).all() else ("tau", tau)
            first = int(np.flatnonzero(~np.isfinite(array))[0])
            trouble = self.model.nonfinite_reason(q)
            self.bad = (t, f"{name}[{first}] = {array[first]}{f' ({trouble})' if trouble else ''}")
