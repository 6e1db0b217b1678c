"""The robot as a system of differential equations: what moves it, how it accelerates, what energy it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.simulation.mechanism import Mechanism

Torque = Callable[[float, np.ndarray, np.ndarray], "ArrayLike"]
"""Forces of the drives from time, coordinates and speeds."""


class Plant:
    """A robot with its drives.

    Attributes:
        mechanism: what moves.
        bad: the last number that was not finite although the state was, in words, with its time.
    """

    def __init__(self, mechanism: Mechanism, tau: ArrayLike | Torque | None = None) -> None:
        self.mechanism = mechanism
        self.drive = _drive(mechanism.nv, tau)
        self.passive = any(mechanism.losses.damping) or any(mechanism.losses.friction)
        self.bad: tuple[float, str] | None = None

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and speeds of a state vector (nq + nv,) or of many (nq + nv, N)."""
        return y[: self.mechanism.nq], y[self.mechanism.nq :]

    def torque(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Forces of the drives, (nv,). [N m, N]"""
        return np.asarray(self.drive(t, q, qd))

    def acceleration(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """qdd under the drives, damping and joint friction, (nv,); not finite where they are not."""
        tau = self.torque(t, q, qd)
        forces = tau + self.mechanism.losses.forces(qd) if self.passive else tau
        qdd = self.mechanism.forward_dynamics(q, qd, forces)
        if not np.isfinite(qdd).all() and np.isfinite(q).all() and np.isfinite(qd).all():
            name, array = ("qdd", qdd) if np.isfinite(tau).all() else ("tau", tau)
            first = int(np.flatnonzero(~np.isfinite(array))[0])
            self.bad = (t, f"{name}[{first}] = {array[first]}")
        return qdd

    def rate(self, y: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Rate of a state vector that accelerates with qdd."""
        q, qd = self.split(y)
        return np.concatenate([self.mechanism.rates(q, qd), qdd])


def _drive(size: int, tau: ArrayLike | Torque | None) -> Torque:
    if callable(tau):
        return lambda t, q, qd: _vector(tau(t, q, qd), size, "what tau returns")
    constant = np.zeros(size) if tau is None else _vector(tau, size, "tau")
    return lambda t, q, qd: constant


def _vector(value: ArrayLike, size: int, label: str) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{label} must be {size} numbers, got {type(value).__name__}.") from None
    if array.shape != (size,):
        raise ArgumentError(f"{label} has shape {array.shape}, expected ({size},).")
    return array
