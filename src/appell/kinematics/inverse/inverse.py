"""`appell.inverse_kinematics`: closed form where the arm has one, damped least squares for every other robot."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import ArgumentError, unknown_name_message
from appell.kinematics.inverse.arm import Arm, recognise
from appell.kinematics.inverse.bounds import bounds_of
from appell.kinematics.inverse.branches import all_branches, chosen
from appell.kinematics.inverse.closed_form import BRANCHES
from appell.kinematics.inverse.frame_motion import FrameMotion, chosen_frame
from appell.kinematics.inverse.least_squares import search
from appell.kinematics.inverse.solution import NOT_CONVERGED, SOLVED, Solution, collected
from appell.model.joints import KINDS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.robot import Robot

METHODS = ("closed_form", "least_squares")


def inverse_kinematics(
    robot: Robot,
    pose: ArrayLike,
    frame: str | None = None,
    q0: ArrayLike | None = None,
    branch: str | None = None,
    *,
    method: str | None = None,
    joints: Sequence[str] | None = None,
    tolerance: float = 1e-12,
    iterations: int = 200,
    restarts: int = 20,
    seed: int = 0,
) -> Solution:
    """Coordinates at which a frame of the robot stands in a pose.

    Args:
        pose: of the frame in the world, (..., 4, 4); or only its position (..., 3), its attitude being free. A rotation
            matrix (3, 3) on its own is refused, as it is not three positions. [m]
        frame: name of a body; by default the tip, if the robot has one only.
        q0: coordinates (..., nq) near which a solution is wanted, and at which joints stand that do not move the frame;
            the neutral configuration by default.
        branch: for arms with a closed form, one of `appell.ik.BRANCHES` such as `"right/above/no_flip"`, or `"all"` for all
            eight (a dimension of 8 is added in front). Without it: of the branches within the joint limits the one nearest
            to q0, or the first if there is no q0.
        method: `"closed_form"` (six revolute joints, axes 2 and 3 parallel, spherical wrist) or `"least_squares"` (any
            robot); the first that applies by default.
        joints: names of the joints that may move, all by default; for least squares.
        tolerance: length of the error [m, rad together] below which a pose is solved.
        iterations, restarts, seed: of least squares: steps in each descent, further descents from random
            configurations, and their seed. Equal arguments give equal results.

    Returns:
        A `Solution` with `q`, `status`, `error`, `iterations` and `branch`.

    Example:
        >>> import appell
        >>> puma = appell.load("puma560")
        >>> pose = puma.pose([0.1, -0.8, 2.5, 0.4, 0.9, -0.3], "link6")
        >>> answer = appell.inverse_kinematics(puma, pose, branch="right/above/no_flip")
        >>> answer.status, bool(abs(puma.pose(answer.q, "link6") - pose).max() < 1e-12)
        ('solved', True)
        >>> appell.inverse_kinematics(puma, pose, branch="all").q.shape
        (8, 6)
    """
    motion, target, lead = _question(robot, pose, frame)
    start = _starts(robot, q0, lead)
    arm = _arm(motion) if joints is None else "joints are chosen"
    if motion.rows == 3:
        arm = "only a position is given"
    wanted = _method(method, branch, arm, robot)
    bounds = bounds_of(robot)
    if wanted == "closed_form" and isinstance(arm, Arm):
        names = BRANCHES if branch in (None, "all") else (branch,)
        answers = all_branches(arm, motion, target, bounds, start, names)
        if branch == "all":
            return collected((len(names), *lead), *(part.reshape(-1, *part.shape[2:]) for part in answers))
        return collected(lead, *chosen(answers, None if q0 is None else start))
    free = _free(robot, joints)
    found = search(motion, start, target, bounds, free, tolerance, iterations, restarts, seed)
    status = np.where(found.error <= tolerance, SOLVED, NOT_CONVERGED)
    none = np.full(len(status), None, dtype=object)
    singular = motion.steadiness(found.q) < SINGULAR
    return collected(lead, found.q, status, found.error, found.iterations, none, singular)


SINGULAR = 1e-9
"""Ratio of singular values of the Jacobian below which a configuration is called singular."""


def why_not_closed_form(robot: Robot, frame: str | None = None) -> str | None:
    """Why a frame's inverse kinematics have no closed form here, or None if they have one.

    Example:
        >>> import appell
        >>> appell.ik.why_not_closed_form(appell.load("planar2r"))
        "2 joints move 'link2', expected 6"
    """
    arm = _arm(FrameMotion(robot, chosen_frame(robot, frame)))
    return None if isinstance(arm, Arm) else arm


@lru_cache(maxsize=64)
def _arm(motion: FrameMotion) -> Arm | str:
    return recognise(motion.robot, motion.frame)


def _question(robot: Robot, pose: ArrayLike, frame: str | None) -> tuple[FrameMotion, np.ndarray, tuple[int, ...]]:
    """The frame, the poses as (N, 4, 4), and their leading dimensions."""
    name = chosen_frame(robot, frame)
    target = np.asarray(pose, dtype=float)
    if not np.isfinite(target).all():
        index = ", ".join(str(int(i)) for i in np.argwhere(~np.isfinite(target))[0])
        raise ArgumentError(f"pose[{index}] is not a finite number.")
    if target.shape[-2:] == (4, 4):
        refuse_improper(target)
        return FrameMotion(robot, name), target.reshape(-1, 4, 4), target.shape[:-2]
    if target.shape[-2:] == (3, 3) and _are_rotations(target):
        raise ArgumentError(
            f"pose has shape {target.shape} and is a rotation matrix: an attitude without a position. Give a pose (4, 4); to "
            "keep the position free is not possible. If three positions are meant, pass one at a time."
        )
    if target.shape[-1:] == (3,):
        full = np.broadcast_to(np.eye(4), (*target.shape[:-1], 4, 4)).copy()
        full[..., :3, 3] = target
        return FrameMotion(robot, name, rows=3), full.reshape(-1, 4, 4), target.shape[:-1]
    raise ArgumentError(f"pose has shape {target.shape}, expected (..., 4, 4), or (..., 3) for a position only.")


def _are_rotations(R: np.ndarray) -> bool:
    """Whether matrices (..., 3, 3) are all rotations."""
    off = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3))
    return bool(len(off) and off.max() < 1e-6 and (np.linalg.det(R) > 0.0).all())


def refuse_improper(pose: np.ndarray) -> None:
    """Raise for a 4x4 matrix that is not a rotation with a position."""
    R = pose[..., :3, :3]
    off = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0)
    if off > 1e-6 or (np.linalg.det(R) < 0.0).any():
        what = f"is off by {off:.3g}" if off > 1e-6 else "has a reflection in it"
        raise ArgumentError(f"the rotation of pose {what}, expected R R^T = 1 and det R = 1.")
    if (np.abs(pose[..., 3, :] - [0.0, 0.0, 0.0, 1.0]) > 1e-9).any():
        raise ArgumentError("the last row of pose must be 0 0 0 1.")


def _starts(robot: Robot, q0: ArrayLike | None, lead: tuple[int, ...]) -> np.ndarray:
    q = robot.neutral_configuration() if q0 is None else np.asarray(q0, dtype=float)
    if q.shape[-1:] != (robot.nq,):
        raise ArgumentError(f"q0 has shape {q.shape}, expected (..., {robot.nq}).")
    if not np.isfinite(q).all():
        raise ArgumentError("q0 is not finite.")
    try:
        return np.broadcast_to(q, (*lead, robot.nq)).reshape(-1, robot.nq).copy()
    except ValueError:
        raise ArgumentError(f"q0 has shape {q.shape}, which does not fit poses of shape {(*lead, 4, 4)}.") from None


def _method(method: str | None, branch: str | None, arm: Arm | str, robot: Robot) -> str:
    """The method that is used; asked for what cannot be, the reason."""
    if method is not None and method not in METHODS:
        raise ArgumentError(unknown_name_message("method", method, METHODS))
    if branch is not None and branch != "all" and branch not in BRANCHES:
        raise ArgumentError(unknown_name_message("branch", branch, (*BRANCHES, "all")))
    if isinstance(arm, str) and (branch is not None or method == "closed_form"):
        raise ArgumentError(f"robot {robot.name!r} has no closed form and no branches here: {arm}. Leave them out.")
    if branch is not None and method == "least_squares":
        raise ArgumentError("branches are those of the closed form; method 'least_squares' takes q0 instead.")
    return method or ("least_squares" if isinstance(arm, str) else "closed_form")


def _free(robot: Robot, joints: Sequence[str] | None) -> np.ndarray:
    """Which speeds may be used, (nv,)."""
    if joints is None:
        return np.ones(robot.nv, dtype=bool)
    free = np.zeros(robot.nv, dtype=bool)
    for name in joints:
        if name not in robot.first_coordinates:
            raise ArgumentError(unknown_name_message("joint", name, robot.joint_names))
        first = robot.first_coordinates[name][1]
        free[first : first + KINDS[robot.joint(name).kind].nv] = True
    return free
