"""`appell.draw(robot)`: pictures by matplotlib, with the shapes of the viewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from appell.checks import require_vector
from appell.deprecation import renamed_arguments
from appell.plotting import new_figure, save_figure
from appell.simulation.contact.surfaces import Surface
from appell.simulation.trajectory import Trajectory
from appell.view.scene import WORLD, Shape, fit_camera
from appell.view.shapes import shown_surfaces, surface_shapes
from appell.view.subject import Subject, frame_origins, hidden_layers
from appell.view.subjects import subject_of
from appell.view.timeline import Timeline

LIGHT_DIRECTION = np.array([0.4, -0.5, 0.77])
STATES_SHOWN = 6
"""States of a motion in a picture."""
MIN_OPACITY = 0.12
"""Opacity of the first state."""
SURFACE_SIZE = 0.3
"""Size of surfaces, as part of the largest extent of the robot and its path; planes are four times as wide."""
PIECE = 0.08
"""Largest edge of a triangle of surfaces, as the same part."""
PATH_COLOUR, FORCE_COLOUR = "#882255", "#009e73"
MIN_SPAN = 0.15
"""Smallest range of an axis, as a part of the largest one; axes of less than twice that have no numbers."""
MAX_FACES, CELLS = 1500, 120
"""Meshes with more triangles are simplified, to details of the robot's size over this number."""


@renamed_arguments(walls="surfaces")
def draw(
    robot: Any,
    path: str | PathLike | None = None,
    q: Sequence[float] | np.ndarray | Mapping[str, float] | None = None,
    *,
    motion: Trajectory | None = None,
    surfaces: Surface | Sequence[Surface] | None = None,
    folder: str | Path | None = None,
) -> Any:
    """Draw a robot in one configuration, or several states of a motion, later ones more opaque. Needs matplotlib.

    Of a motion the longest path of a tip is drawn, too, and the contact forces at its end.

    Args:
        path: file to write; its extension selects the format.
        q: configuration, also by name; by default the initial one, or those of `motion`.
        surfaces, folder: as for `appell.show`.

    Returns:
        The `matplotlib.figure.Figure`.

    Example:
        >>> import appell
        >>> appell.draw(appell.load("delta")).axes[0].get_xlabel()
        'x [m]'
    """
    subject = subject_of(robot, None if folder is None else Path(folder))
    given = robot.configuration(q) if isinstance(q, Mapping) else q
    configurations, tip_path = (
        [subject.start if given is None else require_vector("q", given, len(subject.start))],
        None,
    )
    timeline: Timeline | None = None
    if motion is not None:
        timeline = Timeline(subject, motion)
        configurations = timeline.configurations(STATES_SHOWN)
        tip_path = _tip_path(subject, timeline)
    figure = new_figure(7.0, 6.0)
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    panel = figure.add_subplot(projection="3d", proj_type="ortho")
    triangles, colours = _triangles(subject, configurations)
    origins = frame_origins(subject, configurations)
    paths = [] if tip_path is None else [tip_path]
    robot_points = np.concatenate([origins, *(each.reshape(-1, 3) for each in triangles), *paths])
    low, high = robot_points.min(axis=0), robot_points.max(axis=0)
    extent = max(float((high - low).max()), subject.size)
    for shape in surface_shapes(shown_surfaces(surfaces, motion), SURFACE_SIZE * extent, 0.5 * (low + high)):
        pieces = replace(
            shape, mesh=shape.mesh.divided(PIECE * extent)
        )  # which are sorted by depth among those of the robot
        _shade(pieces, np.eye(4), 1.0, triangles, colours)
    if triangles:  # in one collection, so that they are sorted by depth
        panel.add_collection3d(Poly3DCollection(np.concatenate(triangles), facecolors=np.concatenate(colours)))
    for start, end in () if timeline is None else timeline.contact_arrows(timeline.end):
        panel.quiver(*start, *(end - start), color=FORCE_COLOUR, linewidth=2.2, arrow_length_ratio=0.3)
    if tip_path is not None:
        panel.plot(*tip_path.T, color=PATH_COLOUR, linewidth=1.3)
    _frame(panel, subject, np.concatenate([robot_points, *(each.reshape(-1, 3) for each in triangles)]), origins)
    save_figure(figure, path)
    return figure


