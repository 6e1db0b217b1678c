"""The tables and the picture of `appell demo`: torques, mass matrix and operation counts of the built-in PUMA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compiler.count import count_operations
from appell.kinematics.trajectories import joint_line
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.table import Table
from appell_lab.reproduce import mata2002
from appell_lab.reproduce.cost import SIX, operations

if TYPE_CHECKING:
    from appell.robot.robot import Robot

Q = (0.3, -0.6, 0.5, 0.2, 0.7, -0.4)
QD = (0.5, -0.4, 0.3, 0.6, -0.5, 0.4)
QDD = (1.0, 0.8, -0.6, 0.5, 0.4, -0.3)
"""The state of the tables. [rad, rad/s, rad/s²]"""
START = (-0.9, -1.9, 3.1, 0.0, 1.3, 0.0)
END = (0.9, -0.3, 1.9, 0.8, -0.6, 1.5)
DURATION = 1.5
"""A motion of the hand from above the shoulder to the front. [rad, s]"""
HAND_LENGTH = 0.12
"""Length of the line along the approach axis of the last link. [m]"""
HAND_COLOUR = "#882255"


def demo_tables(robot: Robot) -> tuple[Table, ...]:
    """All tables."""
    return torque_table(robot), mass_matrix_table(robot), cost_table(robot)


def torque_table(robot: Robot) -> Table:
    """Torques at one state by two methods, and the accelerations from these torques."""
    tau = robot.inverse_dynamics(Q, QD, QDD)
    other = robot.inverse_dynamics(Q, QD, QDD, method="newton_euler")
    back = robot.forward_dynamics(Q, QD, tau)
    gravity = robot.gravity(Q).round(12).tolist()  # rounding errors are shown as zero
    rows = tuple(zip(robot.joint_names, Q, QD, QDD, tau.tolist(), gravity, strict=True))
    notes = (
        f"Gibbs-Appell and Newton-Euler differ by {abs(tau - other).max():.1e} N m at most.",
        f"Forward dynamics returns the accelerations within {abs(back - QDD).max():.1e} rad/s².",
    )
    columns = ("joint", "q [rad]", "qd [rad/s]", "qdd [rad/s²]", "torque [N m]", "of gravity [N m]")
    return Table("Torques at one state", columns, rows, notes)


def mass_matrix_table(robot: Robot) -> Table:
    """The mass matrix at the same state."""
    rows = tuple((name, *row) for name, row in zip(robot.joint_names, robot.mass_matrix(Q).tolist(), strict=True))
    return Table("Mass matrix M(q) [kg m²]", ("", *robot.joint_names), rows)


def cost_table(robot: Robot) -> Table:
    """Products and sums, compared with those of Mata et al. 2002."""
    printed = {
        ("inverse_dynamics", "mata2002"): mata2002.TABLE_1[mata2002.GIBBS_APPELL],
        mata2002.HESSIAN: mata2002.TABLE_3["inertia matrix D"],
        mata2002.BIAS_VECTOR: mata2002.TABLE_3["bias vector"],
        mata2002.FORWARD: mata2002.TABLE_3["total"],
    }
    rows = []
    for (function, method), paper in printed.items():
        general, own = operations(function, method, SIX), count_operations(robot, function, method, compiled=True)
        counts = ((paper.products_six, paper.sums_six), (general.mul, general.add), (own.mul, own.add))
        rows.append((function, *(f"{products:4} / {sums}" for products, sums in counts)))
    columns = ("function", "Mata 2002, any six joints", "appell, any six joints", "appell, this PUMA compiled")
    return Table("Products / sums of one evaluation", columns, tuple(rows))


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
