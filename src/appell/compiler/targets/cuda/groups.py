"""Large matrices by several threads for each state: groups of columns with code of their own.

Long straight-line code has more values than a thread has registers, and waits for memory. A group of columns needs only part
of the operations; what several groups need is computed by each of them (docs/decisions/0020).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from appell.compiler.operations import OperationList
from appell.compiler.schedule import depth_first, most_alive
from appell.compiler.simplify import without_dead_code

SHORTEST = 3000
"""Instructions, roughly, of code that is not split."""
INSTRUCTIONS_PER_RESULT = 5
"""Instructions that find the place of a result and store it."""


class GroupLimits(NamedTuple):
    """When code is split in two.

    Attributes:
        alive: values alive at a time beyond which it is split although much is computed twice.
        length: instructions, roughly, beyond which it is split likewise.
    """

    alive: int
    length: int


LIMITS = {"float32": GroupLimits(300, 7500), "float64": GroupLimits(180, 7200)}
"""By precision: a number of float64 takes two registers (docs/decisions/0020)."""
REPEATED = (1.58, 1.1)
"""Most operations of both parts, relative to the whole, of code beyond the limits, and of other code."""
LARGER_PART = 0.7
"""The larger part of code within the limits, at most, relative to the whole."""


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

    def is_within(self, limits: GroupLimits) -> bool:
        """Whether a thread has the registers, and the processor the memory of instructions, for this code."""
        return self.length <= limits.length and most_alive(self.ordered) <= limits.alive

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
    """The columns of a matrix in groups within the limits; one group where splitting does not pay."""
    return split(ColumnGroup(0, width, width, listed), LIMITS[dtype])


def split(whole: ColumnGroup, limits: GroupLimits) -> list[ColumnGroup]:
    """The columns in two groups, each again split, or in one."""
    columns = whole.last - whole.first
    if whole.length <= SHORTEST or columns < 2:
        return [whole]
    rows = len(whole.listed.outputs) // columns
    between = range((whole.first // rows + 1) * rows, whole.last, rows)  # square matrices side by side
    cuts = between if len(between) else (whole.first + columns // 2,)
    pairs = [(whole.part(whole.first, cut), whole.part(cut, whole.last)) for cut in cuts]
    a, b = min(pairs, key=lambda pair: max(pair[0].cost, pair[1].cost))
    within = whole.is_within(limits)
    if a.cost + b.cost > REPEATED[within] * whole.cost:
        return [whole]
    if within and max(a.cost, b.cost) > LARGER_PART * whole.cost:
        return [whole]
    return [*split(a, limits), *split(b, limits)]
