"""What can be shown: anything with frames, their poses, handles and numbers.

A robot is a `RobotSubject`. Another kind of mechanism is shown by a class with the same attributes, which
`appell.view.subjects.subject_of` finds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from appell.robot.robot import Robot
from appell.view.links import inertia_shapes, link_shapes
from appell.view.meshes import visual_shapes
from appell.view.poses import body_poses
from appell.view.shape import Shape
from appell.view.sliders import Slider, coordinates, joint_sliders, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping


class Readings(NamedTuple):
    """Numbers of one state.

    Attributes:
        tau: forces of the drives, by inverse dynamics, (number of drives,). [N m, N]
        gravity: forces along the speeds that hold the robot up, (nv,). [N m, N]
        M: inertia matrix, (nv, nv).
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
    """A mechanism as a viewer sees it. There is a slider for each speed, in the same order."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> float:
        """About how far it reaches. [m]"""
        ...

    @property
    def sliders(self) -> tuple[Slider, ...]: ...
    @property
    def drives(self) -> tuple[str, ...]:
        """Names of the forces `tau`."""
        ...

    @property
    def start(self) -> np.ndarray:
        """Coordinates in which it is shown first."""
        ...

    @property
    def shapes(self) -> tuple[Shape, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be shown, and why."""
        ...

    def coordinates(self, values: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Coordinates q of slider values; of several assemblies the one nearest to the coordinates `near`."""
        ...

    def values(self, q: np.ndarray) -> np.ndarray:
        """Slider values of coordinates."""
        ...

    def between(self, q0: np.ndarray, q1: np.ndarray, share: float) -> np.ndarray:
        """Coordinates on the way from q0 (share 0) to q1 (share 1)."""
        ...

    def poses(self, q: np.ndarray) -> Mapping[str, np.ndarray]:
        """Poses (4, 4) in the world of the frames that carry shapes."""
        ...

    def readings(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Readings: ...


def hidden_layers(subject: Subject) -> tuple[str, ...]:
    """Layers that are not shown at first: what is drawn from links and inertia, if all shapes of a description are there."""
    complete = any(shape.layer == "meshes" for shape in subject.shapes) and not subject.notes
    return ("links", "inertia") if complete else ()


@dataclass(frozen=True)
class Shown:
    """What subjects of robots have in common."""

    robot: Any
    name: str
    size: float
    start: np.ndarray
    sliders: tuple[Slider, ...]
    drives: tuple[str, ...]
    shapes: tuple[Shape, ...]
    notes: tuple[str, ...] = ()

    def forces(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Forces of the drives."""
        return self.robot.inverse_dynamics(q, qd, qdd)

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        """In the world, (3,). [m]"""
        return self.robot.center_of_mass(q)

    def readings(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Readings:
        """Numbers of one state."""
        robot = self.robot
        return Readings(
            self.forces(q, qd, qdd),
            robot.gravity(q),
            robot.mass_matrix(q),
            float(robot.kinetic_energy(q, qd)),
            float(robot.potential_energy(q)),
            self.center_of_mass(q),
        )


@dataclass(frozen=True)
class RobotSubject(Shown):
    """A tree of bodies; made by `of`.

    Example:
        >>> import appell
        >>> arm = RobotSubject.of(appell.load("planar2r"))
        >>> len(arm.sliders), sorted(arm.poses(arm.start))
        (2, ['base', 'link1', 'link2'])
    """

    @classmethod
    def of(cls, robot: Robot, folder: Path | None = None) -> RobotSubject:
        """The subject of a robot; its mesh files are looked for in the folder of its description."""
        start = start_of(robot)
        size = size_of(robot, start)
        visuals, notes = visual_shapes(robot, folder)
        shapes = (*visuals, *link_shapes(robot, size), *inertia_shapes(robot.bodies, size))
        sliders = joint_sliders(robot, size)
        return cls(robot, robot.name, size, start, sliders, tuple(each.label for each in sliders), shapes, notes)

    def coordinates(self, values: np.ndarray, near: np.ndarray) -> np.ndarray:
        return coordinates(self.robot, values)

    def values(self, q: np.ndarray) -> np.ndarray:
        return values_of(self.robot, q)

    def between(self, q0: np.ndarray, q1: np.ndarray, share: float) -> np.ndarray:
        if self.robot.nq == self.robot.nv:
            return (1.0 - share) * q0 + share * q1
        return self.robot.integrate(q0, share * self.robot.difference(q0, q1))

    def poses(self, q: np.ndarray) -> dict[str, np.ndarray]:
        return body_poses(self.robot, q)


def start_of(robot: Robot) -> np.ndarray:
    """Coordinates of the description's initial state, or its rest pose brought within the limits."""
    if robot.initial_state is not None:
        return np.array(robot.initial_state[0])
    ends = np.array([(slider.lower, slider.upper) for slider in joint_sliders(robot, 1.0)]).reshape(-1, 2)
    return coordinates(robot, np.clip(values_of(robot, robot.neutral_configuration()), ends[:, 0], ends[:, 1]))


def size_of(robot: Robot, q: np.ndarray) -> float:
    """How far the bodies' origins and mass centres are spread. [m]"""
    poses = body_poses(robot, q)
    places = [poses[body.name][:3, :3] @ np.array(body.com) + poses[body.name][:3, 3] for body in robot.bodies]
    places += [pose[:3, 3] for pose in poses.values()]
    return max(float(np.linalg.norm(np.ptp(places, axis=0))), 0.1)
