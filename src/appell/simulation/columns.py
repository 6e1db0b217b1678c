"""Trajectories as named columns: for pandas and for text files."""

from __future__ import annotations

import csv
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import AppellError

if TYPE_CHECKING:
    from appell.simulation.trajectory import Trajectory


def columns(trajectory: Trajectory) -> dict[str, np.ndarray]:
    """Every number of a trajectory by name, (N,) each, without the time."""
    blocks = (
        ("q", trajectory.q_names, trajectory.q), ("qd", trajectory.qd_names, trajectory.qd),
        ("qdd", trajectory.qd_names, trajectory.qdd), ("tau", trajectory.drive_names, trajectory.tau),
        ("saturated", trajectory.drive_names, trajectory.saturated),
    )  # fmt: skip
    named = {f"{kind}.{name}": values[:, i] for kind, names, values in blocks for i, name in enumerate(names)}
    work = {f"work.{name}": values for name, values in trajectory.work._asdict().items()}
    return {**named, "energy": trajectory.energy, **work, "balance": trajectory.balance}


def to_pandas(trajectory: Trajectory) -> Any:
    """The columns as a table; documented at `Trajectory.to_pandas`."""
    try:
        import pandas
    except ImportError:
        raise AppellError("to_pandas needs pandas. Install it, for instance with: pip install appell[pandas]") from None
    return pandas.DataFrame(columns(trajectory), index=pandas.Index(trajectory.t, name="t"))


def to_csv(trajectory: Trajectory, path: str | PathLike) -> None:
    """The columns as text; documented at `Trajectory.to_csv`."""
    table = {"t": trajectory.t, **columns(trajectory)}
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(_numbers(column) for column in table.values()), strict=True))


def _numbers(column: np.ndarray) -> list[Any]:
    return (column.astype(int) if column.dtype == bool else column).tolist()
