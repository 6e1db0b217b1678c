"""Numbers of a state as HTML for a narrow panel."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from appell.view.subject import Readings

SMALL = "font-size:0.78em; font-variant-numeric:tabular-nums; border-collapse:collapse; white-space:nowrap"
ROUNDING = 1e-10
"""Part of the largest number below which another is shown as zero."""
CELL = "padding:0.05em 0.4em; text-align:right"


def number(value: float) -> str:
    """Four significant digits, without the sign of zero.

    Example:
        >>> number(-0.0), number(12.34567), number(1e-17)
        ('0', '12.35', '1e-17')
    """
    return f"{value + 0.0:.4g}"


def without_rounding(values: np.ndarray) -> np.ndarray:
    """Values with those set to zero that are nothing but rounding beside the largest."""
    return np.where(np.abs(values) < ROUNDING * np.abs(values).max(initial=0.0), 0.0, values)


def state_html(readings: Readings) -> str:
    """Energies and the mass centre."""
    place = ", ".join(f"{x + 0.0:.3f}" for x in readings.center_of_mass.round(3))
    lines = {
        "kinetic energy": f"{number(readings.kinetic)} J",
        "potential energy": f"{number(readings.potential)} J",
        "total energy": f"{number(readings.kinetic + readings.potential)} J",
        "centre of mass": f"{place} m",
    }
    return table([], [[name, value] for name, value in lines.items()])


def force_html(
    readings: Readings, labels: Sequence[str], drives: Sequence[str], recorded: np.ndarray | None = None
) -> str:
    """Forces of the drives by inverse dynamics and, of a recorded motion, as they were; gravity along the speeds."""
    columns = {"tau": readings.tau}
    if recorded is not None and len(recorded) == len(drives):
        columns["recorded"] = recorded
    if tuple(drives) == tuple(labels):
        return _force_table({**columns, "gravity": readings.gravity}, labels)
    return _force_table(columns, drives) + _force_table({"gravity": readings.gravity}, labels)


def _force_table(columns: dict[str, np.ndarray], labels: Sequence[str]) -> str:
    cleaned = [without_rounding(values) for values in columns.values()]
    rows = [[label, *(number(float(values[i])) for values in cleaned)] for i, label in enumerate(labels)]
    return table(["N m, N", *columns], rows)


def matrix_html(M: np.ndarray, labels: Sequence[str]) -> str:
    """The inertia matrix; cells are the darker the larger they are."""
    largest = float(np.abs(M).max(initial=0.0)) or 1.0
    rows = []
    for label, row in zip(labels, without_rounding(M), strict=True):
        shades = [f"background:rgba(0,114,178,{0.45 * abs(value) / largest:.2f})" for value in row]
        rows.append([label, *((number(float(value)), shade) for value, shade in zip(row, shades, strict=True))])
    return f'<div style="overflow-x:auto">{table([], rows)}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str | tuple[str, str]]]) -> str:
    """A table; a cell is its text, or its text and a style."""
    top = "".join(f'<th style="{CELL}">{escape(text)}</th>' for text in head)
    body = "".join(f"<tr>{''.join(_cell(cell, k) for k, cell in enumerate(row))}</tr>" for row in rows)
    return f'<table style="{SMALL}"><tr>{top}</tr>{body}</table>' if head else f'<table style="{SMALL}">{body}</table>'


def _cell(cell: str | tuple[str, str], column: int) -> str:
    text, style = (cell, "") if isinstance(cell, str) else cell
    align = "text-align:left" if column == 0 else ""
    return f'<td style="{CELL};{style};{align}">{escape(text)}</td>'
