"""The picture of `appell demo`: a motion of the PUMA and its joint torques."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from appell.kinematics.trajectories import joint_line
from appell.plotting import COLOURS, new_figure, save_figure, tidy

if TYPE_CHECKING:
    from appell.robot.robot import Robot

START = (-0.9, -1.9, 3.1, 0.0, 1.3, 0.0)
END = (0.9, -0.3, 1.9, 0.8, -0.6, 1.5)
DURATION = 1.5
"""A motion of the hand from above the shoulder to the front. [rad, s]"""
HAND_LENGTH = 0.12
"""Length of the line along the approach axis of the last link. [m]"""
HAND_COLOUR = "#882255"


def draw_motion(robot: Robot, path: str) -> None:
    """Write the picture. Needs matplotlib."""
    figure = new_figure(10.5, 4.8)
    times = np.linspace(0.0, DURATION, 301)
    motion = joint_line(robot, START, END, duration=DURATION)(times)
    tau = robot.inverse_dynamics(motion.q, motion.qd, motion.qdd)
    panels = figure.subplot_mosaic([["arm", "large"], ["arm", "small"]], width_ratios=[1.0, 1.25])
    draw_arm(panels["arm"], robot, motion.q)
    draw_torques(panels["large"], times, tau, range(3))
    draw_torques(panels["small"], times, tau, range(3, 6))
    panels["large"].set_title("Joint torques from rest to rest", loc="left", fontsize=11)
    panels["large"].tick_params(labelbottom=False)
    panels["small"].set_xlabel("time [s]")
    save_figure(figure, path)


def draw_arm(panel: Any, robot: Robot, q: np.ndarray) -> None:
    """The arm in its own vertical plane at several times, later ones darker, and the path of its hand."""
    poses = np.stack([robot.pose(q, name) for name in ("base", "link3", "link4", "link6")], axis=1)
    hand = poses[:, -1, :3, 3] + HAND_LENGTH * poses[:, -1, :3, 2]
    points = np.concatenate([poses[:, :, :3, 3], hand[:, None]], axis=1)
    reach = points[..., 0] * np.cos(q[:, :1]) + points[..., 1] * np.sin(q[:, :1])
    height = points[..., 2]
    panel.plot(reach[:, -1], height[:, -1], color=HAND_COLOUR, linewidth=1.5)
    for sample in np.linspace(0, len(q) - 1, 6).astype(int):
        shade = str(round(0.85 * (1 - sample / (len(q) - 1)), 3))
        panel.plot(reach[sample], height[sample], color=shade, linewidth=2.5)
        panel.plot(reach[sample, :-1], height[sample, :-1], "o", color=shade, markersize=5)
    panel.set_aspect("equal")
    panel.set_xlabel("reach in the plane of the arm [m]")
    panel.set_ylabel("height [m]")
    panel.set_title("PUMA 560, light to dark, and the path of its hand", loc="left", fontsize=11)
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
