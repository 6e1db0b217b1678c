"""Columns of CSV files: one naming for every file that is written, and a reader for these, for former ones and for ROS.

A column is named `quantity.entry`: `q.elbow`, `qd.root_joint.vx`, `tau.elbow`; the time is `t` [s]. Read are also
`q_elbow`, `q1` and `q_1` (in the order of the robot), `q_joint.0` and `q.joint[0]` for entries of one joint, and the
sensor_msgs/JointState of ROS as `rostopic echo -p`, bagpy, PlotJuggler and `ros2 topic echo --csv` write it: position is
q, velocity qd, effort tau, and times begin at 0.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import re
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from appell.errors import AppellError, ArgumentError

JOINT_STATE = {"position": "q", "velocity": "qd", "effort": "tau"}
"""Quantities of the arrays of sensor_msgs/JointState."""
NANO = 1e-9


def column_names(quantity: str, names: Sequence[str]) -> list[str]:
    """Names of the columns of a quantity.

    Example:
        >>> column_names("q", ("shoulder", "root_joint.x"))
        ['q.shoulder', 'q.root_joint.x']
    """
    return [f"{quantity}.{name}" for name in names]


@dataclass(frozen=True)
class Columns:
    """The numbers of a CSV file.

    Attributes:
        file: its name, for messages.
        names: of the columns.
        table: numbers (N, columns); NaN where a cell is empty or is text.
        t: times (N,), None without a column of times. [s]
        words: line and text of the first cell that is no number, by column.
    """

    file: str
    names: tuple[str, ...]
    table: np.ndarray
    t: np.ndarray | None
    words: Mapping[str, tuple[int, str]]
    error_class: type[AppellError] = ArgumentError

    def has(self, quantity: str) -> bool:
        """Whether a column belongs to the quantity."""
        return any(re.match(rf"{re.escape(quantity)}(\.|_|\d+$)", name) for name in self.names)

    def block(self, quantity: str, names: Sequence[str]) -> np.ndarray:
        """The columns of a quantity for these entries, (N, entries); an error for the first that is missing."""
        spelled = [_spellings(quantity, names, k) for k in range(len(names))]
        indices = []
        for spellings in spelled:
            found = next((self.names.index(each) for each in spellings if each in self.names), None)
            if found is None:
                missing = f"no column {spellings[0]!r} (or {spellings[-1]!r})"
                raise self.error_class(f"{self.file}: {missing} in the header: {', '.join(self.names)}.")
            if self.names[found] in self.words:
                line, text = self.words[self.names[found]]
                raise self.error_class(f"{self.file}:{line}: {text!r} in column {self.names[found]!r} is not a number.")
            indices.append(found)
        return self.table[:, indices]

    def times(self) -> np.ndarray:
        """The column of times, (N,). [s]"""
        if self.t is None:
            raise self.error_class(f"{self.file}: no column 't' in the header: {', '.join(self.names)}.")
        return self.t


def _spellings(quantity: str, names: Sequence[str], k: int) -> list[str]:
    """The name of a column, then former ones."""
    joint, dot, _ = names[k].rpartition(".")
    entries = [names[k]]
    if dot:
        index = [name.rpartition(".")[0] for name in names[:k]].count(joint)
        entries += [f"{joint}[{index}]", f"{joint}.{index}"]
    return [
        *(f"{quantity}{mark}{entry}" for entry in entries for mark in "._"),
        f"{quantity}_{k + 1}",
        f"{quantity}{k + 1}",
    ]


def read_columns(path: str | PathLike, error_class: type[AppellError] = ArgumentError) -> Columns:
    """The columns of a CSV file, also compressed (.gz).

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp(), "bag.csv")
        >>> _ = file.write_text("__time,/joint_states/elbow/position\\n7.5,0.1\\n7.6,0.2\\n")
        >>> columns = read_columns(file)
        >>> columns.block("q", ["elbow"]).ravel().tolist(), columns.times().round(9).tolist()
        ([0.1, 0.2], [0.0, 0.1])
    """
    path = Path(path)
    with _opened(path, error_class) as file:
        delimiter = _delimiter(file.readline())
        file.seek(0)
        rows = islice(csv.reader(file, delimiter=delimiter, skipinitialspace=True), 2)
        head = [[cell.strip().strip('"') for cell in row] for row in rows]
    if not head or not any(head[0]):
        defect = "begins with an empty line" if head else "is empty"
        raise error_class(f"{path.name}: the file {defect}. Expected a header t, q.JOINT, tau.JOINT, and rows.")
    layout = next(found for find in LAYOUTS if (found := find(head)) is not None)
    if all(_value(cell) is not None for cell in head[0]):
        raise error_class(
            f"{path.name}: no header: the first line has numbers only. Insert a line with the names of the columns: t, q.JOINT "
            "and tau.JOINT of every joint."
        )
    table, words = _numbers(path, layout, len(head[0]), delimiter, error_class)
    t = sum(scale * (table[:, k] - layout.relative * table[0, k]) for k, scale in layout.time) if layout.time else None
    named = {layout.names[k]: word for k, word in words.items() if k in layout.names}
    return Columns(path.name, tuple(layout.names.values()), table[:, list(layout.names)], t, named, error_class)  # type: ignore[arg-type]


# --- layouts of files -----------------------------------------------------------------------------------------------------


class Layout(NamedTuple):
    """Where a file has what: names of columns and parts of the time (with their unit in seconds) by index.

    `rows_before` is the number of lines before the first sample, `constants` are cells with the same text in all rows, and
    `relative` is whether times begin at the first sample.
    """

    names: dict[int, str]
    time: tuple[tuple[int, float], ...]
    rows_before: int = 1
    constants: Mapping[int, str] = {}
    relative: bool = False


def _plain(head: list[list[str]]) -> Layout:
    """A header with the names of the columns."""
    time = next((k for k, name in enumerate(head[0]) if name.lower() in ("t", "time")), None)
    return Layout(dict(enumerate(head[0])), () if time is None else ((time, 1.0),))


def _array_elements(head: list[list[str]]) -> Layout | None:
    """`rostopic echo -p` and bagpy: field.name0, field.position0, ... and name_0, position_0, ...; names are cells."""
    header, *rows = head
    places: dict[tuple[str, int], int] = {}
    for k, cell in enumerate(header):
        match = re.fullmatch(r"(?:field\.)?(name|position|velocity|effort)_?(\d+)", cell)
        if match:
            places[match[1], int(match[2])] = k
    joints = {i: k for (array, i), k in places.items() if array == "name"}
    if not joints or not rows or max(joints.values()) >= len(rows[0]):
        return None
    names = {i: rows[0][k] for i, k in joints.items()}
    columns = {
        k: f"{JOINT_STATE[array]}.{names[i]}" for (array, i), k in places.items() if array != "name" and i in names
    }
    stamps = (
        (("field.header.stamp", NANO),), (("header.stamp.secs", 1.0), ("header.stamp.nsecs", NANO)),
        (("%time", NANO),), (("Time", 1.0),),
    )  # fmt: skip
    found = next((stamp for stamp in stamps if all(name in header for name, _ in stamp)), ())
    time = tuple((header.index(name), scale) for name, scale in found)
    return Layout(columns, time, constants={k: rows[0][k] for k in joints.values()}, relative=True)


def _paths(head: list[list[str]]) -> Layout | None:
    """PlotJuggler: __time, /joint_states/JOINT/position, ..."""
    matches = {k: re.fullmatch(r"(?:.*/)?([^/]+)/(position|velocity|effort)", cell) for k, cell in enumerate(head[0])}
    names = {k: f"{JOINT_STATE[match[2]]}.{match[1]}" for k, match in matches.items() if match}
    time = next((k for k, cell in enumerate(head[0]) if cell in ("__time", "time", "timestamp")), None)
    return Layout(names, () if time is None else ((time, 1.0),), relative=True) if names else None


def _no_header(head: list[list[str]]) -> Layout | None:
    """`ros2 topic echo --csv`: sec, nanosec, frame_id, all names, all positions, velocities and efforts, no header."""
    first = head[0]
    if len(first) < 5 or not (first[0].isdigit() and first[1].isdigit()):
        return None
    last = max((k for k, cell in enumerate(first) if _value(cell) is None), default=0)
    joints = first[3 : last + 1]
    numbers = len(first) - last - 1
    if not joints or numbers not in (len(joints), 2 * len(joints), 3 * len(joints)):
        return None
    labels = [f"{quantity}.{joint}" for quantity in JOINT_STATE.values() for joint in joints]
    names = {last + 1 + k: labels[k] for k in range(numbers)}
    constants = {3 + k: joint for k, joint in enumerate(joints)}
    return Layout(names, ((0, 1.0), (1, NANO)), 0, constants, relative=True)


LAYOUTS = (_no_header, _array_elements, _paths, _plain)
"""Tried in this order; the last one fits every file."""


# --- cells ----------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _opened(path: Path, error_class: type[AppellError]) -> Iterator[TextIO]:
    """A text file, also compressed."""
    with (
        gzip.open(path, "rt", encoding="utf-8-sig") if path.suffix == ".gz" else path.open(encoding="utf-8-sig") as file
    ):
        try:
            yield file
        except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, zlib.error, csv.Error):
            raise error_class(f"{path.name}: not a text file in UTF-8. Expected CSV, or NumPy's .npz.") from None


Words = dict[int, tuple[int, str]]
"""Line and text of the first cell that is no number, by column."""


def _delimiter(line: str) -> str:
    """The mark between the cells: comma, semicolon or tab, else blanks (logs of Universal Robots)."""
    return next((mark for mark in ",;\t" if mark in line), " " if " " in line.strip() else ",")


def _numbers(
    path: Path, layout: Layout, width: int, delimiter: str, error_class: type[AppellError]
) -> tuple[np.ndarray, Words]:
    """The rows below the header; empty cells and text become NaN."""
    table, words = None, {}
    if not layout.constants:
        with warnings.catch_warnings(), contextlib.suppress(ValueError):
            warnings.simplefilter("ignore", UserWarning)  # for a file without rows, an error below
            with _opened(path, error_class) as file:
                mark = None if delimiter == " " else delimiter
                table = np.loadtxt(file, delimiter=mark, skiprows=layout.rows_before, ndmin=2)
    if table is None:
        table, words = _cell_by_cell(path, layout, width, delimiter, error_class)
    if not table.size:
        raise error_class(f"{path.name}: no rows below the header. Expected one row per sample.")
    if table.shape[1] != width:
        raise error_class(f"{path.name}: rows have {table.shape[1]} numbers, the header {width} names.")
    return table, words


def _cell_by_cell(
    path: Path, layout: Layout, width: int, delimiter: str, error_class: type[AppellError]
) -> tuple[np.ndarray, Words]:
    """The same for a file with empty cells or with text."""
    rows: list[list[float]] = []
    words: Words = {}
    with _opened(path, error_class) as file:
        reader = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
        for cells in islice(reader, layout.rows_before, None):
            where = f"{path.name}:{reader.line_num}"
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != width:
                raise error_class(f"{where}: {len(cells)} cells, the header has {width} names.")
            for k, text in layout.constants.items():
                if cells[k].strip().strip('"') != text:
                    raise error_class(
                        f"{where}: joint {cells[k]!r} in column {k + 1}, expected {text!r} as in the first row. Export the "
                        "messages of one publisher."
                    )
            values = [_value(cell) for cell in cells]
            for k, value in enumerate(values):
                if value is None and cells[k].strip():
                    words.setdefault(k, (reader.line_num, cells[k].strip()))
            rows.append([float("nan") if value is None else value for value in values])
    return np.array(rows, ndmin=2), words


def _value(cell: str) -> float | None:
    try:
        return float(cell.strip().strip('"'))
    except ValueError:
        return None
