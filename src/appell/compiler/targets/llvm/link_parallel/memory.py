"""Where numbers of links are: rows of w, whole vectors with a link in each lane, in the order of the generalized velocities."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.targets.llvm.ir import FunctionWriter, Real

Key = tuple[Hashable, ...]
"""The name of a row: its kind, and what it belongs to."""


class LinkMemory:
    """Rows of one function while it is written.

    Attributes:
        one: the type of one number.
        blocks: vectors of a row.
        padded: numbers of a row.
        rows: the place of each row in w.
        found: sums of zeros, which are NaN where a number was not finite. There are several, as each sum waits for the last one.
    """

    def __init__(self, write: FunctionWriter, form: LinkParallel, real: Real) -> None:
        self.write, self.form, self.rolled, self.real, self.one = write, form, form.rolled, real, Real(real.dtype)
        self.blocks = -(-self.rolled.nv // real.lanes)
        self.padded, self.groups = self.blocks * real.lanes, range(len(self.rolled.sweeps[0].steps))
        self.rows: dict[Key, int] = {}
        self.found = [write.slot(real.type, self.zero) for _ in range(3)]
        for name in self.rolled.inputs:
            self.row((name,))

    @property
    def zero(self) -> str:
        return self.real.literal(0.0)

    @property
    def numbers(self) -> int:
        """Numbers of all rows."""
        return len(self.rows) * self.padded

    @property
    def bits(self) -> str:
        """The integer that has a bit for every lane."""
        return f"i{max(self.real.lanes, 8)}"

    def row(self, key: Key) -> int:
        return self.rows.setdefault(key, len(self.rows))

    def area(self, key: Key, count: int) -> int:
        """The first of as many rows side by side."""
        return min(self.row((*key, k)) for k in range(count))

    @contextmanager
    def each_block(self) -> Iterator[int | str]:
        """For every vector of a row."""
        if self.blocks == 1:
            yield 0
        else:
            with self.write.loop(self.blocks) as b:
                yield b

    def sum(self, first: int, index: int | str) -> int | str:
        return first + index if isinstance(index, int) else self.write.integer("add", index, first)

    def place(self, key: Key, b: int | str) -> str:
        return self.write.at(self.real.type, "%w", self.sum(self.row(key) * self.blocks, b))

    def vector(self, key: Key, b: int | str) -> str:
        return self.write.load(self.real.type, self.place(key, b))

    def keep(self, value: str, key: Key, b: int | str) -> None:
        self.write.store(self.real.type, value, self.place(key, b))

    def constants(self, index: int, b: int | str) -> str:
        """A number of all links from the table."""
        return self.write.load(self.real.type, "@columns", self.sum(index * self.blocks, b))

    def number(self, key: Key, lane: int | str) -> str:
        """The address of one link's number."""
        return self.write.at(self.one.type, "%w", self.sum(self.row(key) * self.padded, lane))

    def splat(self, pointer: str) -> str:
        """A number in all lanes."""
        return self.write.splat(self.real, self.write.load(self.one.type, pointer))

    def whole(self, name: str, i: str) -> str:
        """A whole number of link i in the order of links."""
        return self.write.load("i64", f"@{name}", i)

    def mask(self, bits: str) -> str:
        """Bits as a vector of truth values."""
        lanes = self.real.lanes
        if lanes < 8:
            bits = self.write.value(f"trunc {self.bits} {bits} to i{lanes}")
        return self.write.value(f"bitcast i{lanes} {bits} to {self.real.mask}")

    def select(self, mask: str, value: str, other: str) -> str:
        T = self.real.type
        return self.write.value(f"select {self.real.mask} {mask}, {T} {value}, {T} {other}")

    def plus_product(self, total: str, a: str, b: str, operator: str = "fadd") -> str:
        """total + a b, or minus."""
        product = self.write.value(f"fmul contract {self.real.type} {a}, {b}")
        return self.write.value(f"{operator} contract {self.real.type} {total}, {product}")

    def note(self, value: str, which: int = 0) -> None:
        """Remember whether all numbers of a vector are finite."""
        found = self.found[which % len(self.found)]
        total = self.plus_product(self.write.load(self.real.type, found), value, self.zero)
        self.write.store(self.real.type, total, found)

    def store_some(self, value: str, pointer: str, mask: str) -> None:
        """Lanes of a vector side by side."""
        arguments = f"{self.real.type} {value}, ptr {pointer}, i32 {self.real.item}, {self.real.mask} {mask}"
        self.write.line(f"call void @llvm.masked.store.{self.real.suffix}.p0({arguments})")

    def clear(self, pointer: str, count: int) -> None:
        """Numbers that become zero."""
        self.write.line(f"call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {count * self.real.item}, i1 false)")

    def tables(self) -> str:
        """Numbers of the links, whole numbers in the order of links, and relations of links as bits of lanes."""
        lanes, links, rolled = self.real.lanes, self.rolled.links, self.rolled
        at = {link.v: link for link in links}
        entries = range(len(links[0].numbers))
        columns = [at[lane].numbers[k] if lane in at else 0.0 for k in entries for lane in range(self.padded)]
        whole = {name: rolled.integers[name] for name in ("v_of", "parent_of", "group_of")}
        whole["group_at"] = [at[lane].group for lane in range(rolled.nv)]
        relations: dict[str, list[int]] = {name: [0] * (rolled.nv * self.blocks) for name in ("before", "beyond")}
        for i, ancestors in enumerate(self.form.ancestors):
            own = links[i].v
            for other in (links[j].v for j in ancestors):
                relations["before"][own * self.blocks + other // lanes] |= 1 << other % lanes
                relations["beyond"][other * self.blocks + own // lanes] |= 1 << own % lanes
        for g in self.groups:
            members = [0] * self.blocks
            for link in links:
                members[link.v // lanes] |= (link.group == g) << link.v % lanes
            relations[f"members{g}"] = members
        relations["links"] = [sum(1 << k for k in range(min(lanes, rolled.nv - b * lanes))) for b in range(self.blocks)]
        return "\n".join((
            _table("columns", self.one.type, [self.one.literal(x) for x in columns], ", align 64"),
            *(_table(name, "i64", values) for name, values in whole.items()),
            *(_table(name, self.bits, values) for name, values in relations.items()),
            "",
        ))  # fmt: skip


def _table(name: str, kind: str, values: list, ending: str = "") -> str:
    entries = ", ".join(f"{kind} {value}" for value in values)
    return f"@{name} = internal constant [{len(values)} x {kind}] [{entries}]{ending}"
