"""The planar arm with two revolute joints of the textbooks."""

from __future__ import annotations

from appell.loading.catalogue.mata_two_body import bar_along_x
from appell.robot.builder import RobotBuilder
from appell.robot.robot import Robot


def planar2r() -> Robot:
    """Two equal bars of 1 m and 1 kg in the x-y plane, turning about z; gravity of 9.81 m/s² acts along -y."""
    inertia = bar_along_x(1.0, 1.0, 0.05)
    return (
        RobotBuilder("planar2r", gravity=(0.0, -9.81, 0.0))
        .body("base")
        .body("link1", mass=1.0, com=(0.5, 0.0, 0.0), inertia=inertia)
        .body("link2", mass=1.0, com=(0.5, 0.0, 0.0), inertia=inertia)
        .continuous("joint1", parent="base", child="link1", axis="z")
        .continuous("joint2", parent="link1", child="link2", axis="z", xyz=(1.0, 0.0, 0.0))
        .build()
    )
