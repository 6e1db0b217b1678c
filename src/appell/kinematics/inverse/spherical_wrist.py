"""Arms with a closed-form inverse kinematics: six revolute joints, axes 2 and 3 parallel, a spherical wrist.

Most industrial arms are of this type (PUMA, KUKA, ABB, Stäubli, Fanuc). Only the lines of the axes at q = 0 are used, so
frames, offsets and tools of the description are arbitrary.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.algorithms.kinematics import pose
from appell.model.joint import Joint
from appell.model.joints import KINDS
from appell.robot.robot import Robot

AXIS_TOL = 1e-5
"""Tolerance for parallel and intersecting axes [rad, m]: the five digits of printed descriptions. Newton's method removes
the remaining error of a solution."""


@dataclass(frozen=True, eq=False)
class SphericalWristArm:
    """Axes of an arm in the world at q = 0.

    Attributes:
        joints: names, base to tip.
        q_indices: positions of their coordinates in q.
        w: directions of the axes, (6, 3).
        base, shoulder, elbow: points on axes 1, 2 and 3, (3,). [m]
        wrist: intersection of axes 4, 5 and 6. [m]
        tool: pose of the frame, (4, 4).
    """

    joints: tuple[str, ...]
    q_indices: np.ndarray
    w: np.ndarray
    base: np.ndarray
    shoulder: np.ndarray
    elbow: np.ndarray
    wrist: np.ndarray
    tool: np.ndarray


def spherical_wrist_arm(robot: Robot, frame: str) -> SphericalWristArm | str:
    """The arm that carries a frame, or the reason why it is not of this type."""
    joints = moving_joints_to(robot, frame)
    if len(joints) != 6:
        return f"{len(joints)} joints move {frame!r}, expected 6"
    for joint in joints:
        if joint.kind not in ("revolute", "continuous"):
            return f"joint {joint.name!r} is {joint.kind}, expected revolute"
        if robot.coupled and (joint.mimic or any(other.mimic and other.mimic.joint == joint.name for other in joints)):
            return f"joint {joint.name!r} is coupled to another one"
    poses = [_pose_at_zero(robot, joint.child) for joint in joints]
    w = np.array([T[:3, :3] @ joint.axis for T, joint in zip(poses, joints, strict=True)])
    points = np.array([T[:3, 3] for T in poses])
    names = [joint.name for joint in joints]
    if np.linalg.norm(np.cross(w[1], w[2])) > AXIS_TOL:
        return f"the axes of {names[1]!r} and {names[2]!r} are not parallel"
    for i, k in ((0, 1), (3, 4), (4, 5)):
        if np.linalg.norm(np.cross(w[i], w[k])) < AXIS_TOL:
            return f"the axes of {names[i]!r} and {names[k]!r} are parallel"
    wrist = nearest_point(points[3:], w[3:])
    off = max(distance(wrist, point, axis) for point, axis in zip(points[3:], w[3:], strict=True))
    if off > AXIS_TOL:
        return f"the axes of {names[3]!r}, {names[4]!r} and {names[5]!r} do not intersect: they are {2e3 * off:.3g} mm apart"
    if min(distance(points[2], points[1], w[1]), distance(wrist, points[2], w[2])) < AXIS_TOL:
        return f"shoulder, elbow and wrist do not form a triangle: an axis passes through the wrist or {names[2]!r}"
    q_indices = np.array([robot.first_coordinates[name][0] for name in names])
    return SphericalWristArm(
        tuple(names), q_indices, w, points[0], points[1], points[2], wrist, _pose_at_zero(robot, frame)
    )


def _pose_at_zero(robot: Robot, frame: str) -> np.ndarray:
    """Pose of a frame at q = 0, (4, 4): over plain numbers, so that no kernel is compiled for it."""
    tree = robot.tree
    return np.array(pose(tree, robot.neutral_configuration().tolist(), tree.frames[frame], "WORLD"), dtype=float)


def moving_joints_to(robot: Robot, frame: str) -> list[Joint]:
    """The joints that move a frame, base first."""
    parent_joint = {joint.child: joint for joint in robot.joints}
    path = []
    while frame in parent_joint:
        joint = parent_joint[frame]
        if KINDS[joint.kind].nv:
            path.append(joint)
        frame = joint.parent
    return path[::-1]


def nearest_point(points: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """The point with the least sum of squared distances from lines through `points` along `axes`, (k, 3) each."""
    across = np.eye(3) - axes[:, :, None] * axes[:, None, :]
    return np.linalg.solve(across.sum(axis=0), np.einsum("kij,kj->i", across, points))


def distance(point: np.ndarray, on_line: np.ndarray, axis: np.ndarray) -> float:
    """Distance of a point from a line. [m]"""
    return float(np.linalg.norm(np.cross(axis, point - on_line)))
