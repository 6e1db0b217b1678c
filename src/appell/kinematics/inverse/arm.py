"""Arms whose inverse kinematics have a closed form: six revolute joints, axes 2 and 3 parallel, a spherical wrist.

Most industrial arms are of this kind (PUMA, KUKA, ABB, Stäubli, Fanuc). Where the axes lie is all that is needed; it is
read off the robot at q = 0, so frames, offsets and tools of the description may be anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appell.algorithms.kinematics import pose
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.model.joint import Joint
    from appell.robot.robot import Robot

LOOSE = 1e-5
"""How exactly axes must be parallel or meet [rad, m]: the five digits of printed descriptions. What is missing to exact
solutions is made up by Newton's method."""


@dataclass(frozen=True, eq=False)
class Arm:
    """Axes of an arm in the world at q = 0.

    Attributes:
        joints: their names, base to tip.
        places: where their coordinates stand in q.
        w: directions of the axes, (6, 3).
        shoulder, elbow, wrist: points on axes 2 and 3, and where axes 4, 5 and 6 meet, (3,). [m]
        base: a point on axis 1.
        tool: pose of the frame, (4, 4).
    """

    joints: tuple[str, ...]
    places: np.ndarray
    w: np.ndarray
    base: np.ndarray
    shoulder: np.ndarray
    elbow: np.ndarray
    wrist: np.ndarray
    tool: np.ndarray


def recognise(robot: Robot, frame: str) -> Arm | str:
    """The arm that carries a frame, or why it is not of this kind."""
    joints = moving_joints_to(robot, frame)
    if len(joints) != 6:
        return f"{len(joints)} joints move {frame!r}, expected 6"
    for joint in joints:
        if joint.kind not in ("revolute", "continuous"):
            return f"joint {joint.name!r} is {joint.kind}, expected revolute"
        if robot.coupled and (joint.mimic or any(other.mimic and other.mimic.joint == joint.name for other in joints)):
            return f"joint {joint.name!r} is coupled to another one"
    poses = [_pose(robot, joint.child) for joint in joints]
    w = np.array([T[:3, :3] @ joint.axis for T, joint in zip(poses, joints, strict=True)])
    points = np.array([T[:3, 3] for T in poses])
    names = [joint.name for joint in joints]
    if np.linalg.norm(np.cross(w[1], w[2])) > LOOSE:
        return f"the axes of {names[1]!r} and {names[2]!r} are not parallel"
    if np.linalg.norm(np.cross(w[0], w[1])) < LOOSE:
        return f"the axes of {names[0]!r} and {names[1]!r} are parallel"
    for i, k in ((3, 4), (4, 5)):
        if np.linalg.norm(np.cross(w[i], w[k])) < LOOSE:
            return f"the axes of {names[i]!r} and {names[k]!r} are parallel"
    wrist = nearest_point(points[3:], w[3:])
    off = max(distance(wrist, point, axis) for point, axis in zip(points[3:], w[3:], strict=True))
    if off > LOOSE:
        return (
            f"the axes of {names[3]!r}, {names[4]!r} and {names[5]!r} do not meet: they pass {2e3 * off:.3g} mm apart"
        )
    if min(distance(points[2], points[1], w[1]), distance(wrist, points[2], w[2])) < LOOSE:
        return f"the shoulder, the elbow and the wrist do not form a triangle: an axis runs through the wrist or {names[2]!r}"
    places = np.array([robot.first_coordinates[name][0] for name in names])
    return Arm(tuple(names), places, w, points[0], points[1], points[2], wrist, _pose(robot, frame))


def _pose(robot: Robot, frame: str) -> np.ndarray:
    """Pose of a frame at q = 0, (4, 4): the algorithm over plain numbers, since nothing else of these frames is needed."""
    tree = robot.tree
    return np.array(pose(tree, robot.neutral_configuration().tolist(), tree.frames[frame], "WORLD"), dtype=float)


def moving_joints_to(robot: Robot, frame: str) -> list[Joint]:
    """The joints that move a frame, base first."""
    above = {joint.child: joint for joint in robot.joints}
    path = []
    while frame in above:
        joint = above[frame]
        if KINDS[joint.kind].nv:
            path.append(joint)
        frame = joint.parent
    return path[::-1]


def nearest_point(points: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """The point with the least sum of squared distances from lines through `points` along `axes`, (k, 3) each."""
    across = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    return np.linalg.solve(across.sum(axis=0), np.einsum("kij,kj->i", across, points))


def distance(point: np.ndarray, on_line: np.ndarray, axis: np.ndarray) -> float:
    """Of a point from a line. [m]"""
    return float(np.linalg.norm(np.cross(axis, point - on_line)))
