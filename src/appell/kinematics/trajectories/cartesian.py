"""Paths of a frame through space: its pose, twist and the twist's rate at every moment.

A path is anything with `duration`, `breaks` (times at which its acceleration may jump), `rows` (6, or 3 where only the
position matters) and a call path(t) -> `PoseMotion`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from appell.errors import ArgumentError
from appell.kinematics.inverse.inverse import refuse_improper
from appell.kinematics.inverse.rotation import angular_motion, rotation_matrix, rotation_vector
from appell.kinematics.trajectories.piecewise import AlongCurve, Piecewise, Timed
from appell.kinematics.trajectories.profiles import law
from appell.kinematics.trajectories.splines import straight, through

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class PoseMotion(NamedTuple):
    """Pose (..., 4, 4), twist (..., 6) and its rate (..., 6): linear part first, along the world's axes. [m, rad, s]"""

    pose: np.ndarray
    twist: np.ndarray
    rate: np.ndarray


class Path(Timed, Protocol):
    """Where a frame should be."""

    @property
    def rows(self) -> int: ...
    def __call__(self, t: float | np.ndarray) -> PoseMotion: ...


@dataclass(frozen=True, eq=False)
class PosePath(AlongCurve):
    """Position p(t) and attitude exp(r(t)~) R0 along curves.

    Attributes:
        curve: of (p, r): position [m] and rotation vector from the first attitude, along the world's axes [rad].
        attitude: R0, (3, 3).
        rows: 6, or 3 where the attitude does not matter.
    """

    curve: Piecewise
    attitude: np.ndarray
    rows: int = 6

    def __call__(self, t: float | np.ndarray) -> PoseMotion:
        x, xd, xdd = self.curve(t)
        pose = np.zeros((*x.shape[:-1], 4, 4))
        pose[..., :3, 3], pose[..., 3, 3] = x[..., :3], 1.0
        pose[..., :3, :3] = rotation_matrix(x[..., 3:]) @ self.attitude
        omega, omegad = angular_motion(x[..., 3:], xd[..., 3:], xdd[..., 3:])
        twist = np.concatenate([xd[..., :3], omega], axis=-1)
        return PoseMotion(pose, twist, np.concatenate([xdd[..., :3], omegad], axis=-1))

    def __repr__(self) -> str:
        return f"PosePath({len(self.breaks) - 1} pieces, {self.duration:g} s)"


def line(
    start: ArrayLike,
    end: ArrayLike,
    attitude: ArrayLike | None = None,
    *,
    duration: float | None = None,
    speed: float | None = None,
    acceleration: float | None = None,
    profile: str = "uniform",
) -> PosePath:
    """A straight line in space.

    Args:
        start, end: positions (3,), or poses (4, 4), in which case the attitude turns evenly about one axis on the way. [m]
        attitude: rotation matrix (3, 3) that is kept, where positions are given; `appell.trajectories.euler_zyz` makes one from
            angles. Without it the attitude is free.
        duration: [s]
        speed, acceleration: greatest values on the way [m/s, m/s²]; for a turn on the spot [rad/s, rad/s²]. The duration
            follows from them.
        profile: `"uniform"` (constant speed, the papers' way), `"trapezoidal"` (with ramps), `"cubic"` or `"quintic"`.

    Example:
        >>> import appell
        >>> path = appell.trajectories.line([0.6, 0.175, 0.25], [0.018, 0.757, 0.0], speed=0.1)
        >>> round(path.duration, 6)
        8.602023
        >>> path(1.0).twist[:3].round(6).tolist()
        [-0.067659, 0.067659, -0.029063]
    """
    points, first, rows = as_points([start, end], attitude, ("start", "end"))
    way = points[1] - points[0]
    length = float(np.linalg.norm(way[:3])) or float(np.linalg.norm(way[3:]))
    if length == 0.0:
        raise ArgumentError("start and end of the line are the same.")
    per_length = (None if value is None else value / length for value in (speed, acceleration))
    return PosePath(straight(points, [law(profile, duration, *per_length)]), first, rows)


