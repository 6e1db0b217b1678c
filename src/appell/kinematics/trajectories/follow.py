"""A path of a frame as a reference of the joints: the branch is kept, speeds and accelerations are exact.

    qd = J⁺ ẋ,    qdd = J⁺ (ẍ - J̇ qd)    (+ a term for redundant robots, `FrameMotion.speeds_and_accelerations`)

Knots along the path are found by integrating qd from the first configuration and correcting with Newton's method. At any
other time the cubic through the neighbouring knots is the start of Newton's method, so a reference is exact to rounding at
every time, and continuous.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.errors import TaskError
from appell.kinematics.inverse import BRANCHES, inverse_kinematics, why_not_closed_form
from appell.kinematics.inverse.frame_motion import FrameMotion, chosen_frame
from appell.kinematics.trajectories.cartesian import Path
from appell.kinematics.trajectories.reference import Plottable, State

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.robot import Robot

FEWEST, REDUNDANT, MOST = 64, 256, 8192
"""Knots along a path: at first, at first for robots whose own motion they determine, and at last."""
BETWEEN = 1e-4
"""How far the cubic between knots may be from the true configuration. [rad, m]"""
REACHED = 1e-9
"""Error of the pose beyond which a point counts as not reached. [m, rad]"""
SINGULAR = 1e-4
"""Ratio of the Jacobian's singular values below which the path is called singular."""


class Knots(NamedTuple):
    """Times (K,), coordinates (K, nq) and speeds (K, nv) along a path."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray


@dataclass(frozen=True, eq=False)
class PathReference(Plottable):
    """The reference of a robot whose frame follows a path.

    Attributes:
        motion: the robot and its frame.
        path: where the frame goes.
        knots: configurations along it.
        branch: name of the configuration, for arms with a closed form.
    """

    motion: FrameMotion
    path: Path
    knots: Knots
    branch: str | None = None

    @property
    def duration(self) -> float:
        return self.path.duration

    @property
    def breaks(self) -> np.ndarray:
        return self.path.breaks

    @property
    def joint_names(self) -> tuple[str, ...]:
        return self.motion.robot.joint_names

    def __call__(self, t: float | np.ndarray) -> State:
        time = np.asarray(t, dtype=float)
        flat = time.reshape(-1)
        pose, twist, rate = self.path(flat)
        q, left = self.motion.newton(self.guess(np.clip(flat, 0.0, self.duration)), pose)
        missed = np.abs(left).max(axis=-1, initial=0.0) > REACHED
        if missed.any():
            first = int(np.argmax(missed))
            raise _refusal(self.motion, pose[first], float(flat[first]), "unreachable", self.branch)
        rows = self.motion.rows
        qd, qdd = self.motion.speeds_and_accelerations(q, twist[:, :rows], rate[:, :rows])
        return State(*(part.reshape(*time.shape, part.shape[-1]) for part in (q, qd, qdd)))

    def guess(self, t: np.ndarray) -> np.ndarray:
        """Coordinates (N, nq) at times (N,) from the cubic between the knots."""
        return between(self.motion, self.knots, t)

    def __repr__(self) -> str:
        branch = f", {self.branch}" if self.branch else ""
        return f"PathReference({self.motion.frame!r} of {self.motion.robot.name!r}, {self.duration:g} s{branch})"


def follow(
    robot: Robot, path: Path, frame: str | None = None, q0: ArrayLike | None = None, branch: str | None = None
) -> PathReference:
    """The motion of a robot whose frame follows a path.

    Args:
        path: from `appell.trajectories.line` or `appell.trajectories.via`.
        frame: name of a body; by default the tip, if the robot has one only.
        q0: coordinates (nq,) near which the motion starts.
        branch: configuration of an arm with a closed form, such as `"left/above/no_flip"`. Without it, and without q0, the
            first one that can follow the whole path.

    Raises:
        TaskError: a point cannot be reached or is singular; the error has its `time`.

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
    motion = FrameMotion(robot, chosen_frame(robot, frame), path.rows)
    closed = path.rows == 6 and why_not_closed_form(robot, motion.frame) is None
    if branch is not None or q0 is not None or not closed:
        return _along(motion, path, q0, branch)
    refusals = []
    for each in BRANCHES:
        answer = _attempt(motion, path, each)
        if isinstance(answer, PathReference):
            return answer
        refusals.append(answer)
    first = refusals[0]
    raise TaskError(f"no branch can follow the path. The first one: {first}", time=first.time, reason=first.reason)


def _attempt(motion: FrameMotion, path: Path, branch: str) -> PathReference | TaskError:
    try:
        return _along(motion, path, None, branch)
    except TaskError as error:
        return error


