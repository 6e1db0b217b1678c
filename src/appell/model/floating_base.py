"""A robot that is not bolted down."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from appell.model.body import Body
from appell.model.joint import Joint

if TYPE_CHECKING:
    from appell.model.description import Described

ROOT_JOINT = "root_joint"
NEUTRAL, AT_REST = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (0.0,) * 6
"""State of the floating joint in which the robot stands as if it were bolted down."""


def with_floating_base(robot: Described) -> Described:
    """The robot with its root body free to move in a new root `world`; its coordinates come first."""
    children = {joint.child for joint in robot.joints}
    (root,) = (body.name for body in robot.bodies if body.name not in children)
    world = _free_name("world", robot.body_names)
    joint = Joint(_free_name(ROOT_JOINT, [joint.name for joint in robot.joints]), "floating", world, root)
    start = robot.initial_state
    return replace(
        robot,
        bodies=(Body(world), *robot.bodies),
        joints=(joint, *robot.joints),
        initial_state=start and ((*NEUTRAL, *start[0]), (*AT_REST, *start[1])),
    )


def _free_name(name: str, taken) -> str:
    while name in taken:
        name = f"{name}_"
    return name
