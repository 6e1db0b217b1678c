"""A path of a frame as a reference trajectory of the joints: one branch, exact velocities and accelerations.

    qd = J⁺ ẋ,    qdd = J⁺ (ẍ - J̇ qd)    (+ a term for redundant robots, `FrameMotion.velocities_and_accelerations`)

Knots along the path are found by integrating qd from the first configuration and correcting with Newton's method. At any
other time Newton's method starts from the cubic through the neighbouring knots, so that a reference is exact to rounding at
every time, and continuous.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from appell.algorithms.runge_kutta import rk4_step
from appell.errors import TrajectoryError
from appell.kinematics.inverse import BRANCHES, inverse_kinematics, why_not_closed_form
from appell.kinematics.inverse.frame_motion import FrameMotion, resolve_frame
from appell.kinematics.trajectories.cartesian import Path
from appell.kinematics.trajectories.reference import Plottable, ReferenceState
from appell.robot.protocol import delegated
from appell.robot.robot import Robot

MIN_KNOTS, MIN_KNOTS_REDUNDANT, MAX_KNOTS = 64, 256, 8192
"""Number of knots along a path: at first, at first for redundant robots (whose null motion they determine), and at most."""
KNOT_TOL = 1e-4
"""Distance allowed between the cubic through the knots and the exact configuration. [rad, m]"""
POSE_TOL = 1e-9
"""Pose error beyond which a point counts as unreachable. [m, rad]"""
SINGULAR_TOL = 1e-4
"""Ratio of the Jacobian's singular values below which a path counts as singular."""


class Knots(NamedTuple):
    """Times (K,), configurations (K, nq) and velocities (K, nv) along a path."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray


@dataclass(frozen=True, eq=False)
class PathReference(Plottable):
    """The reference trajectory of a robot whose frame follows a path.

    Attributes:
        motion: the robot and its frame.
        path: of the frame.
        knots: configurations along the path.
        branch: name of the configuration, for arms with a closed form.
    """

    motion: FrameMotion
    path: Path
    knots: Knots
    branch: str | None = None

    duration = delegated("path.duration", "End of the path. [s]")
    breaks = delegated("path.breaks", "Times at which the acceleration may jump. [s]")
    joint_names = delegated("motion.robot.joint_names")

    def __call__(self, t: float | np.ndarray) -> ReferenceState:
        time = np.asarray(t, dtype=float)
        flat = time.reshape(-1)
        pose, twist, rate = self.path(flat)
        q, residual = self.motion.newton(hermite(self.motion, self.knots, np.clip(flat, 0.0, self.duration)), pose)
        unreached = np.abs(residual).max(axis=-1, initial=0.0) > POSE_TOL
        if unreached.any():
            first = int(np.argmax(unreached))
            raise _error(self.motion, pose[first], float(flat[first]), "unreachable", self.branch)
        n = self.motion.dimension
        qd, qdd = self.motion.velocities_and_accelerations(q, twist[:, :n], rate[:, :n])
        return ReferenceState(*(part.reshape(*time.shape, part.shape[-1]) for part in (q, qd, qdd)))

    def __repr__(self) -> str:
        branch = f", {self.branch}" if self.branch else ""
        return f"PathReference({self.motion.frame!r} of {self.motion.robot.name!r}, {self.duration:g} s{branch})"


def follow(
    robot: Robot, path: Path, frame: str | None = None, q0: ArrayLike | None = None, branch: str | None = None
) -> PathReference:
    """The reference trajectory of a robot whose frame follows a path.

    Args:
        path: from `appell.trajectories.line` or `appell.trajectories.via_points`.
        frame: name of a body; by default the tip, if the robot has only one.
        q0: configuration (nq,) near which the trajectory starts.
        branch: configuration of an arm with a closed form, such as `"left/above/no_flip"`. By default, without q0, the first
            one that can follow the whole path.

    Raises:
        TrajectoryError: a point is unreachable or singular; the error has its `time` and `reason`.

    Example:
        >>> import appell
        >>> puma = appell.load("puma560")
        >>> tool = appell.trajectories.euler_zyz([0.3, 1.0, 0.2])
        >>> path = appell.trajectories.line([0.5, 0.1, 0.2], [0.3, 0.4, 0.2], tool, speed=0.1)
        >>> reference = appell.trajectories.follow(puma, path, branch="left/above/no_flip")
        >>> q, qd, qdd = reference(1.0)
        >>> bool(abs(puma.jacobian(q, "link6") @ qd - path(1.0).twist).max() < 1e-12)
        True
    """
    motion = FrameMotion(robot, resolve_frame(robot, frame), path.dimension)
    closed_form = path.dimension == 6 and why_not_closed_form(robot, motion.frame) is None
    if branch is not None or q0 is not None or not closed_form:
        return _follow(motion, path, q0, branch)
    errors = []
    for name in BRANCHES:
        try:
            return _follow(motion, path, None, name)
        except TrajectoryError as error:  # noqa: PERF203
            errors.append(error)
    first = errors[0]
    raise TrajectoryError(
        f"no branch can follow the path. The first one: {first}", time=first.time, reason=first.reason
    )


def _follow(motion: FrameMotion, path: Path, q0: ArrayLike | None, branch: str | None) -> PathReference:
    pose = path(0.0).pose
    target = pose if path.dimension == 6 else pose[:3, 3]
    start = inverse_kinematics(motion.robot, target, motion.frame, q0, branch)
    if not start.solved:
        raise _error(motion, pose, 0.0, start.status, start.branch)
    name = start.branch
    require_nonsingular(motion, start.q[None], np.zeros(1), name)
    count = MIN_KNOTS if motion.robot.nv == motion.rank else MIN_KNOTS_REDUNDANT
    while True:
        knots = integrate_path(motion, path, start.q, knot_times(path, count), name)
        middle = 0.5 * (knots.t[1:] + knots.t[:-1])
        cubic = hermite(motion, knots, middle)
        q, residual = motion.newton(cubic, path(middle).pose)
        error = np.abs(motion.difference(cubic, q)).max(axis=-1)
        if error.max() < KNOT_TOL and np.abs(residual).max() < POSE_TOL:
            require_nonsingular(motion, q, middle, name)
            return PathReference(motion, path, knots, name)
        count *= 2
        if count > MAX_KNOTS:
            raise _error(motion, pose, float(middle[error.argmax()]), "singular", name)


def knot_times(path: Path, count: int) -> np.ndarray:
    """About `count` times along a path, including its breaks."""
    pieces = np.diff(path.breaks)
    parts = np.maximum(np.ceil(count * pieces / path.duration), 2).astype(int)
    ranges = [np.linspace(a, b, n, endpoint=False) for (a, b), n in zip(pairwise(path.breaks), parts, strict=True)]
    return np.append(np.concatenate(ranges), path.duration)


def integrate_path(motion: FrameMotion, path: Path, q: np.ndarray, times: np.ndarray, branch: str | None) -> Knots:
    """Configurations along a path: steps of the fourth-order Runge-Kutta method, each corrected by Newton's."""
    halves = np.sort(np.concatenate([times, 0.5 * (times[1:] + times[:-1])]))
    pose, twist, _ = path(halves)
    twist = twist[:, : motion.dimension]
    configurations, velocities = [q], [motion.velocities(q, twist[0])]
    for k in range(len(times) - 1):
        twists, h = twist[2 * k : 2 * k + 3], times[k + 1] - times[k]
        rate = partial(lambda twists, c, q: motion.velocities(q, twists[round(2 * c)]), twists)  # c = 0, 0.5 or 1
        predicted = rk4_step(rate, q, h, motion.integrate, velocities[-1])
        corrected, residual = motion.newton(predicted[None], pose[2 * k + 2][None])
        if not np.abs(residual).max() < POSE_TOL:
            raise _unreachable(motion, path, q, times[k], times[k + 1], branch)
        require_nonsingular(motion, corrected, times[k + 1 : k + 2], branch)
        q = corrected[0]
        configurations.append(q)
        velocities.append(motion.velocities(q, twist[2 * k + 2]))
    return Knots(times, np.array(configurations), np.array(velocities))