def via(
    points: ArrayLike,
    attitude: ArrayLike | None = None,
    *,
    times: ArrayLike | None = None,
    duration: float | None = None,
    speed: float | None = None,
    acceleration: float | None = None,
    profile: str = "cubic",
) -> PosePath:
    """A path through points in space, at rest at both ends.

    Args:
        points: positions (k, 3), or poses (k, 4, 4). Between poses the rotation vector from the first one is
            interpolated; two that follow each other must be less than half a turn apart. [m]
        attitude: rotation matrix that is kept, where positions are given; without it the attitude is free.
        times: of the points, from 0; or a duration; or the greatest speed and acceleration [m/s, m/s²], in which case the
            pace between the points follows the distances. [s]
        profile: `"cubic"` or `"quintic"` splines, which do not stop at the points between; `"trapezoidal"`, straight pieces
            with a stop at every point; `"uniform"`, straight pieces with jumps of speed at the corners.

    Example:
        >>> import appell
        >>> path = appell.trajectories.via([[0.5, 0, 0.2], [0.5, 0.2, 0.4], [0.3, 0.4, 0.2]], speed=0.25)
        >>> path(path.duration).pose[:3, 3].round(9).tolist()
        [0.3, 0.4, 0.2]
    """
    values = np.asarray(points, dtype=float)
    if values.ndim < 2 or len(values) < 2:
        raise ArgumentError(f"points has shape {values.shape}, expected (k, 3) or (k, 4, 4) with k of 2 or more.")
    stacked, first, rows = as_points(list(values), attitude, [f"points[{i}]" for i in range(len(values))])
    given = None if times is None else np.asarray(times, dtype=float)
    curve = through(stacked, given, duration, speed, acceleration, profile, _length)
    return PosePath(curve, first, rows)


def _length(x: np.ndarray) -> np.ndarray:
    """Length of the way of steps or rates (..., 6); of the turn where there is no way, (..., 1)."""
    way, turn = (np.linalg.norm(part, axis=-1, keepdims=True) for part in (x[..., :3], x[..., 3:]))
    return way if way.any() else turn


def as_points(values, attitude: ArrayLike | None, names) -> tuple[np.ndarray, np.ndarray, int]:
    """Positions and rotation vectors (k, 6) relative to the first attitude, that attitude, and the rows that matter."""
    poses, rows = zip(*(as_pose(name, value, attitude) for name, value in zip(names, values, strict=True)), strict=True)
    first = poses[0][:3, :3]
    r = [rotation_vector(pose[:3, :3] @ first.T) for pose in poses]
    for k in range(1, len(r)):
        r[k] = _nearest(r[k], r[k - 1])
    return np.array([[*pose[:3, 3], *turn] for pose, turn in zip(poses, r, strict=True)]), first, min(rows)


def _nearest(r: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The rotation vector of the same rotation that is nearest to the one before."""
    angle = float(np.linalg.norm(r))
    if angle == 0.0:
        return r
    others = [r, r * (1.0 - 2.0 * np.pi / angle), r * (1.0 + 2.0 * np.pi / angle)]
    return min(others, key=lambda other: float(np.linalg.norm(other - before)))


def as_pose(name: str, value: ArrayLike, attitude: ArrayLike | None) -> tuple[np.ndarray, int]:
    """A position or pose as a pose (4, 4), and how many rows of it matter."""
    array = np.asarray(value, dtype=float)
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name} is not finite: {array.tolist()}.")
    if array.shape == (4, 4):
        if attitude is not None:
            raise ArgumentError(
                f"{name} is a pose, which has an attitude already. Give positions (3,) with `attitude`."
            )
        refuse_improper(array)
        return array, 6
    if array.shape != (3,):
        raise ArgumentError(f"{name} has shape {array.shape}, expected a position (3,) or a pose (4, 4).")
    pose = np.eye(4)
    pose[:3, 3] = array
    if attitude is None:
        return pose, 3
    pose[:3, :3] = np.asarray(attitude, dtype=float)
    refuse_improper(pose)
    return pose, 6
