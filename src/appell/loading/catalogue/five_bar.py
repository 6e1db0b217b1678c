"""A five-bar robot: two arms that share their tip."""

from __future__ import annotations

from appell.closed_loop.build import close_loops
from appell.closed_loop.closures import LoopClosure
from appell.closed_loop.robot import ClosedLoopRobot
from appell.loading.catalogue.four_bar import bar
from appell.model.pose import Pose
from appell.robot.builder import RobotBuilder

LINK, BASE = 0.090, 0.118
"""All four links, and the distance of the motors: dimensions of the DexTAR of I. Bonev and others (École de technologie
supérieure and Mecademic). Its masses are not published; the links are the bars of `four_bar`. [m]"""


def five_bar() -> ClosedLoopRobot:
    """Two arms of two bars in the x-y plane, both motors on the base, tips joined by the hinge `hand`; gravity is along -y.

    The frame `tip` is at the hinge.
    """
    builder = RobotBuilder("five_bar", gravity=(0.0, -9.81, 0.0)).body("base")
    for side, x in (("left", 0.0), ("right", BASE)):
        builder = (
            builder.body(f"{side}_upper", **bar(LINK))
            .body(f"{side}_lower", **bar(LINK))
            .continuous(f"{side}_motor", parent="base", child=f"{side}_upper", xyz=(x, 0.0, 0.0))
            .continuous(f"{side}_elbow", parent=f"{side}_upper", child=f"{side}_lower", xyz=(LINK, 0.0, 0.0))
        )
    tree = builder.fixed("tip_mark", parent="left_lower", child="tip", xyz=(LINK, 0.0, 0.0)).build()
    end = Pose((LINK, 0.0, 0.0))
    hand = LoopClosure("hand", "revolute", "left_lower", "right_lower", end, end)
    return close_loops(tree, [hand], actuated=["left_motor", "right_motor"], q=[1.571, -0.715, 1.571, 0.715])
