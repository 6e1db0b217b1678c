"""Spherical parallel robots: all axes meet in one point, so links are drawn as arcs on a ball around it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from appell.closed_loop.spherical.leg import Axis
from appell.closed_loop.spherical.robot import SphericalRobot
from appell.errors import AppellError
from appell.view.links import JOINT_COLOUR, LINK_COLOUR, inertia_shapes
from appell.view.scene import Rgb, Shape
from appell.view.sliders import Slider
from appell.view.solids import Mesh, joined, rod
from appell.view.subject import BaseSubject

PLATFORM: Rgb = (0.0, 0.62, 0.45)
PIECES = 16
"""Straight pieces of an arc."""


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
