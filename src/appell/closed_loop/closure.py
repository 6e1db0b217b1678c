"""A loop closure as data. What a kind of closure forbids is in `appell.closed_loop.closures`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appell.algebra import IDENTITY, Mat3, Vec3
from appell.closed_loop.closures import KINDS
from appell.closed_loop.way import Loop
from appell.errors import ModelError, unknown_name_message
from appell.model.pose import Pose, Triple
from appell.model.tree import Frame, Tree
from appell.model.tree_builder import axes_along

if TYPE_CHECKING:
    from appell.robot.robot import Robot


@dataclass(frozen=True)
class Closure:
    """Joins two bodies of a tree and so closes a loop.

    Attributes:
        name: of the closure.
        kind: `"point"`, `"spherical"` (a point, too), `"revolute"`, `"universal"`, `"prismatic"` or `"weld"`.
        first, second: names of the bodies. Forces are given along the axes of the first one.
        first_pose, second_pose: the closure's frame in the frame of each body.
        axis: of a revolute or prismatic closure, in the closure's frame. The arms of a universal one are x of the first and
            y of the second frame.

    Example:
        >>> import appell
        >>> appell.Closure("knee", "revolute", "rod", "rocker", first_pose=appell.Pose((0.3, 0.0, 0.0))).axis
        (0.0, 0.0, 1.0)
    """

    name: str
    kind: str
    first: str
    second: str
    first_pose: Pose = Pose()
    second_pose: Pose = Pose()
    axis: Triple = (0.0, 0.0, 1.0)


def loops_of(robot: Robot, closures: Iterable[Closure]) -> tuple[Loop, ...]:
    """The closures on the robot's tree, each with its way round. Refuses what has no meaning, by name."""
    loops: list[Loop] = []
    for closure in closures:
        where = f"closure {closure.name!r} of {robot.name!r}"
        if closure.kind not in KINDS:
            raise ModelError(f"{where}: {unknown_name_message('kind', closure.kind, KINDS)}")
        for body in (closure.first, closure.second):
            if body not in robot.tree.frames:
                raise ModelError(f"{where}: {unknown_name_message('body', body, robot.body_names)}")
        if any(loop.name == closure.name for loop in loops):
            raise ModelError(f"{where}: another closure has this name. Give each its own.")
        if not any(closure.axis):
            raise ModelError(f"{where}: axis has length 0, expected 1. Give a unit vector.")
        loop = _on(robot.tree, closure)
        if not (loop.inward or loop.outward):
            raise ModelError(
                f"{where}: bodies {closure.first!r} and {closure.second!r} do not move against each other, so that there is "
                "no loop to close. Name two bodies with joints between them."
            )
        loops.append(loop)
    return tuple(loops)


def _on(tree: Tree, closure: Closure) -> Loop:
    axial = closure.kind in ("revolute", "prismatic")
    along_z = Mat3(*axes_along(closure.axis).ravel().tolist()) if axial else IDENTITY
    bodies, poses = (closure.first, closure.second), (closure.first_pose, closure.second_pose)
    turns = [Mat3(*pose.rotation.ravel().tolist()).dot(along_z) for pose in poses]
    frames = []
    for body, pose, turn in zip(bodies, poses, turns, strict=True):
        own = tree.frames[body]
        frames.append(Frame(own.link, own.R.dot(turn), own.p + own.R @ Vec3(*pose.xyz)))
    return Loop.on(tree, closure.name, KINDS[closure.kind], *frames, axes=turns[0])
