"""One piece of work, several contenders: timed in turns and written as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from appell.table import Table
from appell_lab.bench.timing import ONE_CORE, ROUNDS, SAMPLE, Clock, Contender, race

COLUMNS = (
    "work", "contender", "ns a state", "quartiles", "appell is faster by", "quartiles of that", "goal",
    "difference from Pinocchio",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """How long to measure, and where robot descriptions lie."""

    robots: Path
    rounds: int = ROUNDS
    sample: float = SAMPLE
    quick: bool = False


@dataclass(frozen=True)
class Entry:
    """A contender, the ratio that we want to reach against it, and how far its results are from Pinocchio's."""

    contender: Contender
    goal: float | None = None
    difference: float | None = None


def contest(
    work: str, ours: Entry, others: Sequence[Entry], settings: Settings, clock: Clock = ONE_CORE
) -> list[tuple[Any, ...]]:
    """Rows of the table of a contest, ours first."""
    entries = [ours, *others]
    timed = race([entry.contender for entry in entries], settings.rounds, settings.sample, clock)
    rows = []
    for entry in entries:
        name = entry.contender.name
        taken = timed.time(name)
        cells = [work, name, rounded(taken.median), span(taken.low, taken.high)]
        if entry is ours:
            cells += [None, None, None]
        else:
            ratio = timed.ratio(ours.contender.name, name)
            cells += [rounded(ratio.median), span(ratio.low, ratio.high), entry.goal]
        rows.append((*cells, entry.difference))
    return rows


def contest_table(
    title: str, rows: Sequence[tuple[Any, ...]], *notes: str, unit: str = "ns a state", reference: str = "Pinocchio"
) -> Table:
    """A table of contests; goals that were missed are named below it.

    Args:
        unit: of the times, where a contender's `states` count something else.
        reference: whose results the differences are from.
    """
    missed = [
        f"below the goal: {row[0]}, {row[1]}: {row[4]:.3g} of {row[6]:g}" for row in rows if row[6] and row[4] < row[6]
    ]
    columns = [name.replace("ns a state", unit).replace("Pinocchio", reference) for name in COLUMNS]
    return Table(title, tuple(columns), tuple(rows), (*notes, *missed))


def difference(result: np.ndarray, right: np.ndarray) -> float:
    """Largest difference relative to the largest entry."""
    return float(np.abs(result - right).max() / np.abs(right).max())


def span(low: float, high: float) -> str:
    """Two numbers as text."""
    return f"{short(low)} .. {short(high)}"


def rounded(number: float) -> float:
    """Four significant digits, as a whole number where that is enough."""
    return round(number) if number >= 1000 else number


def short(number: float) -> str:
    """Three significant digits, never in powers of ten."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
