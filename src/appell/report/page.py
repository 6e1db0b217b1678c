"""A report as data, and its HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from appell.report.picture import Picture
from appell.report.style import CSS
from appell.report.versions import versions
from appell.table import Table, cell_text

PRINTED = "printed"
"""A row with this cell holds values of a paper; it is shaded, so that paper and ours can be told apart at a glance."""


@dataclass(frozen=True)
class Report:
    """What one page shows, from top to bottom.

    Attributes:
        title: the page's heading.
        source: one line below it: where the subject was published, or which data were used.
        notes: what holds for all tables.
        tables, pictures: in the order in which they are shown.
        versions: what the numbers were made with; found out by default.

    Example:
        >>> Report("Masses", notes=("All in kilograms.",)).html().count("<li>All in kilograms.</li>")
        1
    """

    title: str
    source: str = ""
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    versions: Mapping[str, str] = field(default_factory=versions)

    def html(self) -> str:
        """The whole page; it needs no other file and no network."""
        titles = [table.title for table in self.tables] + [picture.caption for picture in self.pictures]
        body = [
            f"<h1>{escape(self.title)}</h1>",
            f'<p class="source">{escape(self.source)}</p>' if self.source else "",
            _notes(self.notes),
            _contents(titles) if len(titles) > 2 else "",
            *(_section(table.title, _table(table) + _notes(table.notes)) for table in self.tables),
            *(f'<section id="{_anchor(picture.caption)}">{picture.html()}</section>' for picture in self.pictures),
            _section("Versions", f"<footer>{_pairs(self.versions)}</footer>"),
        ]
        return page(self.title, body)

    def write(self, path: str | PathLike) -> Path:
        """Write the page to a file in a folder that is there; the path."""
        path = Path(path)
        path.write_text(self.html(), encoding="utf-8")
        return path


def page(title: str, body: Sequence[str]) -> str:
    """A page of these elements, with the style sheet inside."""
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    content = "\n".join(part for part in body if part)
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{CSS}</style></head>\n<body>\n{content}\n</body></html>\n'
    )


def link_list(links: Sequence[tuple[str, str]]) -> str:
    """Links (address, text), one below the other."""
    return "<ul>" + "".join(f'<li><a href="{escape(to)}">{escape(text)}</a></li>' for to, text in links) + "</ul>"


def _section(title: str, content: str) -> str:
    return f'<section id="{_anchor(title)}"><h2>{escape(title)}</h2>{content}</section>'


def _contents(titles: Sequence[str]) -> str:
    return f"<nav>{link_list([(f'#{_anchor(title)}', title) for title in titles])}</nav>"


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    return '<ul class="notes">' + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"


def _table(table: Table) -> str:
    numeric = [all(_is_number(row[k]) for row in table.rows) for k in range(len(table.columns))]
    head = _row("th", table.columns, numeric)
    rows = []
    for row in table.rows:
        kind = ' class="printed"' if any(isinstance(cell, str) and cell.startswith(PRINTED) for cell in row) else ""
        rows.append(f"<tr{kind}>{_row('td', row, numeric)}</tr>")
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'


def _row(tag: str, cells: Sequence[Any], numeric: Sequence[bool]) -> str:
    kinds = [' class="number"' if right else "" for right in numeric]
    return "".join(f"<{tag}{kind}>{escape(cell_text(cell))}</{tag}>" for cell, kind in zip(cells, kinds, strict=True))


def _is_number(cell: Any) -> bool:
    """Whether a cell reads as a number or is empty, so that its column is aligned to the right."""
    if cell is None or isinstance(cell, (int, float)):
        return True
    return isinstance(cell, str) and re.fullmatch(r"\s*[-+]?[\d.]+([eE][-+]?\d+)?\s*", cell) is not None


def _pairs(pairs: Mapping[str, str]) -> str:
    rows = "".join(f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in pairs.items())
    return f"<table><tbody>{rows}</tbody></table>"
