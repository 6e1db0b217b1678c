"""States between arrays and vectors of lanes, as LLVM IR.

Entry j of state l is `p[l * step + j * pitch]`; in vectors it is lane l of `x[j]`. Columns (step 1) are vectors already. Rows
(pitch 1) are transposed in registers, some entries of all states at a time: their parts of the rows are loaded side by
side, and entries are exchanged between vectors. Everything else, and the tail of a batch, is moved number by number. Loads and
stores return 1 where a number that was moved is not finite, else 0: they have every number in a register anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from appell.compiler.targets.llvm.ir import FunctionWriter, Real

BLOCK = 4
"""Entries of rows that are transposed at a time."""


def load_text(real: Real) -> str:
    """`appell_load(p, step, pitch, size, count, x)`: entries of some states; lanes beyond count repeat the last state."""
    write = FunctionWriter("i32 @appell_load(ptr %p, i64 %step, i64 %pitch, i64 %size, i64 %count, ptr noalias %x) #0")
    T, check = real.type, FiniteCheck(write, real)

    def column(j: str) -> None:
        place = write.at(real.scalar, "%p", write.integer("mul", j, "%pitch"))
        write.store(T, check.noted(write.load(T, place, 0, real.item)), "%x", j)

    def block(rows: list[str], first: str, width: int) -> None:
        for j, vector in enumerate(transposed(write, real, rows, width)):
            write.store(T, check.noted(vector), "%x", write.integer("add", first, j))

    def single() -> None:
        last = write.integer("sub", "%count", 1)
        with write.loop("%size") as j:
            with write.loop(real.lanes) as lane:
                state = write.value(f"call i64 @llvm.smin.i64(i64 {lane}, i64 {last})")
                number = write.load(real.scalar, "%p", _place(write, state, j))
                write.store(real.scalar, number, "%x", write.integer("add", write.integer("mul", j, real.lanes), lane))
            check.noted(write.load(T, "%x", j))

    _choose(write, real, column, block, single)
    write.line(f"ret i32 {check.result()}")
    return write.text()


def gather_text(real: Real) -> str:
    """`appell_gather(p, step, pitch, size, count, x)`: entries of some states as rows of this size, one for each lane."""
    write = FunctionWriter(
        "void @appell_gather(ptr %p, i64 %step, i64 %pitch, i64 %size, i64 %count, ptr noalias %x) #0"
    )

    def to(lane: str, j: str) -> str:
        return write.at(real.scalar, "%x", write.integer("add", write.integer("mul", lane, "%size"), j))

    def column(j: str) -> None:
        vector = write.load(real.type, write.at(real.scalar, "%p", write.integer("mul", j, "%pitch")), 0, real.item)
        for lane in range(real.lanes):
            write.store(real.scalar, _part(write, real, vector, lane, 1), to(str(lane), j))

    def block(rows: list[str], first: str, width: int) -> None:
        kind = real.of(real.scalar, width)
        for lane, row in enumerate(rows):
            write.store(kind, write.load(kind, row, 0, real.item), to(str(lane), first), 0, real.item)

    def single() -> None:
        last = write.integer("sub", "%count", 1)
        with write.loop(real.lanes) as lane:
            state = write.value(f"call i64 @llvm.smin.i64(i64 {lane}, i64 {last})")
            with write.loop("%size") as j:
                write.store(real.scalar, write.load(real.scalar, "%p", _place(write, state, j)), to(lane, j))

    _choose(write, real, column, block, single)
    write.line("ret void")
    return write.text()


def store_text(real: Real) -> str:
    """`appell_store(x, step, pitch, size, count, p)`: entries of the first `count` states."""
    write = FunctionWriter(
        "i32 @appell_store(ptr noalias %x, i64 %step, i64 %pitch, i64 %size, i64 %count, ptr noalias %p) #0"
    )
    T, check = real.type, FiniteCheck(write, real)

    def column(j: str) -> None:
        place = write.at(real.scalar, "%p", write.integer("mul", j, "%pitch"))
        write.store(T, check.noted(write.load(T, "%x", j)), place, 0, real.item)

    def block(rows: list[str], first: str, width: int) -> None:
        columns = [check.noted(write.load(T, "%x", write.integer("add", first, j))) for j in range(width)]
        vectors = exchanged(write, real, columns)
        for lane, row in enumerate(rows):
            begin = lane // width * width
            part = _part(write, real, vectors[lane % width], begin, width)
            write.store(real.of(real.scalar, width), part, row, 0, real.item)

    def single() -> None:
        with write.loop("%size") as j:
            check.noted(write.load(T, "%x", j))
            with write.loop("%count") as lane:
                number = write.load(real.scalar, "%x", write.integer("add", write.integer("mul", j, real.lanes), lane))
                write.store(real.scalar, number, "%p", _place(write, lane, j))

    _choose(write, real, column, block, single, aligned=True)
    write.line(f"ret i32 {check.result()}")
    return write.text()


class FiniteCheck:
    """Whether all numbers of some vectors are finite: x - x is 0 for these, else NaN."""

    def __init__(self, write: FunctionWriter, real: Real) -> None:
        self.write, self.real = write, real
        self.bits = write.slot(real.bits, "zeroinitializer")

    def noted(self, vector: str) -> str:
        """The same vector."""
        write, real = self.write, self.real
        difference = write.value(f"fsub {real.type} {vector}, {vector}")
        self.add(write.value(f"bitcast {real.type} {difference} to {real.bits}"))
        return vector

    def add(self, found: str) -> None:
        """Bits that are not all 0 where a number is not finite."""
        write, bits = self.write, self.real.bits
        write.store(bits, write.value(f"or {bits} {write.load(bits, self.bits)}, {found}"), self.bits)

    def result(self) -> str:
        """1 where a number is not finite, else 0."""
        write, real = self.write, self.real
        found = write.value(f"icmp ne {real.bits} {write.load(real.bits, self.bits)}, zeroinitializer")
        return write.value(f"zext i1 {write.any_lane(real, found)} to i32")


def _choose(
    write: FunctionWriter,
    real: Real,
    column: Callable[[str], None],
    block: Callable[[list[str], str, int], None],
    single: Callable[[], None],
    aligned: bool = False,
) -> None:
    """The quickest way for these strides and this count. `block` moves entries of rows, from the given one on.

    Args:
        aligned: whether blocks begin at multiples of their size in memory as far as possible: stores that cross lines of the
            cache take twice as long.
    """

    def columns() -> None:
        with write.loop("%size") as j:
            column(j)

    def rows(width: int) -> None:
        early = "0"
        if aligned:
            address = write.value("ptrtoint ptr %p to i64")
            early = write.integer("and", write.integer("udiv", address, real.item), width - 1)
        last = write.integer("sub", "%size", width)
        starts = [write.at(real.scalar, "%p", write.integer("mul", "%step", lane)) for lane in range(real.lanes)]
        end = write.integer("add", "%size", early)
        with write.loop(end, width) as j:
            first = write.integer("sub", j, early)
            for limit, operator in ((last, "smin"), (0, "smax")):  # the first and the last one may repeat entries
                first = write.value(f"call i64 @llvm.{operator}.i64(i64 {first}, i64 {limit})")
            block([write.at(real.scalar, row, first) for row in starts], first, width)

    width, way = min(BLOCK, real.lanes), "0"
    full = write.integer("icmp eq", "%count", real.lanes)
    wide = write.value(f"and i1 {full}, {write.integer('icmp sge', '%size', width)}")
    for stride, possible, number in (("%pitch", full, 3), ("%pitch", wide, 2), ("%step", full, 1)):
        fits = write.value(f"and i1 {possible}, {write.integer('icmp eq', stride, 1)}")
        way = write.value(f"select i1 {fits}, i64 {number}, i64 {way}")
    write.choose(way, [single, columns, partial(rows, width), partial(rows, 1)])


def _place(write: FunctionWriter, state: str, entry: str) -> str:
    return write.integer("add", write.integer("mul", state, "%step"), write.integer("mul", entry, "%pitch"))


def transposed(write: FunctionWriter, real: Real, rows: list[str], width: int) -> list[str]:
    """The first entries of rows, one in each lane, as vectors of these entries."""
    parts = [write.load(real.of(real.scalar, width), row, 0, real.item) for row in rows]
    return exchanged(write, real, [_join(write, real, parts[k::width], width) for k in range(width)])


def _join(write: FunctionWriter, real: Real, parts: list[str], width: int) -> str:
    """Vectors of one width side by side; a vector of width 1 is a number."""
    if width == 1:
        vector = "poison"
        for lane, part in enumerate(parts):
            vector = write.value(f"insertelement {real.type} {vector}, {real.scalar} {part}, i64 {lane}")
        return vector
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts, width = [write.shuffle(real, a, b, width, range(2 * width)) for a, b in pairs], 2 * width
    return parts[0]


def _part(write: FunctionWriter, real: Real, vector: str, begin: int, width: int) -> str:
    """Some lanes of a vector; one lane is a number."""
    if width == 1:
        return write.value(f"extractelement {real.type} {vector}, i64 {begin}")
    return write.shuffle(real, vector, "poison", real.lanes, range(begin, begin + width))


def exchanged(write: FunctionWriter, real: Real, vectors: list[str]) -> list[str]:
    """Transpose the square blocks of vectors that lie side by side: lane l of vector k goes to lane k of vector l."""
    vectors, lanes, half = list(vectors), range(real.lanes), len(vectors) // 2
    while half:
        for row, vector in enumerate(vectors):
            if row & half == 0:
                other = vectors[row + half]
                low = [real.lanes + k - half if k & half else k for k in lanes]
                high = [real.lanes + k if k & half else k + half for k in lanes]
                vectors[row] = write.shuffle(real, vector, other, real.lanes, low)
                vectors[row + half] = write.shuffle(real, vector, other, real.lanes, high)
        half //= 2
    return vectors
