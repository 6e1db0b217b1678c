"""Interface between robots and simulators: the protocol `SimulationModel`, its implementation for trees, violations of limits.

Every robot has a method `simulation_model()` that returns its own implementation. `appell.simulate` uses nothing else of a
robot, so that it does not depend on the type of robot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from appell.algorithms.coordinate_rates import (
    coordinate_rates,
    normalize_quaternions,
    quasi_velocity_joints,
    quaternions,
)
from appell.algorithms.link_motion import LinkMotionSystem, unit_twists
from appell.algorithms.springs import SprungSystem
from appell.algorithms.system import System
from appell.compiler.evaluate import Evaluator, evaluator_of
from appell.compiler.options import Options
from appell.deprecation import renamed_attributes, warn_renamed
from appell.errors import ArgumentError
from appell.model.joint_friction import JointFriction, Spring, joint_friction, spring_energy, spring_forces
from appell.model.joints import KINDS
from appell.robot.compiled import CompiledRobot, compile
from appell.robot.protocol import AnyRobot

if TYPE_CHECKING:
    from appell.robot.robot import Robot


@renamed_attributes(joint="name", time="start", most="worst")
@dataclass(frozen=True)
class LimitViolation:
    """An interval of time in which a joint exceeds one of its limits.

    Attributes:
        name: of the joint, the coordinate or the velocity.
        quantity: `"position"`, `"velocity"`, `"acceleration"` or `"effort"`.
        bound: `"lower"` or `"upper"`; of simulated velocities, `"upper"` bound of the magnitude.
        start, end: first and last time beyond the limit; of simulations, as seen at the integrator's steps. [s]
        worst: greatest distance beyond the limit. [unit]
        limit_value, worst_time: the limit [unit] and the time of the worst value [s]; None in simulations.
    """

    name: str
    quantity: str
    bound: str
    start: float
    end: float
    worst: float
    limit_value: float | None = None
    worst_time: float | None = None
    unit: str = ""

    @property
    def value(self) -> float | None:
        """The value farthest beyond the limit; None in simulations. [unit]"""
        sign = 1.0 if self.bound == "upper" else -1.0
        return None if self.limit_value is None else self.limit_value + sign * self.worst

    @property
    def limit(self) -> float | str:
        """Former name of `limit_value`; of simulations `"lower"`, `"upper"` or `"speed"`."""
        warn_renamed("LimitViolation.limit", "limit_value; quantity and bound in simulations")
        if self.limit_value is not None:
            return self.limit_value
        return "speed" if self.quantity == "velocity" else self.bound

    def __str__(self) -> str:
        start = f"exceeded first at t = {self.start:.4g} s"
        if self.limit_value is None:
            return f"{self.name!r}: {self.bound} {self.quantity} limit {start}, by up to {self.worst:.6g}"
        return (
            f"joint {self.name!r}: {self.quantity} {self.value:.6g} {self.unit} at t = {self.worst_time:.4g} s, limit "
            f"{self.limit_value:.6g} {self.unit}, {start}"
        )


class StateLimits(NamedTuple):
    """Limits of a robot, infinite where there are none.

    Attributes:
        lower, upper: of the configuration, (nq,). [rad, m]
        velocity: largest, (nv,). [rad/s, m/s]
        effort: largest force of the actuators, (nu,). [N m, N]
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class ContactFunctions(NamedTuple):
    """Functions that contact needs in compiled code.

    Attributes:
        evaluators: of `mass_matrix`, `bias`, `link_motion`, `kinetic_energy` and `potential_energy`, with springs in bias and
            potential energy; of closed loops also of `joint_velocities`, `closure_step`, `damping_matrix` and
            `actuator_jacobian`.
        units: link and index in qd of every unit twist of `link_motion`.
        parents: link whose unit twists move a link as well, -1 for none, of every link.
    """

    evaluators: Mapping[str, Evaluator]
    units: Sequence[tuple[int, int]]
    parents: Sequence[int]