def _along(motion: FrameMotion, path: Path, q0: ArrayLike | None, branch: str | None) -> PathReference:
    pose = path(0.0).pose
    wanted = pose if path.rows == 6 else pose[:3, 3]
    start = inverse_kinematics(motion.robot, wanted, motion.frame, q0, branch)
    if not start.solved:
        raise _refusal(motion, pose, 0.0, start.status, start.branch)
    name = start.branch
    refuse_singular(motion, start.q[None], np.zeros(1), name)
    count = FEWEST if motion.robot.nv == motion.rank else REDUNDANT
    while True:
        knots = march(motion, path, start.q, knot_times(path, count), name)
        middle = 0.5 * (knots.t[1:] + knots.t[:-1])
        guess = between(motion, knots, middle)
        q, left = motion.newton(guess, path(middle).pose)
        far = np.abs(motion.difference(guess, q)).max(axis=-1)
        if far.max() < BETWEEN and np.abs(left).max() < REACHED:
            refuse_singular(motion, q, middle, name)
            return PathReference(motion, path, knots, name)
        count *= 2
        if count > MOST:
            raise _refusal(motion, pose, float(middle[far.argmax()]), "singular", name)


def knot_times(path: Path, count: int) -> np.ndarray:
    """About `count` times along a path, those of its breaks among them."""
    pieces = np.diff(path.breaks)
    parts = np.maximum(np.ceil(count * pieces / path.duration), 2).astype(int)
    ranges = [np.linspace(a, b, n, endpoint=False) for (a, b), n in zip(pairwise(path.breaks), parts, strict=True)]
    return np.append(np.concatenate(ranges), path.duration)


def march(motion: FrameMotion, path: Path, q: np.ndarray, times: np.ndarray, branch: str | None) -> Knots:
    """Configurations along a path: steps of the fourth-order Runge-Kutta method, each corrected by Newton's."""
    rows = motion.rows
    halves = np.sort(np.concatenate([times, 0.5 * (times[1:] + times[:-1])]))
    pose, twist, _ = path(halves)
    twist = twist[:, :rows]
    found, speeds = [q], [motion.speeds(q, twist[0])]
    for k in range(len(times) - 1):
        h = times[k + 1] - times[k]
        k1 = speeds[-1]
        k2 = motion.speeds(motion.moved(q, 0.5 * h * k1), twist[2 * k + 1])
        k3 = motion.speeds(motion.moved(q, 0.5 * h * k2), twist[2 * k + 1])
        k4 = motion.speeds(motion.moved(q, h * k3), twist[2 * k + 2])
        near = motion.moved(q, h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4))
        moved, left = motion.newton(near[None], pose[2 * k + 2][None])
        if not np.abs(left).max() < REACHED:
            raise _stopped(motion, path, q, times[k], times[k + 1], branch)
        refuse_singular(motion, moved, times[k + 1 : k + 2], branch)
        q = moved[0]
        found.append(q)
        speeds.append(motion.speeds(q, twist[2 * k + 2]))
    return Knots(times, np.array(found), np.array(speeds))


def between(motion: FrameMotion, knots: Knots, t: np.ndarray) -> np.ndarray:
    """The cubic with the knots' coordinates and speeds, as a step from the knot before. (N, nq)"""
    k = np.clip(np.searchsorted(knots.t, t, side="right") - 1, 0, len(knots.t) - 2)
    h = (knots.t[k + 1] - knots.t[k])[:, None]
    u = (t - knots.t[k])[:, None] / h
    step = motion.difference(knots.q[k], knots.q[k + 1])
    cubic = u**2 * (3.0 - 2.0 * u) * step + h * u * (1.0 - u) * ((1.0 - u) * knots.qd[k] - u * knots.qd[k + 1])
    return motion.moved(knots.q[k], cubic)


def refuse_singular(motion: FrameMotion, q: np.ndarray, t: np.ndarray, branch: str | None) -> None:
    """Raise for the first of the configurations (N, nq) where the Jacobian loses rank."""
    steadiness = motion.steadiness(q)
    bad = np.flatnonzero(steadiness < SINGULAR)
    if len(bad):
        pose = motion.robot.pose(q[bad[0]], motion.frame)
        raise _refusal(motion, pose, float(t[bad[0]]), "singular", branch)


def _stopped(motion: FrameMotion, path: Path, q: np.ndarray, good: float, bad: float, branch: str | None) -> TaskError:
    """Why the path cannot be followed from q at `good` to `bad`: the last moment that can be reached, by bisection."""
    for _ in range(40):
        middle = 0.5 * (good + bad)
        moved, left = motion.newton(q[None], path(middle).pose[None], iterations=30)
        if np.abs(left).max() < REACHED:
            q, good = moved[0], middle
        else:
            bad = middle
    return _refusal(motion, path(bad).pose, bad, "unreachable", branch)


def _refusal(motion: FrameMotion, pose: np.ndarray, t: float, status: str, branch: str | None) -> TaskError:
    where = ", ".join(f"{x:.6g}" for x in pose[:3, 3])
    which = f" in the branch {branch}" if branch else ""
    remedy = {
        "singular": "Choose another branch or attitude, or go around it.",
        "outside limits": "Choose another branch, or widen the joint limits.",
    }.get(status, "Choose another branch, move the path nearer, or give a q0.")
    return TaskError(
        f"{motion.frame!r} of {motion.robot.name!r} at t = {t:.6g} s, position ({where}) m, is {status}{which}. {remedy}",
        time=t, reason=status,
    )  # fmt: skip
