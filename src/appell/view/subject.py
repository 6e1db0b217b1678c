"""The interface between a mechanism and the viewer: frames and their poses, sliders, shapes, quantities of a state.

Robots have a subject by `appell.view.subjects.subject_of`. Any other object with the attributes of `Subject` can be shown too.
There is one slider per coordinate, and roll, pitch and yaw for a quaternion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from appell.algebra import Mat3, Vec3
from appell.algorithms.kinematics import world_motion
from appell.model.joints import KINDS
from appell.model.joints.quaternion import of_roll_pitch_yaw, roll_pitch_yaw
from appell.model.tree import BASE
from appell.robot.robot import Robot
from appell.view.scene import Shape

ANGLES = ("roll", "pitch", "yaw")
AXES = ("x", "y", "z")
RANGE_DECIMALS = 3


@dataclass(frozen=True)
class Slider:
    """A number that the user sets.

    Attributes:
        label: joint, and its coordinate if it has several.
        unit: `"rad"` or `"m"`.
        lower, upper: its range.
    """

    label: str
    unit: str
    lower: float
    upper: float

    @property
    def step(self) -> float:
        """A thousandth of its range, rounded to a power of ten."""
        return float(10.0 ** np.floor(np.log10(max(self.upper - self.lower, 1e-9) / 400.0)))


def joint_sliders(robot: Robot, size: float) -> tuple[Slider, ...]:
    """Sliders of all moving joints; without limits the range is ±π or ±`size` [m]."""
    sliders: list[Slider] = []
    for joint in robot.moving_joints:
        kind = KINDS[joint.kind]
        for k, turning in enumerate(kind.is_rotational(joint)):
            reach, unit = (np.pi, "rad") if turning else (size, "m")
            limits = joint.limits
            lower, upper = (limits.lower, limits.upper) if kind.limited else (-np.inf, np.inf)
            low, high = (lower if np.isfinite(lower) else -reach), (upper if np.isfinite(upper) else reach)
            low, high = (round(float(end), RANGE_DECIMALS) for end in sorted((low, high)))
            sliders.append(Slider(_label(joint.name, kind, k), unit, low, high))
    return tuple(sliders)


def _label(joint: str, kind, k: int) -> str:
    if kind.nv == 1:
        return joint
    if kind.quaternion is None:
        return f"{joint} {k + 1}"
    return f"{joint} {AXES[k] if k < kind.quaternion else ANGLES[k - kind.quaternion]}"


def configuration(robot: Robot, values: np.ndarray) -> np.ndarray:
    """Configuration q (nq,) for the values of all sliders (nv,)."""
    parts = [np.zeros(0)]
    for kind, _, v in _pieces(robot):
        parts.append(_converted(kind, values[v : v + kind.nv], of_roll_pitch_yaw))
    return np.concatenate(parts)


def slider_values(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Values of all sliders (nv,) at q (nq,): the inverse of `configuration`, angles of continuous joints within ±π."""
    parts = [np.zeros(0)]
    for kind, i, _ in _pieces(robot):
        own = _converted(kind, q[i : i + kind.nq], roll_pitch_yaw)
        parts.append((own + np.pi) % (2 * np.pi) - np.pi if kind.name == "continuous" else own)
    return np.concatenate(parts)


def _pieces(robot: Robot):
    for joint in robot.moving_joints:
        yield KINDS[joint.kind], *robot.first_coordinates[joint.name]


def _converted(kind, own: np.ndarray, rotation: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Coordinates or slider values of a joint, with its rotation in the other form."""
    own, start = np.asarray(own, dtype=float), kind.quaternion
    return own if start is None else np.concatenate([own[:start], rotation(own[start:])])


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
    """A mechanism for the viewer. There is one slider per entry of qd, in the same order.

    Attributes:
        name, shapes: of the mechanism.
        size: approximate extent. [m]
        sliders, actuator_names: of the entries of qd and `tau`.
        start: the configuration shown first.
        notes: shapes that are missing, and why.

    Methods:
        configuration: for these slider values; of several, the one nearest to the configuration `near`.
        slider_values: of a configuration.
        interpolate: a configuration between q0 (fraction 0) and q1 (fraction 1).
        poses: poses (4, 4) in the world of the frames that carry shapes.
        quantities: of one state.
    """

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> float: ...
    @property
    def sliders(self) -> tuple[Slider, ...]: ...
    @property
    def actuator_names(self) -> tuple[str, ...]: ...
    @property
    def start(self) -> np.ndarray: ...
    @property
    def shapes(self) -> tuple[Shape, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    def configuration(self, values: np.ndarray, near: np.ndarray) -> np.ndarray: ...
    def slider_values(self, q: np.ndarray) -> np.ndarray: ...
    def interpolate(self, q0: np.ndarray, q1: np.ndarray, fraction: float) -> np.ndarray: ...
    def poses(self, q: np.ndarray) -> Mapping[str, np.ndarray]: ...
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

    def quantities(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> StateQuantities:
        """Quantities of one state."""
        robot = self.robot
        energies = float(robot.kinetic_energy(q, qd)), float(robot.potential_energy(q))
        forces, M = (self.forces(q, qd, qdd), robot.gravity(q)), robot.mass_matrix(q)
        return StateQuantities(*forces, M, *energies, robot.center_of_mass(q))


def frame_origins(subject: Subject, configurations: Sequence[np.ndarray]) -> np.ndarray:
    """Origins of the frames that carry shapes, or of all, in all configurations, (N, 3). [m]"""
    poses = [subject.poses(q) for q in configurations]
    carriers = {shape.frame for shape in subject.shapes} & poses[0].keys() or poses[0].keys()
    return np.array([pose[name][:3, 3] for pose in poses for name in carriers])


def robot_size(robot: Robot, q: np.ndarray) -> float:
    """Diagonal of the box around the origins and centres of mass of all bodies. [m]"""
    poses = body_poses(robot, q)
    points = [poses[body.name][:3, :3] @ np.array(body.com) + poses[body.name][:3, 3] for body in robot.bodies]
    points += [pose[:3, 3] for pose in poses.values()]
    return max(float(np.linalg.norm(np.ptp(points, axis=0))), 0.1)
