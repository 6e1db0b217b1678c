"""Pictures of references."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.plotting import lines, new_figure

if TYPE_CHECKING:
    from appell.kinematics.trajectories.reference import Reference
    from appell.robot.robot import Robot


CROWD = 40
"""Breaks of a reference from which on they are not marked."""


def plot(reference: Reference, path: str | PathLike | None, robot: Robot | None) -> Any:
    """Coordinates, speeds, accelerations and torques over time; documented at `Plottable.plot`."""
    t = np.linspace(0.0, reference.duration, 600)
    q, qd, qdd = reference(t)
    panels = [(q, "q [rad, m]"), (qd, "qd [rad/s, m/s]"), (qdd, "qdd [rad/s², m/s²]")]
    if robot is not None:
        panels.append((robot.inverse_dynamics(q, qd, qdd), "torque [N m, N]"))
    figure = new_figure(9.0, 2.2 * len(panels) + 0.5)
    axes = figure.subplots(len(panels), 1, sharex=True)
    for axis, (values, label) in zip(axes, panels, strict=True):
        names = reference.joint_names
        if values.shape[1] != len(names):
            names = tuple(str(i) for i in range(values.shape[1]))
        lines(axis, t, {name: values[:, i] for i, name in enumerate(names)}, label)
        for time in reference.breaks[1:-1] if len(reference.breaks) < CROWD else ():
            axis.axvline(time, color="0.85", linewidth=0.8, zorder=0)
    axes[-1].set_xlabel("time [s]")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
