"""The robot as a system of differential equations: what moves it, how it accelerates, what energy it has."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from appell.compiler.api import CompiledRobot, compile
from appell.errors import ArgumentError
from appell.simulation.rates import Coordinates

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.model.robot import Robot

Torque = Callable[[float, np.ndarray, np.ndarray], "ArrayLike"]
"""Forces of the drives from time, coordinates and speeds."""


class Plant:
    """A robot with its drives.

    Attributes:
        robot: what moves.
        dynamics: its functions as native code, so that equal runs give equal bits from the first one on.
        bad: the last number that was not finite although the state was, in words, with its time.
    """

    def __init__(self, robot: Robot, tau: ArrayLike | Torque | None = None) -> None:
        self.robot, self.dynamics = robot, native(robot)
        self.coordinates = Coordinates(robot)
        self.drive = _drive(robot, tau)
        self.passive = any(joint.damping or joint.friction for joint in robot.joints)
        self.bad: tuple[float, str] | None = None

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and speeds of a state vector (nq + nv,) or of many (nq + nv, N)."""
        return y[: self.robot.nq], y[self.robot.nq :]

    def torque(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Forces of the drives, (nv,). [N m, N]"""
        return np.asarray(self.drive(t, q, qd))

    def acceleration(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """qdd under the drives, damping and joint friction, (nv,); not finite where they are not."""
        tau = self.torque(t, q, qd)
        forces = tau + self.robot.passive_forces(qd) if self.passive else tau
        qdd = self.dynamics.forward_dynamics(q, qd, forces, check=False)
        if not np.isfinite(qdd).all() and np.isfinite(q).all() and np.isfinite(qd).all():
            name, array = ("qdd", qdd) if np.isfinite(tau).all() else ("tau", tau)
            first = int(np.flatnonzero(~np.isfinite(array))[0])
            self.bad = (t, f"{name}[{first}] = {array[first]}")
        return qdd

    def rate(self, y: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Rate of a state vector that accelerates with qdd."""
        q, qd = self.split(y)
        return np.concatenate([self.coordinates.rates(q, qd), qdd])

    def energy(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Kinetic plus potential energy of states (..., n). [J]"""
        return self.dynamics.kinetic_energy(q, qd) + self.dynamics.potential_energy(q)


@lru_cache(maxsize=16)
def native(robot: Robot) -> CompiledRobot:
    """The robot's functions as native code; interpreted where there is no compiler. One state a call needs no threads."""
    return compile(robot, threads=1)


def _drive(robot: Robot, tau: ArrayLike | Torque | None) -> Torque:
    if callable(tau):
        return lambda t, q, qd: _vector(tau(t, q, qd), robot.nv, "what tau returns")
    constant = np.zeros(robot.nv) if tau is None else _vector(tau, robot.nv, "tau")
    return lambda t, q, qd: constant


def _vector(value: ArrayLike, size: int, label: str) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{label} must be {size} numbers, got {type(value).__name__}.") from None
    if array.shape != (size,):
        raise ArgumentError(f"{label} has shape {array.shape}, expected ({size},).")
    return array
