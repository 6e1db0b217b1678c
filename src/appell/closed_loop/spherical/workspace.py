"""Maps of the workspace of a spherical parallel robot and of its singularities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.closed_loop.spherical.singularities import UNREACHABLE, Singularities
from appell.errors import ArgumentError, unknown_name_message

if TYPE_CHECKING:
    from appell.closed_loop.spherical.robot import SphericalRobot


@dataclass(frozen=True)
class WorkspaceMap:
    """Reach and singularities over a grid of two coordinates; rows are y, columns x.

    Attributes:
        over: names of the coordinates along x and y.
        at: names and values of all coordinates; those along x and y are the middle of the grid. [rad]
        x, y: values of the grid, (n,). [rad]
        singularities: a² + b² - c² and h of every leg, det Jact and cos q2 on the grid, (n, n) or (n, n, legs).
        status: name of what each configuration is, (n, n).
    """

    robot_name: str
    leg_names: tuple[str, ...]
    over: tuple[str, str]
    at: Mapping[str, float]
    x: np.ndarray
    y: np.ndarray
    singularities: Singularities
    status: np.ndarray

    @property
    def reachable(self) -> np.ndarray:
        """Whether every leg reaches, (n, n)."""
        return self.status != UNREACHABLE

    def plot(self, path: str | PathLike | None = None) -> Any:
        """det Jact and the smallest |h| over the grid, with the borders of what is reached and where they vanish.

        Args:
            path: file to write the picture to, its kind taken from the name.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        from appell.closed_loop.spherical.workspace_plot import plot

        return plot(self, path)


def workspace_map(
    robot: SphericalRobot,
    over: tuple[str, str] | None,
    span: tuple[float, float],
    points: int,
    at: Mapping[str, float] | None,
) -> WorkspaceMap:
    """Documented at `SphericalRobot.workspace_map`."""
    names = robot.joint_names
    if len(names) < 2:
        raise ArgumentError(f"{robot.name} has {len(names)} coordinates; a map needs two.")
    if over is None:
        over = names[-2], names[-1]
    given = dict(at or {})
    for name in (*over, *given):
        if name not in names:
            raise ArgumentError(unknown_name_message("coordinate", name, names))
    if len(over) != 2 or over[0] == over[1]:
        raise ArgumentError(f"over is {over!r}, expected the names of two coordinates: {', '.join(names)}.")
    if not span[0] < span[1] or not np.isfinite(span).all():
        raise ArgumentError(f"span is {span!r}, expected two increasing numbers [rad].")
    if not isinstance(points, int) or points < 2:
        raise ArgumentError(f"points is {points!r}, expected 2 or more.")
    grid = np.linspace(*span, points)
    q = np.zeros((points, points, len(names)))
    for name, value in given.items():
        q[..., names.index(name)] = value
    q[..., names.index(over[0])] = grid[None, :]
    q[..., names.index(over[1])] = grid[:, None]
    found = robot.singularity(q)
    middle = dict(zip(names, q[points // 2, points // 2].tolist(), strict=True))
    legs = tuple(leg.name for leg in robot.legs)
    return WorkspaceMap(robot.name, legs, (over[0], over[1]), middle, grid, grid, found, found.status)
