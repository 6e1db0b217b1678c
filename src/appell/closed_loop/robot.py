"""Robots with closed loops: a spanning tree, loop closures and actuated joints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_choice
from appell.closed_loop.closures import LoopClosure
from appell.closed_loop.position_closure import ClosureSolution, continuation, newton_closure
from appell.closed_loop.singularity import Singularity, singularity_at
from appell.closed_loop.system import LoopSystem, system_of
from appell.deprecation import renamed_arguments, renamed_attributes
from appell.errors import ArgumentError, LoopClosureError
from appell.model.description import velocity_indices
from appell.model.joint_friction import joint_friction
from appell.model.joints import KINDS
from appell.model.point import Point
from appell.robot.default_points import default_points
from appell.robot.distances import Distances
from appell.robot.protocol import AnyRobot, delegated
from appell.robot.robot import Robot

if TYPE_CHECKING:
    from appell.closed_loop.simulation_model import LoopSimulationModel


@renamed_attributes(
    close="solve_loop_closure", coordinate_names="q_names", open_tree="spanning_tree", reference="reference_configuration",
    speed_names="qd_names", speeds="independent_velocities", tree="system",
)  # fmt: skip
@dataclass(frozen=True)
class ClosedLoopRobot(AnyRobot):
    """A tree of bodies with loop closures; made by `appell.close_loops`.

    q are the coordinates of all joints of the tree and must close the loops; qd are independent velocities, some of the
    tree's own (`qd_names`); tau are the forces of the actuated joints (`actuator_names`).

    Attributes:
        spanning_tree: the tree without the loop closures.
        closures: the loop closures.
        actuated: names of the joints with an actuator; the others are passive.
        independent_velocities: names of the entries of qd, `joint` or `joint.wx`.
        reference_configuration: a closed configuration, at which the independent velocities were chosen, (nq,).

    Example:
        >>> import appell
        >>> appell.load("four_bar")
        ClosedLoopRobot('four_bar', 5 bodies, nq=3, nv=1, independent velocities: crank; actuators: crank; closures: knee)
    """

    spanning_tree: Robot
    closures: tuple[LoopClosure, ...]
    actuated: tuple[str, ...]
    independent_velocities: tuple[str, ...]
    reference_configuration: tuple[float, ...]

    @cached_property
    def system(self) -> LoopSystem:
        """The numerical model that the algorithms take."""
        return system_of(self)

    name = delegated("spanning_tree.name")
    source = delegated("spanning_tree.source", "Source of the tree's description.")
    nq = delegated("spanning_tree.nq", "Number of coordinates of all joints.")
    q_names = delegated("spanning_tree.q_names", "Names of the entries of q.")
    joint_names = delegated("spanning_tree.joint_names", "Names of all joints with coordinates, in the order of q.")
    first_coordinates = delegated(
        "spanning_tree.first_coordinates",
        "Indices of the first coordinate of each joint in q, and of its first velocity in those of all joints.",
    )
    body_names = delegated("spanning_tree.body_names", "Names of all bodies, which are also the names of the frames.")
    gravity_vector = delegated("spanning_tree.gravity_vector", "Acceleration of free fall in the world. [m/s²]")
    rotors = delegated(
        "spanning_tree.rotors", "Number of links with a rotor; the last entries of `parameters` are theirs."
    )
    actuators = delegated("spanning_tree.actuators", "Actuators of the description.")
    postures = delegated(
        "spanning_tree.postures", "Named configurations of the description; loops are closed by `solve_loop_closure`."
    )
    qd_names = delegated("independent_velocities", "Names of the entries of qd.")
    closure_names = delegated("system.parts", "Names of the loop closures.")

    @property
    def nv(self) -> int:
        """Degrees of freedom: number of independent velocities."""
        return len(self.independent_velocities)

    @cached_property
    def actuator_names(self) -> tuple[str, ...]:
        """Names of the entries of tau."""
        names = self.spanning_tree.qd_names
        return tuple(names[k] for k in self.system.actuated)

    @property
    def initial_state(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The reference configuration at rest."""
        return self.reference_configuration, (0.0,) * self.nv

    def with_gravity(self, gravity: Sequence[float]) -> ClosedLoopRobot:
        """The same robot under another gravity vector [m/s²]."""
        return replace(self, spanning_tree=self.spanning_tree.with_gravity(gravity))

    def with_payload(
        self,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Sequence = (0.0, 0.0, 0.0),
        *,
        at: str,
        name: str = "payload",
    ) -> ClosedLoopRobot:
        """The robot with one more rigid body fixed to one of its bodies, as `Robot.with_payload`.

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.with_payload(2.0, at="coupler_link").body_names[-1]
            'payload'
        """
        return replace(self, spanning_tree=self.spanning_tree.with_payload(mass, com, inertia, at=at, name=name))

    @renamed_arguments(hold="fixed_joints", near="q0")
    def solve_loop_closure(
        self,
        q: ArrayLike | Mapping[str, ArrayLike] | None = None,
        *,
        fixed_joints: Sequence[str] = (),
        q0: ArrayLike | None = None,
    ) -> ClosureSolution:
        """Configurations that close all loops, by Newton's method.

        Args:
            q: initial guess, (..., nq), or coordinates of some joints by name: these joints are moved there from `q0` in small
                steps and the others follow, so that the mechanism keeps its assembly mode.
            fixed_joints: names of joints that keep their coordinates.
            q0: initial guess (nq,) if q is a mapping or None; the reference configuration by default.

        Returns:
            A `ClosureSolution` with `status`, `error` and the closed configuration `q`; reading `q` raises a
            `LoopClosureError` if the loops do not close.

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> solution = robot.solve_loop_closure({"crank": 1.0})
            >>> solution.status, solution.q[0].item()
            ('closed', 1.0)
            >>> robot.solve_loop_closure({"crank": 0.3}, q0=solution.q).closed.item()
            True
        """
        start = np.array(self.reference_configuration if q0 is None else q0, dtype=float)
        if q is not None and not isinstance(q, Mapping):
            start = np.asarray(q, dtype=float)
        if start.shape[-1:] != (self.nq,):
            raise ArgumentError(f"q has shape {start.shape}, expected (..., {self.nq}).")
        if isinstance(q, Mapping):
            return continuation(
                self, start, self._with_joints(start, q), velocity_indices(self.spanning_tree, [*fixed_joints, *q])
            )
        return newton_closure(self, start, velocity_indices(self.spanning_tree, fixed_joints))

    def configuration(self, q: ArrayLike | Mapping[str, ArrayLike]) -> np.ndarray:
        """A closed configuration (nq,) with these coordinates of the named joints (`solve_loop_closure`).

        Example:
            >>> import appell
            >>> appell.load("four_bar").configuration({"crank": 1.0})[0].item()
            1.0
        """
        return self.solve_loop_closure(q).q if isinstance(q, Mapping) else super().configuration(q)

    def _with_joints(self, start: np.ndarray, given: Mapping[str, ArrayLike]) -> np.ndarray:
        for name, values in given.items():
            require_choice("joint", name, self.joint_names)
            first, count = self.spanning_tree.first_coordinates[name][0], KINDS[self.spanning_tree.joint(name).kind].nq
            array = np.asarray(values, dtype=float)
            array = array[..., None] if count == 1 and array.shape[-1:] != (1,) else array
            if array.shape[-1:] != (count,):
                raise ArgumentError(f"joint {name!r} has {count} coordinates, got an array of shape {array.shape}.")
            start = np.broadcast_to(start, (*np.broadcast_shapes(array.shape[:-1], start.shape[:-1]), self.nq)).copy()
            start[..., first : first + count] = array
        return start

    def singularity(self, q: ArrayLike) -> Singularity | None:
        """The singularity of a configuration (nq,), None if it is regular.

        Example:
            >>> import appell
            >>> robot = appell.load("five_bar")
            >>> robot.singularity(robot.reference_configuration) is None
            True
        """
        return singularity_at(self.system, np.asarray(q, dtype=float))

    def neutral_configuration(self) -> np.ndarray:
        """The reference configuration, (nq,)."""
        return np.array(self.reference_configuration)

    def random_configurations(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random closed configurations near the reference configuration, (count, nq)."""
        q0, closed = np.array(self.reference_configuration), np.zeros((0, self.nq))
        for _ in range(50):
            steps = rng.uniform(-0.4, 0.4, (2 * count, self.spanning_tree.nv))
            solution = self.solve_loop_closure(self.spanning_tree.integrate(q0, steps))
            closed = np.concatenate([closed, solution.best_q[solution.closed]])
            if len(closed) >= count:
                return closed[:count]
        raise LoopClosureError(
            f"the loops of {self.name!r} close at {len(closed)} of {100 * count} configurations near its reference, expected "
            f"at least {count}. Give a reference configuration around which the robot can move.",
            status="unreachable",
        )

    def passive_forces(self, q: ArrayLike, qd: ArrayLike) -> np.ndarray:
        """Generalized forces of damping, dry friction and springs of all joints, (..., nv). [N m, N]

        They are G^T times the forces of all joints at their velocities G qd, and not part of `inverse_dynamics` and
        `bias`: M qdd + bias = J_a^T tau + passive_forces(q, qd).

        Example:
            >>> import appell
            >>> robot = appell.load("four_bar")
            >>> robot.passive_forces(robot.reference_configuration, [1.0]).shape
            (1,)
        """
        forces = joint_friction(self.spanning_tree).forces(np.asarray(q, dtype=float), self.joint_velocities(q, qd))
        return np.einsum("...ji,...j->...i", self.joint_velocity_jacobian(q), forces)

    def contact_points(self, **options: Any) -> tuple[Point, ...]:
        """Contact points of the collision shapes of all moving bodies, as `Robot.contact_points`.

        Example:
            >>> import appell
            >>> appell.load("four_bar").contact_points()
            ()
        """
        return self.spanning_tree.contact_points(**options)

    def distances(self, q: ArrayLike, surfaces: Any, points: Sequence[str | Point] | None = None) -> Distances:
        """Smallest distances of the bodies to contact surfaces and obstacles at closed configurations, as `Robot.distances`.

        Example:
            >>> import appell
            >>> robot, floor = appell.load("four_bar"), appell.surfaces.Plane(normal=(0, 1, 0), point=(0, -1, 0))
            >>> robot.distances(robot.reference_configuration, floor).distance.shape[:1]
            (1,)
        """
        if points is None:
            closed = tuple(tuple(self.random_configuration(seed).tolist()) for seed in (1, 2))
            points = default_points(self.spanning_tree, closed)
        return self.spanning_tree.distances(q, surfaces, points)

    def simulation_model(self) -> LoopSimulationModel:
        """The interface that `appell.simulate` uses."""
        from appell.closed_loop.simulation_model import LoopSimulationModel

        return LoopSimulationModel(self)

    def __repr__(self) -> str:
        return (
            f"ClosedLoopRobot({self.name!r}, {len(self.spanning_tree.bodies)} bodies, nq={self.nq}, nv={self.nv}, "
            f"independent velocities: {_joint_list(self.independent_velocities)}; actuators: {_joint_list(self.actuator_names)}; "
            f"closures: {', '.join(closure.name for closure in self.closures)})"
        )


def _joint_list(names: Sequence[str]) -> str:
    """Names of joints, without the indices of their velocities."""
    return ", ".join(dict.fromkeys(re.sub(r"\.[vw][xyz]$|\[\d+\]$", "", name) for name in names)) or "none"
