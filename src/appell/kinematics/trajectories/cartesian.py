"""Paths of a frame through space: its pose, twist and the rate of the twist as functions of time.

A path has `duration`, `breaks` (times at which its acceleration may jump), `dimension` (6, or 3 for a position with free
orientation) and a call path(t) -> `PoseMotion`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from appell.deprecation import renamed_arguments, renamed_attributes
from appell.errors import ArgumentError
from appell.kinematics.inverse.inverse import require_proper_pose
from appell.kinematics.inverse.rotation import angular_motion, rotation_matrix, rotation_vector
from appell.kinematics.trajectories.curves import Curve, straight, through, time_scaling
from appell.kinematics.trajectories.reference import AlongCurve, Timed


class PoseMotion(NamedTuple):
    """Pose (..., 4, 4), twist (..., 6) and its rate (..., 6): linear part first, along the world's axes. [m, rad, s]"""

    pose: np.ndarray
    twist: np.ndarray
    rate: np.ndarray


class Path(Timed, Protocol):
    """The desired motion of a frame."""

    @property
    def dimension(self) -> int: ...
    def __call__(self, t: float | np.ndarray) -> PoseMotion: ...


@renamed_attributes(attitude="orientation", rows="dimension")
@dataclass(frozen=True, eq=False)
class PosePath(AlongCurve):
    """Position p(t) and orientation exp(r(t)~) R0 along curves.

    Attributes:
        curve: of (p, r): position [m] and rotation vector from the first orientation, along the world's axes [rad].
        orientation: R0, (3, 3).
        dimension: 6, or 3 where the orientation is free.
    """

    curve: Curve
    orientation: np.ndarray
    dimension: int = 6

    def __call__(self, t: float | np.ndarray) -> PoseMotion:
        x, xd, xdd = self.curve(t)
        pose = np.zeros((*x.shape[:-1], 4, 4))
        pose[..., :3, 3], pose[..., 3, 3] = x[..., :3], 1.0
        pose[..., :3, :3] = rotation_matrix(x[..., 3:]) @ self.orientation
        omega, omegad = angular_motion(x[..., 3:], xd[..., 3:], xdd[..., 3:])
        twist = np.concatenate([xd[..., :3], omega], axis=-1)
        return PoseMotion(pose, twist, np.concatenate([xdd[..., :3], omegad], axis=-1))

    def __repr__(self) -> str:
        return f"PosePath({len(self.breaks) - 1} pieces, {self.duration:g} s)"


@renamed_arguments(attitude="orientation")
def line(
    start: ArrayLike,
    end: ArrayLike,
    orientation: ArrayLike | None = None,
    *,
    duration: float | None = None,
    speed: float | None = None,
    acceleration: float | None = None,
    profile: str = "uniform",
) -> PosePath:
    """A straight line in space.

    Args:
        start, end: positions (3,), or poses (4, 4), between which the frame rotates uniformly about one axis. [m]
        orientation: constant rotation matrix (3, 3) for positions, such as `appell.trajectories.euler_zyz` returns; free by
            default.
        duration: [s]
        speed, acceleration: maxima along the line [m/s, m/s²], for a pure rotation [rad/s, rad/s²]; they give the duration.
        profile: `"uniform"` (constant speed, as in the papers), `"trapezoidal"` (with ramps), `"cubic"` or `"quintic"`.

    Example:
        >>> import appell
        >>> path = appell.trajectories.line([0.6, 0.175, 0.25], [0.018, 0.757, 0.0], speed=0.1)
        >>> round(path.duration, 6)
        8.602023
        >>> path(1.0).twist[:3].round(6).tolist()
        [-0.067659, 0.067659, -0.029063]
    """
    points, first, dimension = as_points([start, end], orientation, ("start", "end"))
    step = points[1] - points[0]
    length = float(np.linalg.norm(step[:3])) or float(np.linalg.norm(step[3:]))
    if length == 0.0:
        raise ArgumentError("start and end of the line are equal.")
    per_length = (None if value is None else value / length for value in (speed, acceleration))
    return PosePath(straight(points, [time_scaling(profile, duration, *per_length)]), first, dimension)


