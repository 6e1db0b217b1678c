"""The Stewart-Gough platform."""

from __future__ import annotations

import math

import numpy as np

from appell.closed_loop.build import close_loops
from appell.closed_loop.closures import LoopClosure
from appell.closed_loop.robot import ClosedLoopRobot
from appell.model.pose import Pose
from appell.robot.builder import RobotBuilder

BASE, PLATFORM, HEIGHT = 3.0, 1.0, 2.0
BASE_OFFSET, PLATFORM_OFFSET = math.radians(2.5), math.radians(10.0)
OUTER, INNER, THICKNESS, DENSITY = 0.05, 0.03, 0.05, 76e3 / 9.81
"""Radii of the joints, height at home, half the angle between two joints of a pair, radii of the leg's cylinder and rod (each
three quarters of the leg's length at home), thickness of the platform, density of steel: the platform of The MathWorks' control
study (N. Smith, J. Wendlandt, Creating a Stewart platform model using SimMechanics, MATLAB Digest 10 (2002)).
[m, rad, kg/m³]"""


def stewart() -> ClosedLoopRobot:
    """A platform on six legs, each a universal joint, an actuated slider and a ball joint (6-UPS); z points up.

    The coordinate of a slider is the length of its leg. qd is the platform's twist along its own axes, linear part
    first. In the source a leg ends in a universal joint and may rotate about itself instead; the rest is equal.
    """
    feet, heads = _circle(BASE, BASE_OFFSET, 0.0), _circle(PLATFORM, PLATFORM_OFFSET, math.pi / 3)
    heads = np.roll(heads, 1, axis=0)  # neighbours on the base go to different pairs of the platform
    home = np.array([0.0, 0.0, HEIGHT])
    length = float(np.linalg.norm(heads[0] + home - feet[0]))
    cylinder = _tube(0.75 * length, OUTER, INNER)
    rod = _tube(0.75 * length, INNER, 0.0)
    mass, inertia = _tube(THICKNESS, PLATFORM, 0.0)
    builder = RobotBuilder("stewart").body("base").body("plate", mass=mass, inertia=inertia)
    builder = builder.floating("platform", parent="base", child="plate")
    closures, q = [], [*home, 0.0, 0.0, 0.0, 1.0]
    for i, (foot, head) in enumerate(zip(feet, heads, strict=True), start=1):
        leg = (head + home - foot) / length
        first = np.cross(leg, [0.0, 0.0, 1.0])
        first /= np.linalg.norm(first)
        stand = Pose.from_matrix(foot, np.column_stack([first, np.cross(leg, first), leg]))
        builder = (
            builder.body(f"cylinder{i}", mass=cylinder[0], com=(0.0, 0.0, 0.375 * length), inertia=cylinder[1])
            .body(f"rod{i}", mass=rod[0], com=(0.0, 0.0, -0.375 * length), inertia=rod[1])
            .joint("universal", f"foot{i}", "base", f"cylinder{i}", "z", xyz=stand.xyz, rpy=stand.rpy)
            .prismatic(f"leg{i}", parent=f"cylinder{i}", child=f"rod{i}", axis="z")
        )
        x, y, z = head.tolist()
        closures.append(LoopClosure(f"head{i}", "spherical", f"rod{i}", "plate", pose2=Pose((x, y, z))))
        q += [0.0, 0.0, length]
    legs = [f"leg{i}" for i in range(1, 7)]
    return close_loops(builder.build(), closures, actuated=legs, independent_velocities=["platform"], q=q)


def _circle(radius: float, offset: float, turn: float) -> np.ndarray:
    """Three pairs of points, each 120 degrees from the last, (6, 3). [m]"""
    angles = [2 * math.pi * i / 3 + turn + sign * offset for i in range(3) for sign in (-1.0, 1.0)]
    return np.array([[radius * math.cos(angle), radius * math.sin(angle), 0.0] for angle in angles])


def _tube(length: float, outer: float, inner: float) -> tuple[float, tuple[float, float, float]]:
    """Mass and principal inertia of a tube along z about its centre. [kg, kg m²]"""
    mass = DENSITY * math.pi * (outer**2 - inner**2) * length
    around = mass * (outer**2 + inner**2) / 2
    across = around / 2 + mass * length**2 / 12
    return mass, (across, across, around)
