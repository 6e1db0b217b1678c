"""Names, nominal values and order of the parameters of a robot, as in the columns of its regressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.model.parameters import PER_LINK
from appell.robot.regressor_terms import RegressorTerm

if TYPE_CHECKING:
    from appell.robot.regressor_terms import AnyRobot
    from appell.robot.robot import Robot

LINK_PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Names of the inertial parameters of a body; mx = m cx."""


def parameter_names(robot: AnyRobot, terms: Sequence[RegressorTerm]) -> tuple[str, ...]:
    """Inertial parameters of all links, then those of the terms."""
    inertial = [f"{name}[{body}]" for body, _ in bodies_and_axes(robot) for name in LINK_PARAMETERS]
    return (*inertial, *(name for term in terms for name in term.names(robot)))


def nominal_parameters(robot: Robot, terms: Sequence[RegressorTerm]) -> np.ndarray:
    """Their values in the robot's description."""
    return np.concatenate([link_columns(robot, robot.parameters), *(term.nominal_values(robot) for term in terms)])


def link_columns(robot: AnyRobot, entries: np.ndarray) -> np.ndarray:
    """Parameters, or columns of the regressor, of the links alone: rotors are a term (`Rotor`)."""
    return entries[..., : PER_LINK * len(bodies_and_axes(robot))]


def preferred_order(robot: AnyRobot, count: int) -> list[int]:
    """Columns in order of preference as base parameters.

    First the parameters that act on the joint of their own body, then those of the terms, and last those that are
    customarily regrouped towards the base (Khalil and Gautier): mass, first moment along the axis, and one moment of
    inertia across it.
    """
    bodies = bodies_and_axes(robot)
    inertial = PER_LINK * len(bodies)
    regrouped: list[int] = []
    for i, (_, axis) in enumerate(bodies):
        moment = {0: 9, 1: 4, 2: 6}[axis]  # Izz, Ixx, Iyy across x, y, z
        regrouped += [PER_LINK * i, PER_LINK * i + 1 + axis, PER_LINK * i + moment]
    first = [k for k in range(inertial) if k not in regrouped]
    return [*first, *range(inertial, count), *regrouped]


def bodies_and_axes(robot: AnyRobot) -> list[tuple[str, int]]:
    """Bodies in the order of the regressor's columns, and the axis of each frame that is nearest to the joint's axis.

    With closed loops they are those of the spanning tree; all bodies of a spherical robot rotate about z.
    """
    from appell.closed_loop.spherical import SphericalRobot
    from appell.robot.robot import Robot

    if isinstance(robot, SphericalRobot):
        return [(name, 2) for name in robot.body_names]
    tree = robot.tree if isinstance(robot, Robot) else robot.spanning_tree.tree
    axes = (tree.frames[link.body].R for link in tree.links)  # the joint's axis is z of the link's frame
    return [
        (link.body, int(np.argmax(np.abs([float(x) for x in (R.zx, R.zy, R.zz)]))))
        for link, R in zip(tree.links, axes, strict=True)
    ]
