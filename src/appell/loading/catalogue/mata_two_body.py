"""The two-body system of Mata et al. 2002."""

from __future__ import annotations

from appell.model.body import Six
from appell.robot.builder import RobotBuilder
from appell.robot.robot import Robot

LENGTHS = (0.02, 2.0)
MASSES = (0.1, 10.0)
WIDTH = 0.02


def mata_two_body() -> Robot:
    """A short and a long bar in a plane, Mata et al. 2002, section 5.1: hard for forward dynamics in single precision.

    Bars of 0.02 m and 2.0 m, both 0.02 m wide, of 0.1 kg and 10 kg, turn about z; gravity of 9.81 m/s² acts along -y.
    The second mass is garbled in print: 10 kg follows from equal density. The paper needs only the moments of inertia
    about z; the bars are given a square cross-section.
    """
    builder = RobotBuilder("mata_two_body", gravity=(0.0, -9.81, 0.0)).body("base")
    parent, reach = "base", 0.0
    for i, (length, mass) in enumerate(zip(LENGTHS, MASSES, strict=True), start=1):
        builder.body(f"link{i}", mass=mass, com=(length / 2, 0.0, 0.0), inertia=bar_along_x(mass, length, WIDTH))
        builder.continuous(f"joint{i}", parent=parent, child=f"link{i}", axis="z", xyz=(reach, 0.0, 0.0))
        parent, reach = f"link{i}", length
    return builder.build()


def bar_along_x(mass: float, length: float, width: float) -> Six:
    """Inertia of a uniform bar of square cross-section about its centre. [kg m²]"""
    across = mass * (length**2 + width**2) / 12
    return mass * width**2 / 6, 0.0, 0.0, across, 0.0, across
