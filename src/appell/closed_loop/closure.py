"""Description of a loop closure. The equations of its types are in `appell.closed_loop.closures`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from appell.algebra import IDENTITY, Mat3, Vec3
from appell.closed_loop.closures import CLOSURE_MODELS
from appell.closed_loop.loop_path import KinematicLoop
from appell.deprecation import renamed_fields
from appell.errors import ModelError, unknown_name_message
from appell.model.pose import Pose, Triple
from appell.model.tree import Frame, Tree
from appell.model.tree_builder import axes_along
from appell.robot.robot import Robot


@renamed_fields(first="body1", second="body2", first_pose="pose1", second_pose="pose2")
@dataclass(frozen=True)
class LoopClosure:
    """A joint between two bodies of a tree that closes a loop.

    Attributes:
        name: of the closure.
        kind: `"point"`, `"spherical"` (the same as a point), `"revolute"`, `"universal"`, `"prismatic"` or `"weld"`.
        body1, body2: names of the bodies. Forces are given along the axes of the first one.
        pose1, pose2: the closure's frame in the frame of each body.
        axis: of a revolute or prismatic closure, in the closure's frame. The arms of a universal one are x of the first and
            y of the second frame.

    Example:
        >>> import appell
        >>> appell.LoopClosure("knee", "revolute", "rod", "rocker", pose1=appell.Pose((0.3, 0.0, 0.0))).axis
        (0.0, 0.0, 1.0)
    """

    name: str
    kind: str
    body1: str
    body2: str
    pose1: Pose = Pose()
    pose2: Pose = Pose()
    axis: Triple = (0.0, 0.0, 1.0)


def loops_of(robot: Robot, closures: Iterable[LoopClosure]) -> tuple[KinematicLoop, ...]:
    """The closures on the robot's tree, validated, each with its path."""
    loops: list[KinematicLoop] = []
    for closure in closures:
        where = f"closure {closure.name!r} of {robot.name!r}"
        if closure.kind not in CLOSURE_MODELS:
            raise ModelError(f"{where}: {unknown_name_message('kind', closure.kind, CLOSURE_MODELS)}")
        for body in (closure.body1, closure.body2):
            if body not in robot.tree.frames:
                raise ModelError(f"{where}: {unknown_name_message('body', body, robot.body_names)}")
        if any(loop.name == closure.name for loop in loops):
            raise ModelError(f"{where}: another closure has this name. Give each a unique name.")
        if not any(closure.axis):
            raise ModelError(f"{where}: axis has length 0, expected 1. Give a unit vector.")
        loop = _kinematic_loop(robot.tree, closure)
        if not (loop.inward or loop.outward):
            raise ModelError(
                f"{where}: bodies {closure.body1!r} and {closure.body2!r} do not move relative to each other, so there is no "
                "loop to close. Name two bodies with joints between them."
            )
        loops.append(loop)
    return tuple(loops)


def _kinematic_loop(tree: Tree, closure: LoopClosure) -> KinematicLoop:
    axial = closure.kind in ("revolute", "prismatic")
    along_z = Mat3(*axes_along(closure.axis).ravel().tolist()) if axial else IDENTITY
    bodies, poses = (closure.body1, closure.body2), (closure.pose1, closure.pose2)
    rotations = [Mat3(*pose.rotation.ravel().tolist()).dot(along_z) for pose in poses]
    frames = []
    for body, pose, rotation in zip(bodies, poses, rotations, strict=True):
        frame = tree.frames[body]
        frames.append(Frame(frame.link, frame.R.dot(rotation), frame.p + frame.R @ Vec3(*pose.xyz)))
    return KinematicLoop.on(tree, closure.name, CLOSURE_MODELS[closure.kind], *frames, axes=rotations[0])
