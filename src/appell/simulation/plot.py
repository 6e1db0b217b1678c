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


def plot(trajectory: Trajectory, path: str | PathLike | None, joints: Sequence[str] | None) -> Any:
    """Coordinates, speeds and energy over time; documented at `Trajectory.plot`."""
    figure = new_figure(9.0, 7.5)
    panels = figure.subplots(3, 1, sharex=True)
    square = trajectory.q.shape[1] == trajectory.qd.shape[1] == len(trajectory.joint_names)
    names = trajectory.joint_names if square else None
    for panel, values, label in ((panels[0], trajectory.q, "q"), (panels[1], trajectory.qd, "qd")):
        lines(panel, trajectory.t, _chosen(values, names, joints), label)
    panels[2].plot(trajectory.t, trajectory.energy, color=COLOURS[0], linewidth=1.5)
    panels[2].set(ylabel="energy [J]", xlabel="time [s]", ylim=_span(trajectory.energy))
    panels[2].ticklabel_format(useOffset=False)
    for panel in panels:
        mark_impacts(panel, trajectory)
    panels[0].set_title(f"{trajectory.robot_name}: {len(trajectory.impacts)} impacts", loc="left", fontsize=11)
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


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


def lines(panel: Any, t: np.ndarray, values: dict[str, np.ndarray], label: str) -> None:
    """Named curves over time, with a legend beside them."""
    for i, (name, curve) in enumerate(values.items()):
        style = ("-", "--", ":")[i // len(COLOURS) % 3]
        panel.plot(t, curve, style, color=COLOURS[i % len(COLOURS)], linewidth=1.3, label=name)
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


def _chosen(values: np.ndarray, names: tuple[str, ...] | None, joints: Sequence[str] | None) -> dict[str, np.ndarray]:
    """Columns by name: of the joints where each has one, else by number."""
    if names is None:
        return {str(i): values[:, i] for i in range(values.shape[1])}
    for joint in joints or ():
        if joint not in names:
            raise ArgumentError(choices("joint", joint, names))
    return {name: values[:, i] for i, name in enumerate(names) if joints is None or name in joints}
