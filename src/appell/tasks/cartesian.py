"""Paths of a frame through space: its pose, twist and the twist's rate at every moment.

A path is anything with `duration`, `breaks` (times at which its acceleration may jump), `rows` (6, or 3 where only the
position matters) and a call path(t) -> `PoseMotion`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from appell.errors import ArgumentError
from appell.ik.rotation import rotation_matrix, rotation_vector
from appell.tasks.piecewise import Piecewise
from appell.tasks.profiles import law

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


class PoseMotion(NamedTuple):
    """Pose (..., 4, 4), twist (..., 6) and its rate (..., 6): linear part first, along the world's axes. [m, rad, s]"""

    pose: np.ndarray
    twist: np.ndarray
    rate: np.ndarray


class Path(Protocol):
    """Where a frame should be."""

    @property
    def duration(self) -> float: ...
    @property
    def breaks(self) -> np.ndarray: ...
    @property
    def rows(self) -> int: ...
    def __call__(self, t: float | np.ndarray) -> PoseMotion: ...


@dataclass(frozen=True, eq=False)
class Line:
    """A straight way from one pose to another: p = p0 + s (p1 - p0), R = exp(s r~) R0 with one law s(t) for both.

    Attributes:
        start: first pose, (4, 4).
        way: p1 - p0, (3,). [m]
        turn: rotation vector r from the first to the last attitude along the world's axes, (3,). [rad]
        s: how it is passed in time.
        rows: 6, or 3 where the attitude does not matter.
    """

    start: np.ndarray
    way: np.ndarray
    turn: np.ndarray
    s: Piecewise
    rows: int = 6

    @property
    def duration(self) -> float:
        return self.s.duration

    @property
    def breaks(self) -> np.ndarray:
        return self.s.breaks

    def __call__(self, t: float | np.ndarray) -> PoseMotion:
        s, sd, sdd = self.s(t)
        direction = np.concatenate([self.way, self.turn])
        pose = np.broadcast_to(self.start, (*s.shape, 4, 4)).copy()
        pose[..., :3, 3] += np.multiply.outer(s, self.way)
        pose[..., :3, :3] = rotation_matrix(np.multiply.outer(s, self.turn)) @ self.start[:3, :3]
        return PoseMotion(pose, np.multiply.outer(sd, direction), np.multiply.outer(sdd, direction))


def line(
    start: ArrayLike,
    end: ArrayLike,
    attitude: ArrayLike | None = None,
    *,
    duration: float | None = None,
    speed: float | None = None,
    acceleration: float | None = None,
    profile: str = "uniform",
) -> Line:
    """A straight line in space.

    Args:
        start, end: positions (3,), or poses (4, 4), in which case the attitude turns evenly about one axis on the way. [m]
        attitude: rotation matrix (3, 3) that is kept, where positions are given; `appell.tasks.euler_zyz` makes one from
            angles. Without it the attitude is free.
        duration: [s]
        speed, acceleration: greatest values on the way [m/s, m/s²]; for a turn on the spot [rad/s, rad/s²]. The duration
            follows from them.
        profile: `"uniform"` (constant speed, the papers' way), `"trapezoidal"` (with ramps), `"cubic"` or `"quintic"`.

    Example:
        >>> import appell
        >>> path = appell.tasks.line([0.6, 0.175, 0.25], [0.018, 0.757, 0.0], speed=0.1)
        >>> round(path.duration, 6)
        8.602023
        >>> path(1.0).twist[:3].round(6).tolist()
        [-0.067659, 0.067659, -0.029063]
    """
    first, rows = as_pose("start", start, attitude)
    last, _ = as_pose("end", end, attitude)
    way = last[:3, 3] - first[:3, 3]
    turn = rotation_vector(last[:3, :3] @ first[:3, :3].T)
    length = float(np.linalg.norm(way)) or float(np.linalg.norm(turn))
    if length == 0.0:
        raise ArgumentError("start and end of the line are the same.")
    per_length = (None if value is None else value / length for value in (speed, acceleration))
    return Line(first, way, turn, law(profile, duration, *per_length), rows)


def as_pose(name: str, value: ArrayLike, attitude: ArrayLike | None) -> tuple[np.ndarray, int]:
    """A position or pose as a pose (4, 4), and how many rows of it matter."""
    from appell.ik import refuse_improper

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
