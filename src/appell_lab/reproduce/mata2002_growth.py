"""Why torques that are replayed without feedback lead away from the motion they belong to.

Small differences to a motion obey the equations of motion linearised about it:

    d/dt [δq; δqd] = F(t) [δq; δqd],    F = [[0, 1], [∂q̈/∂q, ∂q̈/∂q̇]]  at constant torque.

An arm held up against gravity by torques alone is an upside-down pendulum: F has a positive eigenvalue λ, and differences
grow like exp(λ t). Their rates then grow alike, |δqd| = λ |δq| and |δqdd| = λ² |δq|.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from appell_lab.reproduce.mata2002_replay import Replay

STEPS = 250
"""Of the fourth-order Runge-Kutta method along the line."""
DIFFERENCE = 1e-6
"""For derivatives of accelerations by central differences. [rad, rad/s]"""


@dataclass(frozen=True, eq=False)
class Growth:
    """How differences to a motion grow.

    Attributes:
        t: times, (K,). [s]
        amplification: greatest factor by which a difference at t = 0 has grown, (K,).
        eigenvalues: greatest real part of the eigenvalues of F, (K,). [1/s]
    """

    t: np.ndarray
    amplification: np.ndarray
    eigenvalues: np.ndarray

    @property
    def rate(self) -> float:
        """Over the second half of the time. [1/s]"""
        late = self.t > 0.5 * self.t[-1]
        return float(np.polyfit(self.t[late], np.log(self.amplification[late]), 1)[0])


@cache
def growth(case: Replay) -> Growth:
    """Integrate Φ' = F Φ, Φ(0) = 1; the amplification is the greatest singular value of Φ."""
    t = np.linspace(0.0, case.line.duration, 2 * STEPS + 1)
    F = linearised(case, t)
    h = t[2] - t[0]
    Phi = np.eye(2 * case.robot.nv)
    amplification = [1.0]
    for k in range(0, 2 * STEPS, 2):
        k1 = F[k] @ Phi
        k2 = F[k + 1] @ (Phi + 0.5 * h * k1)
        k3 = F[k + 1] @ (Phi + 0.5 * h * k2)
        k4 = F[k + 2] @ (Phi + h * k3)
        Phi = Phi + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        amplification.append(float(np.linalg.norm(Phi, 2)))
    eigenvalues = np.linalg.eigvals(F[::2]).real.max(axis=-1)
    return Growth(t[::2], np.array(amplification), eigenvalues)


def linearised(case: Replay, t: np.ndarray) -> np.ndarray:
    """F at times (K,) along the line, (K, 2n, 2n)."""
    robot, n = case.robot, case.robot.nv
    q, qd, qdd = case.line(t)
    tau = robot.inverse_dynamics(q, qd, qdd)[:, None]
    steps = DIFFERENCE * np.concatenate([np.eye(2 * n), -np.eye(2 * n)])  # forwards, then backwards
    shifted_q, shifted_qd = q[:, None] + steps[:, :n], qd[:, None] + steps[:, n:]
    a = robot.forward_dynamics(shifted_q, shifted_qd, np.broadcast_to(tau, shifted_q.shape))
    slopes = (a[:, : 2 * n] - a[:, 2 * n :]) / (2.0 * DIFFERENCE)  # (K, 2n, n)
    F = np.zeros((len(t), 2 * n, 2 * n))
    F[:, :n, n:] = np.eye(n)
    F[:, n:] = np.swapaxes(slopes, 1, 2)
    return F
