"""Recordings, and their files: CSV with a header, also compressed, or NumPy's .npz."""

from __future__ import annotations

import gzip
import warnings
import zipfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.errors import IdentificationError

if TYPE_CHECKING:
    from appell.robot.robot import Robot


class Recording(NamedTuple):
    """Times (N,), coordinates (N, nq) and forces (N, nv)."""

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray

    @property
    def period(self) -> float:
        """Mean time between samples. [s]"""
        return float((self.t[-1] - self.t[0]) / (len(self.t) - 1))


def read_recording(path: str | PathLike, robot: Robot) -> Recording:
    """A recording of a robot.

    A CSV file has a header with `t` and, for every joint, `q_NAME` and `tau_NAME` (or `q1`, `q2`, ... in the order of the
    joints). A .npz file has arrays t, q and tau.

    Example:
        >>> import appell, tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp(), "swing.csv")
        >>> _ = file.write_text("t,q_joint1,q_joint2,tau_joint1,tau_joint2\\n0,1,2,3,4\\n0.1,1,2,3,5\\n")
        >>> read_recording(file, appell.load("planar2r")).tau.tolist()
        [[3.0, 4.0], [3.0, 5.0]]
    """
    path = Path(path)
    if path.suffix == ".npz":
        return _from_npz(path)
    header = _header(path)
    q, tau = (
        [_column(header, prefix, k, name, path) for k, name in enumerate(robot.qd_names)] for prefix in ("q", "tau")
    )
    time = next((k for k, name in enumerate(header) if name.lower() in ("t", "time")), None)
    if time is None:
        raise IdentificationError(f"{path.name}: no column 't' in the header: {', '.join(header)}.")
    table = _numbers(path, header, {time, *q, *tau})
    return Recording(table[:, time], table[:, q], table[:, tau])


def _from_npz(path: Path) -> Recording:
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError, TypeError):  # the last two for a .npy file
        raise IdentificationError(
            f"{path.name}: not an archive of NumPy arrays. Write one with np.savez({path.name!r}, t=t, q=q, tau=tau), or rename "
            "a table with commas to .csv."
        ) from None
    for name in Recording._fields:
        if name not in arrays:
            raise IdentificationError(f"{path.name}: no array {name!r}, it has {', '.join(arrays) or 'none'}.")
    return Recording(*(arrays[name] for name in Recording._fields))


def _opened(path: Path):
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _header(path: Path) -> list[str]:
    """Names of the columns."""
    try:
        with _opened(path) as file:
            first = file.readline()
    except UnicodeDecodeError:
        raise IdentificationError(f"{path.name}: not a text file. Expected CSV, or NumPy's .npz.") from None
    header = [name.strip().strip('"') for name in first.split(",")]
    if not first.strip():
        defect = "is empty" if not first else "begins with an empty line"
        raise IdentificationError(f"{path.name}: the file {defect}. Expected a header t, q_JOINT, tau_JOINT, and rows.")
    if all(_value(cell) is not None for cell in header):
        raise IdentificationError(
            f"{path.name}: no header: the first line has numbers only. Insert a line with the names of the columns: t, q_JOINT "
            "and tau_JOINT of every joint."
        )
    return header


def _column(header: list[str], prefix: str, k: int, name: str, path: Path) -> int:
    former = name.replace("[", ".").removesuffix("]")  # joint[k] was joint.k in version 0.1
    for label in (f"{prefix}_{name}", f"{prefix}{k + 1}", f"{prefix}_{k + 1}", f"{prefix}_{former}"):
        if label in header:
            return header.index(label)
    raise IdentificationError(
        f"{path.name}: no column '{prefix}_{name}' (or '{prefix}{k + 1}') in the header: {', '.join(header)}."
    )


def _numbers(path: Path, header: list[str], used: set[int]) -> np.ndarray:
    """The rows below the header; empty cells become NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # for a file without rows, an error below
        try:
            table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
        except ValueError:
            table = _cell_by_cell(path, header, used)
    if not table.size:
        raise IdentificationError(f"{path.name}: no rows below the header. Expected one row per sample.")
    if table.shape[1] != len(header):
        raise IdentificationError(f"{path.name}: rows have {table.shape[1]} numbers, the header {len(header)} names.")
    return table


def _cell_by_cell(path: Path, header: list[str], used: set[int]) -> np.ndarray:
    """The same for a file with empty cells, or with text in unused columns."""
    rows: list[list[float]] = []
    with _opened(path) as file:
        for line, text in enumerate(file, 1):
            cells = text.split(",")
            if line == 1 or not text.strip():
                continue
            if len(cells) != len(header):
                raise IdentificationError(
                    f"{path.name}:{line}: {len(cells)} cells, the header has {len(header)} names."
                )
            values = [_value(cell) for cell in cells]
            for k in sorted(used):
                cell = cells[k].strip()
                if values[k] is None and cell:
                    raise IdentificationError(f"{path.name}:{line}: {cell!r} in column {header[k]!r} is not a number.")
            rows.append([float("nan") if value is None else value for value in values])
    return np.array(rows, ndmin=2)


def _value(cell: str) -> float | None:
    try:
        return float(cell.strip().strip('"'))
    except ValueError:
        return None
