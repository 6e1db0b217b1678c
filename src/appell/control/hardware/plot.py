"""Figures of runs of the open controller."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.control.hardware.card import output_volts
from appell.plotting import COLOURS, new_figure, save_figure

if TYPE_CHECKING:
    from appell.control.hardware.record import Run


def plot(run: Run, path: str | PathLike | None) -> Any:
    """Error, outputs and timing of a run over time; documented at `Run.plot`."""
    figure = new_figure(9.0, 9.0)
    end = run.stop.time if run.stop else run.nominal_period + run.t.max(initial=0.0)
    errors, outputs, timing = figure.subplots(3, 1, sharex=True)
    for i, (name, colour) in enumerate(zip(run.joint_names, np.resize(COLOURS, len(run.joint_names)), strict=True)):
        errors.plot(run.t, run.error[:, i] / run.resolution[i], color=colour, linewidth=0.8, label=name)
        codes = np.append(run.codes[:, i], run.outputs.codes[i])
        outputs.plot(np.append(run.t, end), output_volts(codes), color=colour, linewidth=0.8)
    if run.real_time:
        jitter = np.maximum(run.jitter, 1e-8)
        timing.semilogy(run.t[1:], 1e6 * jitter, ".", markersize=1.5, color=COLOURS[0], label="jitter")
    timing.semilogy(run.t, 1e6 * run.io_time, ".", markersize=1.5, color=COLOURS[1], label="readings to outputs")
    timing.semilogy(run.t, 1e6 * run.compute_time, ".", markersize=1.5, color=COLOURS[2], label="control law")
    errors.set(ylabel="error [counts]", ylim=_span(run))
    outputs.set(ylabel="outputs [V]")
    timing.set(ylabel="time [us]", xlabel="time [s]")
    for panel, scale in ((errors, 1.0), (timing, 5.0)):
        panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), markerscale=scale)
    for panel in (errors, outputs, timing):
        mark_stages(panel, run)
    outcome = f"{run.stop.reason} at {run.stop.time:.3f} s" if run.stop else "finished"
    errors.set_title(f"{run.law} at {1.0 / run.nominal_period:g} Hz: {outcome}", loc="left", fontsize=11)
    save_figure(figure, path)
    return figure


def mark_stages(panel: Any, run: Run) -> None:
    """A line and a name at the beginning of each stage."""
    panel.grid(alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
    for k in np.flatnonzero(run.stage[1:] != run.stage[:-1]) + 1:
        panel.axvline(run.t[k], color="#777777", linewidth=0.8, linestyle=":")
        place = {"xycoords": ("data", "axes fraction"), "rotation": 90, "va": "top", "ha": "right", "fontsize": 8}
        panel.annotate(str(run.stage[k]), (run.t[k], 0.98), color="#555555", **place)


def _span(run: Run) -> tuple[float, float]:
    """Range of the errors after homing."""
    errors = run.error[run.stage != "home"] / run.resolution
    largest = 1.1 * float(np.abs(errors).max(initial=1.0))
    return -largest, largest
