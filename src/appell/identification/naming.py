"""Names of the parameters of a robot, in the order of the regressor's columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.identification.columns import Block
from appell.model.parameters import PER_LINK

if TYPE_CHECKING:
    from appell.model.robot import Robot

TEN = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Names of the inertial parameters of a body; mx = m cx."""


def parameter_names(robot: Robot, blocks: Sequence[Block]) -> tuple[str, ...]:
    """Inertial parameters of all links, then those of the blocks."""
    inertial = [f"{name}[{link.body}]" for link in robot.tree.links for name in TEN]
    return (*inertial, *(name for block in blocks for name in block.names(robot)))


def own_parameters(robot: Robot, blocks: Sequence[Block]) -> np.ndarray:
    """The values that the description has for them."""
    return np.concatenate([robot.parameters, *(block.own(robot) for block in blocks)])


def regrouped_last(robot: Robot, count: int) -> list[int]:
    """Columns in the order of preference as base parameters.

    First what a joint feels of its body alone, then what the blocks add, and last what is regrouped with the bodies nearer
    to the base by custom (Khalil and Gautier): mass, first moment along the axis, and one moment of inertia across it.
    """
    inertial = PER_LINK * len(robot.tree.links)
    late: list[int] = []
    for i, link in enumerate(robot.tree.links):
        axis = tree_axis(robot, link.body)
        moment = {0: 9, 1: 4, 2: 6}[axis]  # Izz, Ixx, Iyy across x, y, z
        late += [PER_LINK * i, PER_LINK * i + 1 + axis, PER_LINK * i + moment]
    early = [k for k in range(inertial) if k not in late]
    return [*early, *range(inertial, count), *late]


def tree_axis(robot: Robot, body: str) -> int:
    """The coordinate axis of a body's frame that is nearest to its joint's axis, which is z of the link's frame."""
    R = robot.tree.frames[body].R
    return int(np.argmax(np.abs([float(x) for x in (R.zx, R.zy, R.zz)])))
