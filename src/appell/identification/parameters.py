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
    inertial = [f"{name}[{body}]" for body, _ in robot.system.parameter_bodies for name in LINK_PARAMETERS]
    return (*inertial, *(name for term in terms for name in term.names(robot)))


def nominal_parameters(robot: Robot, terms: Sequence[RegressorTerm]) -> np.ndarray:
    """Their values in the robot's description."""
    return np.concatenate([link_columns(robot, robot.parameters), *(term.nominal_values(robot) for term in terms)])


def link_columns(robot: AnyRobot, entries: np.ndarray) -> np.ndarray:
    """Parameters, or columns of the regressor, of the links alone: rotors are a term (`Rotor`)."""
    return entries[..., : PER_LINK * len(robot.system.parameter_bodies)]


def preferred_order(robot: AnyRobot, count: int) -> list[int]:
    """Columns in order of preference as base parameters.

    First the parameters that act on the joint of their own body, then those of the terms, and last those that are
    customarily regrouped towards the base (Khalil and Gautier): mass, first moment along the axis, and one moment of
    inertia across it.
    """
    bodies = robot.system.parameter_bodies
    inertial = PER_LINK * len(bodies)
    regrouped: list[int] = []
    for i, (_, axis) in enumerate(bodies):
        moment = {0: 9, 1: 4, 2: 6}[axis]  # Izz, Ixx, Iyy across x, y, z
        regrouped += [PER_LINK * i, PER_LINK * i + 1 + axis, PER_LINK * i + moment]
    first = [k for k in range(inertial) if k not in regrouped]
    return [*first, *range(inertial, count), *regrouped]
