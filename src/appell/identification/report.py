"""Figures and report of an identification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import AppellError
from appell.identification.base import LINK_PARAMETERS
from appell.identification.corruption import runs
from appell.model.joints import KINDS
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell.report import Picture, Report
from appell.robot.protocol import AnyRobot
from appell.table import Table

if TYPE_CHECKING:
    from appell.identification.result import Identification
    from appell.identification.validation import Validation

MAX_POINTS = 4000
"""Maximum number of samples per curve."""


def report(fit: Identification, validations: Mapping[str, Validation] | None = None) -> Report:
    """Errors, findings, parameters, links and formulas as tables; forces, residuals and uncertainty as figures."""
    notes, validations = fit.notes, validations or {}
    try:
        figures = {
            "Measured and predicted forces": force_figure(fit),
            **{f"Forces of {name}, not fitted": force_figure(fit, shown=each) for name, each in validations.items()},
            "Residuals: spectrum and autocorrelation": residual_figure(fit),
            "Base parameters with 95 % intervals, relative to the description": interval_figure(fit),
            "Base parameters in units of their standard errors": parameter_figure(fit),
            "Conditioning and cut-off frequency": condition_figure(fit),
        }
        pictures = tuple(Picture.from_figure(figure, title) for title, figure in figures.items())
    except AppellError as error:  # matplotlib is not installed
        pictures, notes = (), (*notes, f"Pictures are left out: {error}")
    tables = (
        *(replace(each.table(), title=f"{name}: not fitted") for name, each in validations.items()),
        fit.error_table(), fit.findings_table(), Table("Steps", ("step",), tuple((step,) for step in fit.steps)),
        replace(fit.table(), notes=()), fit.essential_table(), link_table(fit), fit.base.table(),
    )  # fmt: skip
    return Report(f"{fit.nominal_robot.name}: identified parameters", "", notes, tables, pictures)


def link_table(fit: Identification) -> Table:
    """All inertial parameters, one row per link, whether they are physically consistent, and the masses' standard errors."""
    links = fit.link_names
    errors = [None] * len(links) if fit.mass_errors is None else [float(x) for x in fit.mass_errors]
    rows = tuple(
        (link, *map(float, values), error, "yes" if ok else "no")
        for link, values, error, ok in zip(links, fit.link_parameters, errors, fit.consistent, strict=True)
    )
    note = "At the origin and along the axes of the body [kg, kg m, kg m²]; nearest values where only combinations are known."
    return Table("Links", ("link", *LINK_PARAMETERS, "σ of m", "consistent"), rows, (note, *fit.mass_notes))


def force_figure(fit: Identification, path: str | PathLike | None = None, shown: Validation | None = None) -> Any:
    """Measured and predicted forces of every joint; documented at `Identification.plot`."""
    names = tuple(fit.relative_error.joints)
    figure = new_figure(10.0, 1.0 + 1.6 * len(names))
    panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    units = _units(fit.nominal_robot)
    source = fit if shown is None else shown
    error = fit.relative_error if shown is None else shown.filtered
    thin = slice(None, None, max(1, len(source.t) // MAX_POINTS))
    t, measured, predicted = source.t[thin], source.measured[thin], source.predicted[thin]
    for k, (panel, name) in enumerate(zip(panels, names, strict=True)):
        panel.fill_between(
            t, predicted[:, k] - 2 * fit.sigma[k], predicted[:, k] + 2 * fit.sigma[k], color=COLOURS[0], alpha=0.15, linewidth=0
        )  # fmt: skip
        panel.plot(t, measured[:, k], color="0.6", linewidth=1.0, label="measured")
        panel.plot(t, predicted[:, k], color=COLOURS[0], linewidth=1.1, label="predicted, ± 2 σ")
        panel.plot(t, measured[:, k] - predicted[:, k], color=COLOURS[1], linewidth=0.7, label="difference")
        for first, last in runs(fit.holdout_mask) if shown is None else ():
            panel.axvspan(fit.t[first], fit.t[last - 1], color="0.93", zorder=0)
        panel.set_ylabel(f"{name}\n[{units[k]}]")
        panel.set_title(f"{100 * error.joints[name]:.2f} %", loc="right", fontsize=9, pad=2)
        panel.set_xlim(t[0], t[-1])
        tidy(panel)
    samples = "held out (shaded)" if fit.holdout_mask.any() else "all samples"
    samples = samples if shown is None else "of a recording that was not fitted"
    raw = fit.raw_error if shown is None else shown.raw
    title = f"relative error {samples}: {100 * error.total:.2f} % filtered, {100 * raw.total:.2f} % as recorded"
    panels[0].set_title(title, loc="left", fontsize=10)
    panels[0].legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.45))
    panels[-1].set_xlabel("time [s]")
    save_figure(figure, path)
    return figure


