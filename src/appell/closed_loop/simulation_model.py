"""Simulation models of robots with closed loops: all coordinates, independent velocities, actuators at actuated joints.

The coordinates follow q̇ = N(q) G(q) u, which keeps the loops closed up to the integration error. That error is removed by
Newton's method with minimum-norm steps whenever it exceeds the tolerance of the simulation. Spherical parallel robots have
independent coordinates, and nothing drifts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.closed_loop.contact import LoopContactSystem
from appell.closed_loop.position_closure import RCOND, RESIDUAL_TOL
from appell.closed_loop.singularity import describe_singularity, singularity_at
from appell.closed_loop.spherical.singularities import require_regular
from appell.errors import LoopClosureError, ModelError, SimulationError
from appell.model.joint_friction import JointFriction, joint_friction, spring_forces
from appell.robot.simulation_model import (
    CompiledFunctions,
    ContactFunctions,
    StateLimits,
    TreeSimulationModel,
    native,
    other_functions,
)

if TYPE_CHECKING:
    from appell.closed_loop.robot import ClosedLoopRobot
    from appell.closed_loop.spherical.robot import SphericalRobot

NEAR_SINGULAR = 0.05
"""Sine of a singular configuration within a step."""
MAX_ITERATIONS = 8
"""Of Newton's method; two or three suffice for integration errors."""


class ActuatedFunctions(CompiledFunctions):
    """Functions of a robot whose actuators act on some of its joints."""

    def actuator_forces(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return self.dynamics.actuator_jacobian(q, check=False).T @ tau

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, forces: np.ndarray) -> np.ndarray:
        if self.springs:
            G = self.dynamics.joint_velocity_jacobian(q, check=False)
            forces = forces + G.T @ spring_forces(self.springs, q, np.zeros(len(G)))
        return self.dynamics.functions["accelerations", None]((q, qd, forces), check=False)


