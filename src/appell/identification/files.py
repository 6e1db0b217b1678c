"""Recordings as files: CSV with a header, also compressed, or NumPy's .npz."""

from __future__ import annotations

import gzip
import re
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.errors import IdentificationError
from appell.identification.columns import speed_names

if TYPE_CHECKING:
    from appell.model.robot import Robot


class Recording(NamedTuple):
    """Times (N,), positions (N, n) and forces (N, n), as they stand in the file."""

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray


def read_recording(path: str | PathLike, robot: Robot) -> Recording:
    """A recording of a robot.

    A CSV file has a header with `t`, and for every joint a column `q_NAME` and `tau_NAME` (or `q1`, `q2`, ... in the order of
    the joints). A .npz file has arrays t, q and tau.

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
    with _opened(path) as file:
        header = [name.strip().strip('"') for name in file.readline().split(",")]
    names = speed_names(robot)
    places = {kind: [_place(header, kind, k, name, path) for k, name in enumerate(names)] for kind in ("q", "tau")}
    time = next((k for k, name in enumerate(header) if name.lower() in ("t", "time")), None)
    if time is None:
        raise IdentificationError(f"{path.name}: no column 't' in the header: {', '.join(header)}.")
    table = _numbers(path, len(header))
    return Recording(table[:, time], table[:, places["q"]], table[:, places["tau"]])


def _from_npz(path: Path) -> Recording:
    with np.load(path, allow_pickle=False) as stored:
        for name in Recording._fields:
            if name not in stored:
                raise IdentificationError(
                    f"{path.name}: no array {name!r}, it has {', '.join(stored.files) or 'none'}."
                )
        return Recording(stored["t"], stored["q"], stored["tau"])


def _opened(path: Path):
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _place(header: list[str], kind: str, k: int, name: str, path: Path) -> int:
    for wanted in (f"{kind}_{name}", f"{kind}{k + 1}", f"{kind}_{k + 1}"):
        if wanted in header:
            return header.index(wanted)
    raise IdentificationError(
        f"{path.name}: no column '{kind}_{name}' (or '{kind}{k + 1}') in the header: {', '.join(header)}."
    )


def _numbers(path: Path, width: int) -> np.ndarray:
    """The rows below the header; empty cells become NaN, which is then told with joint and sample."""
    try:
        table = np.loadtxt(path, delimiter=",", skiprows=1, ndmin=2)
    except ValueError:
        try:
            table = np.atleast_2d(np.genfromtxt(path, delimiter=",", skip_header=1))
        except ValueError as error:
            line = re.search(r"Line #(\d+)", str(error))
            where = f":{line[1]}" if line else ""
            raise IdentificationError(f"{path.name}{where}: a row does not have {width} numbers.") from None
    if table.shape[1] != width:
        raise IdentificationError(f"{path.name}: rows have {table.shape[1]} numbers, the header {width} names.")
    return table
