"""Large matrices by several threads for each state: groups of columns with code of their own.

Long straight-line code waits for its own instructions. A group of columns needs only part of the operations; what several groups
need is computed by each of them (docs/decisions/0020).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from appell.compiler.operations import OperationList
from appell.compiler.schedule import depth_first
from appell.compiler.simplify import without_dead_code

SHORTEST = 3000
"""Instructions, roughly, of code that is not split."""
INSTRUCTIONS_PER_RESULT = 5
"""Instructions that find the place of a result and store it."""


LONGEST = {"float32": 7500, "float64": 7200}
"""Instructions, roughly, beyond which code is split in two although much is computed twice: it outgrows the processor's memory of
instructions (docs/decisions/0020)."""
REPEATED = (1.58, 1.1)
"""Most operations of both parts, relative to the whole, of code that is too long, and of other code."""
LARGER_PART = 0.7
"""The larger part of code that is not too long, at most, relative to the whole."""


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

    @property
    def length(self) -> int:
        """Instructions, roughly."""
        return self.cost + INSTRUCTIONS_PER_RESULT * len(self.listed.outputs)

    @cached_property
    def ordered(self) -> OperationList:
        """The operations in the order in which they are written."""
        return depth_first(self.listed, self.last - self.first)

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
    """The columns of a matrix in groups that are not too long; one group where splitting does not pay."""
    return split(ColumnGroup(0, width, width, listed), LONGEST[dtype])


def split(whole: ColumnGroup, longest: int) -> list[ColumnGroup]:
    """The columns in two groups, each again split, or in one."""
    columns = whole.last - whole.first
    if whole.length <= SHORTEST or columns < 2:
        return [whole]
    rows = len(whole.listed.outputs) // columns
    between = range((whole.first // rows + 1) * rows, whole.last, rows)  # square matrices side by side
    cuts = between if len(between) else (whole.first + columns // 2,)
    pairs = [(whole.part(whole.first, cut), whole.part(cut, whole.last)) for cut in cuts]
    a, b = min(pairs, key=lambda pair: max(pair[0].cost, pair[1].cost))
    within = whole.length <= longest
    if a.cost + b.cost > REPEATED[within] * whole.cost:
        return [whole]
    if within and max(a.cost, b.cost) > LARGER_PART * whole.cost:
        return [whole]
    return [*split(a, longest), *split(b, longest)]