@renamed_arguments(attitude="orientation")
def via_points(
    points: ArrayLike,
    orientation: ArrayLike | None = None,
    *,
    times: ArrayLike | None = None,
    duration: float | None = None,
    speed: float | None = None,
    acceleration: float | None = None,
    profile: str = "cubic",
) -> PosePath:
    """A path through points in space, at rest at both ends.

    Args:
        points: positions (k, 3), or poses (k, 4, 4). Between poses the rotation vector from the first one is interpolated;
            consecutive poses must be less than half a turn apart. [m]
        orientation: constant rotation matrix for positions; free by default.
        times: of the points, from 0; or a duration; or the maximum speed and acceleration [m/s, m/s²], with times between
            the points in proportion to the distances. [s]
        profile: `"cubic"` or `"quintic"` splines, which do not stop at inner points; `"trapezoidal"`, straight segments
            with a stop at every point; `"uniform"`, straight segments with jumps of speed at the corners.

    Example:
        >>> import appell
        >>> path = appell.trajectories.via_points([[0.5, 0, 0.2], [0.5, 0.2, 0.4], [0.3, 0.4, 0.2]], speed=0.25)
        >>> path(path.duration).pose[:3, 3].round(9).tolist()
        [0.3, 0.4, 0.2]
    """
    values = np.asarray(points, dtype=float)
    if values.ndim < 2 or len(values) < 2:
        raise ArgumentError(f"points has shape {values.shape}, expected (k, 3) or (k, 4, 4) with k of 2 or more.")
    stacked, first, dimension = as_points(list(values), orientation, [f"points[{i}]" for i in range(len(values))])
    given = None if times is None else np.asarray(times, dtype=float)
    curve = through(stacked, given, duration, speed, acceleration, profile, _length)
    return PosePath(curve, first, dimension)


def _length(x: np.ndarray) -> np.ndarray:
    """Lengths of steps or rates (..., 6); angles where all lengths are zero. (..., 1)"""
    length, angle = (np.linalg.norm(part, axis=-1, keepdims=True) for part in (x[..., :3], x[..., 3:]))
    return length if length.any() else angle


def as_points(values, orientation: ArrayLike | None, names) -> tuple[np.ndarray, np.ndarray, int]:
    """Positions and rotation vectors (k, 6) relative to the first orientation, that orientation, and the dimension."""
    poses, dimensions = zip(
        *(as_pose(name, value, orientation) for name, value in zip(names, values, strict=True)), strict=True
    )
    first = poses[0][:3, :3]
    r = [rotation_vector(pose[:3, :3] @ first.T) for pose in poses]
    for k in range(1, len(r)):
        r[k] = _nearest(r[k], r[k - 1])
    return np.array([[*pose[:3, 3], *vector] for pose, vector in zip(poses, r, strict=True)]), first, min(dimensions)


def _nearest(r: np.ndarray, before: np.ndarray) -> np.ndarray:
    """The rotation vector of the same rotation that is nearest to the one before."""
    angle = float(np.linalg.norm(r))
    if angle == 0.0:
        return r
    equivalent = [r, r * (1.0 - 2.0 * np.pi / angle), r * (1.0 + 2.0 * np.pi / angle)]
    return min(equivalent, key=lambda vector: float(np.linalg.norm(vector - before)))


def as_pose(name: str, value: ArrayLike, orientation: ArrayLike | None) -> tuple[np.ndarray, int]:
    """A position or pose as a pose (4, 4), and its dimension."""
    array = np.asarray(value, dtype=float)
    if not np.isfinite(array).all():
        raise ArgumentError(f"{name} is not finite: {array.tolist()}.")
    if array.shape == (4, 4):
        if orientation is not None:
            raise ArgumentError(
                f"{name} is a pose, which has an orientation already. Give positions (3,) with `orientation`."
            )
        require_proper_pose(array)
        return array, 6
    if array.shape != (3,):
        raise ArgumentError(f"{name} has shape {array.shape}, expected a position (3,) or a pose (4, 4).")
    pose = np.eye(4)
    pose[:3, 3] = array
    if orientation is None:
        return pose, 3
    pose[:3, :3] = np.asarray(orientation, dtype=float)
    require_proper_pose(pose)
    return pose, 6
