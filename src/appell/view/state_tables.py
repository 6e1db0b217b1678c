"""Quantities of a state as HTML for a narrow panel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.table import StyledCell, cell_text, html_table
from appell.view.subject import StateQuantities

TABLE_STYLE = "font-size:0.78em; font-variant-numeric:tabular-nums; border-collapse:collapse; white-space:nowrap"
CELL_STYLE = "padding:0.05em 0.4em; text-align:right"
ROUNDING_TOL = 1e-10
"""Numbers below this part of the largest are shown as zero."""


def energy_table(quantities: StateQuantities) -> str:
    """Energies and the centre of mass."""
    com = ", ".join(f"{x + 0.0:.3f}" for x in quantities.center_of_mass.round(3))
    energies = {"kinetic": quantities.kinetic, "potential": quantities.potential}
    energies["total"] = quantities.kinetic + quantities.potential
    rows = [[f"{name} energy", f"{cell_text(value)} J"] for name, value in energies.items()]
    return panel_table([], [*rows, ["centre of mass", f"{com} m"]])


def force_table(
    quantities: StateQuantities, labels: Sequence[str], actuators: Sequence[str], recorded: np.ndarray | None = None
) -> str:
    """Actuator forces by inverse dynamics and, for a recorded motion, as recorded; generalized forces of gravity."""
    columns = {"tau": quantities.tau}
    if recorded is not None and len(recorded) == len(actuators):
        columns["recorded"] = recorded
    gravity = {"gravity": quantities.gravity}
    if tuple(actuators) == tuple(labels):
        return _force_table({**columns, **gravity}, labels)
    return _force_table(columns, actuators) + _force_table(gravity, labels)


def _force_table(columns: dict[str, np.ndarray], labels: Sequence[str]) -> str:
    values = np.stack([without_rounding(column) for column in columns.values()], axis=-1).tolist()
    return panel_table(["N m, N", *columns], [[label, *row] for label, row in zip(labels, values, strict=True)])


def matrix_table(M: np.ndarray, labels: Sequence[str]) -> str:
    """The mass matrix; larger entries have a darker background."""
    largest = float(np.abs(M).max(initial=0.0)) or 1.0
    rows = []
    for label, row in zip(labels, without_rounding(M).tolist(), strict=True):
        shades = [f"background:rgba(0,114,178,{0.45 * abs(value) / largest:.2f})" for value in row]
        rows.append([label, *map(StyledCell, row, shades)])
    return f'<div style="overflow-x:auto">{panel_table([], rows)}</div>'


def without_rounding(values: np.ndarray) -> np.ndarray:
    """The values, with those that are negligible compared to the largest set to zero."""
    return np.where(np.abs(values) < ROUNDING_TOL * np.abs(values).max(initial=0.0), 0.0, values)


def panel_table(columns: Sequence[str], rows: Sequence[Sequence]) -> str:
    """A small table: labels on the left, numbers on the right."""
    labelled = [[StyledCell(label, "text-align:left"), *cells] for label, *cells in rows]
    return html_table(columns, labelled, style=TABLE_STYLE, cell_style=CELL_STYLE)
