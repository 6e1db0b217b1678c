"""The interface between a mechanism and the viewer: frames and their poses, sliders, shapes, quantities of a state.

Robots have a subject by `appell.view.subjects.subject_of`. Any other object with the attributes of `Subject` can be shown too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from appell.robot.robot import Robot
from appell.view.poses import body_poses
from appell.view.scene import Shape
from appell.view.sliders import Slider


class StateQuantities(NamedTuple):
    """Quantities of one state.

    Attributes:
        tau: forces of the actuators by inverse dynamics, (number of actuators,). [N m, N]
        gravity: generalized forces that balance gravity, (nv,). [N m, N]
        M: mass matrix, (nv, nv).
        kinetic, potential: energies. [J]
        center_of_mass: in the world, (3,). [m]
    """

    tau: np.ndarray
    gravity: np.ndarray
    M: np.ndarray
    kinetic: float
    potential: float
    center_of_mass: np.ndarray


@runtime_checkable
class Subject(Protocol):
    """A mechanism for the viewer. There is one slider per entry of qd, in the same order."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> float:
        """Approximate extent. [m]"""
        ...

    @property
    def sliders(self) -> tuple[Slider, ...]: ...
    @property
    def actuator_names(self) -> tuple[str, ...]:
        """Names of the entries of `tau`."""
        ...

    @property
    def start(self) -> np.ndarray:
        """The configuration shown first."""
        ...

    @property
    def shapes(self) -> tuple[Shape, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]:
        """Shapes that are missing, and why."""
        ...

    def configuration(self, values: np.ndarray, near: np.ndarray) -> np.ndarray:
        """The configuration for these slider values; of several, the one nearest to the configuration `near`."""
        ...

    def slider_values(self, q: np.ndarray) -> np.ndarray:
        """Slider values of a configuration."""
        ...

    def interpolate(self, q0: np.ndarray, q1: np.ndarray, fraction: float) -> np.ndarray:
        """A configuration between q0 (fraction 0) and q1 (fraction 1)."""
        ...

    def poses(self, q: np.ndarray) -> Mapping[str, np.ndarray]:
        """Poses (4, 4) in the world of the frames that carry shapes."""
        ...

    def quantities(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> StateQuantities: ...


def hidden_layers(subject: Subject) -> tuple[str, ...]:
    """Layers that are hidden at first: links and inertia, if the description has shapes and none is missing."""
    complete = any(shape.layer == "meshes" for shape in subject.shapes) and not subject.notes
    return ("links", "inertia") if complete else ()


@dataclass(frozen=True)
class BaseSubject:
    """The common part of the subjects of robots."""

    robot: Any
    name: str
    size: float
    start: np.ndarray
    sliders: tuple[Slider, ...]
    actuator_names: tuple[str, ...]
    shapes: tuple[Shape, ...]
    notes: tuple[str, ...] = ()

    def forces(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Forces of the actuators."""
        return self.robot.inverse_dynamics(q, qd, qdd)

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        """In the world, (3,). [m]"""
        return self.robot.center_of_mass(q)

    def quantities(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> StateQuantities:
        """Quantities of one state."""
        robot = self.robot
        return StateQuantities(
            self.forces(q, qd, qdd),
            robot.gravity(q),
            robot.mass_matrix(q),
            float(robot.kinetic_energy(q, qd)),
            float(robot.potential_energy(q)),
            self.center_of_mass(q),
        )


def robot_size(robot: Robot, q: np.ndarray) -> float:
    """Diagonal of the box around the origins and centres of mass of all bodies. [m]"""
    poses = body_poses(robot, q)
    points = [poses[body.name][:3, :3] @ np.array(body.com) + poses[body.name][:3, 3] for body in robot.bodies]
    points += [pose[:3, 3] for pose in poses.values()]
    return max(float(np.linalg.norm(np.ptp(points, axis=0))), 0.1)
