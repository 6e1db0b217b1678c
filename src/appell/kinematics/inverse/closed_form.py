"""Closed-form inverse kinematics of a `SphericalWristArm`: up to eight configurations per pose, named.

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

from itertools import product

import numpy as np

from appell.kinematics.inverse.rotation import rotation_matrix
from appell.kinematics.inverse.spherical_wrist import SphericalWristArm

SHOULDERS, ELBOWS, WRISTS = ("right", "left"), ("above", "below"), ("no_flip", "flip")
BRANCHES = tuple("/".join(names) for names in product(SHOULDERS, ELBOWS, WRISTS))
"""The eight configurations."""
POSITIVE = (SHOULDERS[0], ELBOWS[0], WRISTS[0])
"""Names of the positive signs."""
WRIST_SINGULAR_TOL = 1e-7
"""Sine between axes 4 and 6 below which they count as aligned: an arc cosine near 1 is accurate to 1e-8."""
COSINE_TOL = 1e-12
"""Rounding of a cosine beyond 1 at the boundary of the workspace."""


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
