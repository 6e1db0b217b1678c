"""Inputs of all lanes as rows in memory: transposed in registers, some entries at a time, where they are first used.

Input k of the state in lane l begins at entry `l * sizes[k]` of `x[k]`: with distances that are variables, addresses need more
registers than there are. Long rows are prefetched: processors do not foresee an order of reads that is that of the operations.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.lanes import BLOCK, FiniteCheck, transposed

LINE = 64
"""Bytes of a line of the cache."""
LONG = 2 * LINE
"""Bytes of rows that are prefetched if they are longer."""
AHEAD = 4
"""Vectors of states between a read and what is prefetched beside it (docs/decisions/0018)."""


class RowInputs:
    """Inputs of a function that are rows; entries that were not read before are checked.

    Attributes:
        checked: entries that this function or an earlier one has checked.
    """

    def __init__(self, write: FunctionWriter, real: Real, sizes: Sequence[int], checked: set[int]) -> None:
        self.write, self.real, self.checked, self.sizes = write, real, checked, sizes
        self.rows = [write.load("ptr", "%x", k) for k in range(len(sizes))]
        self.check, self.values = FiniteCheck(write, real), {}
        self.blocks = _blocks(sizes, min(BLOCK, real.lanes))

    def load(self, j: int) -> str:
        """Entry j of all inputs."""
        if j not in self.values:
            k, first, place, width = self.blocks[j]
            write, real = self.write, self.real
            rows = [write.at(real.scalar, self.rows[k], lane * self.sizes[k] + place) for lane in range(real.lanes)]
            if self.sizes[k] * real.item > LONG and place * real.item % LINE < width * real.item:
                self.prefetch(k, place)
            for entry, vector in enumerate(transposed(write, real, rows, width), first):
                if entry not in self.checked:
                    self.checked.add(entry)
                    self.check.noted(vector)
                self.values.setdefault(entry, vector)
        return self.values[j]

    def prefetch(self, k: int, place: int) -> None:
        """An entry of input k of later states, with the line that it lies in."""
        for lane in range(self.real.lanes):
            later = (AHEAD * self.real.lanes + lane) * self.sizes[k] + place
            pointer = self.write.at(self.real.scalar, self.rows[k], later)
            self.write.line(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 0, i32 2, i32 1)")

    def return_check(self) -> None:
        """The end of the function: bits that are 0 where all checked numbers are finite."""
        self.write.line(f"ret {self.real.bits} {self.write.load(self.real.bits, self.check.bits)}")


def _blocks(sizes: Sequence[int], most: int) -> list[tuple[int, int, int, int]]:
    """Of every entry: input, the block's first entry among all and within the input, and the block's width."""
    blocks, before = [], 0
    for k, size in enumerate(sizes):
        width = min(most, 1 << max(size.bit_length() - 1, 0))
        for j in range(size):
            place = min(j // width * width, size - width)
            blocks.append((k, before + place, place, width))
        before += size
    return blocks
