"""Subjects of robots: trees and closed loops here, spherical robots in `spherical`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from appell.closed_loop.robot import ClosedLoopRobot
from appell.closed_loop.spherical.robot import SphericalRobot
from appell.deprecation import warn_renamed
from appell.errors import ArgumentError
from appell.model.description import velocity_indices
from appell.robot.robot import Robot
from appell.view.links import inertia_shapes, link_shapes
from appell.view.meshes import visual_shapes
from appell.view.poses import body_poses
from appell.view.sliders import configuration, joint_sliders, slider_values
from appell.view.spherical import SphericalSubject
from appell.view.subject import BaseSubject, Subject, robot_size

FORMER_NAMES = {
    "actuator_names": "drives",
    "configuration": "coordinates",
    "slider_values": "values",
    "interpolate": "between",
    "quantities": "readings",
}
"""Attributes of `Subject` by their names in version 0.1."""
SAME_NAMES = ("name", "size", "sliders", "start", "shapes", "notes", "poses")


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
        visuals, notes = visual_shapes(tree, folder)
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