def hermite(motion: FrameMotion, knots: Knots, t: np.ndarray) -> np.ndarray:
    """Configurations (N, nq) at times (N,) of the cubic with the knots' configurations and velocities."""
    k = np.clip(np.searchsorted(knots.t, t, side="right") - 1, 0, len(knots.t) - 2)
    h = (knots.t[k + 1] - knots.t[k])[:, None]
    u = (t - knots.t[k])[:, None] / h
    step = motion.difference(knots.q[k], knots.q[k + 1])
    cubic = u**2 * (3.0 - 2.0 * u) * step + h * u * (1.0 - u) * ((1.0 - u) * knots.qd[k] - u * knots.qd[k + 1])
    return motion.integrate(knots.q[k], cubic)


def require_nonsingular(motion: FrameMotion, q: np.ndarray, t: np.ndarray, branch: str | None) -> None:
    """Raise for the first of the configurations (N, nq) where the Jacobian loses rank."""
    singular = np.flatnonzero(motion.inverse_condition(q) < SINGULAR_TOL)
    if len(singular):
        pose = motion.robot.pose(q[singular[0]], motion.frame)
        raise _error(motion, pose, float(t[singular[0]]), "singular", branch)


def _unreachable(
    motion: FrameMotion, path: Path, q: np.ndarray, low: float, high: float, branch: str | None
) -> TrajectoryError:
    """The error at the first unreachable time between `low`, reached at q, and `high`, by bisection."""
    for _ in range(40):
        middle = 0.5 * (low + high)
        solution, residual = motion.newton(q[None], path(middle).pose[None], iterations=30)
        if np.abs(residual).max() < POSE_TOL:
            q, low = solution[0], middle
        else:
            high = middle
    return _error(motion, path(high).pose, high, "unreachable", branch)


def _error(motion: FrameMotion, pose: np.ndarray, t: float, status: str, branch: str | None) -> TrajectoryError:
    position = ", ".join(f"{x:.6g}" for x in pose[:3, 3])
    where = f" in the branch {branch}" if branch else ""
    remedy = {
        "singular": "Choose another branch or orientation, or avoid the point.",
        "outside limits": "Choose another branch, or widen the joint limits.",
    }.get(status, "Choose another branch, move the path nearer, or give a q0.")
    return TrajectoryError(
        f"{motion.frame!r} of {motion.robot.name!r} at t = {t:.6g} s, position ({position}) m, is {status}{where}. {remedy}",
        time=t, reason=status,
    )  # fmt: skip
