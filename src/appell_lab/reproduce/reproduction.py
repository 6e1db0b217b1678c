"""The result of reproducing a paper: its tables, printed and computed values side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from appell.table import Table, note_lines


@dataclass(frozen=True)
class Figure:
    """A figure of a paper that can be drawn.

    Attributes:
        name: of its file, without ending.
        draw: writes it to a file; needs matplotlib.
    """

    name: str
    draw: Callable[[Path], None]


@dataclass(frozen=True)
class Reproduction:
    """Tables of one paper.

    Attributes:
        paper: its short name, such as `"mata2002"`.
        source: where it was published.
        notes: what holds for all tables.
        figures: those that are regenerated.
    """

    paper: str
    source: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        head = "\n".join([self.source, *note_lines(self.notes)])
        return "\n\n".join([head, *(str(table) for table in self.tables)])

    def as_dict(self) -> dict[str, Any]:
        """Everything as lists, numbers and text."""
        return {
            "paper": self.paper,
            "source": self.source,
            "notes": list(self.notes),
            "tables": [table.as_dict() for table in self.tables],
        }

    def draw(self, folder: str | Path) -> list[Path]:
        """Write all figures as PNG into a folder, which is created if it does not exist. Needs matplotlib."""
        if self.figures:
            Path(folder).mkdir(parents=True, exist_ok=True)
        paths = [Path(folder, f"{figure.name}.png") for figure in self.figures]
        for figure, path in zip(self.figures, paths, strict=True):
            figure.draw(path)
        return paths
