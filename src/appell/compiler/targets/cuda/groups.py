"""Large matrices by several threads for each state: groups of columns with code of their own.

Long straight-line code has more values than a thread has registers, and waits for memory. A group of columns needs only part
of the operations; what several groups need is computed by each of them (docs/decisions/0020).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from appell.compiler.operations import OperationList
from appell.compiler.simplify import without_dead_code

SHORTEST = 2000
"""Operations of code that is not split."""


class Limits(NamedTuple):
    """When code is split in two.

    Attributes:
        longest: operations beyond which it is split although much is computed twice.
        part: the larger part of other code, at most, relative to the whole.
    """

    longest: int
    part: float


LIMITS = {"float32": Limits(4200, 0.8), "float64": Limits(3300, 1.0)}
"""By precision: a number of float64 takes two registers."""
REPEATED = (1.58, 1.1)
"""Most operations of both parts, relative to the whole, of code that is too long, and of other code."""


@dataclass(frozen=True)
class ColumnGroup:
    """Columns from `first` to before `last` of a matrix of `width` columns, and their operations, row by row."""

    first: int
    last: int
    width: int
    listed: OperationList

    @property
    def cost(self) -> int:
        return len(self.listed.operations)

    def part(self, first: int, last: int) -> ColumnGroup:
        """Some of these columns."""
        own, outputs = self.last - self.first, self.listed.outputs
        kept = tuple(k for i, k in enumerate(outputs) if first <= self.first + i % own < last)
        return ColumnGroup(first, last, self.width, without_dead_code(replace(self.listed, outputs=kept)))

    @property
    def store(self) -> str:
        """Text of a statement that stores entry {0} of these columns into the whole matrix."""
        own = self.last - self.first
        return f"y[{{0}} / {own} * {self.width} + {self.first} + {{0}} % {own}] = {{1}};"


def column_groups(listed: OperationList, width: int, dtype: str) -> list[ColumnGroup]:
    """The columns of a matrix in groups of bearable length; one group where splitting does not pay."""
    return split(ColumnGroup(0, width, width, listed), LIMITS[dtype])


def split(whole: ColumnGroup, limits: Limits) -> list[ColumnGroup]:
    """The columns in two groups, each again split, or in one."""
    columns = whole.last - whole.first
    if whole.cost <= SHORTEST or columns < 2:
        return [whole]
    rows = len(whole.listed.outputs) // columns
    between = range((whole.first // rows + 1) * rows, whole.last, rows)  # square matrices side by side
    cuts = between if len(between) else (whole.first + columns // 2,)
    pairs = [(whole.part(whole.first, cut), whole.part(cut, whole.last)) for cut in cuts]
    a, b = min(pairs, key=lambda pair: (max(pair[0].cost, pair[1].cost, limits.longest), pair[0].cost + pair[1].cost))
    bearable = whole.cost <= limits.longest
    if a.cost + b.cost > REPEATED[bearable] * whole.cost:
        return [whole]
    if bearable and max(a.cost, b.cost) > limits.part * whole.cost:
        return [whole]
    return [*split(a, limits), *split(b, limits)]
