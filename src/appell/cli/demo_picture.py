"""The picture of `appell demo`: a motion of the PUMA and the torques it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from appell.robot.robot import Robot

START = (-0.9, -1.9, 3.1, 0.0, 1.3, 0.0)
END = (0.9, -0.3, 1.9, 0.8, -0.6, 1.5)
DURATION = 1.5
"""A reach from above the shoulder to the front. [rad, s]"""
HAND = 0.12
"""Length of the line that shows where the last link points. [m]"""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's, which colour-blind readers can tell apart."""
HAND_COLOUR = "#882255"


def quintic(times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates, speeds and accelerations of a motion from rest to rest with smooth accelerations, (N, 6) each."""
    s = (times / DURATION)[:, None]
    way = np.subtract(END, START)
    q = START + way * (10 * s**3 - 15 * s**4 + 6 * s**5)
    qd = way * (30 * s**2 - 60 * s**3 + 30 * s**4) / DURATION
    qdd = way * (60 * s - 180 * s**2 + 120 * s**3) / DURATION**2
    return q, qd, qdd


def draw_motion(robot: Robot, path: str) -> None:
    """Write the picture. Needs matplotlib."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    times = np.linspace(0.0, DURATION, 301)
    q, qd, qdd = quintic(times)
    tau = robot.inverse_dynamics(q, qd, qdd)
    figure = Figure(figsize=(10.5, 4.8), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    panels = figure.subplot_mosaic([["arm", "large"], ["arm", "small"]], width_ratios=[1.0, 1.25])
    draw_arm(panels["arm"], robot, q)
    draw_torques(panels["large"], times, tau, range(3))
    draw_torques(panels["small"], times, tau, range(3, 6))
    panels["large"].set_title("Joint torques from rest to rest", loc="left", fontsize=11)
    panels["large"].tick_params(labelbottom=False)
    panels["small"].set_xlabel("time [s]")
    figure.savefig(path, dpi=150)


def draw_arm(panel: Any, robot: Robot, q: np.ndarray) -> None:
    """The arm in its own vertical plane at some moments, later ones darker, and the way of its hand."""
    poses = np.stack([robot.pose(q, name) for name in ("base", "link3", "link4", "link6")], axis=1)
    hand = poses[:, -1, :3, 3] + HAND * poses[:, -1, :3, 2]
    points = np.concatenate([poses[:, :, :3, 3], hand[:, None]], axis=1)
    reach = points[..., 0] * np.cos(q[:, :1]) + points[..., 1] * np.sin(q[:, :1])
    height = points[..., 2]
    panel.plot(reach[:, -1], height[:, -1], color=HAND_COLOUR, linewidth=1.5)
    for moment in np.linspace(0, len(q) - 1, 6).astype(int):
        shade = str(round(0.85 * (1 - moment / (len(q) - 1)), 3))
        panel.plot(reach[moment], height[moment], color=shade, linewidth=2.5)
        panel.plot(reach[moment, :-1], height[moment, :-1], "o", color=shade, markersize=5)
    panel.set_aspect("equal")
    panel.set_xlabel("reach in the plane of the arm [m]")
    panel.set_ylabel("height [m]")
    panel.set_title("PUMA 560, light to dark, and the way of its hand", loc="left", fontsize=11)
    tidy(panel)


def draw_torques(panel: Any, times: np.ndarray, tau: np.ndarray, joints: range) -> None:
    """Torques of some joints over time."""
    for joint in joints:
        panel.plot(times, tau[:, joint], color=COLOURS[joint], linewidth=1.8, label=f"joint {joint + 1}")
    panel.axhline(0.0, color="0.7", linewidth=0.8, zorder=0)
    panel.set_ylabel("torque [N m]")
    panel.set_xlim(times[0], times[-1])
    panel.legend(frameon=False, ncols=3, fontsize=9, loc="best")
    tidy(panel)


def tidy(panel: Any) -> None:
    """No frame at the top and right."""
    panel.spines[["top", "right"]].set_visible(False)
