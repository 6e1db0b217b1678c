"""The experiment of Mata 2002, section 5.2, and Provenzano 2002, section 4.

Inverse kinematics and inverse dynamics of a straight line give torques; forward dynamics and a Runge-Kutta method turn them
into a motion again, without any feedback; the motion is compared with the line every 0.1 s.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from appell.kinematics.trajectories import PathReference, mata2002_line
from appell.loading.catalogue import build
from appell.robot.robot import Robot
from appell_lab.reproduce.mata2002_methods import ForwardDynamics

INTERVAL, TOLERANCE = 0.1, 1e-6
"""Of the paper: time between the points at which torques are known and results compared [s]; of the integration."""
BRANCH = "left/above/no_flip"
"""The paper does not give the branch of its robot."""


@dataclass(frozen=True, eq=False)
class Replay:
    """A line and the torques that belong to it."""

    robot: Robot
    line: PathReference

    @cached_property
    def t(self) -> np.ndarray:
        """The instants, 0, 0.1, ... (N,). [s]"""
        return np.linspace(0.0, self.line.duration, round(self.line.duration / INTERVAL) + 1)

    @cached_property
    def reference(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, qd, qdd of the line at the instants, (N, n)."""
        return self.line(self.t)

    @cached_property
    def torques(self) -> np.ndarray:
        """Inverse dynamics at the instants, (N, n). [N m]"""
        return self.robot.inverse_dynamics(*self.reference)

    def straight(self, t: float) -> np.ndarray:
        """Torques between the instants by straight lines."""
        k = min(int(t / INTERVAL), len(self.t) - 2)
        u = (t - self.t[k]) / INTERVAL
        return (1.0 - u) * self.torques[k] + u * self.torques[k + 1]

    def exact(self, t: float) -> np.ndarray:
        """Torques from inverse dynamics at every time of the integration."""
        return self.robot.inverse_dynamics(*self.line(t))


@dataclass(frozen=True, eq=False)
class Outcome:
    """A replayed motion.

    Attributes:
        q, qd, qdd: at the instants, (N, n).
        errors: mean magnitudes of the differences to the line, of q, qd and qdd, (3, n).
        away: largest difference of a coordinate at each instant, (N,). [rad]
        evaluations: of forward dynamics.
        seconds: that the whole integration took here.
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    errors: np.ndarray
    away: np.ndarray
    evaluations: int
    seconds: float

    @property
    def rate(self) -> float:
        """Growth of the difference over the second half of the time, when it has settled to one direction. [1/s]"""
        late = self.t > 0.5 * self.t[-1]
        return float(np.polyfit(self.t[late], np.log(self.away[late]), 1)[0])


@cache
def replay(branch: str = BRANCH) -> Replay:
    """The line of the paper with the PUMA of Valera 2003."""
    robot = build("puma560")
    return Replay(robot, mata2002_line(robot, branch))


def run(case: Replay, method: str, torque: Callable[[float], np.ndarray] | None = None) -> Outcome:
    """Integrate the motion that the torques give, from instant to instant, with Dormand and Prince's pair of orders 4 and 5."""
    from scipy.integrate import RK45

    torque = torque or case.straight
    forward, n = ForwardDynamics(case.robot, method), case.robot.nv
    q, qd, qdd = case.reference
    y = np.concatenate([q[0], qd[0]])
    forward(q[0], qd[0], case.torques[0])  # compiled before the time is taken
    states, evaluations, start = [y], 0, time.process_time()

    def rate(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], forward(y[:n], y[n:], torque(t))])

    for begin, end in zip(case.t[:-1], case.t[1:], strict=True):
        solver = RK45(rate, begin, y, end, rtol=TOLERANCE, atol=TOLERANCE)
        while solver.status == "running":
            solver.step()
        y = solver.y
        states.append(y)
        evaluations += solver.nfev
    seconds = time.process_time() - start
    got_q, got_qd = np.split(np.array(states), 2, axis=1)
    got_qdd = forward(got_q, got_qd, case.torques)
    pairs = ((got_q, q), (got_qd, qd), (got_qdd, qdd))
    errors = np.array([np.abs(got - right).mean(axis=0) for got, right in pairs])
    return Outcome(
        case.t, got_q, got_qd, got_qdd, errors, np.abs(got_q - q).max(axis=1), evaluations, seconds
    )  # fmt: skip
