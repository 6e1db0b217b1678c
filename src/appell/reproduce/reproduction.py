"""The result of reproducing a paper: its tables, printed and computed values side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from appell.table import Table, note_lines


@dataclass(frozen=True)
class Reproduction:
    """Tables of one paper.

    Attributes:
        paper: its short name, such as `"mata2002"`.
        source: where it was published.
        notes: what holds for all tables.
    """

    paper: str
    source: str
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()

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
