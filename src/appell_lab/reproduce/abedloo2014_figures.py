"""Figures 5 to 7 of Abedloo, Molaei and Taghirad 2014."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell_lab.reproduce.reproduction import Figure

if TYPE_CHECKING:
    from appell_lab.reproduce.abedloo2014 import Verification

Reference = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def figures(verified: Verification, reference: Reference) -> tuple[Figure, ...]:
    """All three; the trajectory of eq. (52) is drawn with figure 5."""
    return (
        Figure("figure5_trajectory", lambda path: draw_trajectory(verified, reference, path)),
        Figure("figure6_torques", lambda path: draw_torques(verified, path)),
        Figure("figure7_errors", lambda path: draw_errors(verified, path)),
    )


def draw_trajectory(verified: Verification, reference: Reference, path: Path) -> None:
    """Figure 5: Euler angles and actuated joints, of the simulator and of the model."""
    figure = new_figure(8.0, 6.0)
    upper, lower = figure.subplots(2, 1, sharex=True)
    shown = verified.simulator
    pair(upper, verified.t, np.degrees(shown.q), np.degrees(reference(verified.t)[0]), ("q1", "q2", "q3"), "eq. (52)")
    pair(lower, verified.t, np.degrees(shown.theta), np.degrees(verified.theta), ("θ1", "θ2", "θ3"), "model")
    upper.set_ylabel("Euler angles [deg]")
    lower.set_ylabel("actuated joints [deg]")
    _finish(figure, lower, path)


def draw_torques(verified: Verification, path: Path) -> None:
    """Figure 6: torques of the simulator and of the model, and their difference."""
    figure = new_figure(8.0, 6.0)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    pair(upper, verified.t, verified.torques, verified.tau, ("τ1", "τ2", "τ3"), "model")
    upper.set_ylabel("torques [N m]")
    error(lower, verified.t, verified.torques - verified.tau, ("τ1", "τ2", "τ3"), "error [N m]")
    _finish(figure, lower, path)


def draw_errors(verified: Verification, path: Path) -> None:
    """Figure 7: errors of the joints, their rates and accelerations."""
    figure = new_figure(8.0, 7.0)
    panels = figure.subplots(3, 1, sharex=True)
    labels = ("angle [rad]", "rate [rad/s]", "acceleration [rad/s²]")
    for panel, values, label in zip(panels, verified.errors.values(), labels, strict=False):
        error(panel, verified.t, values, ("θ1", "θ2", "θ3"), f"error of {label}")
    _finish(figure, panels[-1], path)


def pair(
    panel: Any, t: np.ndarray, shown: np.ndarray, modelled: np.ndarray, names: tuple[str, ...], other: str
) -> None:
    """Curves of the simulator, and dots of the model on them."""
    for k, name in enumerate(names):
        panel.plot(t, shown[:, k], color=COLOURS[k], linewidth=1.4, label=f"{name}, simulator")
        panel.plot(
            t[::20], modelled[::20, k], "o", color=COLOURS[k], markersize=4, fillstyle="none", label=f"{name}, {other}"
        )
    _legend(panel, t)


def error(panel: Any, t: np.ndarray, values: np.ndarray, names: tuple[str, ...], label: str) -> None:
    """Curves of errors."""
    for k, name in enumerate(names):
        panel.plot(t, values[:, k], color=COLOURS[k], linewidth=1.0, label=name)
    panel.set_ylabel(label)
    panel.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    _legend(panel, t)


def _legend(panel: Any, t: np.ndarray) -> None:
    panel.set_xlim(t[0], t[-1])
    panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    tidy(panel)


def _finish(figure: Any, lowest: Any, path: Path) -> None:
    lowest.set_xlabel("time [s]")
    save_figure(figure, path)
