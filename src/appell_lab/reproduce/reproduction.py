"""The result of reproducing a paper: its tables and figures, printed and computed values side by side."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from appell.table import Link, Table, anchor, note_lines

CONTENTS = "Tables and figures of the paper"


@dataclass(frozen=True)
class Figure:
    """A figure of a paper that can be drawn.

    Attributes:
        name: of its file, without ending.
        draw: writes it to a file; needs matplotlib.
        notes: what the paper states about it, and the numbers computed here.
    """

    name: str
    draw: Callable[[Path], None]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """A table or figure of a paper, and what there is of it here.

    Attributes:
        name: as the paper numbers it, such as `"Table 3"`.
        subject: what it shows.
        here: beginning of the title of the table, or name of the figure, that shows it; empty if none does.
        remark: what was chosen or inferred, or why it is not reproduced.
    """

    name: str
    subject: str
    here: str = ""
    remark: str = ""


@dataclass(frozen=True)
class Reproduction:
    """Tables of one paper.

    Attributes:
        paper: its short name, such as `"mata2002"`.
        source: where it was published.
        notes: what holds for all tables.
        figures: those that are regenerated.
        items: all tables and figures of the paper.
    """

    paper: str
    source: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = field(default=(), repr=False)
    items: tuple[Item, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        head = "\n".join([self.source, *note_lines(self.notes)])
        captions = [
            "\n".join([caption(figure.name), *note_lines(figure.notes)]) for figure in self.figures if figure.notes
        ]
        return "\n\n".join([head, *(str(table) for table in self.tables), *captions, str(self.contents())])

    def contents(self, page: str = "") -> Table:
        """All tables and figures of the paper with what shows them; links into a page."""
        rows = tuple((self._link(item, page), item.subject, item.remark) for item in self.items)
        return Table(CONTENTS, ("in the paper", "subject", "remark"), rows)

    def _link(self, item: Item, page: str) -> Link | str:
        titles = [*(table.title for table in self.tables), *(caption(figure.name) for figure in self.figures)]
        wanted = caption(item.here) if item.here.startswith("figure") else item.here
        title = next((title for title in titles if item.here and title.startswith(wanted)), None)
        return item.name if title is None else Link(item.name, f"{page}#{anchor(title)}")

    def as_dict(self) -> dict[str, Any]:
        """Everything as lists, numbers and text."""
        return {
            "paper": self.paper,
            "source": self.source,
            "notes": list(self.notes),
            "tables": [table.as_dict() for table in self.tables],
            "items": [asdict(item) for item in self.items],
        }

    def draw(self, folder: str | Path) -> list[Path]:
        """Write all figures as PNG into a folder, which is created if it does not exist. Needs matplotlib."""
        if self.figures:
            Path(folder).mkdir(parents=True, exist_ok=True)
        paths = [Path(folder, f"{figure.name}.png") for figure in self.figures]
        for figure, path in zip(self.figures, paths, strict=True):
            figure.draw(path)
        return paths


def caption(name: str) -> str:
    """A figure's file name as words.

    Example:
        >>> caption("figure14_positions_X1")
        'Figure 14: positions X1'
    """
    words = name.replace("_", " ")
    number = re.match(r"figure ?(\d+\w?)\b *", words)
    return f"Figure {number[1]}: {words[number.end() :]}".rstrip(": ") if number else words[:1].upper() + words[1:]
