"""Where numbers of links are: rows of w, whole vectors with a link in each lane, in the order of the generalized velocities."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.link_parallel.runs import Relations

Key = tuple[Hashable, ...]
"""The name of a row: its kind, and what it belongs to."""


class LinkMemory:
    """Rows of one function while it is written.

    Attributes:
        one: the type of one number.
        blocks: vectors of a row.
        padded: numbers of a row.
        rows: the place of each row in w.
        runs, kinds: the order in which matrices are written, and the kinds of vectors in it.
        found: sums of numbers, which are not finite where one of them was not; several, as each sum waits for the last one.
    """

    def __init__(self, write: FunctionWriter, form: LinkParallel, real: Real) -> None:
        self.write, self.form, self.rolled, self.real, self.one = write, form, form.rolled, real, Real(real.dtype)
        self.blocks = -(-self.rolled.nv // real.lanes)
        self.padded, self.groups = self.blocks * real.lanes, range(len(self.rolled.sweeps[0].steps))
        self.relations = Relations(form, real.lanes)
        self.runs = self.relations.runs()
        self.kinds = list(dict.fromkeys(run.kind for run in self.runs))
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
        found, T = self.found[which % len(self.found)], self.real.type
        self.write.store(T, self.write.value(f"fadd {T} {self.write.load(T, found)}, {value}"), found)

    def return_status(self, numbers: Mapping[str, int]) -> None:
        """The end of a function: 1 where one of some numbers is not finite, else 0.

        Sums of large numbers overflow, too: where one of what was noted is not finite, `appell_nonfinite` decides.
        """
        write, T, found = self.write, self.real.type, self.write.slot("i32", "0")
        total, *others = [write.load(T, each) for each in self.found]
        for other in others:
            total = write.value(f"fadd {T} {total}, {other}")
        unclear = write.value(f"fcmp uno {T} {write.value(f'fsub {T} {total}, {total}')}, zeroinitializer")
        with write.when(write.any_lane(self.real, unclear)):
            for pointer, count in numbers.items():
                bad = write.value(f"call i32 @appell_nonfinite(ptr {pointer}, i64 {count})")
                write.store("i32", write.value(f"or i32 {write.load('i32', found)}, {bad}"), found)
        write.line(f"ret i32 {write.load('i32', found)}")

    def relation(self, name: str, r: str, b: int | str) -> str:
        """Bits of the links in a vector that have a relation to that of row r (`Relations.bits`)."""
        write = self.write
        return write.load(self.bits, f"@{name}", write.integer("add", write.integer("mul", r, self.blocks), b))

    @contextmanager
    def related(self, name: str, r: str, b: int | str) -> Iterator[str]:
        """If there are such links: which ones they are."""
        bits = self.relation(name, r, b)
        with self.write.when(self.write.value(f"icmp ne {self.bits} {bits}, 0")):
            yield self.mask(bits)

    def store_some(self, value: str, pointer: str, mask: str) -> None:
        """Lanes of a vector side by side."""
        arguments = f"{self.real.type} {value}, ptr {pointer}, i32 {self.real.item}, {self.real.mask} {mask}"
        self.write.line(f"call void @llvm.masked.store.{self.real.suffix}.p0({arguments})")

    def tables(self) -> str:
        """Numbers of the links, runs of matrices, and relations of links as bits of lanes."""
        at = {link.v: link for link in self.rolled.links}
        entries = range(len(self.rolled.links[0].numbers))
        columns = [at[lane].numbers[k] if lane in at else 0.0 for k in entries for lane in range(self.padded)]
        kinds = [self.kinds.index(run.kind) for run in self.runs]
        whole = {f"run_{name}": [getattr(run, name) for run in self.runs] for name in ("block", "row", "rows")}
        bits = self.relations.bits | {f"members{g}": self.members(g) for g in self.groups}
        return "\n".join((
            _table("columns", self.one.type, [self.one.literal(x) for x in columns], ", align 64"),
            whole_numbers({"group_at": self.relations.group_at, "run_kind": kinds, **whole}),
            *(_table(name, self.bits, each) for name, each in bits.items()),
            "",
        ))  # fmt: skip

    def members(self, g: int) -> list[int]:
        """For every vector of a row the links of a group, as bits."""
        lanes, group_at = self.real.lanes, self.relations.group_at
        return [
            sum((group == g) << lane for lane, group in enumerate(group_at[first : first + lanes]))
            for first in range(0, len(group_at), lanes)
        ]

    def order_tables(self) -> str:
        """Whole numbers in the order of links."""
        return whole_numbers({name: self.rolled.integers[name] for name in ("v_of", "parent_of", "group_of")})


def whole_numbers(tables: Mapping[str, Sequence[int]]) -> str:
    """Tables of whole numbers by name."""
    return "\n".join((*(_table(name, "i64", values) for name, values in tables.items()), ""))


def _table(name: str, kind: str, values: Sequence, ending: str = "") -> str:
    entries = ", ".join(f"{kind} {value}" for value in values)
    return f"@{name} = internal constant [{len(values)} x {kind}] [{entries}]{ending}"
