"""The interface between a mechanism and the viewer: frames and their poses, sliders, shapes, quantities of a state.

Robots have a subject by `appell.view.subjects.subject_of`. Any other object with the attributes of `Subject` can be shown too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from appell.algebra import Mat3, Vec3
from appell.algorithms.kinematics import world_motion
from appell.model.tree import BASE
from appell.robot.robot import Robot
from appell.view.scene import Shape
from appell.view.sliders import Slider


def body_poses(robot: Robot, q: ArrayLike) -> dict[str, np.ndarray]:
    """Poses (..., 4, 4) of all bodies in the world, at q (..., nq). Plain NumPy arithmetic; nothing is compiled."""
    q = np.asarray(q, dtype=float)
    batch_shape = q.shape[:-1]
    tree = robot.tree
    motions = world_motion(tree, list(np.moveaxis(q, -1, 0)))
    poses = {}
    for body in robot.bodies:
        frame = tree.frames[body.name]
        if frame.link == BASE:
            rotation, position = tree.base.dot(frame.R), tree.base @ frame.p
        else:
            link = motions[frame.link]
            rotation, position = link.R.dot(frame.R), link.p + link.R @ frame.p
        poses[body.name] = _homogeneous(rotation, position, batch_shape)
    return poses


def _homogeneous(rotation: Mat3, position: Vec3, batch_shape: tuple[int, ...]) -> np.ndarray:
    """Entries that are scalars or arrays as transformations (..., 4, 4)."""
    pose = np.zeros((*batch_shape, 4, 4))
    for i, (row, offset) in enumerate(zip(rotation.rows, position, strict=True)):
        for j, entry in enumerate(row):
            pose[..., i, j] = entry
        pose[..., i, 3] = offset
    pose[..., 3, 3] = 1.0
    return pose


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
