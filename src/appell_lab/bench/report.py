"""Results of a run as text, as JSON and as a page of the documentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from appell.table import Table, cell_text

PAGE = """# Benchmarks

Measured by `python benchmarks/run.py --docs` (also `appell bench`), which writes this page. All contenders of a table run
in turns on one pinned core, timed by the processor time of the process; a ratio is the median of the ratios within the
turns, with its quartiles. Peers that are not installed are left out. GPUs have a [page of their own](benchmarks_gpu.md).

{environment}
"""


@dataclass(frozen=True)
class BenchReport:
    """Environment and tables of a run."""

    environment: dict[str, str]
    tables: Sequence[Table]

    def __str__(self) -> str:
        head = "\n".join(f"{name:10} {value}" for name, value in self.environment.items())
        return "\n\n".join([head, *map(str, self.tables)])

    def as_dict(self) -> dict[str, Any]:
        return {"environment": self.environment, "tables": [table.as_dict() for table in self.tables]}

    def markdown(self) -> str:
        """The page of the documentation."""
        listed = "\n".join(f"- {name}: {value}" for name, value in self.environment.items())
        return "\n".join([PAGE.format(environment=listed), *map(markdown_table, self.tables)])


def markdown_table(table: Table) -> str:
    """A table with its notes."""
    lines = [f"## {table.title}", "", row_text(table.columns), row_text(["---"] * len(table.columns))]
    lines += [row_text([cell_text(cell) for cell in row]) for row in table.rows]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes), ""] if table.notes else [*lines, ""])


def row_text(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"
