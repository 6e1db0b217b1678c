"""Maps of the workspace of a spherical parallel robot and of its singularities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.checks import require_choice, require_integer
from appell.closed_loop.spherical.singularities import UNREACHABLE, Singularities
from appell.errors import ArgumentError
from appell.plotting import COLOURS, new_figure, save_figure

if TYPE_CHECKING:
    from appell.closed_loop.spherical.robot import SphericalRobot

UNREACHABLE_GREY = "0.85"


@dataclass(frozen=True)
class WorkspaceMap:
    """Reach and singularities over a grid of two coordinates; rows are y, columns x.

    Attributes:
        over: names of the coordinates along x and y.
        at: names and values of all coordinates; those along x and y are the middle of the grid. [rad]
        x, y: values of the grid, (n,). [rad]
        singularities: a² + b² - c² and h of every leg, det Jact and cos q2 on the grid, (n, n) or (n, n, legs).
        status: of each configuration, (n, n).
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
        """Whether all legs reach, (n, n)."""
        return self.status != UNREACHABLE

    def plot(self, path: str | PathLike | None = None) -> Any:
        """Plot det Jact and the smallest |h| over the grid, with the borders of the workspace and the zero lines.

        Args:
            path: picture file, its format taken from the extension.

        Returns:
            The `matplotlib.figure.Figure`.
        """
        figure = new_figure(11.0, 4.6)
        left, right = figure.subplots(1, 2, sharex=True, sharey=True)
        grid = np.degrees(self.x), np.degrees(self.y)
        det = self.singularities.det
        size = float(np.nanpercentile(np.abs(det), 95)) if np.isfinite(det).any() else 1.0
        self._draw(figure, left, det, "det Jact", "RdBu", (-size, size))
        if np.isfinite(det).any() and np.nanmin(det) < 0.0 < np.nanmax(det):
            left.contour(*grid, det, levels=[0.0], colors="black", linewidths=1.2)
        smallest = np.abs(self.singularities.h).min(axis=-1)
        self._draw(figure, right, smallest, "smallest |h| of a leg", "viridis", (0.0, 1.0))
        for i, name in enumerate(self.leg_names):
            discriminant = self.singularities.discriminant[..., i]
            if discriminant.min() < 0.0 < discriminant.max():
                colour = COLOURS[i % len(COLOURS)]
                right.contour(*grid, discriminant, levels=[0.0], colors=colour, linewidths=1.5)
                right.plot([], [], color=colour, label=f"border of {name}")
        left.plot([], [], color="black", label="singular: det Jact = 0")
        for panel in (left, right):
            panel.fill_between([], [], color=UNREACHABLE_GREY, label="out of reach")
            panel.legend(loc="upper left", bbox_to_anchor=(0.0, -0.14), ncols=2, frameon=False, fontsize=8)
            panel.set_xlabel(f"{self.over[0]} [deg]")
        left.set_ylabel(f"{self.over[1]} [deg]")
        fixed = ", ".join(f"{name} = {np.degrees(x):g} deg" for name, x in self.at.items() if name not in self.over)
        left.set_title(f"{self.robot_name}{f' at {fixed}' if fixed else ''}", loc="left", fontsize=11)
        save_figure(figure, path)
        return figure

    def _draw(self, figure: Any, panel: Any, values: np.ndarray, label: str, colours: str, limits: tuple) -> None:
        """Colours over the grid, grey where it is out of reach."""
        panel.set_facecolor(UNREACHABLE_GREY)
        shown = np.ma.masked_invalid(np.where(self.reachable, values, np.nan))
        mesh = panel.pcolormesh(
            np.degrees(self.x), np.degrees(self.y), shown, cmap=colours, vmin=limits[0], vmax=limits[1], shading="nearest",
            rasterized=True,
        )  # fmt: skip
        figure.colorbar(mesh, ax=panel, label=label, extend="both" if limits[0] < 0 else "neither")
        panel.set_aspect("equal")


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
    over, fixed = over or (names[-2], names[-1]), dict(at or {})
    for name in (*over, *fixed):
        require_choice("coordinate", name, names)
    if len(over) != 2 or over[0] == over[1]:
        raise ArgumentError(f"over is {over!r}, expected the names of two coordinates: {', '.join(names)}.")
    if not span[0] < span[1] or not np.isfinite(span).all():
        raise ArgumentError(f"span is {span!r}, expected two increasing numbers [rad].")
    grid = np.linspace(*span, require_integer("points", points, 2))
    q = np.zeros((points, points, len(names)))
    for name, value in fixed.items():
        q[..., names.index(name)] = value
    q[..., names.index(over[0])] = grid[None, :]
    q[..., names.index(over[1])] = grid[:, None]
    measures = robot.singularity(q)
    middle = dict(zip(names, q[points // 2, points // 2].tolist(), strict=True))
    legs = tuple(leg.name for leg in robot.legs)
    return WorkspaceMap(robot.name, legs, (over[0], over[1]), middle, grid, grid, measures, measures.status)
