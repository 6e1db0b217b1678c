"""Names of the parameters of a robot, in the order of the regressor's columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.model.parameters import PER_LINK
from appell.robot.regressor_terms import RegressorTerm

if TYPE_CHECKING:
    from appell.model.tree import Tree
    from appell.robot.regressor_terms import AnyRobot
    from appell.robot.robot import Robot

TEN = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Names of the inertial parameters of a body; mx = m cx."""


def parameter_names(robot: AnyRobot, blocks: Sequence[RegressorTerm]) -> tuple[str, ...]:
    """Inertial parameters of all links, then those of the blocks."""
    inertial = [f"{name}[{body}]" for body, _ in bodies_and_axes(robot) for name in TEN]
    return (*inertial, *(name for block in blocks for name in block.names(robot)))


def own_parameters(robot: Robot, blocks: Sequence[RegressorTerm]) -> np.ndarray:
    """The values that the description has for them."""
    return np.concatenate([of_links(robot, robot.parameters), *(block.nominal_values(robot) for block in blocks)])


def of_links(robot: AnyRobot, entries: np.ndarray) -> np.ndarray:
    """Inertial parameters, or columns of the regressor, without those of rotors: these are a block (`columns.Rotor`)."""
    return entries[..., : PER_LINK * len(bodies_and_axes(robot))]


def regrouped_last(robot: AnyRobot, count: int) -> list[int]:
    """Columns in the order of preference as base parameters.

    First what a joint feels of its body alone, then what the blocks add, and last what is regrouped with the bodies nearer
    to the base by custom (Khalil and Gautier): mass, first moment along the axis, and one moment of inertia across it.
    """
    bodies = bodies_and_axes(robot)
    inertial = PER_LINK * len(bodies)
    late: list[int] = []
    for i, (_, axis) in enumerate(bodies):
        moment = {0: 9, 1: 4, 2: 6}[axis]  # Izz, Ixx, Iyy across x, y, z
        late += [PER_LINK * i, PER_LINK * i + 1 + axis, PER_LINK * i + moment]
    early = [k for k in range(inertial) if k not in late]
    return [*early, *range(inertial, count), *late]


def bodies_and_axes(robot: AnyRobot) -> list[tuple[str, int]]:
    """Bodies in the order of the regressor's columns, and the axis of each frame that is nearest to the joint's axis.

    Of a robot with closed loops those of the tree with all its joints free; of a spherical one all turn about z.
    """
    from appell.closed_loop.spherical import SphericalRobot
    from appell.robot.robot import Robot

    if isinstance(robot, SphericalRobot):
        return [(name, 2) for name in robot.body_names]
    tree = robot.tree if isinstance(robot, Robot) else robot.spanning_tree.tree
    return [(link.body, tree_axis(tree, link.body)) for link in tree.links]


def tree_axis(tree: Tree, body: str) -> int:
    """The coordinate axis of a body's frame that is nearest to its joint's axis, which is z of the link's frame."""
    R = tree.frames[body].R
    return int(np.argmax(np.abs([float(x) for x in (R.zx, R.zy, R.zz)])))
