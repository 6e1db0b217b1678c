"""Simulation model of a spherical parallel robot: coordinates are Euler angles, actuators the actuated joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.closed_loop.spherical.singularities import require_regular
from appell.errors import LoopClosureError
from appell.model.joint_friction import JointFriction
from appell.robot.simulation_model import CompiledFunctions, StateLimits, native

if TYPE_CHECKING:
    from appell.closed_loop.spherical.robot import SphericalRobot


class SphericalSimulationModel(CompiledFunctions):
    """The closed form has no loops left to keep closed: coordinates are independent, and nothing drifts."""

    def __init__(self, robot: SphericalRobot) -> None:
        self.robot, self.dynamics, self.contact_tree = robot, native(robot), None
        self.name, self.nq, self.nv = robot.name, robot.nq, robot.nv
        self.joint_names = self.q_names = self.qd_names = robot.joint_names
        self.actuator_names = robot.actuator_names
        self.joint_friction = JointFriction((0.0,) * robot.nv, (0.0,) * robot.nv)
        free, effort = np.full(robot.nv, np.inf), np.full(len(robot.actuator_names), np.inf)
        self.limits = StateLimits(-free, free, free, effort)

    def actuator_forces(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return self.dynamics.actuator_jacobian(q, check=False).T @ tau

    def damping_forces(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.zeros_like(qd)

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, forces: np.ndarray) -> np.ndarray:
        return self.dynamics.functions["accelerations", None]((q, qd, forces), check=False)

    def coordinate_rates(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return qd

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return q + step

    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return q, qd

    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float:
        return 0.0

    def nonfinite_reason(self, q: np.ndarray) -> str:
        try:
            require_regular(self.robot.system, q, "forward_dynamics")
        except LoopClosureError as error:
            return str(error)
        return ""
