"""Figures and report of an identification."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import AppellError
from appell.identification.base import LINK_PARAMETERS
from appell.identification.recording import runs
from appell.model.joints import KINDS
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.report import Picture, Report
from appell.table import Table

if TYPE_CHECKING:
    from appell.identification.result import Identification

MAX_POINTS = 4000
"""Maximum number of samples per curve."""


def report(fit: Identification) -> Report:
    """Errors, parameters, links and formulas as tables, forces and uncertainty as figures."""
    notes = fit.notes
    try:
        pictures = (
            Picture.from_figure(force_figure(fit), "Measured and predicted forces"),
            Picture.from_figure(parameter_figure(fit), "Base parameters in units of their standard errors"),
        )
    except AppellError as error:  # matplotlib is not installed
        pictures, notes = (), (*notes, f"Pictures are left out: {error}")
    tables = (fit.error_table(), replace(fit.table(), notes=()), link_table(fit), fit.base.table())
    return Report(f"{fit.nominal_robot.name}: identified parameters", "", notes, tables, pictures)


def link_table(fit: Identification) -> Table:
    """All inertial parameters, one row per link, and whether they are physically consistent."""
    rows = tuple(
        (link.body, *map(float, values), "yes" if ok else "no")
        for link, values, ok in zip(fit.nominal_robot.tree.links, fit.link_parameters, fit.consistent, strict=True)
    )
    note = "At the origin and along the axes of the body [kg, kg m, kg m²]; nearest values where only combinations are known."
    return Table("Links", ("link", *LINK_PARAMETERS, "consistent"), rows, (note,))


def force_figure(fit: Identification, path: str | PathLike | None = None) -> Any:
    """Measured and predicted forces of every joint; documented at `Identification.plot`."""
    names = tuple(fit.relative_error.joints)
    figure = new_figure(10.0, 1.0 + 1.6 * len(names))
    panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    rotational = [flag for joint in fit.nominal_robot.moving_joints for flag in KINDS[joint.kind].is_rotational(joint)]
    thin = slice(None, None, max(1, len(fit.t) // MAX_POINTS))
    t, measured, predicted = fit.t[thin], fit.measured[thin], fit.predicted[thin]
    for k, (panel, name) in enumerate(zip(panels, names, strict=True)):
        panel.plot(t, measured[:, k], color="0.6", linewidth=1.0, label="measured")
        panel.plot(t, predicted[:, k], color=COLOURS[0], linewidth=1.1, label="predicted")
        panel.plot(t, measured[:, k] - predicted[:, k], color=COLOURS[1], linewidth=0.7, label="difference")
        for first, last in runs(fit.holdout_mask):
            panel.axvspan(fit.t[first], fit.t[last - 1], color="0.93", zorder=0)
        panel.set_ylabel(f"{name}\n[{'N m' if rotational[k] else 'N'}]")
        panel.set_title(f"{100 * fit.relative_error.joints[name]:.2f} %", loc="right", fontsize=9, pad=2)
        panel.set_xlim(fit.t[0], fit.t[-1])
        tidy(panel)
    samples = "held out (shaded)" if fit.holdout_mask.any() else "all samples"
    title = f"{fit.nominal_robot.name}: relative error {samples} {100 * fit.relative_error.total:.2f} %"
    panels[0].set_title(title, loc="left", fontsize=11)
    panels[0].legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.35))
    panels[-1].set_xlabel("time [s]")
    save_figure(figure, path)
    return figure


def parameter_figure(fit: Identification) -> Any:
    """Base parameters in units of their standard errors."""
    ratio = np.abs(fit.base_parameters) / np.maximum(fit.standard_errors, np.finfo(float).tiny)
    figure = new_figure(10.0, 0.6 + 0.16 * len(ratio))
    panel = figure.subplots()
    rows = np.arange(len(ratio))[::-1]
    colours = [COLOURS[0] if value > 2 else "0.75" for value in ratio]
    panel.barh(rows, np.maximum(ratio, 1e-2), color=colours, height=0.7)
    panel.axvline(2.0, color="0.4", linewidth=0.8, linestyle="--")
    panel.set_xscale("log")
    panel.set_yticks(rows, fit.base.base_names, fontsize=7)
    panel.set_ylim(-1, len(ratio))
    panel.set_xlabel("|value| / standard error  (grey: not significantly different from zero)")
    tidy(panel)
    return figure
