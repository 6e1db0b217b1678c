"""Figures of an arm that follows a line: the arm in space at some moments, and curves over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from appell.kinematics.trajectories import PathReference
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.robot.robot import Robot

Draw = Callable[[Path], None]
SHADES = ("0.65", "0.4", "0.05")
"""Of the arm at the first, the middle and the last moment."""
HAND = 0.08
"""Length of the axes drawn at the tip. [m]"""


def draw_arm(line: PathReference, moments: Sequence[float], title: str) -> Draw:
    """The arm at some moments, and the path of its tip."""

    def draw(path: Path) -> None:
        figure = new_figure(6.8, 5.2)
        panel: Any = figure.add_subplot(projection="3d")
        robot, t = line.motion.robot, np.linspace(0.0, line.duration, 100)
        track = line.path(t).pose[:, :3, 3]
        for shade, moment in zip(_shades(len(moments)), moments, strict=True):
            _draw_links(panel, robot, line(moment).q, shade, f"t = {moment:.2f} s")
        panel.plot(*track.T, color=COLOURS[1], linewidth=2.0, label="path of the tip")
        panel.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]")
        panel.set_title(title, fontsize=11, loc="left")
        panel.set_box_aspect(_equal(panel), zoom=0.85)
        panel.locator_params(nbins=5)
        along = track[-1] - track[0]
        panel.view_init(elev=22.0, azim=float(np.degrees(np.arctan2(along[1], along[0]))) - 120.0)
        panel.legend(frameon=False, fontsize=9, loc="upper right")
        save_figure(figure, path)

    return draw


def draw_each(t: np.ndarray, curves: dict[str, np.ndarray], label: str, title: str) -> Draw:
    """Named curves over time, each on axes of its own, which span at least 0.2 % of the largest value."""

    def draw(path: Path) -> None:
        figure = new_figure(9.0, 4.8)
        least = 0.002 * max(float(np.abs(curve).max()) for curve in curves.values())
        panels = figure.subplots(2, (len(curves) + 1) // 2, sharex=True).ravel()
        for k, (panel, (name, curve)) in enumerate(zip(panels, curves.items(), strict=False)):
            panel.plot(t, curve, color=COLOURS[k], linewidth=1.5)
            middle, half = 0.5 * (curve.max() + curve.min()), 0.55 * max(float(np.ptp(curve)), least)
            panel.set(title=name, xlim=(t[0], t[-1]), ylim=(middle - half, middle + half))
            tidy(panel)
        figure.supxlabel("time [s]", fontsize=10)
        figure.supylabel(label, fontsize=10)
        figure.suptitle(title, fontsize=11)
        save_figure(figure, path)

    return draw


def _draw_links(panel: Any, robot: Robot, q: np.ndarray, shade: str, label: str) -> None:
    """The links as lines, along a joint's axis first and then across to the next one; and the axes of the last link."""
    poses = np.array([robot.pose(q, name) for name in robot.body_names])
    p, axes = poses[:, :3, 3], poses[:, :3, 2]
    corners = p[:-1] + axes[:-1] * np.sum(axes[:-1] * np.diff(p, axis=0), axis=1)[:, None]
    points = np.array([point for pair in zip(p[:-1], corners, strict=True) for point in pair] + [p[-1]])
    panel.plot(*points.T, color=shade, linewidth=3.0, marker="o", markersize=3.5, solid_capstyle="round", label=label)
    for axis, colour in enumerate(("#c23b22", "#3a7d44", "#2a5caa")):
        end = p[-1] + HAND * poses[-1, :3, axis]
        panel.plot(*np.array([p[-1], end]).T, color=colour, linewidth=1.5)


def _shades(count: int) -> Sequence[str]:
    return SHADES if count == len(SHADES) else SHADES[:: len(SHADES) - 1][:count]


def _equal(panel: Any) -> tuple[float, float, float]:
    """Sides of the box such that a metre is equally long along all axes."""
    spans = (np.diff(panel.get_xlim3d()), np.diff(panel.get_ylim3d()), np.diff(panel.get_zlim3d()))
    x, y, z = (float(span[0]) for span in spans)
    return x, y, z
