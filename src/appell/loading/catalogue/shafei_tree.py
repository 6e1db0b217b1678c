"""The branched robot of Shafei and Shafei 2018."""

from __future__ import annotations

import math

from appell.model.body import Body
from appell.model.description import State
from appell.model.joint import Joint
from appell.model.pose import Pose
from appell.robot.robot import Robot

LENGTH = 1.0
MASS = 1.0
"""Table 2: every link is a straight rod. [m, kg]"""

INERTIA = (5.89e-5, 0.0, 0.0, 2.94e-5 + MASS * LENGTH**2 / 12, 0.0, 2.94e-5 + MASS * LENGTH**2 / 12)
"""About the mass centre: that of the thin rod, and table 2's own moments of inertia of its cross-sections. [kg m²]"""

PARENTS = (0, 1, 2, 3, 2, 5, 6, 5, 5, 9)
"""Link that carries link 1, 2, ..., 10 at its end; 0 is the point that X1 and X2 move."""

TIPS = {"O2": 1, "O3": 2, "O4": 3, "O5": 4, "O6": 5, "O7": 6, "O8": 7, "O9": 8, "O10": 9, "O11": 10}
"""The link whose end each point is. O1 is the beginning of link 1."""

VIRTUAL_BODIES = frozenset(("guide", "carriage"))
"""Bodies without mass that only carry the two translations."""

START = (1 / 6, 1 / 6, -2 / 3, 1 / 6, 1 / 6, -2 / 3, 1 / 3, 0.0, 2 / 3, -1 / 3)
"""Angles q1 ... q10 of section 6, in units of π."""


def shafei_tree() -> Robot:
    """Ten equal rods in the x-y plane, branching like a body with two arms, free to fly, Shafei and Shafei 2018, section 6.

    Coordinates are the relative angles q1 ... q10 and the position X1, X2 of the point O1 [rad, m]; gravity acts along
    -X2. The joints and tips are the frames O1 ... O11. `initial_state` is the paper's, at rest, with
    X1 = X2 = -(1 + √3)/2: only so is the start exactly symmetric (printed is -1.366).
    """
    bodies = [Body("base"), Body("guide"), Body("carriage"), Body("O1")]
    bodies += [Body(f"link{i}", MASS, (LENGTH / 2, 0.0, 0.0), INERTIA) for i in range(1, len(PARENTS) + 1)]
    bodies += [Body(point) for point in TIPS]
    turns = [
        Joint(f"q{i}", "continuous", f"link{parent}" if parent else "O1", f"link{i}", _reach(parent))
        for i, parent in enumerate(PARENTS, start=1)
    ]
    slides = [
        Joint("X1", "prismatic", "base", "guide", axis=(1.0, 0.0, 0.0)),
        Joint("X2", "prismatic", "guide", "carriage", axis=(0.0, 1.0, 0.0)),
    ]
    points = [Joint("O1_mark", "fixed", "carriage", "O1")]
    points += [Joint(f"{point}_mark", "fixed", f"link{i}", point, _reach(i)) for point, i in TIPS.items()]
    return Robot(
        "shafei_tree",
        tuple(bodies),
        (*turns, *slides, *points),
        gravity_vector=(0.0, -9.81, 0.0),
        initial_state=start(),
    )


def start() -> State:
    """Coordinates and speeds at the beginning of the paper's simulation."""
    corner = -(1 + math.sqrt(3)) / 2
    return (*(math.pi * angle for angle in START), corner, corner), (0.0,) * 12


def _reach(link: int) -> Pose:
    """Where the end of a link is in its frame; the point O1 is no link and has no length."""
    return Pose((LENGTH if link else 0.0, 0.0, 0.0))
