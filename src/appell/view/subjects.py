"""Subjects of robots: trees, closed loops, and spherical parallel robots, whose links are arcs on a ball around the centre."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from appell.closed_loop.robot import ClosedLoopRobot
from appell.closed_loop.spherical.leg import Axis
from appell.closed_loop.spherical.robot import SphericalRobot
from appell.deprecation import warn_renamed
from appell.errors import AppellError, ArgumentError
from appell.model.description import velocity_indices
from appell.robot.robot import Robot
from appell.view.scene import Mesh, Rgb, Shape, joined, rod
from appell.view.shapes import JOINT_COLOUR, LINK_COLOUR, inertia_shapes, link_shapes, visual_shapes
from appell.view.subject import (
    BaseSubject,
    Slider,
    Subject,
    body_poses,
    configuration,
    joint_sliders,
    robot_size,
    slider_values,
)

PLATFORM: Rgb = (0.0, 0.62, 0.45)
PIECES = 16
"""Straight pieces of an arc."""
FORMER_NAMES = {
    "actuator_names": "drives", "configuration": "coordinates", "slider_values": "values", "interpolate": "between",
    "quantities": "readings",
}  # fmt: skip
"""Attributes of `Subject` by their names in version 0.1."""
SAME_NAMES = ("name", "size", "sliders", "start", "shapes", "notes", "poses")


@dataclass(frozen=True)
class SphericalSubject(BaseSubject):
    """A platform on legs of revolute joints.

    Example:
        >>> import appell
        >>> wrist = SphericalSubject.from_robot(appell.load("agile_wrist"))
        >>> [slider.label for slider in wrist.sliders]
        ['yaw', 'pitch', 'roll']
    """

    @classmethod
    def from_robot(cls, robot: SphericalRobot) -> SphericalSubject:
        """The subject of a robot. All joints are drawn at the distance of the furthest centre of mass."""
        reach = max([float(np.linalg.norm(body.com)) for body in robot.bodies] + [0.05])
        start = np.zeros(robot.nq) if robot.initial_state is None else np.array(robot.initial_state[0])
        sliders = tuple(Slider(name, "rad", -3.142, 3.142) for name in robot.joint_names)
        shapes = (*_arcs(robot, reach), *inertia_shapes(robot.bodies, 2 * reach))
        return cls(robot, robot.name, 2 * reach, start, sliders, robot.actuator_names, shapes)

    def configuration(self, values: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Where a leg is too short for the platform, the robot stays where it was."""
        q = np.asarray(values, dtype=float)
        try:
            self.poses(q)
        except AppellError:
            return near
        return q

    def slider_values(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(q, dtype=float)

    def interpolate(self, q0: np.ndarray, q1: np.ndarray, fraction: float) -> np.ndarray:
        return (1.0 - fraction) * q0 + fraction * q1

    def poses(self, q: np.ndarray) -> dict[str, np.ndarray]:
        return {name: self.robot.pose(q, name) for name in self.robot.body_names}


def _arcs(robot: SphericalRobot, reach: float) -> list[Shape]:
    """Links as arcs from their own joint's axis to the next, joints, and the platform as a star to the last axes."""
    shapes = []
    for leg in robot.legs:
        for joint, body, angle in zip(leg.joint_names, leg.bodies, leg.arcs, strict=False):
            axis, next_axis = (np.array(Axis(0.0, tilt).direction) for tilt in (0.0, angle))
            shapes.append(Shape(f"arc {joint}", body.name, arc(axis, next_axis, reach), LINK_COLOUR))
            shapes.append(Shape(f"joint {joint}", body.name, pin(axis, reach), JOINT_COLOUR))
    tips = [np.array(leg.tip.direction) for leg in robot.legs]
    star = joined([rod((0, 0, 0), reach * tip, 0.03 * reach) for tip in tips] + [pin(tip, reach) for tip in tips])
    return [*shapes, Shape("star", robot.platform.name, star, PLATFORM)]


def arc(start: np.ndarray, end: np.ndarray, radius: float) -> Mesh:
    """A curved rod on a ball, from one direction to another."""
    angle = np.arccos(np.clip(start @ end, -1.0, 1.0))
    shares = np.linspace(0.0, 1.0, PIECES + 1)[:, None]
    points = np.sin((1 - shares) * angle) * start + np.sin(shares * angle) * end
    points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
    return joined([rod(a, b, 0.03 * radius) for a, b in pairwise(points)])


def pin(direction: np.ndarray, radius: float) -> Mesh:
    """A short cylinder through the ball along a direction."""
    return rod(0.92 * radius * direction, 1.08 * radius * direction, 0.07 * radius)


@dataclass(frozen=True)
class RobotSubject(BaseSubject):
    """A kinematic tree, or one with loop closures: sliders move its independent joints, and the loops stay closed.

    Example:
        >>> import appell
        >>> bar = RobotSubject.from_robot(appell.load("four_bar"))
        >>> [slider.label for slider in bar.sliders]
        ['crank']
        >>> q = bar.configuration(np.array([1.0]), near=bar.start)
        >>> bool(abs(bar.robot.closure_error(q)).max() < 1e-9)
        True
    """

    independent: tuple[int, ...] = ()

    @classmethod
    def from_robot(cls, robot: Any, folder: Path | None = None) -> RobotSubject:
        """The subject of a robot; `folder` is that of its description, for mesh files."""
        tree, closures = robot.spanning_tree, robot.closures
        start = np.array(robot.reference_configuration) if closures else start_configuration(tree)
        size = robot_size(tree, start)
        visuals, notes = visual_shapes(tree, folder or (Path(tree.folder) if tree.folder else None))
        points: dict[str, list] = {}  # where bodies are joined by closures
        for closure in closures:
            points.setdefault(closure.body1, []).append(closure.pose1.xyz)
            points.setdefault(closure.body2, []).append(closure.pose2.xyz)
        shapes = (*visuals, *link_shapes(tree, size, points), *inertia_shapes(tree.bodies, size))
        sliders, independent, actuators = joint_sliders(tree, size), tuple(range(tree.nv)), ()
        if closures:
            independent = tuple(velocity_indices(tree, robot.independent_velocities))
            sliders = tuple(sliders[k] for k in independent)
            actuators = robot.actuator_names if len(robot.actuator_names) >= robot.nv else robot.qd_names
        names = actuators or tuple(slider.label for slider in sliders)
        return cls(robot, robot.name, size, start, sliders, names, shapes, notes, independent)

    @property
    def tree(self) -> Robot:
        """The spanning tree."""
        return self.robot.spanning_tree

    def configuration(self, values: np.ndarray, near: np.ndarray) -> np.ndarray:
        """`near` itself if the loops do not close with these values."""
        if self.tree is self.robot:
            return configuration(self.tree, values)
        all_values = slider_values(self.tree, near)
        all_values[list(self.independent)] = values
        q = configuration(self.tree, all_values)
        solution = self.robot.solve_loop_closure(q, fixed_joints=self.robot.independent_velocities)
        return solution.q if solution.status == "closed" else near

    def slider_values(self, q: np.ndarray) -> np.ndarray:
        return slider_values(self.tree, q)[list(self.independent)]

    def interpolate(self, q0: np.ndarray, q1: np.ndarray, fraction: float) -> np.ndarray:
        if self.tree.nq == self.tree.nv:
            return (1.0 - fraction) * q0 + fraction * q1
        return self.tree.integrate(q0, fraction * self.tree.difference(q0, q1))

    def poses(self, q: np.ndarray) -> dict[str, np.ndarray]:
        return body_poses(self.tree, q)

    def forces(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        unactuated = self.tree is not self.robot and self.actuator_names != self.robot.actuator_names
        return (self.robot.generalized_forces if unactuated else self.robot.inverse_dynamics)(q, qd, qdd)


def start_configuration(robot: Robot) -> np.ndarray:
    """The initial state of the description, or the neutral configuration moved into the limits."""
    if robot.initial_state is not None:
        return np.array(robot.initial_state[0])
    ends = np.array([(slider.lower, slider.upper) for slider in joint_sliders(robot, 1.0)]).reshape(-1, 2)
    neutral = slider_values(robot, robot.neutral_configuration())
    return configuration(robot, np.clip(neutral, ends[:, 0], ends[:, 1]))


@singledispatch
def subject_of(shown: Any, folder: Path | None = None) -> Subject:
    """The subject of a robot, with mesh files from `folder`; a `Subject` is returned as it is.

    Example:
        >>> import appell
        >>> type(subject_of(appell.load("delta"))).__name__
        'RobotSubject'
    """
    if isinstance(shown, Subject):
        return shown
    if all(hasattr(shown, name) for name in (*SAME_NAMES, *FORMER_NAMES.values())):
        warn_renamed(f"Subject.{'|'.join(FORMER_NAMES.values())}", "|".join(FORMER_NAMES))
        attributes = {name: getattr(shown, name) for name in SAME_NAMES}
        return SimpleNamespace(**attributes, **{new: getattr(shown, old) for new, old in FORMER_NAMES.items()})  # type: ignore[return-value]
    raise ArgumentError(
        f"cannot show a {type(shown).__name__}. Give a robot, or an object like appell.view.subject.Subject."
    )


@subject_of.register(Robot)
@subject_of.register(ClosedLoopRobot)
def _(robot: Any, folder: Path | None = None) -> Subject:
    return RobotSubject.from_robot(robot, folder)


@subject_of.register
def _(robot: SphericalRobot, folder: Path | None = None) -> Subject:
    return SphericalSubject.from_robot(robot)