class SimulationModel(Protocol):
    """Equations of motion in one state at a time, q (nq,) and qd (nv,).

    The generalized velocities qd may be any nv independent ones. Non-finite inputs give non-finite results, not exceptions.

    Attributes:
        joint_names: joints with coordinates.
        q_names, qd_names, actuator_names: of the entries of q (nq,), qd (nv,) and tau (nu,).
        joint_friction: Coulomb friction at each generalized velocity; of damping only whether there is any matters.
        limits: limits that a trajectory reports, and the effort limits of `effort_limits="robot"`.
        contact_tree: the tree whose frames can touch surfaces; None where contact is not supported.

    Methods:
        forward_dynamics: qdd (nv,) under generalized forces (nv,) and springs.
        actuator_forces, damping_forces: generalized forces (nv,) of the actuators tau (nu,), and of damping.
        energy: kinetic plus potential energy, with that of springs, of states (..., nq), (..., nv). [J]
        coordinate_rates: q̇, (nq,).
        project_to_constraints: the nearest state with unit quaternions and closed loops.
        constraint_error: distance to the constraints; above 1e-10 the state is projected to them. [1, m]
        require_regular: raise where a path of states q (N, nq), qd (N, nv) passes a singular configuration; returns what the
            next part of the path needs of its end as `before`.
        nonfinite_reason: why results are not finite in this configuration; empty where the reason is unknown.
        integrate: the configuration after a step (nv,) along the generalized velocities, for `midpoint` and contact.
        mass_matrix: M (nv, nv), for `midpoint`, contact and joint friction.
        coriolis_matrix: a C (nv, nv) with Ṁ = C + C^T, for `midpoint`.
        contact_functions, random_configuration: what contact needs in compiled code, and a configuration at which points that
            move differently can be told apart, by a seed; only called where there is a `contact_tree`.
    """

    name: str
    nq: int
    nv: int
    joint_names: tuple[str, ...]
    q_names: tuple[str, ...]
    qd_names: tuple[str, ...]
    actuator_names: tuple[str, ...]
    joint_friction: JointFriction
    limits: StateLimits
    contact_tree: Robot | None

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, forces: np.ndarray) -> np.ndarray: ...
    def actuator_forces(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray: ...
    def damping_forces(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray: ...
    def energy(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray: ...
    def coordinate_rates(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray: ...
    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...
    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float: ...
    def require_regular(self, q: np.ndarray, qd: np.ndarray, before: Any = None) -> Any: ...
    def nonfinite_reason(self, q: np.ndarray) -> str: ...
    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray: ...
    def mass_matrix(self, q: np.ndarray) -> np.ndarray: ...
    def coriolis_matrix(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray: ...
    def contact_functions(self) -> ContactFunctions: ...
    def random_configuration(self, seed: int) -> np.ndarray: ...


class CompiledFunctions:
    """The functions that every compiled robot has under the same name."""

    robot: Any
    dynamics: Any
    contact_tree: Robot | None = None
    springs: tuple[Spring, ...] = ()

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        return self.dynamics.mass_matrix(q, check=False)

    def coriolis_matrix(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.dynamics.coriolis_matrix(q, qd, check=False)

    def require_regular(self, q: np.ndarray, qd: np.ndarray, before: Any = None) -> Any:
        return None

    def contact_functions(self) -> ContactFunctions:
        raise ArgumentError("contact is not supported for this type of robot.")

    def random_configuration(self, seed: int) -> np.ndarray:
        return self.robot.random_configuration(seed)

    def energy(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.dynamics.kinetic_energy(q, qd) + self.dynamics.potential_energy(q) + spring_energy(self.springs, q)


class ConfigurationSpace:
    """Rates and steps of the configuration of a tree."""

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.free = quasi_velocity_joints(robot.tree)
        self.quaternions = [slice(begin, begin + 4) for _, begin in quaternions(self.free)]

    def rates(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """q̇, (nq,)."""
        return np.array(coordinate_rates(self.free, q.tolist(), qd.tolist())) if self.free else qd

    def integrate(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The configuration after a step (nv,) along the generalized velocities, (nq,)."""
        return self.robot.integrate(q, step) if self.free else q + step

    def quaternion_error(self, q: np.ndarray) -> float:
        """Largest deviation of a quaternion from unit length."""
        return max((abs(float(np.linalg.norm(q[part])) - 1.0) for part in self.quaternions), default=0.0)

    def normalize_quaternions(self, q: np.ndarray) -> np.ndarray:
        """The same configuration with unit quaternions, (nq,)."""
        return np.array(normalize_quaternions(self.free, q.tolist())) if self.quaternions else q


class TreeSimulationModel(CompiledFunctions):
    """A `Robot`, with native code from the first call on, so that equal runs give equal bits."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.dynamics = robot, native(robot)
        self.coordinates, self.contact_tree = ConfigurationSpace(robot), robot
        self.coordinate_rates, self.integrate = self.coordinates.rates, self.coordinates.integrate
        self.name, self.nq, self.nv, self.joint_names = robot.name, robot.nq, robot.nv, robot.joint_names
        self.joint_friction, self.limits = joint_friction(robot), state_limits(robot)
        self.damping, self.springs = np.array(self.joint_friction.damping), self.joint_friction.springs
        self.q_names, self.qd_names, self.actuator_names = robot.q_names, robot.qd_names, robot.qd_names

    def forward_dynamics(self, q: np.ndarray, qd: np.ndarray, forces: np.ndarray) -> np.ndarray:
        return self.dynamics.forward_dynamics(q, qd, spring_forces(self.springs, q, forces), check=False)

    def actuator_forces(self, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return tau

    def damping_forces(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return -self.damping * qd

    def project_to_constraints(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.coordinates.normalize_quaternions(q), qd

    def constraint_error(self, q: np.ndarray, qd: np.ndarray) -> float:
        return self.coordinates.quaternion_error(q)

    def nonfinite_reason(self, q: np.ndarray) -> str:
        return ""

    def contact_functions(self) -> ContactFunctions:
        tree, dynamics = self.robot.tree, self.dynamics.functions
        sprung = other_functions(dynamics, SprungSystem(tree, self.springs)) if self.springs else dynamics
        evaluators = {
            "mass_matrix": dynamics, "bias": sprung, "link_motion": other_functions(dynamics, LinkMotionSystem(tree)),
            "kinetic_energy": dynamics, "potential_energy": sprung,
        }  # fmt: skip
        return ContactFunctions(evaluators, unit_twists(tree), [link.parent for link in tree.links])


def other_functions(functions: Evaluator, system: System) -> Evaluator:
    """Further functions of a robot in compiled code, kept with those it has."""
    return functions.program(type(system), lambda: evaluator_of(system, Options(threads=1)))


def simulation_model_of(robot: Any) -> SimulationModel:
    """`robot.simulation_model()`, or an error for what is not a robot."""
    model = getattr(robot, "simulation_model", None)
    if model is None:
        remedy = f" Load it first: appell.load({robot!r})." if isinstance(robot, str) else ""
        raise ArgumentError(f"robot is a {type(robot).__name__}, expected an appell.Robot.{remedy}")
    return model()


@lru_cache(maxsize=16)
def native(robot: AnyRobot) -> CompiledRobot:
    """The robot compiled for calls with one state; interpreted where there is no compiler."""
    return compile(robot, threads=1)


def state_limits(robot: Robot) -> StateLimits:
    """Limits of all joints of a tree, by entries of q and qd."""
    lower, upper, velocity, effort = [], [], [], []
    for joint in robot.moving_joints:
        kind, limits = KINDS[joint.kind], joint.limits
        lower += [limits.lower if kind.limited else -np.inf] * kind.nq
        upper += [limits.upper if kind.limited else np.inf] * kind.nq
        velocity += [limits.velocity] * kind.nv
        effort += [limits.effort] * kind.nv
    return StateLimits(*map(np.array, (lower, upper, velocity, effort)))
