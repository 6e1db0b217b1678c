"""Periods of a run as they come: appended to a file, or to memory without one.

A file begins with a line of JSON, then has one row of fixed size per period, then the outcome of the run: byte 255 and JSON.
Each row is passed to the operating system before the next period begins, so that a killed process loses none of them; a file
without outcome, or with an incomplete last row, is one of a run that was killed.
"""

from __future__ import annotations

import io
import json
import os
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from appell.deprecation import renamed_attributes
from appell.errors import ArgumentError

FORMAT = "appell control record 2"
END = 255
"""First byte of the outcome; rows begin with a letter."""
MAX_HEADER = 1_000_000
"""Bytes in which the first line of a file must end."""


@renamed_attributes(begun="start_time", late="lateness", computing="compute_time", answering="io_time")
class Cycle(NamedTuple):
    """One period.

    Attributes:
        time: since the beginning of the run. [s]
        stage: `"home"`, `"approach"` or `"follow"`.
        q, qd: estimated joint angles and velocities, (n,). [rad, rad/s]
        reference: desired joint angles, (n,). [rad]
        tau, codes: torques of the control law [N m], and codes of the outputs, (n,).
        start_time: clock at the beginning of the period. [s]
        lateness: after the deadline. [s]
        compute_time: of the control law. [s]
        io_time: from the readings to the outputs. [s]
    """

    time: float
    stage: str
    q: np.ndarray
    qd: np.ndarray
    reference: np.ndarray
    tau: np.ndarray
    codes: np.ndarray
    start_time: float
    lateness: float
    compute_time: float
    io_time: float


def row_type(n: int) -> np.dtype:
    """A period of n joints: the fields of `Cycle`, the stage first."""
    vectors = ("q", "qd", "reference", "tau", "codes")
    fields = [(name, "<f8", (n,)) if name in vectors else (name, "<f8") for name in Cycle._fields if name != "stage"]
    return np.dtype([("stage", "<U8"), *fields])


class RunRecorder:
    """Rows of a run, appended to a new file, or to memory without a path.

    Attributes:
        header: what is known before the first period; `joint_names` is one of its entries.
    """

    def __init__(self, path: str | PathLike | None, header: dict[str, Any]) -> None:
        self.path, self.header, self.count = path, header, 0
        self.row = np.zeros((), row_type(len(header["joint_names"])))
        try:
            self.file: BinaryIO = io.BytesIO() if path is None else open(path, "xb", buffering=0)  # noqa: SIM115
            self.start = 0 if path is None else self.append(json.dumps({"format": FORMAT, **header}).encode() + b"\n")
        except OSError as error:
            raise ArgumentError(f"record {str(path)!r} cannot be made: {error.strerror}. Name a new file.") from None

    def append(self, content: bytes) -> int:
        written = self.file.write(content)
        if written != len(content):
            raise OSError(None, "incomplete write")
        return written

    def add(self, cycle: Cycle) -> None:
        time, stage, *others = cycle
        self.row[()] = (stage, time, *others)
        self.append(self.row.tobytes())
        self.count += 1

    def close(self, outcome: dict[str, Any]) -> np.ndarray:
        """Append the outcome, and return all rows: those of a file as a memory map."""
        if isinstance(self.file, io.BytesIO):
            return np.frombuffer(self.file.getvalue(), self.row.dtype)
        with suppress(OSError), self.file:  # the disk may be full: the rows before that are whole
            self.file.truncate(self.start + self.count * self.row.dtype.itemsize)
            self.file.seek(0, os.SEEK_END)
            self.append(bytes([END]) + json.dumps(outcome).encode())
            os.fsync(self.file.fileno())
        return mapped_rows(self.path, self.row.dtype, self.start, self.count)  # type: ignore[arg-type]


def mapped_rows(path: str | PathLike, row: np.dtype, start: int, count: int) -> np.ndarray:
    """Rows of a file, in memory only where they are used."""
    return np.memmap(path, row, "r", start, (count,)) if count else np.zeros(0, row)


def read_record(path: str | PathLike) -> tuple[dict[str, Any], np.ndarray, dict[str, Any] | None]:
    """Header, rows and outcome of a file; the outcome is None for a run that was killed."""
    try:
        with open(path, "rb") as file:
            line = file.readline(MAX_HEADER)
            header = json.loads(line)
            if not (isinstance(header, dict) and header.pop("format") == FORMAT):
                raise ValueError
            row = row_type(len(header["joint_names"]))
            count = (Path(path).stat().st_size - len(line)) // row.itemsize
            rows = mapped_rows(path, row, len(line), count)
            ends = np.flatnonzero(rows.view("u1").reshape(count, row.itemsize)[:, 0] == END)
            rows = rows[: ends[0]] if len(ends) else rows
            stage = np.dtype({"names": ["codes"], "formats": ["(8,)<u4"], "itemsize": row.itemsize})
            if len(rows) and rows.view(stage)["codes"].max() > 127:  # no text, which NumPy does not expect
                raise ValueError
            file.seek(len(line) + len(rows) * row.itemsize)
            rest = file.read()
    except OSError as error:
        raise ArgumentError(f"record {str(path)!r} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ArgumentError(f"{str(path)!r} is not a record. Expected a file that `control.run` has written.") from None
    outcome = None
    with suppress(ValueError, RecursionError):  # incomplete: the process was killed while it was written
        outcome = json.loads(rest[1:]) if rest[:1] == bytes([END]) else None
    return header, rows, outcome
