"""Inverse kinematics of an `Arm` in closed form: up to eight configurations for a pose, named.

    T(q) = e1 e2 ... e6 T(0),   e_i = the turn by q_i about axis i as it lies at q = 0.

The wrist is moved by the first three joints alone. Turning about the parallel axes 2 and 3 leaves its component along
them, which fixes q1; its distance from axis 2 fixes q3, its direction q2. The attitude is left to the last three joints.
Each of the three choices is the sign of a square root in one equation, a cos x + b sin x + c = d.

Names, with n = w1 x w2 the direction in which the arm reaches:

    right / left      the wrist lies towards +n / -n of axis 1 (turning joint 2 forwards raises / lowers it)
    above / below     the elbow lies above / below the line from shoulder to wrist, seen with axis 1 upright
    no_flip / flip    joint 5 bends axis 6 forwards / backwards: w5 · (w4 x w6) is positive / negative
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from appell.kinematics.inverse.arm import Arm
from appell.kinematics.inverse.rotation import cross_matrix

SHOULDERS, ELBOWS, WRISTS = ("right", "left"), ("above", "below"), ("no_flip", "flip")
BRANCHES = tuple("/".join(names) for names in product(SHOULDERS, ELBOWS, WRISTS))
"""The eight configurations."""
SINGULAR = 1e-7
"""Sine between axes 4 and 6 below which they are taken to be in line: an arc cosine near 1 knows no better than 1e-8."""


class Candidates(NamedTuple):
    """One branch for N poses: angles (N, 6), whether the pose can be reached, and whether the wrist is singular (N,)."""

    q: np.ndarray
    reachable: np.ndarray
    singular: np.ndarray


def solve(arm: Arm, pose: np.ndarray, branch: str, q4: np.ndarray) -> Candidates:
    """Angles of one branch for poses (N, 4, 4).

    Out of reach, the angles are of the nearest stretch or fold of the arm. With axes 4 and 6 in line only q4 + q6 is
    determined; q4 (N,) is then taken as given.
    """
    shoulder, elbow, wrist = (1.0 if name in FIRST else -1.0 for name in branch.split("/"))
    turn = pose[:, :3, :3] @ arm.tool[:3, :3].T  # of e1 ... e6
    target = pose[:, :3, 3] + turn @ (arm.wrist - arm.tool[:3, 3])
    q1, near = _waist(arm, target, shoulder)
    q2, q3, far = _elbow(arm, _turned(arm.w[0], -q1, target - arm.base) + arm.base, -shoulder * elbow)
    carried = _turn(arm.w[0], q1) @ _turn(arm.w[1], q2) @ _turn(arm.w[2], q3)
    q4, q5, q6, bends, singular = _wrist(arm, np.swapaxes(carried, 1, 2) @ turn, wrist, q4)
    return Candidates(np.stack([q1, q2, q3, q4, q5, q6], axis=-1), near & far & bends, singular)


FIRST = (SHOULDERS[0], ELBOWS[0], WRISTS[0])


def _waist(arm: Arm, target: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray]:
    """q1 with w2 · Rot(w1, -q1) (target - base) = w2 · (wrist - base)."""
    x = target - arm.base
    return _angle(arm.w[1], -arm.w[0], x, arm.w[1] @ (arm.wrist - arm.base), -sign)


def _elbow(arm: Arm, target: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q2 and q3 that bring the wrist to its target in the frame that joint 1 carries."""
    w = arm.w[1]
    upper, fore, reach = (v - np.multiply.outer(v @ w, w) for v in _sides(arm, target))
    along = 0.5 * (np.sum(reach**2, axis=-1) - upper @ upper - fore @ fore)  # upper · Rot(q3) fore
    q3, reachable = _angle(upper, arm.w[2], np.broadcast_to(fore, reach.shape), along, sign * float(w @ arm.w[2]))
    return _angle_between(w, upper + _turned(arm.w[2], q3, fore), reach), q3, reachable


def _sides(arm: Arm, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return arm.elbow - arm.shoulder, arm.wrist - arm.elbow, target - arm.shoulder


def _wrist(
    arm: Arm, turn: np.ndarray, sign: float, q4: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q4, q5, q6 whose turns together are `turn`; whether axes that are not at right angles allow it; and singular ones."""
    w4, w5, w6 = arm.w[3:]
    hand = turn @ w6
    q5, bends = _angle(w4, w5, np.broadcast_to(w6, hand.shape), hand @ w4, sign)
    bent = _turned(w5, q5, w6)
    singular = np.linalg.norm(np.cross(w4, bent), axis=-1) < SINGULAR
    q4 = np.where(singular, q4, _angle_between(w4, bent, hand))
    left = np.swapaxes(_turn(w4, q4) @ _turn(w5, q5), 1, 2) @ turn
    across = np.cross(w6, w5)
    return q4, q5, _angle_between(w6, across, left @ across), bends, singular


def _angle(
    u: np.ndarray, axis: np.ndarray, v: np.ndarray, value: np.ndarray | float, sign: float
) -> tuple[np.ndarray, np.ndarray]:
    """x with u · Rot(axis, x) v = value, the root where u · (axis x Rot v) has the sign of -`sign`; and whether there is one.

    With a = u · v across the axis and b = u · (axis x v):  a cos x + b sin x = value - (u · axis)(axis · v).
    """
    along = (v @ axis) * (u @ axis)
    a, b = v @ u - along, np.cross(axis, v) @ u
    size = np.hypot(a, b)
    cosine = (value - along) / np.maximum(size, np.finfo(float).tiny)
    return np.arctan2(b, a) + sign * np.arccos(np.clip(cosine, -1.0, 1.0)), np.abs(cosine) <= 1.0 + ROUNDING


ROUNDING = 1e-12
"""How far a cosine may be beyond 1 at the edge of the workspace."""


def _angle_between(axis: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The angle about `axis` that turns `start` to `end`, as seen along the axis."""
    start, end = np.broadcast_arrays(start, end)
    along = (start @ axis) * (end @ axis)
    return np.arctan2(np.cross(start, end) @ axis, np.sum(start * end, axis=-1) - along)


def _turn(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rotations (N, 3, 3) about a unit axis."""
    K = cross_matrix(axis)
    sine, versine = (each[:, None, None] for each in (np.sin(angle), 1.0 - np.cos(angle)))
    return np.eye(3) + sine * K + versine * (K @ K)


def _turned(axis: np.ndarray, angle: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors (N, 3) turned about a unit axis."""
    sine, cosine = np.sin(angle)[:, None], np.cos(angle)[:, None]
    return cosine * v + sine * np.cross(axis, v) + (1.0 - cosine) * np.multiply.outer(v @ axis, axis)
