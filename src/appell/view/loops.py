"""Robots with closed loops: sliders move the independent joints, the others follow so that the loops stay closed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from appell.closed_loop.robot import ClosedLoopRobot
from appell.model.description import velocity_indices
from appell.view.links import inertia_shapes, link_shapes
from appell.view.meshes import visual_shapes
from appell.view.poses import body_poses
from appell.view.sliders import configuration, joint_sliders, slider_values
from appell.view.subject import BaseSubject, robot_size


@dataclass(frozen=True)
class LoopSubject(BaseSubject):
    """A tree of bodies whose ends are joined.

    Example:
        >>> import appell
        >>> bar = LoopSubject.from_robot(appell.load("four_bar"))
        >>> [slider.label for slider in bar.sliders]
        ['crank']
        >>> q = bar.configuration(np.array([1.0]), near=bar.start)
        >>> bool(abs(bar.robot.closure_error(q)).max() < 1e-9)
        True
    """

    independent: tuple[int, ...] = ()

    @classmethod
    def from_robot(cls, robot: ClosedLoopRobot, folder: Path | None = None) -> LoopSubject:
        """The subject of a robot; its mesh files are looked for in the folder of its description."""
        tree, start = robot.spanning_tree, np.array(robot.reference_configuration)
        size = robot_size(tree, start)
        visuals, notes = visual_shapes(tree, folder)
        shapes = (*visuals, *link_shapes(tree, size, _closure_points(robot)), *inertia_shapes(tree.bodies, size))
        independent = tuple(velocity_indices(tree, robot.independent_velocities))
        sliders = joint_sliders(tree, size)
        enough = len(robot.actuator_names) >= robot.nv
        return cls(
            robot, robot.name, size, start, tuple(sliders[k] for k in independent),
            robot.actuator_names if enough else robot.qd_names, shapes, notes, independent,
        )  # fmt: skip

    def configuration(self, values: np.ndarray, near: np.ndarray) -> np.ndarray:
        """Where the loops do not close with these values, the robot stays where it was."""
        tree = self.robot.spanning_tree
        full = slider_values(tree, near)
        full[list(self.independent)] = values
        solution = self.robot.solve_loop_closure(
            configuration(tree, full), fixed_joints=self.robot.independent_velocities
        )
        return solution.q if solution.status == "closed" else near

    def slider_values(self, q: np.ndarray) -> np.ndarray:
        return slider_values(self.robot.spanning_tree, q)[list(self.independent)]

    def interpolate(self, q0: np.ndarray, q1: np.ndarray, fraction: float) -> np.ndarray:
        tree = self.robot.spanning_tree
        return tree.integrate(q0, fraction * tree.difference(q0, q1))

    def poses(self, q: np.ndarray) -> dict[str, np.ndarray]:
        return body_poses(self.robot.spanning_tree, q)

    def forces(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        driven = self.actuator_names == self.robot.actuator_names
        return (self.robot.inverse_dynamics if driven else self.robot.generalized_forces)(q, qd, qdd)


def _closure_points(robot: ClosedLoopRobot) -> Mapping[str, list[tuple[float, float, float]]]:
    """Where each body is joined to another by a closure, in the body's frame. [m]"""
    points: dict[str, list[tuple[float, float, float]]] = {}
    for closure in robot.closures:
        points.setdefault(closure.body1, []).append(closure.pose1.xyz)
        points.setdefault(closure.body2, []).append(closure.pose2.xyz)
    return points
