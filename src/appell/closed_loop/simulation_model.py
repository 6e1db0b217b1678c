"""A robot with closed loops as `appell.simulate` sees it: all coordinates, independent speeds, drives at actuated joints.

The coordinates follow q̇ = N(q) G(q) u, which keeps the loops closed but for the error of the integrator; what that leaves
open is closed by Newton's method, with the shortest step of all joints, whenever it is more than the simulation allows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import qr

from appell.closed_loop.closing import EXACT, RCOND
from appell.closed_loop.singular import in_words, singularity_at
from appell.compiler.options import Options
from appell.errors import ModelError, SimulationError
from appell.model.joint_friction import JointFriction, joint_friction
from appell.robot.simulation_model import CompiledFunctions, StateLimits, TreeSimulationModel

if TYPE_CHECKING:
    from appell.closed_loop.robot import ClosedLoopRobot, CompiledClosedLoopRobot

STEPS = 8
"""Steps of Newton's method: from the error of an integrator two or three do."""


class LoopSimulationModel(CompiledFunctions):
    """A robot with closed loops, its functions as native code."""

    def __init__(self, robot: ClosedLoopRobot) -> None:
        self.robot, self.dynamics = robot, native(robot)
        tree, system = TreeSimulationModel(robot.open_tree), robot.system
        self.coordinates, self.contact_tree = tree.coordinates, None
        self.name, self.nq, self.nv, self.joint_names = robot.name, robot.nq, robot.nv, robot.joint_names
        self.q_names, self.qd_names, self.actuator_names = tree.q_names, robot.qd_names, robot.actuator_names
        independent, actuated = list(system.independent), list(system.actuated)
        lower, upper, velocity, effort = tree.limits
        self.limits = StateLimits(lower, upper, velocity[independent], effort[actuated])
        self.joint_friction, self.damping = _joint_friction(robot), tree.damping
        self._before: np.ndarray | None = None

    def actuator_forces(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return self.dynamics.actuator_jacobian(q, check=False).T @ tau

    def damping_forces(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """-G^T D G u with the damping D of all joints of the tree."""
        G = self.dynamics.speed_map(q, check=False)
        return -(G.T @ (self.damping * (G @ qd)))

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, forces: np.ndarray) -> np.ndarray:
        return self.dynamics.functions["accelerations", None]((q, qd, forces), check=False)

    def coordinate_rates(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.coordinates.rates(q, self.dynamics.joint_speeds(q, qd, check=False))

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return self._closed(self.coordinates.integrate(q, self.dynamics.joint_speeds(q, step, check=False)))

    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._closed(self.coordinates.normalize_quaternions(q)), qd

    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float:
        """How far the state is off. Asked after every step, so that a step over a singular configuration is seen here.

        Raises:
            SimulationError: the determinant of the dependent columns has changed its sign since the last step.
        """
        now = self.dynamics.closure_jacobian(q, check=False)[:, list(self.robot.system.dependent)]
        before, self._before = self._before, now
        if before is not None and _turned_over(before, now):
            raise SimulationError(
                f"the motion of {self.name!r} has passed a singular configuration in one step: with "
                f"{', '.join(self.qd_names)} held, it could move there. Choose other `speeds`, or ask for a smaller tolerance. "
                f"q = {np.array2string(q, precision=6)}.",
                state=np.concatenate([q, qd]), quantity="singular speeds",
            )  # fmt: skip
        return max(float(np.abs(self._residual(q)).max()), self.coordinates.quaternion_error(q))

    def nonfinite_reason(self, q: np.ndarray) -> str:
        found = singularity_at(self.robot.system, q, actuators=False)
        return "" if found is None else in_words(self.robot.system, found)

    def _residual(self, q: np.ndarray) -> np.ndarray:
        return self.dynamics.functions["residual", None]((q,), check=False)

    def _closed(self, q: np.ndarray) -> np.ndarray:
        """The same configuration with closed loops; unchanged where it cannot be improved."""
        left = self._residual(q)
        for _ in range(STEPS):
            size = np.abs(left).max()
            if not size > EXACT:
                break
            step = -np.linalg.pinv(self.dynamics.closure_jacobian(q, check=False), rcond=RCOND) @ left
            nearer = self.coordinates.integrate(q, step)
            left = self._residual(nearer)
            if not np.abs(left).max() < size:
                break
            q = nearer
        return q


def _turned_over(before: np.ndarray, now: np.ndarray) -> bool:
    """Whether columns have become dependent in between: their determinant, of rows that say most before, has another sign."""
    if not (np.isfinite(before).all() and np.isfinite(now).all()):
        return False
    rows = qr(before.T, mode="r", pivoting=True)[-1][: before.shape[1]]
    return np.linalg.slogdet(before[rows])[0] * np.linalg.slogdet(now[rows])[0] < 0.0


@lru_cache(maxsize=16)
def native(robot: ClosedLoopRobot) -> CompiledClosedLoopRobot:
    """The robot's functions as native code. One state a call needs no threads."""
    return robot.compiled(Options(threads=1))


def _joint_friction(robot: ClosedLoopRobot) -> JointFriction:
    """Damping of all joints, felt at the speeds in the reference configuration, and friction of independent speeds."""
    all_, names, own = joint_friction(robot.open_tree), robot.open_tree.qd_names, list(robot.system.independent)
    for k in robot.system.dependent:
        if all_.friction[k]:
            raise ModelError(
                f"{robot.name}: joint {names[k]} has Coulomb friction and no speed of its own. A simulation knows friction of "
                f"independent speeds only ({', '.join(robot.qd_names)}): name it in `speeds`, or set its friction to 0."
            )
    felt = robot.speed_map(robot.reference).T ** 2 @ np.array(all_.damping)
    return JointFriction(tuple(felt.tolist()), tuple(all_.friction[k] for k in own))
