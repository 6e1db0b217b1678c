"""Tables as aligned text, as HTML, and as plain dictionaries for programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any, NamedTuple

WIDTH = 110
"""Line length at which notes are wrapped."""


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
    """A cell as a JSON value."""
    return cell if isinstance(cell, (int, float, str, type(None))) else str(cell)


def note_lines(notes: Sequence[str]) -> list[str]:
    """Notes, wrapped and indented."""
    lines = []
    for note in notes:
        first, *rest = wrap(note, WIDTH - 4) or [""]
        lines += [f"  * {first}", *(f"    {line}" for line in rest)]
    return lines


class Link(NamedTuple):
    """A cell that leads to another place of a page, or to another page.

    Example:
        >>> str(Link("Table 1", "#table-1"))
        'Table 1'
    """

    text: str
    address: str

    def __str__(self) -> str:
        return self.text


def anchor(title: str) -> str:
    """The address of a section within its page, without the #.

    Example:
        >>> anchor("Table 1. Inverse dynamics")
        'table-1-inverse-dynamics'
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


class StyledCell(NamedTuple):
    """A cell with CSS declarations of its own."""

    value: Any
    style: str


def html_table(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], *, style: str = "", cell_style: str = "", mark: str = ""
) -> str:
    """A table in HTML; columns of numbers have the class `number`.

    Args:
        columns: headings; none for a table without a head.
        rows: values or `StyledCell`s.
        style, cell_style: CSS declarations of the table and of every cell.
        mark: rows with a cell that starts with this text have it as their class.

    Example:
        >>> html_table(["mass"], [[1.5]])
        '<table><thead><tr><th class="number">mass</th></tr></thead><tbody><tr><td class="number">1.5</td></tr></tbody></table>'
    """
    cells = [[cell if isinstance(cell, StyledCell) else StyledCell(cell, "") for cell in row] for row in rows]
    numeric = [all(_is_number(cell.value) for cell in column) for column in zip(*cells, strict=True)]
    numeric = numeric or [True] * len(columns)

    def line(tag: str, row: Sequence[StyledCell]) -> str:
        parts = []
        for cell, right in zip(row, numeric, strict=True):
            css = ";".join(filter(None, (cell_style, cell.style)))
            attributes = _attribute("class", "number" if right else "") + _attribute("style", css)
            parts.append(f"<{tag}{attributes}>{_cell_html(cell.value)}</{tag}>")
        return "".join(parts)

    head = f"<thead><tr>{line('th', [StyledCell(text, '') for text in columns])}</tr></thead>" if columns else ""
    body = ""
    for row in cells:
        marked = mark and any(isinstance(cell.value, str) and cell.value.startswith(mark) for cell in row)
        body += f"<tr{_attribute('class', mark if marked else '')}>{line('td', row)}</tr>"
    return f"<table{_attribute('style', style)}>{head}<tbody>{body}</tbody></table>"


def _cell_html(cell: Any) -> str:
    text = escape(cell_text(cell))
    return f'<a href="{escape(cell.address)}">{text}</a>' if isinstance(cell, Link) else text


def _attribute(name: str, value: str) -> str:
    return f' {name}="{value}"' if value else ""


def _is_number(cell: Any) -> bool:
    """Whether a cell reads as a number or is empty, so that its column is aligned to the right."""
    if cell is None or isinstance(cell, (int, float)):
        return True
    return isinstance(cell, str) and re.fullmatch(r"\s*[-+]?[\d.]+([eE][-+]?\d+)?\s*", cell) is not None


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    aligned = (
        text.rjust(width) if rightwards else text.ljust(width)
        for text, width, rightwards in zip(cells, widths, right, strict=True)
    )
    return ("  " + "  ".join(aligned)).rstrip()
