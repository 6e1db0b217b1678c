"""Answers of the closed form: every branch made exact, wound into the joint limits, and the best one chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from appell.kinematics.inverse.arm import Arm
from appell.kinematics.inverse.bounds import Bounds
from appell.kinematics.inverse.closed_form import solve
from appell.kinematics.inverse.frame_motion import FrameMotion
from appell.kinematics.inverse.solution import OUTSIDE_LIMITS, SOLVED, UNREACHABLE


class Answers(NamedTuple):
    """Parts of a `Solution` for B branches and N poses: q (B, N, nq), all others (B, N)."""

    q: np.ndarray
    status: np.ndarray
    error: np.ndarray
    iterations: np.ndarray
    branch: np.ndarray
    singular: np.ndarray


def all_branches(
    arm: Arm, motion: FrameMotion, target: np.ndarray, bounds: Bounds, start: np.ndarray, names: Sequence[str]
) -> Answers:
    """The named branches for targets (N, 4, 4), angles as near to `start` (N, nq) as full turns and limits allow."""
    parts = [_branch(arm, motion, target, bounds, start, name) for name in names]
    return Answers(*(np.stack(column) for column in zip(*parts, strict=True)))


def chosen(answers: Answers, near: np.ndarray | None) -> Answers:
    """One branch for every pose: solved before unsolved, near before far (without `near`: early before late). (N, ...)"""
    far = np.zeros(answers.status.shape) if near is None else np.abs(answers.q - near).max(axis=-1)
    penalty = np.select([answers.status == SOLVED, answers.status == OUTSIDE_LIMITS], [0.0, 1e6], 1e12)
    best = np.argmin(far + penalty, axis=0)
    return Answers(*(part[best, np.arange(len(best))] for part in answers))


def _branch(
    arm: Arm, motion: FrameMotion, target: np.ndarray, bounds: Bounds, start: np.ndarray, name: str
) -> tuple[np.ndarray, ...]:
    angles, reachable, singular = solve(arm, target, name, start[:, arm.places[3]])
    q = start.copy()
    q[:, arm.places] = angles
    q, left = motion.newton(q, target, iterations=2)
    q = bounds.wound(q, start)
    status = np.where(reachable, np.where(bounds.hold(q), SOLVED, OUTSIDE_LIMITS), UNREACHABLE)
    count = len(q)
    names = np.full(count, name, dtype=object)
    return q, status, np.linalg.norm(left, axis=-1), np.zeros(count, dtype=int), names, singular
