"""Pictures of identifications."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.plotting import COLOURS, new_figure, tidy

if TYPE_CHECKING:
    from appell.identification.result import Identification

MOST = 4000
"""Samples that are drawn, at most."""


def plot(found: Identification, path: str | PathLike | None) -> Any:
    """Measured and predicted forces of every joint; documented at `Identification.plot`."""
    names = tuple(found.relative_error.joints)
    figure = new_figure(10.0, 1.0 + 1.6 * len(names))
    panels = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
    thin = slice(None, None, max(1, len(found.t) // MOST))
    for k, (panel, name) in enumerate(zip(panels, names, strict=True)):
        panel.plot(found.t[thin], found.measured[thin, k], color="0.6", linewidth=1.0, label="measured")
        panel.plot(found.t[thin], found.predicted[thin, k], color=COLOURS[0], linewidth=1.1, label="predicted")
        off = found.measured[thin, k] - found.predicted[thin, k]
        panel.plot(found.t[thin], off, color=COLOURS[1], linewidth=0.7, label="difference")
        for first, last in held_spans(found.t, found.held):
            panel.axvspan(first, last, color="0.93", zorder=0)
        error = 100 * found.relative_error.joints[name]
        panel.set_ylabel(f"{name}\n[{unit(found, k)}]")
        panel.set_title(f"{error:.2f} %", loc="right", fontsize=9, pad=2)
        panel.set_xlim(found.t[0], found.t[-1])
        tidy(panel)
    where = "held out (shaded)" if found.held.any() else "all samples"
    panels[0].set_title(f"{found.source.name}: relative error {where} {100 * found.relative_error.total:.2f} %", loc="left",
                        fontsize=11)  # fmt: skip
    panels[0].legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.35))
    panels[-1].set_xlabel("time [s]")
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


def parameter_picture(found: Identification) -> Any:
    """Base parameters in units of their standard errors, to see which ones the motion tells."""
    ratio = np.abs(found.base_parameters) / np.maximum(found.standard_errors, np.finfo(float).tiny)
    figure = new_figure(10.0, 0.6 + 0.16 * len(ratio))
    panel = figure.subplots()
    places = np.arange(len(ratio))[::-1]
    colours = [COLOURS[0] if value > 2 else "0.75" for value in ratio]
    panel.barh(places, np.maximum(ratio, 1e-2), color=colours, height=0.7)
    panel.axvline(2.0, color="0.4", linewidth=0.8, linestyle="--")
    panel.set_xscale("log")
    panel.set_yticks(places, found.base.base_names, fontsize=7)
    panel.set_ylim(-1, len(ratio))
    panel.set_xlabel("|value| / standard error  (grey: cannot be told from zero)")
    tidy(panel)
    return figure


def unit(found: Identification, speed: int) -> str:
    """Unit of the force at a speed: that of a translation or of a turn."""
    for link in found.source.tree.links:
        if link.idx_v <= speed < link.idx_v + link.kind.nv:
            angular = link.kind.motion_subspace()[speed - link.idx_v].angular
            return "N m" if any(float(x) != 0.0 for x in angular) else "N"
    return "N m"


def held_spans(t: np.ndarray, held: np.ndarray) -> list[tuple[float, float]]:
    """First and last time of every stretch of samples that were held out."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], held.astype(np.int8), [0]])))
    return [(float(t[a]), float(t[b - 1])) for a, b in zip(edges[::2], edges[1::2], strict=True)]
