"""The planar robot with three legs of three revolute joints."""

from __future__ import annotations

import math

from appell.closed_loop.build import close_loops
from appell.closed_loop.closures import LoopClosure
from appell.closed_loop.robot import ClosedLoopRobot
from appell.loading.catalogue.four_bar import bar
from appell.model.pose import Pose
from appell.robot.builder import RobotBuilder

BASE, LINK, PLATFORM = 0.5, 0.35, 0.15
"""Radius of the motors about the centre, both links of a leg, radius of the platform's hinges: the symmetric robot of C.
Gosselin, J. Angeles, The optimum kinematic design of a planar three-degree-of-freedom parallel manipulator, J. Mech. Trans.
Autom. Des. 110 (1988); the numbers are a size of our own. Links are the bars of `four_bar`. [m]"""
MASS = 1.0
"""Of the platform, a uniform disc through its hinges. [kg]"""


def planar_3rrr() -> ClosedLoopRobot:
    """A platform that translates and rotates in the x-y plane on three legs, motors on the base; gravity is along -y.

    qd are the velocities of the platform along its own axes and its angular velocity: v_x, v_y, ω.
    """
    across = MASS * PLATFORM**2 / 4
    builder = RobotBuilder("planar_3rrr", gravity=(0.0, -9.81, 0.0)).body("base")
    builder = builder.body("plate", mass=MASS, inertia=(across, across, 2 * across))
    builder = builder.joint("planar", "platform", "base", "plate", "z")
    closures, q = [], [0.0, 0.0, 0.0]
    for i in range(3):
        angle = math.pi / 2 + 2 * math.pi * i / 3
        x, y = math.cos(angle), math.sin(angle)
        builder = (
            builder.body(f"upper{i + 1}", **bar(LINK))
            .body(f"lower{i + 1}", **bar(LINK))
            .continuous(f"motor{i + 1}", parent="base", child=f"upper{i + 1}", xyz=(BASE * x, BASE * y, 0.0))
            .continuous(f"elbow{i + 1}", parent=f"upper{i + 1}", child=f"lower{i + 1}", xyz=(LINK, 0.0, 0.0))
        )
        end, hinge = Pose((LINK, 0.0, 0.0)), Pose((PLATFORM * x, PLATFORM * y, 0.0))
        closures.append(LoopClosure(f"hinge{i + 1}", "revolute", f"lower{i + 1}", "plate", end, hinge))
        bend = math.acos((BASE - PLATFORM) / (2 * LINK))
        q += [angle + math.pi + bend, -2 * bend]
    motors = ["motor1", "motor2", "motor3"]
    return close_loops(builder.build(), closures, actuated=motors, independent_velocities=["platform"], q=q)
