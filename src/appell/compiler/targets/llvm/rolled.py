"""A function in rolled form as LLVM IR: a table of the links' numbers and loops over them.

Carried values live in variables, values kept for later sweeps in w, a row per link; where the tree branches, carried values
wait in slots of w behind those rows (`appell.compiler.rolled.text` is the same in C).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from appell.compiler.emit import plan_emission
from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.steps import OF_NO_LINK, PairPlace, TracedStep, TracedSweep
from appell.compiler.rolled.text import TILE, elimination_sizes
from appell.compiler.schedule import depth_first, without_stalls
from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.operations import GIVEN, PASSED, Values
from appell.compiler.targets.llvm.triples import write_triples

WHOLE = 1 << 30


def tables(rolled: Rolled, real: Real) -> str:
    """Constants that the loops read: numbers of the links, and whole numbers by name."""
    kind, numbers = real.scalar, [link.numbers for link in rolled.links]
    single = Real(real.dtype)
    rows = [f"[{len(row)} x {kind}] [{', '.join(f'{kind} {single.literal(x)}' for x in row)}]" for row in numbers]
    width = f"[{len(numbers[0])} x {kind}]"
    lines = [f"@table = internal constant [{len(rows)} x {width}] [{', '.join(rows)}]"]
    for name, values in rolled.integers.items():
        entries = ", ".join(f"i64 {value}" for value in values)
        lines.append(f"@{name} = internal constant [{len(values)} x i64] [{entries}]")
    return "\n".join(lines) + "\n"


class RolledWriter:
    """Writes one rolled function over one type of values; it can be left to the caller to clear the result."""

    def __init__(self, rolled: Rolled, real: Real, prefix: str, clears: bool = True) -> None:
        self.rolled, self.real, self.prefix, self.clears = rolled, real, prefix, clears and rolled.needs_zeros
        offsets = [sum(rolled.sizes[:k]) for k in range(len(rolled.inputs))]
        self.offsets = dict(zip(rolled.inputs, offsets, strict=True))
        self.waiting = len(rolled.links) * rolled.row  # where the slots begin in w

    def text(self) -> str:
        functions, calls = [self.angles()], []
        for number, sweep in enumerate(self.rolled.sweeps):
            calls.append(f"@{self.prefix}_sweep{number}")
            functions.append(self.function(calls[-1], partial(self.sweep, sweep)))
        if self.rolled.climb:
            calls.append(f"@{self.prefix}_climb")
            functions.append(self.function(calls[-1], self.climb))
        if self.rolled.triples:
            calls.append(f"@{self.prefix}_triples")
            functions.append(self.function(calls[-1], partial(write_triples, self)))
        if self.rolled.solves:
            for size in elimination_sizes(self.rolled.nv):
                name, given = f"@{self.prefix}_eliminate{size}", "i64 %k, ptr noalias %w, ptr noalias %y"
                functions.append(self.function(name, partial(self.eliminate, size), given))
            calls.append(f"@{self.prefix}_solve")
            functions.append(self.function(calls[-1], self.solve))
        return "\n".join((*functions, self.function(f"@{self.prefix}_body", partial(self.body, calls))))

    def function(self, name: str, fill: Callable[[FunctionWriter], None], given: str = GIVEN) -> str:
        write = FunctionWriter(f"internal void {name}({given}) #0")
        fill(write)
        write.line("ret void")
        return write.text()

    def body(self, calls: Sequence[str], write: FunctionWriter) -> None:
        if self.clears:
            self.clear(write, "%y", 0, self.rolled.size_out)
        for name in calls:
            write.line(f"call void {name}({PASSED})")

    def clear(self, write: FunctionWriter, pointer: str, first: int, count: int) -> None:
        with write.loop(count) as j:
            write.store(self.real.type, self.real.literal(0.0), pointer, write.integer("add", j, first))

    def angles(self) -> str:
        def fill(write: FunctionWriter) -> None:
            with write.loop(len(self.rolled.links)) as i:
                cases = [partial(self.angle, write, i, step) for step in self.rolled.sweeps[0].steps]
                write.choose(self.whole(write, "group_of", i), cases)

        return self.function(f"@{self.prefix}_angles", fill, "ptr noalias %x, ptr noalias %a")

    def angle(self, write: FunctionWriter, i: str, step: TracedStep) -> None:
        """The angle of a link, at most one."""
        values = self.values(write, i, step, [])
        angle = next(iter(plan_emission(step.listed, WHOLE).angles), None)
        write.store(self.real.type, self.real.literal(0.0) if angle is None else values[angle], "%a", i)

    def sweep(self, sweep: TracedSweep, write: FunctionWriter) -> None:
        T, links = self.real.type, len(self.rolled.links)
        start = [self.real.literal(x) for x in sweep.start]
        carried = [write.slot(T, x) for x in start]
        width = len(sweep.alive)
        if sweep.inward:
            self.clear(write, "%w", self.waiting, len(self.rolled.branches) * width)
        with write.loop(links) as index:
            i = write.integer("sub", links - 1, index) if sweep.inward else index
            parent = self.whole(write, "parent_of", i)
            apart = write.integer("icmp ne", parent, write.integer("sub", i, 1))
            surround = self.inward if sweep.inward else self.outward
            with surround(write, carried, start, i, parent, apart):
                cases = [partial(self.step, write, i, step, carried, self.add_result) for step in sweep.steps]
                write.choose(self.whole(write, "group_of", i), cases)

    @contextmanager
    def outward(
        self, write: FunctionWriter, carried: list[str], start: list[str], i: str, parent: str, apart: str
    ) -> Iterator[None]:
        """Before a step: what the parent carried, unless that was the link before. After it: kept where children wait."""
        T = self.real.type
        root = write.integer("icmp slt", parent, 0)
        with write.when(root):
            self.assign(write, carried, start)
        if self.rolled.branches:
            with write.when(write.value(f"and i1 {apart}, {write.value(f'xor i1 {root}, true')}")):
                for place, variable in zip(self.slots(write, parent, len(carried)), carried, strict=True):
                    write.store(T, write.load(T, "%w", place), variable)
        yield
        if self.rolled.branches:
            with write.when(write.integer("icmp sge", self.whole(write, "slot_of", i), 0)):
                for place, variable in zip(self.slots(write, i, len(carried)), carried, strict=True):
                    write.store(T, write.load(T, variable), "%w", place)

    @contextmanager
    def inward(
        self, write: FunctionWriter, carried: list[str], start: list[str], i: str, parent: str, apart: str
    ) -> Iterator[None]:
        """Before a step: what waits from other children is added. After it: handed to the parent."""
        if self.rolled.branches:
            with write.when(write.integer("icmp sge", self.whole(write, "slot_of", i), 0)):
                for place, variable in zip(self.slots(write, i, len(carried)), carried, strict=True):
                    self.add(write, write.load(self.real.type, "%w", place), variable)
        yield
        if self.rolled.branches:
            inner = write.integer("icmp sge", parent, 0)
            with write.when(write.value(f"and i1 {apart}, {inner}")):
                for place, variable in zip(self.slots(write, parent, len(carried)), carried, strict=True):
                    self.add(write, write.load(self.real.type, variable), "%w", place)
        with write.when(apart):
            self.assign(write, carried, start)

    def variables(self, write: FunctionWriter, step: TracedStep) -> list[str]:
        """Variables for the values that a step carries on."""
        width = sum(1 for kind, _ in step.targets if kind == "carried")
        return [write.slot(self.real.type, self.real.literal(0.0)) for _ in range(width)]

    def slots(self, write: FunctionWriter, link: str, width: int) -> list[str]:
        """Places in w where values wait for a link."""
        first = write.integer("mul", self.whole(write, "slot_of", link), width)
        return [write.integer("add", first, self.waiting + k) for k in range(width)]

    def climb(self, write: FunctionWriter) -> None:
        begins, carries, meets = zip(*self.rolled.climb, strict=True)
        carried = self.variables(write, carries[0])
        place = write.slot("i64")
        with write.loop(len(self.rolled.links)) as j, write.loop(self.whole(write, "walks_of", j)) as r:
            column = write.integer("add", self.whole(write, self.rolled.places[0], j), r)
            pair = self.pair_setter(write, j, column)
            start = [step for begin in begins for step in begin]
            write.store("i64", j, place)
            chosen = write.integer("add", self.whole(write, "begin_of", j), r)
            write.choose(chosen, [partial(self.step, write, j, step, carried, pair) for step in start])
            with write.repeat_while(lambda: write.integer("icmp sge", self.parent(write, place), 0)):
                i = write.load("i64", place)
                group = self.whole(write, "group_of", i)
                write.choose(group, [partial(self.step, write, i, step, carried, pair) for step in carries])
                write.store("i64", self.whole(write, "parent_of", i), place)
                i = write.load("i64", place)
                group, pair = self.whole(write, "group_of", i), self.pair_setter(write, i, column)
                write.choose(group, [partial(self.step, write, i, step, carried, pair) for step in meets])

    def solve(self, write: FunctionWriter) -> None:
        """Eliminate all pivots from the tips inwards; matrices before the last one change their sign."""
        T, n, width = self.real.type, self.rolled.nv, self.rolled.nv * self.rolled.matrices
        end = n
        for size in elimination_sizes(n):
            with write.loop(end - end % size, size) as done:
                k = write.integer("sub", end - size, done)
                write.line(f"call void @{self.prefix}_eliminate{size}(i64 {k}, ptr %w, ptr %y)")
            end %= size
        with write.loop(n) as i, write.loop(width - n) as j:
            place = write.integer("add", write.integer("mul", i, width), j)
            write.store(T, write.value(f"fneg {T} {write.load(T, '%y', place)}"), "%y", place)

    def eliminate(self, size: int, write: FunctionWriter) -> None:
        """Gauss and Jordan's elimination of `size` pivots from k on: first among their own rows, then from all others.

        The inverse grows in the place of the matrix. Rows without an element in these columns stay as they are.
        """
        real, T, n, width = self.real, self.real.type, self.rolled.nv, self.rolled.nv * self.rolled.matrices
        zero, one = real.literal(0.0), real.literal(1.0)
        column = write.integer("add", "%k", width - n)
        pivots = [write.at(T, "%y", write.integer("mul", write.integer("add", "%k", a), width)) for a in range(size)]

        def subtract(row: str, j: str, factors: list[str], rows: list[str]) -> None:
            value = write.load(T, row, j)
            for factor, other in zip(factors, rows, strict=True):
                product = write.value(f"fmul contract {T} {factor}, {write.load(T, other, j)}")
                value = write.value(f"fsub contract {T} {value}, {product}")
            write.store(T, value, row, j)

        for a, own in enumerate(pivots):
            place = write.integer("add", column, a)
            inverse = write.value(f"fdiv {T} {one}, {write.load(T, own, place)}")
            write.store(T, one, own, place)
            with write.loop(width) as j:
                write.store(T, write.value(f"fmul {T} {write.load(T, own, j)}, {inverse}"), own, j)
            for other in (row for row in pivots if row != own):
                factor = write.load(T, other, place)
                write.store(T, zero, other, place)
                with write.loop(width) as j:
                    subtract(other, j, [factor], [own])
        with write.loop(n) as i:
            row = write.at(T, "%y", write.integer("add", write.integer("mul", i, width), column))
            kept = write.at(T, "%w", write.integer("mul", i, size))
            inside = write.integer("icmp ult", write.integer("sub", i, "%k"), size)
            for a in range(size):
                value = write.load(T, row, a)
                write.store(T, write.value(f"select i1 {inside}, {T} {zero}, {T} {value}"), kept, a)
                write.store(T, write.value(f"select i1 {inside}, {T} {value}, {T} {zero}"), row, a)
        with write.loop(width, TILE) as first:
            count = write.value(f"call i64 @llvm.smin.i64(i64 {write.integer('sub', width, first)}, i64 {TILE})")
            tiles = [write.at(T, row, first) for row in pivots]
            with write.loop(n) as i:
                factors = [write.load(T, write.at(T, "%w", write.integer("mul", i, size)), a) for a in range(size)]
                used = [write.any_lane(real, write.value(f"fcmp une {T} {factor}, {zero}")) for factor in factors]
                some = used[0]
                for each in used[1:]:
                    some = write.value(f"or i1 {some}, {each}")
                with write.when(some):
                    row = write.at(T, "%y", write.integer("add", write.integer("mul", i, width), first))
                    with write.loop(count) as j:
                        subtract(row, j, factors, tiles)

    def parent(self, write: FunctionWriter, place: str) -> str:
        return self.whole(write, "parent_of", write.load("i64", place))

    def step(
        self,
        write: FunctionWriter,
        i: str,
        step: TracedStep,
        carried: list[str],
        result: Callable[[FunctionWriter, str, int, str], None],
        handed: Sequence[str] = (),
    ) -> None:
        """Loads, operations and stores of one step for the link i, each value as late, and each store as early, as possible.

        What it carries on replaces what it was given unless there are other variables for that.
        """
        listed = without_stalls(depth_first(step.listed))
        values = self.values(write, i, replace(step, listed=listed), carried)
        order = dict.fromkeys((*plan_emission(listed, WHOLE).pieces[0], *listed.outputs))
        targets: dict[int, list[tuple[str, int]]] = {k: [] for k in order}
        for k, target in zip(listed.outputs, step.targets, strict=True):
            targets[k].append(target)
        handed_on = []
        for k in order:
            value = values[k]
            for kind, place in targets[k]:
                if kind == "carried":
                    handed_on.append((value, (handed or carried)[place]))
                elif kind == "kept":
                    write.store(self.real.type, value, "%w", self.kept(write, i, place))
                else:
                    result(write, i, place, value)
        for value, variable in handed_on:  # now that all of what was carried here is read
            write.store(self.real.type, value, variable)

    def add_result(self, write: FunctionWriter, i: str, k: int, value: str) -> None:
        """Entry k of a link's part of the result; several links may add to one entry."""
        place = write.integer("add", self.whole(write, self.rolled.places[1], i), k * self.rolled.pitch)
        if self.rolled.adds:
            self.add(write, value, "%y", place)
        else:
            write.store(self.real.type, value, "%y", place)

    def pair_setter(
        self, write: FunctionWriter, i: str, column: str
    ) -> Callable[[FunctionWriter, str, int, str], None]:
        """Sets elements of matrices in the rows of the degrees of freedom of link i and one column, or across."""
        own, width = self.whole(write, "v_of", i), self.rolled.width
        in_row, in_column = (
            write.integer("add", write.integer("mul", row, width), other)
            for row, other in ((own, column), (column, own))
        )

        def set_pair(write: FunctionWriter, i: str, k: int, value: str) -> None:
            degree, across, matrix = PairPlace.of(k, self.rolled.matrices)
            first, distance = (in_column, 1) if across else (in_row, width)
            place = write.integer("add", first, degree * distance + matrix * self.rolled.stride)
            write.store(self.real.type, value, "%y", place)

        return set_pair

    def values(self, write: FunctionWriter, i: str, step: TracedStep, carried: list[str]) -> Values:
        """Values of a step for the link i."""
        T, operations = self.real.type, step.listed.operations

        def load(k: int) -> str | None:
            name, source = operations[k].name, step.source_of(k)
            if name in ("sin", "cos"):  # every link has one angle, at the place of its own number
                return write.load(T, "%s" if name == "sin" else "%c", i)
            if source is None:
                return None
            origin, index = source.origin, source.index
            if origin == "table":
                row = write.at(f"[{len(self.rolled.links[0].numbers)} x {self.real.scalar}]", "@table", i)
                return write.splat(self.real, write.load(self.real.scalar, row, index))
            if origin == "carried":
                return write.load(T, carried[index])
            if origin == "kept":
                return write.load(T, "%w", self.kept(write, i, index))
            if origin in OF_NO_LINK:
                return write.load(T, "%x", self.offsets[origin] + index)
            own = self.whole(write, "q_of" if origin == "q" else "v_of", i)
            return write.load(T, "%x", write.integer("add", own, self.offsets[origin] + index))

        return Values(write, self.real, step.listed, load)

    def kept(self, write: FunctionWriter, i: str, index: int) -> str:
        return write.integer("add", write.integer("mul", i, self.rolled.row), index)

    def whole(self, write: FunctionWriter, name: str, i: str) -> str:
        """A whole number of a link."""
        return write.load("i64", f"@{name}", i)

    def assign(self, write: FunctionWriter, variables: list[str], values: list[str]) -> None:
        for variable, value in zip(variables, values, strict=True):
            write.store(self.real.type, value, variable)

    def add(self, write: FunctionWriter, value: str, pointer: str, index: int | str = 0) -> None:
        T = self.real.type
        place = write.at(T, pointer, index)
        write.store(T, write.value(f"fadd {T} {write.load(T, place)}, {value}"), place)
