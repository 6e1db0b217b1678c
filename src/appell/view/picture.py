"""A robot as a picture on a white page, drawn by matplotlib from the same shapes as the viewer's."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.view.camera import camera_for
from appell.view.shape import WORLD, Shape
from appell.view.subject import Subject, hidden_layers

if TYPE_CHECKING:
    from appell.simulation.contact.surfaces import Surface
    from appell.simulation.trajectory import Trajectory

LIGHT = np.array([0.4, -0.5, 0.77])
MOMENTS = 6
"""How many moments of a motion a picture shows."""
FAINTEST = 0.12
"""Opacity of the first moment."""
PATH = "#882255"


def draw(
    robot: Any,
    path: str | PathLike | None = None,
    q: Sequence[float] | np.ndarray | None = None,
    *,
    motion: Trajectory | None = None,
    walls: Sequence[Surface] = (),
    folder: str | Path | None = None,
) -> Any:
    """Draw a robot in one posture, or several moments of a motion, later ones more solid. Needs matplotlib.

    Args:
        path: file to write, its kind taken from the name.
        q: coordinates; where it starts by default, or all of `motion`.
        walls, folder: as for `appell.show`.

    Returns:
        The `matplotlib.figure.Figure`.

    Example:
        >>> import appell
        >>> appell.draw(appell.load("delta")).axes[0].get_xlabel()
        'x [m]'
    """
    from appell.plotting import new_figure, save_figure
    from appell.view.subjects import subject_of
    from appell.view.timeline import Timeline
    from appell.view.walls import wall_shapes

    subject = subject_of(robot, None if folder is None else Path(folder))
    moments, way = [subject.start if q is None else np.asarray(q, dtype=float)], None
    if motion is not None:
        line = Timeline(subject, motion)
        times = np.linspace(line.start, line.end, MOMENTS)
        moments = [line.moment(t).q for t in times]
        way = _way(subject, line)
    figure = new_figure(7.0, 6.0)
    panel = figure.add_subplot(projection="3d", proj_type="ortho")
    triangles, colours = _triangles(subject, moments, wall_shapes(walls, subject.size))
    _fill(panel, triangles, colours)
    if way is not None:
        panel.plot(*way.T, color=PATH, linewidth=1.3)
    places = np.array([pose[:3, 3] for moment in moments for pose in subject.poses(moment).values()])
    corners = np.concatenate([places, *(t.reshape(-1, 3) for t in triangles)])
    _frame(panel, subject, corners[len(places) if triangles else 0 :], places)
    save_figure(figure, path)
    return figure


def _triangles(
    subject: Subject, moments: Sequence[np.ndarray], walls: Sequence[Shape]
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Corners (F, 3, 3) and colours (F, 4) of everything, shaded by the direction of each triangle."""
    hidden = {*hidden_layers(subject), *(("inertia",) if len(moments) > 1 else ())}
    triangles, colours = [], []
    for number, q in enumerate(moments):
        poses = subject.poses(q)
        fade = FAINTEST + (1.0 - FAINTEST) * (number + 1) / len(moments) if len(moments) > 1 else 1.0
        fade = 1.0 if number == len(moments) - 1 else 0.5 * fade
        for shape in subject.shapes:
            if shape.layer not in hidden:
                pose = np.eye(4) if shape.frame == WORLD else np.asarray(poses[shape.frame])
                _shade(shape, pose, fade, triangles, colours)
    for shape in walls:
        _shade(shape, np.eye(4), 1.0, triangles, colours)
    return triangles, colours


def _shade(shape: Shape, pose: np.ndarray, fade: float, triangles: list, colours: list) -> None:
    mesh = shape.mesh.moved(pose)
    corners = mesh.vertices[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    keep = lengths > 1e-14
    light = 0.65 + 0.35 * (normals[keep] @ LIGHT) / lengths[keep]
    rgb = np.clip(np.array(shape.colour) * light[:, None], 0.0, 1.0)
    triangles.append(corners[keep])
    colours.append(np.concatenate([rgb, np.full((len(rgb), 1), fade * shape.opacity)], axis=1))


def _fill(panel: Any, triangles: Sequence[np.ndarray], colours: Sequence[np.ndarray]) -> None:
    """All triangles in one collection, so that they are sorted by depth."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if triangles:
        panel.add_collection3d(Poly3DCollection(np.concatenate(triangles), facecolors=np.concatenate(colours)))


def _way(subject: Subject, line: Any) -> np.ndarray:
    """The way (N, 3) of the point that moves furthest, among the outermost ones of all frames. [m]"""
    tips = {}
    for shape in subject.shapes:
        if shape.frame != WORLD and shape.layer != "inertia":
            tip = shape.mesh.vertices[np.linalg.norm(shape.mesh.vertices, axis=1).argmax()]
            tips[shape.frame] = max(tip, tips.get(shape.frame, tip), key=np.linalg.norm)
    times = np.linspace(line.start, line.end, 500)
    poses = [subject.poses(line.moment(t).q) for t in times]
    ways = [np.array([pose[name] @ [*tip, 1.0] for pose in poses])[:, :3] for name, tip in tips.items()]
    return max(ways, key=lambda way: float(np.linalg.norm(np.diff(way, axis=0), axis=1).sum()))


def _frame(panel: Any, subject: Subject, points: np.ndarray, places: np.ndarray) -> None:
    """Equal scales around all points, a view that suits the places of the frames, and units on the axes."""
    from matplotlib.ticker import MaxNLocator

    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = (low + high) / 2, max(float((high - low).max()) / 2, 1e-3)
    spans = np.maximum((high - low) / 2, 0.15 * half)
    for name, center, span in zip("xyz", middle, spans, strict=True):
        getattr(panel, f"set_{name}lim")(center - span, center + span)
        getattr(panel, f"set_{name}label")(f"{name} [m]")
    panel.set_box_aspect(spans, zoom=0.88)
    view = camera_for(places, subject.size)
    away = view.position - view.look_at
    flat = bool(view.up[1])
    panel.view_init(
        90.0 if flat else _elevation(away), -90.0 if flat else float(np.degrees(np.arctan2(away[1], away[0])))
    )
    panel.set_title(subject.name, fontsize=11)
    for axis in (panel.xaxis, panel.yaxis, panel.zaxis):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis.set_major_locator(MaxNLocator(4, min_n_ticks=2))
    if flat:
        panel.set_zticks([])
        panel.set_zlabel("")


def _elevation(away: np.ndarray) -> float:
    return float(np.degrees(np.arctan2(away[2], np.hypot(away[0], away[1]))))
