"""Figures with Matplotlib: panels of curves over time, written to files."""

from __future__ import annotations

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import AppellError, ArgumentError
from appell.files import write_bytes

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#44aa99", "#999933", "#555555")


MAX_CURVES = 12
"""Curves per panel with a colour of their own."""


def new_figure(width: float, height: float) -> Any:
    """An empty figure of this size [inches] that needs no screen."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise AppellError(
            "pictures need matplotlib. Install it, for instance with: pip install 'appell[plot]'"
        ) from None
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: str | PathLike | None) -> None:
    """Write a figure to a file; its extension selects the format. Without a path only its names are made plain text."""
    plain_names(figure)
    if path is None:
        return
    stream = BytesIO()
    try:
        figure.savefig(stream, format=Path(path).suffix[1:] or "png", dpi=150)
    except ValueError as error:
        raise ArgumentError(f"{path}: {error}. Name a .png, .svg or .pdf file.") from None
    write_bytes(path, stream.getvalue())


def plain_names(figure: Any) -> None:
    """Show all texts as they are, since a $ in a name begins no formula; powers of ten at ticks are formulas."""
    from matplotlib.text import Text

    axes = [axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis) if axis.get_scale() == "log"]
    powers = {label for axis in axes for label in axis.get_ticklabels(which="both")}
    for text in figure.findobj(Text):
        text.set_parse_math(text in powers)


def lines(panel: Any, t: np.ndarray, values: dict[str, np.ndarray], label: str) -> None:
    """Named curves over time with a legend; of many curves those with the largest range, the others in grey."""
    widest = sorted(values, key=lambda name: -float(np.ptp(values[name])))[:MAX_CURVES]
    named = [name for name in values if name in widest]
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


def tidy(panel: Any) -> None:
    """No frame at the top and right."""
    panel.spines[["top", "right"]].set_visible(False)
