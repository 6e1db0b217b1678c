"""States from files."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from appell.checks import require_real_array
from appell.columns import column_names, read_columns
from appell.errors import ArgumentError
from appell.files import read_npz, read_text
from appell.model.tree import require_tree
from appell.robot.robot import Robot
from appell.sweeps.make_states import NO_TREE
from appell.sweeps.states import States


def read_states(robot: Robot, path: str | PathLike) -> States:
    """States of a file: .npz with arrays q, qd, qdd or tau, CSV with columns such as `q.elbow`, or text.

    Columns of a CSV file are found by name, those of ROS exports and former names included (`appell.columns`). Text without
    these names has nq, nq + nv or nq + 2 nv columns. Missing columns and arrays are zero.
    """
    require_tree("robot", robot, NO_TREE)
    path = Path(path)
    return _from_arrays(robot, path) if path.suffix == ".npz" else _from_text(robot, path)


def _from_arrays(robot: Robot, path: Path) -> States:
    stored = read_npz(path)
    arrays = {
        name: np.atleast_2d(require_real_array(f"{path}: {name}", stored[name])) for name in _ARRAYS if name in stored
    }
    if "q" not in arrays:
        raise ArgumentError(f"{path} has no array q. Expected q (N, {robot.nq}), and qd, qdd or tau (N, {robot.nv}).")
    zero = np.zeros((len(arrays["q"]), robot.nv))
    third = next((arrays[name] for name in _THIRD if name in arrays), zero)
    states = States(arrays["q"], arrays.get("qd", zero), third)
    for name, array, width in (("q", states.q, robot.nq), ("qd", states.qd, robot.nv), ("qdd", third, robot.nv)):
        if array.shape != (len(zero), width):
            raise ArgumentError(f"{path}: {name} has shape {array.shape}, expected {(len(zero), width)}.")
    return states


_THIRD = ("qdd", "tau", "qdd_or_tau", "drive")
"""Names of the third array: the user's, that of `Sweep.save`, and its former one."""
_ARRAYS = ("q", "qd", *_THIRD)


def _from_columns(robot: Robot, path: Path) -> States | None:
    """States of a file whose header names the coordinates; None for other files."""
    try:
        columns = read_columns(path)
    except ArgumentError:  # a header alone, or none
        return None

    def block(quantity: str, names: tuple[str, ...]) -> np.ndarray | None:
        complete = set(column_names(quantity, names)) <= set(columns.names)
        return columns.block(quantity, names) if complete else None

    q, qd = block("q", robot.q_names), block("qd", robot.qd_names)
    if q is None:
        return None
    zero = np.zeros((len(q), robot.nv))
    third = next((found for name in _THIRD if (found := block(name, robot.qd_names)) is not None), zero)
    return States(q, zero if qd is None else qd, third)


def _from_text(robot: Robot, path: Path) -> States:
    named = _from_columns(robot, path)
    if named is not None:
        return named
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    rows = lines if not lines or _is_numbers(lines[0]) else lines[1:]
    if not rows:
        raise ArgumentError(f"{path} is not a table of numbers: it has no rows. Give comma separated values.")
    try:
        table = np.atleast_2d(np.loadtxt(rows, delimiter="," if "," in rows[0] else None))
    except ValueError as error:
        raise ArgumentError(f"{path} is not a table of numbers: {error}. Give comma separated values.") from None
    nq, nv = robot.nq, robot.nv
    if table.shape[1] not in (nq, nq + nv, nq + 2 * nv):
        raise ArgumentError(
            f"{path} has {table.shape[1]} columns, expected {nq} (q), {nq + nv} (q, qd) or {nq + 2 * nv} (q, qd, and qdd "
            "or tau)."
        )
    full = np.zeros((len(table), nq + 2 * nv))
    full[:, : table.shape[1]] = table
    return States(full[:, :nq], full[:, nq : nq + nv], full[:, nq + nv :])


def _is_numbers(line: str) -> bool:
    try:
        [float(part) for part in line.replace(",", " ").split()]
    except ValueError:
        return False
    return True