def _triangles(subject: Subject, configurations: Sequence[np.ndarray]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Corners (F, 3, 3) and colours (F, 4) of the robot, shaded by the direction of each triangle."""
    hidden = {*hidden_layers(subject), *(("inertia",) if len(configurations) > 1 else ())}
    triangles, colours = [], []
    visible = [_simple(shape, subject.size) for shape in subject.shapes if shape.layer not in hidden]
    for number, q in enumerate(configurations):
        poses = subject.poses(q)
        fade = MIN_OPACITY + (1.0 - MIN_OPACITY) * (number + 1) / len(configurations)
        fade = 1.0 if number == len(configurations) - 1 else 0.5 * fade
        for shape in visible:
            pose = np.eye(4) if shape.frame == WORLD else np.asarray(poses[shape.frame])
            _shade(shape, pose, fade, triangles, colours)
    return triangles, colours


def _simple(shape: Shape, size: float) -> Shape:
    """The shape with few triangles; Matplotlib sorts all of them for every picture."""
    return shape if len(shape.mesh.faces) <= MAX_FACES else replace(shape, mesh=shape.mesh.simplified(size / CELLS))


def _shade(shape: Shape, pose: np.ndarray, fade: float, triangles: list, colours: list) -> None:
    mesh = shape.mesh.transformed(pose)
    corners = mesh.vertices[mesh.faces]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    keep = lengths > 1e-14
    light = 0.65 + 0.35 * (normals[keep] @ LIGHT_DIRECTION) / lengths[keep]
    rgb = np.clip(np.array(shape.colour) * light[:, None], 0.0, 1.0)
    triangles.append(corners[keep])
    colours.append(np.concatenate([rgb, np.full((len(rgb), 1), fade * shape.opacity)], axis=1))


def _tip_path(subject: Subject, timeline: Timeline) -> np.ndarray:
    """The longest path (N, 3) among the outermost points of all frames. [m]"""
    tips = {}
    for shape in subject.shapes:
        if shape.frame != WORLD and shape.layer != "inertia":
            tip = shape.mesh.vertices[np.linalg.norm(shape.mesh.vertices, axis=1).argmax()]
            tips[shape.frame] = max(tip, tips.get(shape.frame, tip), key=np.linalg.norm)
    times = np.linspace(timeline.start, timeline.end, 500)
    poses = [subject.poses(timeline.state(t).q) for t in times]
    paths = [np.array([pose[name] @ [*tip, 1.0] for pose in poses])[:, :3] for name, tip in tips.items()]
    return max(paths, key=lambda points: float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum()))


def _frame(panel: Any, subject: Subject, points: np.ndarray, origins: np.ndarray) -> None:
    """Equal scales around all points, a view direction for the origins of the frames, and units on the axes."""
    from matplotlib.ticker import MaxNLocator

    low, high = points.min(axis=0), points.max(axis=0)
    middle, half = (low + high) / 2, max(float((high - low).max()) / 2, 1e-3)
    spans = np.maximum((high - low) / 2, MIN_SPAN * half)
    for name, center, span in zip("xyz", middle, spans, strict=True):
        getattr(panel, f"set_{name}lim")(center - span, center + span)
        getattr(panel, f"set_{name}label")(f"{name} [m]", labelpad=8.0)
    panel.set_box_aspect(tuple(spans), zoom=0.8)  # a copy: Matplotlib scales it in place
    camera = fit_camera(origins, subject.size)
    x, y, z = camera.position - camera.look_at
    flat = bool(camera.up[1])
    panel.view_init(*((90.0, -90.0) if flat else np.degrees([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)])))
    panel.set_title(subject.name, fontsize=11)
    for axis, span, seen in zip((panel.xaxis, panel.yaxis, panel.zaxis), spans, (True, True, not flat), strict=True):
        axis.set_pane_color((1.0, 1.0, 1.0, 0.0))
        axis.set_major_locator(MaxNLocator(max(2, round(4.0 * span / half)), min_n_ticks=2))
        if not seen or span < 2.0 * MIN_SPAN * half:  # no room for numbers
            axis.set_ticks([])
            axis.set_label_text("" if not seen else axis.get_label_text())
