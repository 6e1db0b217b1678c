"""Results of inverse kinematics, and the selection among the branches of the closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.kinematics.inverse.bounds import CoordinateBounds
from appell.kinematics.inverse.closed_form import solve
from appell.kinematics.inverse.frame_motion import FrameMotion
from appell.kinematics.inverse.spherical_wrist import SphericalWristArm

SOLVED = "solved"
UNREACHABLE = "unreachable"
OUTSIDE_LIMITS = "outside limits"
NOT_CONVERGED = "not converged"


@dataclass(frozen=True, eq=False)
class Solution:
    """Configurations for one pose, or for a batch of poses with the leading dimensions `...`.

    Attributes:
        q: configuration, (..., nq); the best one found where the pose is not reached.
        status: `"solved"`; `"unreachable"` for any angles, as the closed form proves; `"outside limits"` of the joints;
            `"not converged"` from any start.
        error: norm of the pose error, metres and radians together, (...).
        iterations: steps of least squares, (...); 0 for the closed form.
        branch: name of the configuration where the closed form was used, else None.
        singular: whether axes are aligned, so that other configurations give the same pose, (...).

    For a batch, `status` and `branch` are arrays of text; for one pose they are text and the others plain numbers.
    """

    q: np.ndarray
    status: Any
    error: Any
    iterations: Any
    branch: Any
    singular: Any

    @property
    def solved(self) -> Any:
        """Whether the pose is reached, (...)."""
        return self.status == SOLVED

    def __repr__(self) -> str:
        if isinstance(self.status, str):
            branch = f", {self.branch}" if self.branch else ""
            return f"Solution({self.status}{branch}, q={np.array2string(self.q, precision=6)}, error={self.error:.2g})"
        return f"Solution({int(np.sum(self.solved))} of {self.status.size} poses solved)"


def solve_branches(
    arm: SphericalWristArm,
    motion: FrameMotion,
    target: np.ndarray,
    bounds: CoordinateBounds,
    q0: np.ndarray,
    names: Sequence[str],
) -> Solution:
    """All named branches (B, N, ...) for targets (N, 4, 4), angles as near to q0 (N, nq) as the limits allow."""
    count = len(q0)
    branches = []
    for name in names:
        angles, reachable, singular = solve(arm, target, name, q0[:, arm.q_indices[3]])
        q = q0.copy()
        q[:, arm.q_indices] = angles
        q, residual = motion.newton(q, target, iterations=2)
        q = bounds.wrap_near(q, q0)
        status = np.where(reachable, np.where(bounds.contains(q), SOLVED, OUTSIDE_LIMITS), UNREACHABLE)
        error, branch = np.linalg.norm(residual, axis=-1), np.full(count, name, dtype=object)
        branches.append((q, status, error, np.zeros(count, dtype=int), branch, singular))
    return Solution(*(np.stack(column) for column in zip(*branches, strict=True)))


def select_branch(branches: Solution, q0: np.ndarray | None) -> Solution:
    """One branch per pose: solved before unsolved, then the nearest to q0, or the first without q0. (N, ...)"""
    distance = np.zeros(branches.status.shape) if q0 is None else np.abs(branches.q - q0).max(axis=-1)
    penalty = np.select([branches.status == SOLVED, branches.status == OUTSIDE_LIMITS], [0.0, 1e6], 1e12)
    best = np.argmin(distance + penalty, axis=0)
    return Solution(*(part[best, np.arange(len(best))] for part in vars(branches).values()))


def reshaped(solution: Solution, batch_shape: tuple[int, ...]) -> Solution:
    """A flat batch in the batch shape of the poses; a single solution becomes plain values."""
    q, *parts = vars(solution).values()
    if not batch_shape:
        return Solution(q[0], *(part[0].item() if part.dtype != object else part[0] for part in parts))
    return Solution(q.reshape(*batch_shape, q.shape[-1]), *(part.reshape(batch_shape) for part in parts))
