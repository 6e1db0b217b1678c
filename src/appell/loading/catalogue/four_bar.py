"""Hoeken's straight-line linkage, a four-bar mechanism."""

from __future__ import annotations

from appell.closed_loop.build import close_loops
from appell.closed_loop.closures import LoopClosure
from appell.closed_loop.robot import ClosedLoopRobot
from appell.loading.catalogue.mata_two_body import bar_along_x
from appell.model.pose import Pose
from appell.robot.builder import RobotBuilder

UNIT = 0.2
"""Length of the crank. [m]"""
GROUND, COUPLER, ROCKER = 2.0, 2.5, 2.5
"""Hoeken's proportions to the crank; the coupler extends by its length to the point that draws the straight line."""
DENSITY, WIDTH = 1.0, 0.02
"""Uniform bars of 1 kg/m as in benchmark A02 of the IFToMM library (M. González, D. Dopico, U. Lugrís, J. Cuadrado, A
benchmarking system for MBS simulation software, Multibody Syst. Dyn. 16 (2006)), of square section. [kg/m, m]"""


def bar(length: float) -> dict:
    """A uniform bar along x from its frame's origin, as `RobotBuilder.body` takes it."""
    mass = DENSITY * length
    return {"mass": mass, "com": (length / 2, 0.0, 0.0), "inertia": bar_along_x(mass, length, WIDTH)}


def four_bar() -> ClosedLoopRobot:
    """Crank, coupler and rocker in the x-y plane, closed by the hinge `knee`; the crank is actuated, gravity is along -y.

    The crank turns all the way round. The frame `tip`, at the far end of the coupler, draws a nearly straight line. A planar
    loop in space: of the five equations of its hinge two are independent.
    """
    tree = (
        RobotBuilder("four_bar", gravity=(0.0, -9.81, 0.0))
        .body("base")
        .body("crank_link", **bar(UNIT))
        .body("coupler_link", **bar(2 * COUPLER * UNIT))
        .body("rocker_link", **bar(ROCKER * UNIT))
        .continuous("crank", parent="base", child="crank_link")
        .continuous("coupler", parent="crank_link", child="coupler_link", xyz=(UNIT, 0.0, 0.0))
        .continuous("rocker", parent="base", child="rocker_link", xyz=(GROUND * UNIT, 0.0, 0.0))
        .fixed("tip_mark", parent="coupler_link", child="tip", xyz=(2 * COUPLER * UNIT, 0.0, 0.0))
        .build()
    )
    middle, end = Pose((COUPLER * UNIT, 0.0, 0.0)), Pose((ROCKER * UNIT, 0.0, 0.0))
    knee = LoopClosure("knee", "revolute", "coupler_link", "rocker_link", middle, end)
    return close_loops(tree, [knee], actuated=["crank"], q=[1.5, -0.5, 1.6])