class LoopSimulationModel(ActuatedFunctions):
    """A robot with closed loops, its functions as native code."""

    def __init__(self, robot: ClosedLoopRobot) -> None:
        self.robot, self.dynamics = robot, native(robot)
        tree, system = TreeSimulationModel(robot.spanning_tree), robot.system
        self.coordinates, self.contact_tree = tree.coordinates, robot.spanning_tree
        self.name, self.nq, self.nv, self.joint_names = robot.name, robot.nq, robot.nv, robot.joint_names
        self.q_names, self.qd_names, self.actuator_names = tree.q_names, robot.qd_names, robot.actuator_names
        independent, actuated = list(system.independent), list(system.actuated)
        lower, upper, velocity, effort = tree.limits
        self.limits = StateLimits(lower, upper, velocity[independent], effort[actuated])
        self.joint_friction, self.damping, self.springs = _joint_friction(robot), tree.damping, tree.springs
        self._before: np.ndarray | None = None

    def damping_forces(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """-G^T D G u with the damping D of all joints of the tree."""
        G = self.dynamics.joint_velocity_jacobian(q, check=False)
        return -(G.T @ (self.damping * (G @ qd)))

    def coordinate_rates(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.coordinates.rates(q, self.dynamics.joint_velocities(q, qd, check=False))

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return self._closed(self.coordinates.integrate(q, self.dynamics.joint_velocities(q, step, check=False)))

    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._closed(self.coordinates.normalize_quaternions(q)), qd

    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float:
        """Constraint error of a state. Called after every step, so that a step across a singular configuration is detected here.

        Raises:
            SimulationError: the determinant of the dependent columns has changed its sign since the last step.
        """
        self._before = self.require_regular(q[None], qd[None], self._before)
        return max(float(np.abs(self._residual(q)).max()), self.coordinates.quaternion_error(q))

    def require_regular(self, q: np.ndarray, qd: np.ndarray, before: np.ndarray | None = None) -> np.ndarray | None:
        A = self.dynamics.closure_jacobian(q, check=False)[..., list(self.robot.system.dependent)]
        if not np.isfinite(A).all():
            return None
        path = A if before is None else np.concatenate([before[None], A])
        products = np.swapaxes(path[:-1], -1, -2) @ path[1:]  # of square A their determinants' product
        crossed = np.linalg.slogdet(products)[0] < 0.0
        if crossed.any():
            k = int(np.argmax(crossed)) + len(A) - len(crossed)
            raise SimulationError(
                f"the motion of {self.name!r} has passed a singular configuration in one step: with "
                f"{', '.join(self.qd_names)} held, it could move there. Choose other `independent_velocities`, or a smaller "
                f"tolerance or step. q = {np.array2string(q[k], precision=6)}.",
                state=np.concatenate([q[k], qd[k]]), quantity="singular speeds",
            )  # fmt: skip
        return A[-1]

    def nonfinite_reason(self, q: np.ndarray) -> str:
        found = singularity_at(self.robot.system, q, actuators=False, bound=NEAR_SINGULAR)
        return "" if found is None else describe_singularity(self.robot.system, found)

    def contact_functions(self) -> ContactFunctions:
        dynamics, loops = self.dynamics.functions, self.robot.system
        own = other_functions(dynamics, LoopContactSystem(loops, self.springs, tuple(self.damping.tolist())))
        general = ("mass_matrix", "bias", "kinetic_energy", "potential_energy", "joint_velocities", "actuator_jacobian")
        evaluators = {**dict.fromkeys(general, dynamics), "link_motion": own, "closure_step": own}
        if self.springs:
            evaluators |= {"bias": own, "potential_energy": own}
        if self.damping.any():
            evaluators["damping_matrix"] = own
        links = range(len(loops.tree.links))
        return ContactFunctions(evaluators, [(i, k) for i in links for k in range(self.nv)], [-1 for _ in links])

    def _residual(self, q: np.ndarray) -> np.ndarray:
        return self.dynamics.functions["closure_residual", None]((q,), check=False)

    def _closed(self, q: np.ndarray) -> np.ndarray:
        """The configuration with closed loops; unchanged if it cannot be improved."""
        left = self._residual(q)
        for _ in range(MAX_ITERATIONS):
            size = np.abs(left).max()
            if not size > RESIDUAL_TOL:
                break
            step = -np.linalg.pinv(self.dynamics.closure_jacobian(q, check=False), rcond=RCOND) @ left
            nearer = self.coordinates.integrate(q, step)
            left = self._residual(nearer)
            if not np.abs(left).max() < size:
                break
            q = nearer
        return q


def _joint_friction(robot: ClosedLoopRobot) -> JointFriction:
    """Damping of all joints, reduced to qd at the reference configuration, and friction of the independent velocities."""
    tree_friction, names = joint_friction(robot.spanning_tree), robot.spanning_tree.qd_names
    for k in robot.system.dependent:
        if tree_friction.friction[k]:
            raise ModelError(
                f"{robot.name}: joint {names[k]} has Coulomb friction but its velocity is not independent. Simulations support "
                f"friction at independent velocities only ({', '.join(robot.qd_names)}): add it to `independent_velocities`, or "
                "set its friction to 0."
            )
    damping = robot.joint_velocity_jacobian(robot.reference_configuration).T ** 2 @ np.array(tree_friction.damping)
    return JointFriction(tuple(damping.tolist()), tuple(tree_friction.friction[k] for k in robot.system.independent))


class SphericalSimulationModel(ActuatedFunctions):
    """The closed form has no loops left to keep closed: coordinates are independent, and nothing drifts."""

    def __init__(self, robot: SphericalRobot) -> None:
        self.robot, self.dynamics, self.contact_tree = robot, native(robot), None
        self.name, self.nq, self.nv = robot.name, robot.nq, robot.nv
        self.joint_names = self.q_names = self.qd_names = robot.joint_names
        self.actuator_names = robot.actuator_names
        self.joint_friction = JointFriction((0.0,) * robot.nv, (0.0,) * robot.nv)
        free, effort = np.full(robot.nv, np.inf), np.full(len(robot.actuator_names), np.inf)
        self.limits = StateLimits(-free, free, free, effort)

    def damping_forces(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.zeros_like(qd)

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
