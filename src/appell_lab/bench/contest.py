"""Several contenders for one piece of work: timed in turns, results as rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from appell.table import Table
from appell_lab.bench.timing import ONE_CORE, ROUNDS, SAMPLE, Clock, Contender, race

COLUMNS = (
    "work", "contender", "ns per state", "quartiles", "appell is faster by", "quartiles of that", "goal",
    "difference from Pinocchio",
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """Length of the measurements, and the folder of robot descriptions."""

    robots: Path
    rounds: int = ROUNDS
    sample: float = SAMPLE
    quick: bool = False


@dataclass(frozen=True)
class Entry:
    """A contender, the speed ratio to reach, and the difference of its results from those of Pinocchio."""

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
    title: str, rows: Sequence[tuple[Any, ...]], *notes: str, unit: str = "ns per state", reference: str = "Pinocchio"
) -> Table:
    """A table of contests; missed goals are listed below it.

    Args:
        unit: of the times, if `states` of the contenders count something else.
        reference: library of the reference results.
    """
    missed = [
        f"below the goal: {row[0]}, {row[1]}: {row[4]:.3g} of {row[6]:g}" for row in rows if row[6] and row[4] < row[6]
    ]
    columns = [name.replace("ns per state", unit).replace("Pinocchio", reference) for name in COLUMNS]
    return Table(title, tuple(columns), tuple(rows), (*notes, *missed))


def difference(result: np.ndarray, right: np.ndarray) -> float:
    """Largest difference relative to the largest entry."""
    return float(np.abs(result - right).max() / np.abs(right).max())


def span(low: float, high: float) -> str:
    """Two numbers as text."""
    return f"{short(low)} .. {short(high)}"


def rounded(number: float) -> float:
    """Rounded to an integer from 1000 on."""
    return round(number) if number >= 1000 else number


def short(number: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