def _units(robot: AnyRobot) -> list[str]:
    """Unit of every actuator force."""
    if robot is not robot.spanning_tree:
        return ["N m, N"] * len(robot.actuator_names)
    joints = robot.spanning_tree.moving_joints
    return ["N m" if flag else "N" for joint in joints for flag in KINDS[joint.kind].is_rotational(joint)]


def residual_figure(fit: Identification) -> Any:
    """Amplitude spectrum and autocorrelation of the residuals of every joint."""
    from scipy.signal import welch

    residuals = fit.measured - fit.predicted
    period = float(np.median(np.diff(fit.t)))
    figure = new_figure(10.0, 4.0)
    spectrum, correlation = figure.subplots(1, 2)
    count = min(len(residuals) // 2, 400)
    for k, name in enumerate(fit.relative_error.joints):
        colour = COLOURS[k % len(COLOURS)]
        own = residuals[:, k] - residuals[:, k].mean()
        frequency, power = welch(own, 1.0 / period, nperseg=min(len(own), 1024))
        spectrum.loglog(frequency[1:], np.sqrt(power[1:]), color=colour, linewidth=1.0, label=name)
        size = 2 ** int(np.ceil(np.log2(2 * len(own))))
        covariance = np.fft.irfft(np.abs(np.fft.rfft(own, size)) ** 2)[:count]
        scale = covariance[0] if covariance[0] > 0 else 1.0
        correlation.plot(np.arange(count) * period, covariance / scale, color=colour, linewidth=1.0)
    bound = 2.0 / np.sqrt(len(residuals))
    correlation.axhspan(-bound, bound, color="0.9", zorder=0)
    spectrum.set_xlabel("frequency [Hz]")
    spectrum.set_ylabel("residual [N m/√Hz, N/√Hz]")
    correlation.set_xlabel("lag [s]")
    correlation.set_ylabel("autocorrelation (grey: of white noise)")
    spectrum.legend(frameon=False, fontsize=7, ncols=2)
    for panel in (spectrum, correlation):
        tidy(panel)
    return figure


def interval_figure(fit: Identification) -> Any:
    """Base parameters with 95 % intervals and the description's values, in units of the larger of both."""
    described = fit.base.of(fit.prior)
    scale = np.maximum(np.maximum(np.abs(fit.base_parameters), np.abs(described)), np.finfo(float).tiny)
    figure = new_figure(10.0, 0.6 + 0.16 * len(scale))
    panel = figure.subplots()
    rows = np.arange(len(scale))[::-1]
    widths = np.minimum(1.96 * fit.standard_errors / scale, 10.0)
    panel.errorbar(fit.base_parameters / scale, rows, xerr=widths, fmt="o", color=COLOURS[0], markersize=3, linewidth=1.0,
                   label="identified, 95 % interval")  # fmt: skip
    panel.plot(described / scale, rows, "x", color=COLOURS[1], markersize=5, label="description")
    panel.axvline(0.0, color="0.7", linewidth=0.8)
    panel.set_xlim(-2.0, 2.0)
    panel.set_yticks(rows, fit.base.base_names, fontsize=7)
    panel.set_ylim(-1, len(scale))
    panel.set_xlabel("value / the larger of identified and described magnitude")
    panel.legend(frameon=False, fontsize=8, loc="lower right")
    tidy(panel)
    return figure


def condition_figure(fit: Identification) -> Any:
    """Largest relative standard error of the parameters of every joint and its link, and the choice of the cut-off."""
    figure = new_figure(10.0, 3.2)
    conditions, cutoffs = figure.subplots(1, 2)
    names = fit.nominal_robot.actuator_names
    conditions.barh(np.arange(len(names))[::-1], fit.condition_by_joint, color=COLOURS[0], height=0.7)
    conditions.set_yticks(np.arange(len(names))[::-1], names, fontsize=8)
    conditions.set_xscale("log")
    conditions.set_xlabel("condition number of the joint's regressor")
    if fit.cutoff_curve:
        frequencies, errors = np.array(fit.cutoff_curve).T
        cutoffs.loglog(frequencies, 100 * errors, "o-", color=COLOURS[0], markersize=3)
        cutoffs.axvline(fit.cutoff, color=COLOURS[1], linewidth=1.0)
    cutoffs.set_xlabel("cut-off frequency [Hz]")
    cutoffs.set_ylabel("prediction error [%]")
    for panel in (conditions, cutoffs):
        tidy(panel)
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
