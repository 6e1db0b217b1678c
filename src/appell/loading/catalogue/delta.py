"""The Delta robot."""

from __future__ import annotations

import math

from appell.closed_loop.build import close_loops
from appell.closed_loop.closures import LoopClosure
from appell.closed_loop.robot import ClosedLoopRobot
from appell.loading.catalogue.mata_two_body import bar_along_x
from appell.model.pose import Pose
from appell.robot.builder import RobotBuilder

BASE, ARM, FOREARM, PLATFORM = 0.164, 0.524, 1.244, 0.044
"""Distance of the motors from the centre, arm, forearm, distance of the platform's joints from its centre: ABB's IRB
360-1/1600 in R.L. Williams II, The Delta parallel robot: kinematics solutions, Ohio University (2015). [m]"""
ARM_MASS, FOREARM_MASS, PLATFORM_MASS = 1.2, 0.6, 0.8
"""Not published. These are of tubes of carbon fibre and a light platform: uniform, the two rods of a forearm as one body. [kg]"""
SPACING, WIDTH = 0.09, 0.04
"""Distance of the two rods of a forearm, width of an arm. [m]"""


def delta() -> ClosedLoopRobot:
    """A platform that translates, on three arms with parallelograms as forearms; z points up, the platform hangs below.

    A parallelogram keeps its short sides parallel to the arm's axis: its rods are one body on a universal joint at the elbow,
    and the platform has a translation joint. qd is the velocity of the platform: v_x, v_y, v_z.
    """
    along, _, _, across, _, _ = bar_along_x(FOREARM_MASS, FOREARM, 0.0)
    apart = FOREARM_MASS * (SPACING / 2) ** 2  # the rods stand apart along x of the forearm, the arm's axis
    forearm = {
        "mass": FOREARM_MASS,
        "com": (0.0, 0.0, -FOREARM / 2),
        "inertia": (across, across + apart, along + apart),
    }
    arm = {"mass": ARM_MASS, "com": (ARM / 2, 0.0, 0.0), "inertia": bar_along_x(ARM_MASS, ARM, WIDTH)}
    builder = RobotBuilder("delta").body("base").body("platform", mass=PLATFORM_MASS, inertia=(1e-3, 1e-3, 2e-3))
    builder = builder.joint("translation", "position", "base", "platform", "z")
    closures, q = [], [0.0, 0.0, -1.0]
    for i in range(3):
        angle = 2 * math.pi * i / 3
        x, y = math.cos(angle), math.sin(angle)
        builder = (
            builder.body(f"arm{i + 1}", **arm)
            .body(f"forearm{i + 1}", **forearm)
            .continuous(
                f"motor{i + 1}", parent="base", child=f"arm{i + 1}", axis="y",
                xyz=(BASE * x, BASE * y, 0.0), rpy=(0.0, 0.0, angle),
            )
            .joint(
                "universal", f"elbow{i + 1}", f"arm{i + 1}", f"forearm{i + 1}", "z",
                xyz=(ARM, 0.0, 0.0), rpy=(0.0, 0.0, math.pi / 2),
            )
        )  # fmt: skip
        wrist, ball = Pose((0.0, 0.0, -FOREARM)), Pose((PLATFORM * x, PLATFORM * y, 0.0))
        closures.append(LoopClosure(f"wrist{i + 1}", "spherical", f"forearm{i + 1}", "platform", wrist, ball))
        q += [0.3, 0.25, 0.0]
    motors = ["motor1", "motor2", "motor3"]
    return close_loops(builder.build(), closures, actuated=motors, independent_velocities=["position"], q=q)
