"""`appell.inverse_kinematics`: closed form where the arm has one, damped least squares for every other robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_choice, require_finite
from appell.deprecation import grouped_arguments
from appell.errors import ArgumentError
from appell.kinematics.inverse.closed_form import BRANCHES, SphericalWristArm, solve, spherical_wrist_arm
from appell.kinematics.inverse.frame_motion import CoordinateBounds, FrameMotion, coordinate_bounds, resolve_frame
from appell.kinematics.inverse.least_squares import LeastSquaresOptions, solve_with_restarts
from appell.model.joints import KINDS
from appell.robot.robot import Robot

METHODS = ("closed_form", "least_squares")
SINGULAR_TOL = 1e-9
"""Ratio of singular values of the Jacobian below which a configuration counts as singular."""
SOLVED, UNREACHABLE, OUTSIDE_LIMITS, NOT_CONVERGED = "solved", "unreachable", "outside limits", "not converged"


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


@grouped_arguments(
    "options", LeastSquaresOptions, tolerance="tolerance", iterations="iterations", restarts="restarts", seed="seed"
)
def inverse_kinematics(
    robot: Robot,
    pose: ArrayLike,
    frame: str | None = None,
    q0: ArrayLike | None = None,
    branch: str | None = None,
    *,
    method: str | None = None,
    joints: Sequence[str] | None = None,
    options: LeastSquaresOptions | None = None,
) -> Solution:
    """Configurations at which a frame of the robot has a given pose.

    Args:
        pose: of the frame in the world, (..., 4, 4); or its position (..., 3), with free orientation. A rotation matrix
            (3, 3) on its own raises, since it is not three positions. [m]
        frame: name of a body; by default the tip, if the robot has only one.
        q0: configuration (..., nq) near which a solution is wanted, and of the joints that do not move the frame, also by
            name; the neutral configuration by default.
        branch: for arms with a closed form, one of `appell.ik.BRANCHES` such as `"right/above/no_flip"`, or `"all"` for all
            eight (adds a leading dimension of 8). By default the branch within the joint limits that is nearest to q0, or
            the first one without q0.
        method: `"closed_form"` (six revolute joints, axes 2 and 3 parallel, spherical wrist) or `"least_squares"` (any
            robot); by default the first that applies.
        joints: names of the joints that may move, all by default; for least squares.
        options: `appell.ik.LeastSquaresOptions(tolerance, iterations, restarts, seed)`.

    Returns:
        A `Solution` with `q`, `status`, `error`, `iterations`, `branch` and `singular`.

    Example:
        >>> import appell
        >>> puma = appell.load("puma560")
        >>> pose = puma.pose([0.1, -0.8, 2.5, 0.4, 0.9, -0.3], "link6")
        >>> solution = appell.inverse_kinematics(puma, pose, branch="right/above/no_flip")
        >>> solution.status, bool(abs(puma.pose(solution.q, "link6") - pose).max() < 1e-12)
        ('solved', True)
        >>> appell.inverse_kinematics(puma, pose, branch="all").q.shape
        (8, 6)
    """
    motion, target, batch_shape = _targets(robot, pose, frame)
    starts = _starts(robot, q0, batch_shape)
    arm = spherical_wrist_arm(robot, motion.frame) if joints is None else "`joints` is given"
    if motion.dimension == 3:
        arm = "only a position is given"
    bounds = coordinate_bounds(robot)
    if _method(method, branch, arm, robot) == "closed_form" and isinstance(arm, SphericalWristArm):
        names = BRANCHES if branch in (None, "all") else (branch,)
        branches = solve_branches(arm, motion, target, bounds, starts, names)
        if branch == "all":
            return reshaped(branches, (len(names), *batch_shape))
        return reshaped(select_branch(branches, None if q0 is None else starts), batch_shape)
    options = options or LeastSquaresOptions()
    q, error, iterations = solve_with_restarts(motion, starts, target, bounds, _free(robot, joints), options)
    status = np.where(error <= options.tolerance, SOLVED, NOT_CONVERGED)
    singular = motion.inverse_condition(q) < SINGULAR_TOL
    return reshaped(Solution(q, status, error, iterations, np.full(len(q), None, dtype=object), singular), batch_shape)


def why_not_closed_form(robot: Robot, frame: str | None = None) -> str | None:
    """The reason why the inverse kinematics of a frame has no closed form here, or None if it has one.

    Example:
        >>> import appell
        >>> appell.ik.why_not_closed_form(appell.load("planar2r"))
        "2 joints move 'link2', expected 6"
    """
    arm = spherical_wrist_arm(robot, resolve_frame(robot, frame))
    return None if isinstance(arm, SphericalWristArm) else arm


def _targets(robot: Robot, pose: ArrayLike, frame: str | None) -> tuple[FrameMotion, np.ndarray, tuple[int, ...]]:
    """The frame, the poses as (N, 4, 4), and their batch shape."""
    name = resolve_frame(robot, frame)
    target = np.asarray(pose, dtype=float)
    require_finite("pose", target)
    if target.shape[-2:] == (4, 4):
        require_proper_pose(target)
        return FrameMotion(robot, name), target.reshape(-1, 4, 4), target.shape[:-2]
    if (
        target.shape[-2:] == (3, 3)
        and target.size
        and _orthogonality_error(target) < 1e-6
        and (np.linalg.det(target) > 0.0).all()
    ):
        raise ArgumentError(
            f"pose has shape {target.shape} and is a rotation matrix, an orientation without a position. Give a pose (4, 4); "
            "orientation-only targets are not supported. If three positions are meant, pass one at a time."
        )
    if target.shape[-1:] == (3,):
        full = np.broadcast_to(np.eye(4), (*target.shape[:-1], 4, 4)).copy()
        full[..., :3, 3] = target
        return FrameMotion(robot, name, dimension=3), full.reshape(-1, 4, 4), target.shape[:-1]
    raise ArgumentError(f"pose has shape {target.shape}, expected (..., 4, 4), or (..., 3) for a position only.")


def _orthogonality_error(R: np.ndarray) -> float:
    """Largest entry of R R^T - 1 over matrices (..., 3, 3)."""
    return np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0)


def require_proper_pose(pose: np.ndarray) -> None:
    """Raise for a 4x4 matrix that is not a rotation with a position."""
    R = pose[..., :3, :3]
    off = _orthogonality_error(R)
    if off > 1e-6 or (np.linalg.det(R) < 0.0).any():
        what = f"is off by {off:.3g}" if off > 1e-6 else "contains a reflection"
        raise ArgumentError(f"the rotation of pose {what}, expected R R^T = 1 and det R = 1.")
    if (np.abs(pose[..., 3, :] - [0.0, 0.0, 0.0, 1.0]) > 1e-9).any():
        raise ArgumentError("the last row of pose must be 0 0 0 1.")


def _starts(robot: Robot, q0: ArrayLike | None, batch_shape: tuple[int, ...]) -> np.ndarray:
    q = robot.neutral_configuration() if q0 is None else np.asarray(robot.vector("q0", q0), dtype=float)
    if q.shape[-1:] != (robot.nq,):
        raise ArgumentError(f"q0 has shape {q.shape}, expected (..., {robot.nq}).")
    require_finite("q0", q)
    try:
        return np.broadcast_to(q, (*batch_shape, robot.nq)).reshape(-1, robot.nq).copy()
    except ValueError:
        raise ArgumentError(
            f"q0 has shape {q.shape}, which does not fit poses of shape {(*batch_shape, 4, 4)}."
        ) from None


def _method(method: str | None, branch: str | None, arm: SphericalWristArm | str, robot: Robot) -> str:
    """The method to use; raises where the requested one does not apply."""
    if method is not None:
        require_choice("method", method, METHODS)
    if branch is not None:
        require_choice("branch", branch, (*BRANCHES, "all"))
    if isinstance(arm, str) and (branch is not None or method == "closed_form"):
        raise ArgumentError(
            f"robot {robot.name!r} has no closed form and no branches here: {arm}. Leave out branch and method."
        )
    if branch is not None and method == "least_squares":
        raise ArgumentError("branches belong to the closed form; method 'least_squares' takes q0 instead.")
    return method or ("least_squares" if isinstance(arm, str) else "closed_form")


def _free(robot: Robot, joints: Sequence[str] | None) -> np.ndarray:
    """Whether each velocity may be used, (nv,)."""
    if joints is None:
        return np.ones(robot.nv, dtype=bool)
    free = np.zeros(robot.nv, dtype=bool)
    for name in joints:
        require_choice("joint", name, robot.first_coordinates)
        first = robot.first_coordinates[name][1]
        free[first : first + KINDS[robot.joint(name).kind].nv] = True
    return free


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
