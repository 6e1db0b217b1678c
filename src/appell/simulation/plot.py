"""Figures of trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError, unknown_name_message
from appell.plotting import COLOURS, lines, new_figure, save_figure, tidy

if TYPE_CHECKING:
    from appell.simulation.trajectory import Trajectory


def plot_trajectory(trajectory: Trajectory, path: str | PathLike | None, joints: Sequence[str] | None) -> Any:
    """q, qd, tau and energy over time; documented at `Trajectory.plot`."""
    for joint in joints or ():
        if joint not in trajectory.joint_names:
            raise ArgumentError(unknown_name_message("joint", joint, trajectory.joint_names))
    q_names, qd_names = trajectory.q_names, trajectory.qd_names
    curves = [("q [rad, m]", q_names, trajectory.q), ("qd [rad/s, m/s]", qd_names, trajectory.qd)]
    if trajectory.tau.any():
        curves.append(("tau [N m, N]", trajectory.actuator_names, trajectory.tau))
    figure = new_figure(9.0, 2.5 * (len(curves) + 1))
    panels = figure.subplots(len(curves) + 1, 1, sharex=True)
    for panel, (label, names, values) in zip(panels, curves, strict=False):
        lines(panel, trajectory.t, _columns_of_joints(values, names, joints), label)
    _energy(panels[-1], trajectory)
    for panel in panels:
        mark_impacts(panel, trajectory)
    panels[0].set_title(_title(trajectory), loc="left", fontsize=11)
    save_figure(figure, path)
    return figure


def _energy(panel: Any, trajectory: Trajectory) -> None:
    """Energy of the robot, and the work of the forces that change it."""
    t, work = trajectory.t, trajectory.work
    panel.plot(t, trajectory.energy, color=COLOURS[0], linewidth=1.5, label="kinetic + potential")
    shown = [trajectory.energy]
    for name, values, colour in zip(work._fields, work, COLOURS[1:], strict=False):
        if np.abs(values).max() > 0.0:
            panel.plot(t, values, "--", color=colour, linewidth=1.2, label=f"work of {name}")
            shown.append(values)
    if len(shown) > 1:
        panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    panel.set(ylabel="energy [J]", xlabel="time [s]", ylim=_span(np.concatenate(shown)))
    panel.ticklabel_format(useOffset=False)


def _title(trajectory: Trajectory) -> str:
    counts = {"impacts": trajectory.impacts, "contacts": trajectory.contacts, "events": trajectory.events}
    occurred = [f"{len(items)} {name if len(items) > 1 else name[:-1]}" for name, items in counts.items() if items]
    status = [] if trajectory.status == "finished" else [trajectory.status]
    return ", ".join([f"{trajectory.robot_name}: {trajectory.t[-1]:g} s", *occurred, *status])


def mark_impacts(panel: Any, trajectory: Trajectory) -> None:
    """A thin vertical line at every impact."""
    for impact in trajectory.impacts:
        panel.axvline(impact.time, color="0.8", linewidth=0.8, zorder=0)
    tidy(panel)


def _span(energy: np.ndarray) -> tuple[float, float]:
    """Limits of an energy axis: at least 1 % of the largest energy, so that rounding errors are not magnified."""
    low, high = float(energy.min()), float(energy.max())
    margin = max(0.05 * (high - low), 0.005 * max(abs(low), abs(high)), 1e-12)
    return low - margin, high + margin


def _columns_of_joints(values: np.ndarray, names: Sequence[str], joints: Sequence[str] | None) -> dict[str, np.ndarray]:
    """Columns by name; all joints by default."""
    return {name: values[:, i] for i, name in enumerate(names) if joints is None or name.partition("[")[0] in joints}
