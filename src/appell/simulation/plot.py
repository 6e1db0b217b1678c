"""Pictures of trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import AppellError, ArgumentError, choices

if TYPE_CHECKING:
    from appell.simulation.trajectory import Trajectory

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#44aa99", "#999933", "#555555")

LEGEND = 12
"""So many curves of a panel are told apart."""


def plot(trajectory: Trajectory, path: str | PathLike | None, joints: Sequence[str] | None) -> Any:
    """Coordinates, speeds, forces and energy over time; documented at `Trajectory.plot`."""
    for joint in joints or ():
        if joint not in trajectory.joint_names:
            raise ArgumentError(choices("joint", joint, trajectory.joint_names))
    q_names, qd_names = trajectory.q_names, trajectory.qd_names
    curves = [("q [rad, m]", q_names, trajectory.q), ("qd [rad/s, m/s]", qd_names, trajectory.qd)]
    if trajectory.tau.any():
        curves.append(("drives [N m, N]", trajectory.drive_names, trajectory.tau))
    figure = new_figure(9.0, 2.5 * (len(curves) + 1))
    panels = figure.subplots(len(curves) + 1, 1, sharex=True)
    for panel, (label, names, values) in zip(panels, curves, strict=False):
        lines(panel, trajectory.t, _chosen(values, names, joints), label)
    _energy(panels[-1], trajectory)
    for panel in panels:
        mark_impacts(panel, trajectory)
    panels[0].set_title(_title(trajectory), loc="left", fontsize=11)
    save_figure(figure, path)
    return figure


def _energy(panel: Any, trajectory: Trajectory) -> None:
    """Energy of the robot, and the work of what changes it."""
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
    happened = [f"{len(each)} {name if len(each) > 1 else name[:-1]}" for name, each in counts.items() if each]
    ended = [] if trajectory.status == "finished" else [trajectory.status]
    return ", ".join([f"{trajectory.robot_name}: {trajectory.t[-1]:g} s", *happened, *ended])


def new_figure(width: float, height: float) -> Any:
    """An empty figure of this size [inches] that needs no screen."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise AppellError("pictures need matplotlib. Install it, for instance with: pip install appell[plot]") from None
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: str | PathLike | None) -> None:
    """Write a figure to a file, its kind taken from the name; nothing where there is no path."""
    if path is None:
        return
    try:
        figure.savefig(path, dpi=150)
    except ValueError as error:
        raise ArgumentError(f"{path}: {error}. Name a .png, .svg or .pdf file.") from None


def lines(panel: Any, t: np.ndarray, values: dict[str, np.ndarray], label: str) -> None:
    """Named curves over time, with a legend beside them; of many curves those that move most, the others in grey."""
    busiest = sorted(values, key=lambda name: -float(np.ptp(values[name])))[:LEGEND]
    named = [name for name in values if name in busiest]
    for name in values:
        if name not in named:
            panel.plot(t, values[name], color="0.8", linewidth=0.8)
    for i, name in enumerate(named):
        style = ("-", "--")[i // len(COLOURS)]
        panel.plot(t, values[name], style, color=COLOURS[i % len(COLOURS)], linewidth=1.3, label=name)
    if len(named) < len(values):
        panel.plot([], [], color="0.8", label=f"{len(values) - len(named)} others")
    panel.set_ylabel(label)
    panel.set_xlim(t[0], t[-1])
    panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    tidy(panel)


def mark_impacts(panel: Any, trajectory: Trajectory) -> None:
    """A thin vertical line at every impact."""
    for impact in trajectory.impacts:
        panel.axvline(impact.time, color="0.8", linewidth=0.8, zorder=0)
    tidy(panel)


def tidy(panel: Any) -> None:
    """No frame at the top and right."""
    panel.spines[["top", "right"]].set_visible(False)


def _span(energy: np.ndarray) -> tuple[float, float]:
    """Limits of an axis for energies that does not blow up rounding: at least 1 % of the largest."""
    low, high = float(energy.min()), float(energy.max())
    margin = max(0.05 * (high - low), 0.005 * max(abs(low), abs(high)), 1e-12)
    return low - margin, high + margin


def _chosen(values: np.ndarray, names: Sequence[str], joints: Sequence[str] | None) -> dict[str, np.ndarray]:
    """Columns by name, those of the chosen joints."""
    return {name: values[:, i] for i, name in enumerate(names) if joints is None or name.partition("[")[0] in joints}
