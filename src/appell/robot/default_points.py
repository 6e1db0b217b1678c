"""The points with which a robot touches surfaces where none are named."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from appell.algorithms.kinematics import frame_motion, world_motion
from appell.model.point import Point

if TYPE_CHECKING:
    from appell.robot.robot import Robot

Configurations = tuple[tuple[float, ...], ...]


def default_points(robot: Robot, configurations: Configurations | None = None) -> Sequence[Point]:
    """The points of the collision shapes, or joint origins and tips, told apart at some configurations."""
    return robot.contact_points() or [Point(name) for name in default_contact_points(robot, configurations)]


@lru_cache(maxsize=64)
def default_contact_points(robot: Robot, configurations: Configurations | None = None) -> tuple[str, ...]:
    """Joint origins and tips: the origin of every moving link with mass, and every leaf body.

    Points that always coincide count once, under the name of a marker frame (a fixed body without mass) if there is one.
    Points that never move are left out. Both are decided at two configurations, by default random ones; those of closed loops
    must be closed.

    Example:
        >>> import appell
        >>> from appell.robot.default_points import default_contact_points
        >>> default_contact_points(appell.load("shafei_tree"))
        ('O1', 'O2', 'O3', 'O4', 'O5', 'O6', 'O7', 'O8', 'O9', 'O10', 'O11')
    """
    parent_joint = {joint.child: joint for joint in robot.joints}
    parents = {joint.parent for joint in robot.joints}
    massive = {link.body for link in robot.tree.links if link.inertia.mass}
    candidates = [name for name in robot.body_names if name in massive or name not in parents]
    tree = robot.tree
    if configurations is None:
        configurations = tuple(tuple(robot.random_configuration(seed).tolist()) for seed in (1, 2))
    poses = [world_motion(tree, list(q)) for q in configurations]
    positions = {
        name: np.array([[*frame_motion(tree, pose, frame).p] for pose in poses]) for name, frame in tree.frames.items()
    }

    def is_marker(name: str) -> bool:
        joint = parent_joint.get(name)
        return joint is not None and joint.kind == "fixed" and not robot.body(name).mass

    names = sorted(robot.body_names, key=lambda name: not is_marker(name))
    selected = set()
    for point in candidates:
        name = next(name for name in names if np.abs(positions[name] - positions[point]).max() < 1e-9)
        if np.abs(positions[name][0] - positions[name][1]).max() > 1e-9:
            selected.add(name)
    return tuple(name for name in robot.body_names if name in selected)
