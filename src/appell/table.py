"""Tables for people and for programs: the same data as aligned text and as plain dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

WIDTH = 110
"""Columns of text after which notes are wrapped."""


@dataclass(frozen=True)
class Table:
    """Rows under named columns, with a title and notes below.

    Cells are numbers, text, None for an empty cell, or anything with a short `str`.

    Example:
        >>> print(Table("Masses", ("link", "mass [kg]"), (("upper", 15.78), ("fore", 8.767))))
        Masses
          link   mass [kg]
          -----  ---------
          upper      15.78
          fore       8.767
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        cells = [[cell_text(cell) for cell in row] for row in self.rows]
        columns = range(len(self.columns))
        right = [all(isinstance(row[k], (int, float, type(None))) for row in self.rows) for k in columns]
        widths = [max(len(row[k]) for row in (self.columns, *cells)) for k in columns]
        rule = ["-" * width for width in widths]
        lines = [self.title, *(_line(row, widths, right) for row in (self.columns, rule, *cells))]
        return "\n".join([*lines, *note_lines(self.notes)])

    def as_dict(self) -> dict[str, Any]:
        """Title, columns, rows and notes as lists, numbers and text."""
        return {
            "title": self.title,
            "columns": list(self.columns),
            "rows": [[cell_value(cell) for cell in row] for row in self.rows],
            "notes": list(self.notes),
        }


def cell_text(cell: Any) -> str:
    """A cell as it is printed: floats to four significant digits, without the sign of zero."""
    if cell is None:
        return ""
    return f"{cell + 0.0:.4g}" if isinstance(cell, float) else str(cell)


def cell_value(cell: Any) -> Any:
    """A cell as JSON knows it."""
    return cell if isinstance(cell, (int, float, str, type(None))) else str(cell)


def note_lines(notes: Sequence[str]) -> list[str]:
    """Notes, wrapped and indented."""
    lines = []
    for note in notes:
        first, *rest = wrap(note, WIDTH - 4) or [""]
        lines += [f"  * {first}", *(f"    {line}" for line in rest)]
    return lines


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    aligned = (
        text.rjust(width) if rightwards else text.ljust(width)
        for text, width, rightwards in zip(cells, widths, right, strict=True)
    )
    return ("  " + "  ".join(aligned)).rstrip()
