"""Figures 14 to 19 of Shafei and Shafei 2018."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from appell.loading.catalogue.shafei_tree import PARENTS, TIPS
from appell.model.point import Point
from appell.plotting import COLOURS, lines, new_figure, save_figure, tidy
from appell.robot.robot import Robot
from appell.simulation.contact.pairs import ContactPoints
from appell.simulation.trajectory import Trajectory, mark_impacts
from appell_lab.reproduce.reproduction import Figure

NAMES = ("O1", *TIPS)
STROBES = 4
STROBE = 0.02
"""How many earlier positions a picture of the tree shows, and how far they are apart. [s]"""


def figures(robot: Robot, motion: Trajectory, radius: float) -> tuple[Figure, ...]:
    """The figures of a motion of the tree inside a circle."""
    p, v = ContactPoints(robot, [Point(name) for name in NAMES]).positions_and_velocities(motion.q, motion.qd)
    curves = (
        ("figure14_positions_X1", p[..., 0], "position along X1 [m]"),
        ("figure15_velocities_X1", v[..., 0], "velocity along X1 [m/s]"),
        ("figure16_positions_X2", p[..., 1], "position along X2 [m]"),
        ("figure17_velocities_X2", v[..., 1], "velocity along X2 [m/s]"),
    )
    return (
        *(Figure(name, _curves(motion, values, label)) for name, values, label in curves),
        Figure("figure18_configurations", lambda path: draw_configurations(robot, motion, radius, path)),
        Figure("figure19_energy", lambda path: draw_energy(robot, motion, path)),
    )


def _curves(motion: Trajectory, values: np.ndarray, label: str):
    def draw(path: Path) -> None:
        figure = new_figure(8.0, 4.5)
        panel = figure.subplots()
        lines(panel, motion.t, {name: values[:, i] for i, name in enumerate(NAMES)}, label)
        mark_impacts(panel, motion)
        panel.set_xlabel("time [s]")
        save_figure(figure, path)

    return draw


def draw_configurations(robot: Robot, motion: Trajectory, radius: float, path: Path) -> None:
    """The tree in its wall at the start, at every impact and at the end, with where it was shortly before."""
    hits = [(impact.time, impact.points) for impact in motion.impacts]
    moments = [(motion.t[0], ()), *hits, (0.5 * (hits[-1][0] + motion.t[-1]), ()), (motion.t[-1], ())]
    figure = new_figure(11.0, 6.0)
    points = ContactPoints(robot, [Point(name) for name in NAMES])
    for panel, (t, struck) in zip(figure.subplots(2, 4).ravel(), moments, strict=True):
        panel.add_patch(_circle(radius))
        for k in range(STROBES if t > 0.0 else 0, 0, -1):
            draw_tree(panel, _positions(points, motion, t - k * STROBE), shade=str(0.6 + 0.08 * k), width=1.0)
        p = _positions(points, motion, t)
        draw_tree(panel, p, shade="0.1", width=2.0)
        chosen = [NAMES.index(name) for name in struck]
        panel.plot(*p[chosen].T, "o", color=COLOURS[1], markersize=7)
        what = f", impact of {' and '.join(struck)}" if struck else ""
        panel.set_title(f"t = {t:.3f} s{what}", fontsize=9, loc="left")
        panel.set(aspect="equal", xlim=(-1.06 * radius, 1.06 * radius), ylim=(-1.06 * radius, 1.06 * radius))
        panel.axis("off")
    save_figure(figure, path)


def draw_tree(panel: Any, p: np.ndarray, shade: str, width: float) -> None:
    """Links between the points at positions p (11, 2), and the points."""
    ends = {0: 0, **{link: NAMES.index(name) for name, link in TIPS.items()}}
    for link, parent in enumerate(PARENTS, start=1):
        panel.plot(*p[[ends[parent], ends[link]]].T, color=shade, linewidth=width, solid_capstyle="round")
    if width > 1.0:
        panel.plot(*p.T, "o", color=shade, markersize=3.5)


def draw_energy(robot: Robot, motion: Trajectory, path: Path) -> None:
    """Kinetic, potential and total energy over time."""
    kinetic, potential = robot.kinetic_energy(motion.q, motion.qd), robot.potential_energy(motion.q)
    figure = new_figure(8.0, 4.5)
    panel = figure.subplots()
    energies = {"kinetic": kinetic, "potential": potential, "sum": motion.energy}
    lines(panel, motion.t, energies, "energy [J]")
    mark_impacts(panel, motion)
    panel.set_xlabel("time [s]")
    tidy(panel)
    save_figure(figure, path)


def _positions(points: ContactPoints, motion: Trajectory, t: float) -> np.ndarray:
    """Positions (11, 2) at a time, from the samples before it: coordinates do not jump."""
    q = np.array([np.interp(t, motion.t, column) for column in motion.q.T])
    return points.positions_and_velocities(q[None], np.zeros((1, points.nv)))[0][0, :, :2]


def _circle(radius: float) -> Any:
    from matplotlib.patches import Circle

    return Circle((0.0, 0.0), radius, fill=False, edgecolor="0.4", linewidth=1.2)
