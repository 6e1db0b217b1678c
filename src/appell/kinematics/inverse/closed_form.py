"""Closed-form inverse kinematics of arms with six revolute joints, axes 2 and 3 parallel, and a spherical wrist.

Most industrial arms are of this type (PUMA, KUKA, ABB, Stäubli, Fanuc). Only the lines of the axes at q = 0 are used, so
frames, offsets and tools of the description are arbitrary. A pose has up to eight configurations.

    T(q) = e1 e2 ... e6 T(0),   e_i = rotation by q_i about axis i as it lies at q = 0.

The first three joints alone move the wrist. Rotation about the parallel axes 2 and 3 leaves its component along them, which
determines q1; its distance from axis 2 determines q3, its direction q2. The last three joints set the orientation. Each of
the three choices is the sign of a square root in one equation, a cos x + b sin x + c = d.

Names, with n = w1 x w2:

    right / left      the wrist lies towards +n / -n of axis 1 (a positive q2 raises / lowers it)
    above / below     the elbow lies above / below the line from shoulder to wrist, axis 1 being vertical
    no_flip / flip    w5 · (w4 x w6) is positive / negative
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from appell.algorithms.kinematics import pose
from appell.kinematics.inverse.rotation import rotation_matrix
from appell.model.joint import Joint
from appell.model.joints import KINDS
from appell.robot.robot import Robot

SHOULDERS, ELBOWS, WRISTS = ("right", "left"), ("above", "below"), ("no_flip", "flip")
BRANCHES = tuple("/".join(names) for names in product(SHOULDERS, ELBOWS, WRISTS))
"""The eight configurations."""
POSITIVE = (SHOULDERS[0], ELBOWS[0], WRISTS[0])
"""Names of the positive signs."""
WRIST_SINGULAR_TOL = 1e-7
"""Sine between axes 4 and 6 below which they count as aligned: an arc cosine near 1 is accurate to 1e-8."""
COSINE_TOL = 1e-12
"""Rounding of a cosine beyond 1 at the boundary of the workspace."""
AXIS_TOL = 1e-5
"""Tolerance for parallel and intersecting axes [rad, m]: the five digits of printed descriptions. Newton's method removes
the remaining error of a solution."""


@dataclass(frozen=True, eq=False)
class SphericalWristArm:
    """An arm at q = 0: directions w (6, 3) of its axes, points on axes 1, 2 and 3, wrist point, and pose of the frame. [m]"""

    q_indices: np.ndarray
    w: np.ndarray
    base: np.ndarray
    shoulder: np.ndarray
    elbow: np.ndarray
    wrist: np.ndarray
    tool: np.ndarray


@lru_cache(maxsize=64)
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
    return SphericalWristArm(q_indices, w, points[0], points[1], points[2], wrist, _pose_at_zero(robot, frame))


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


def solve(
    arm: SphericalWristArm, pose: np.ndarray, branch: str, q4: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles (N, 6) of one branch for poses (N, 4, 4), whether they are reachable, and whether the wrist is singular (N,).

    Out of reach, the arm is stretched or folded towards the pose. With axes 4 and 6 aligned only q4 + q6 is determined, and
    the given q4 (N,) is used.
    """
    shoulder, elbow, wrist = (1.0 if name in POSITIVE else -1.0 for name in branch.split("/"))
    R = pose[:, :3, :3] @ arm.tool[:3, :3].T  # of e1 ... e6
    target = pose[:, :3, 3] + R @ (arm.wrist - arm.tool[:3, 3])
    x = target - arm.base  # q1:  w2 · Rot(w1, -q1) x = w2 · (wrist - base)
    q1, near = _angle(arm.w[1], -arm.w[0], x, arm.w[1] @ (arm.wrist - arm.base), -shoulder)
    q2, q3, far = _elbow(arm, _rotate(arm.w[0], -q1, x) + arm.base, -shoulder * elbow)
    R123 = _rotation(arm.w[0], q1) @ _rotation(arm.w[1], q2) @ _rotation(arm.w[2], q3)
    q4, q5, q6, orientable, singular = _wrist(arm, np.swapaxes(R123, 1, 2) @ R, wrist, q4)
    return np.stack([q1, q2, q3, q4, q5, q6], axis=-1), near & far & orientable, singular


def _elbow(arm: SphericalWristArm, target: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q2 and q3 that bring the wrist to its target in the frame of link 1."""
    w = arm.w[1]
    sides = arm.elbow - arm.shoulder, arm.wrist - arm.elbow, target - arm.shoulder
    upper, fore, reach = (v - np.multiply.outer(v @ w, w) for v in sides)
    along = 0.5 * (np.sum(reach**2, axis=-1) - upper @ upper - fore @ fore)  # upper · Rot(q3) fore
    q3, reachable = _angle(upper, arm.w[2], np.broadcast_to(fore, reach.shape), along, sign * float(w @ arm.w[2]))
    return _angle_between(w, upper + _rotate(arm.w[2], q3, fore), reach), q3, reachable


def _wrist(
    arm: SphericalWristArm, R: np.ndarray, sign: float, q4: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q4, q5, q6 that give the rotation R; whether it is possible (axes not at right angles); whether it is singular."""
    w4, w5, w6 = arm.w[3:]
    hand = R @ w6
    q5, orientable = _angle(w4, w5, np.broadcast_to(w6, hand.shape), hand @ w4, sign)
    axis6 = _rotate(w5, q5, w6)
    singular = np.linalg.norm(np.cross(w4, axis6), axis=-1) < WRIST_SINGULAR_TOL
    q4 = np.where(singular, q4, _angle_between(w4, axis6, hand))
    R6 = np.swapaxes(_rotation(w4, q4) @ _rotation(w5, q5), 1, 2) @ R
    across = np.cross(w6, w5)
    return q4, q5, _angle_between(w6, across, R6 @ across), orientable, singular


def _angle(
    u: np.ndarray, axis: np.ndarray, v: np.ndarray, value: np.ndarray | float, sign: float
) -> tuple[np.ndarray, np.ndarray]:
    """x with u · Rot(axis, x) v = value, the root where u · (axis x Rot v) has the sign of -`sign`; and whether it exists.

    With a = u · v across the axis and b = u · (axis x v):  a cos x + b sin x = value - (u · axis)(axis · v).
    """
    along = (v @ axis) * (u @ axis)
    a, b = v @ u - along, np.cross(axis, v) @ u
    size = np.hypot(a, b)
    cosine = (value - along) / np.maximum(size, np.finfo(float).tiny)
    return np.arctan2(b, a) + sign * np.arccos(np.clip(cosine, -1.0, 1.0)), np.abs(cosine) <= 1.0 + COSINE_TOL


def _angle_between(axis: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The angle about `axis` from `start` to `end`, both projected along the axis."""
    start, end = np.broadcast_arrays(start, end)
    along = (start @ axis) * (end @ axis)
    return np.arctan2(np.cross(start, end) @ axis, np.sum(start * end, axis=-1) - along)


def _rotation(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rotations (N, 3, 3) about a unit axis."""
    return rotation_matrix(np.multiply.outer(angle, axis))


def _rotate(axis: np.ndarray, angle: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors (N, 3), or one (3,), rotated about a unit axis."""
    return (_rotation(axis, angle) @ v[..., None])[..., 0]
