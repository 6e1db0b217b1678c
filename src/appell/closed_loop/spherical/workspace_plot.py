"""Pictures of maps of the workspace."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.plotting import COLOURS, new_figure

if TYPE_CHECKING:
    from appell.closed_loop.spherical.workspace import WorkspaceMap

UNREACHED = "0.85"


def plot(found: WorkspaceMap, path: str | PathLike | None) -> Any:
    """Documented at `WorkspaceMap.plot`."""
    figure = new_figure(11.0, 4.6)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    det = found.singularities.det
    size = float(np.nanpercentile(np.abs(det), 95)) if np.isfinite(det).any() else 1.0
    draw(figure, left, found, det, "det Jact", "RdBu", (-size, size))
    if np.isfinite(det).any() and np.nanmin(det) < 0.0 < np.nanmax(det):
        left.contour(*_degrees(found), det, levels=[0.0], colors="black", linewidths=1.2)
    h = np.abs(found.singularities.h)
    smallest = h.min(axis=-1)
    draw(figure, right, found, smallest, "smallest |h| of a leg", "viridis", (0.0, 1.0))
    for i, name in enumerate(found.leg_names):
        discriminant = found.singularities.discriminant[..., i]
        if discriminant.min() < 0.0 < discriminant.max():
            colour = COLOURS[i % len(COLOURS)]
            right.contour(*_degrees(found), discriminant, levels=[0.0], colors=colour, linewidths=1.5)
            right.plot([], [], color=colour, label=f"border of {name}")
    left.plot([], [], color="black", label="singular: det Jact = 0")
    for panel in (left, right):
        panel.fill_between([], [], color=UNREACHED, label="out of reach")
        panel.legend(loc="upper left", bbox_to_anchor=(0.0, -0.14), ncols=2, frameon=False, fontsize=8)
        panel.set_xlabel(f"{found.over[0]} [deg]")
    left.set_ylabel(f"{found.over[1]} [deg]")
    fixed = ", ".join(
        f"{name} = {np.degrees(value):g} deg" for name, value in found.at.items() if name not in found.over
    )
    left.set_title(f"{found.robot_name}{f' at {fixed}' if fixed else ''}", loc="left", fontsize=11)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def draw(
    figure: Any, panel: Any, found: WorkspaceMap, values: np.ndarray, label: str, colours: str, limits: tuple
) -> None:
    """Colours over the grid, grey where it cannot be reached."""
    panel.set_facecolor(UNREACHED)
    shown = np.ma.masked_invalid(np.where(found.reachable, values, np.nan))
    picture = panel.pcolormesh(
        *_degrees(found), shown, cmap=colours, vmin=limits[0], vmax=limits[1], shading="nearest", rasterized=True
    )
    figure.colorbar(picture, ax=panel, label=label, extend="both" if limits[0] < 0 else "neither")
    panel.set_aspect("equal")


def _degrees(found: WorkspaceMap) -> tuple[np.ndarray, np.ndarray]:
    return np.degrees(found.x), np.degrees(found.y)
