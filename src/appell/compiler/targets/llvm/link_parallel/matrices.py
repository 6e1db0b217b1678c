"""Matrices by rows: what a link shares with those beyond it, and with those before it, with its own numbers in all lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial

from appell.compiler.rolled.steps import PairPlace, StepSource, TracedClimb
from appell.compiler.targets.llvm.link_parallel.memory import Key
from appell.compiler.targets.llvm.link_parallel.runs import Kind, Relation
from appell.compiler.targets.llvm.link_parallel.steps import LinkSteps, nothing_carried, outputs


@dataclass
class MatrixWriter:
    """Matrices side by side, from walks of all links to the base. Every element is written, also those of links apart.

    Whole vectors are stored, beyond the end of a row where it ends within one: the elements there are written later (`runs`).

    Attributes:
        climbs: for each group of links.
        name: of its rows.
        pointer: where the first row begins.
        width: numbers from row to row.
        stride: from matrix to matrix.
        count: the number of matrices.
        column, diagonal: the rows of what walks carry, and of elements on the diagonals.
    """

    steps: LinkSteps
    climbs: Sequence[TracedClimb]
    name: str
    pointer: str
    width: int
    stride: int
    count: int
    column: dict[int, Key] = field(default_factory=dict)
    diagonal: dict[int, Key] = field(default_factory=dict)

    def carried(self, slot: int) -> Key:
        return self.column[slot]

    def write_all(self) -> None:
        self.write_columns()
        self.write_rows()

    def write_columns(self) -> None:
        """What the column of each link is made of, and its elements on the diagonal."""
        steps, memory = self.steps, self.steps.memory
        begins = [climb.begin[0] for climb in self.climbs]
        wanted = [outputs(step) for step in begins]
        own: dict[tuple[str, int], Key] = {}
        for kind, place in wanted[0]:
            key: Key | None = (self.name, "own", place)
            if kind == "result":
                self.diagonal[place] = key
            else:
                keys = {
                    steps.read_key(g, step, wanted[g][kind, place], nothing_carried) for g, step in enumerate(begins)
                }
                shared = keys.pop() if len(keys) == 1 else None
                key = (self.name, "column", place) if shared is None else None
                self.column[place] = shared or (self.name, "column", place)
            if key is not None:
                own[kind, place] = key
        with memory.each_block() as b:
            values = [steps.in_lanes(step, g, b, nothing_carried) for g, step in enumerate(begins)]
            for target, key in own.items():
                value = steps.of_group([values[g][wanted[g][target]] for g in memory.groups], b)
                memory.keep(value, key, b)

    def write_rows(self) -> None:
        memory, write = self.steps.memory, self.steps.memory.write
        with write.loop(len(memory.runs)) as k:
            row = memory.whole("run_row", k)
            write.choose(memory.whole("run_kind", k), [partial(self.write_run, kind, row, k) for kind in memory.kinds])

    def write_run(self, kind: Kind, row: str, k: str) -> None:
        """The vectors of run k in the rows from this one on."""
        memory, write = self.steps.memory, self.steps.memory.write
        if kind.relation is Relation.MIXED:
            with write.loop(memory.rows_of_run) as i:
                self.write_mixed(write.integer("add", row, i), k)
            return
        rows = [write.integer("add", row, i) for i in range(memory.rows_of_run)]
        elements = self.zeros if kind.relation is Relation.APART else self.elements(*kind.side, rows)
        with self.blocks(k) as b:
            for m, i, value in elements(b):
                memory.note(value, m)
                self.store(value, rows[i], m, b)

    @contextmanager
    def blocks(self, k: str) -> Iterator[int | str]:
        """For every vector of run k, the last one first."""
        memory, write = self.steps.memory, self.steps.memory.write
        if memory.blocks == 1:
            yield 0
        else:
            last = memory.whole("run_last", k)
            with write.loop(memory.whole("run_blocks", k)) as i:
                yield write.integer("sub", last, i)

    def zeros(self, _: int | str) -> Iterator[tuple[int, int, str]]:
        memory = self.steps.memory
        return ((m, i, memory.zero) for i in range(memory.rows_of_run) for m in range(self.count))

    def elements(
        self, g: int, across: int, rows: Sequence[str]
    ) -> Callable[[int | str], Iterator[tuple[int, int, str]]]:
        """Elements of rows in columns of links beyond theirs, in a step of their group, or across, of links of a group before.

        Numbers of the rows are loaded here, and those of columns once for all rows. Matrix, row and vector of each.
        """
        memory, steps, step = self.steps.memory, self.steps, self.climbs[g].meet
        places = (
            (PairPlace.of(place, self.count), k) for (kind, place), k in outputs(step).items() if kind == "result"
        )
        wanted = {place.matrix: k for place, k in places if place.across == across}
        numbers = [steps.in_all_lanes(step, wanted.values(), g, r, self.carried, is_carried=bool(across)) for r in rows]

        def of_block(b: int | str) -> Iterator[tuple[int, int, str]]:
            @cache
            def column(source: StepSource) -> str:
                if source.origin == "table":
                    return memory.constants(source.index, b)
                return memory.vector(steps.key_of(g, source, self.carried), b)

            def given(own: Mapping[StepSource, str], source: StepSource) -> str:
                return own[source] if source in own else column(source)

            values = [steps.values(memory.real, step, partial(given, own), {}) for own in numbers]
            return ((m, i, own[k]) for m, k in wanted.items() for i, own in enumerate(values))

        return of_block

    def write_mixed(self, r: str, k: str) -> None:
        """One row where links of a vector have several relations to its own, relation by relation; zeros where there is none."""
        memory, write, T = self.steps.memory, self.steps.memory.write, self.steps.memory.one.type
        if memory.form.has_strangers:
            with self.blocks(k) as b:
                links = memory.mask(memory.relation("links", r, b))
                for m in range(self.count):
                    memory.store_some(memory.zero, self.place(r, m, b), links)

        def put(name: str, g: int, across: int) -> None:
            elements = self.elements(g, across, [r])
            with self.blocks(k) as b, memory.related(name, r, b) as mask:
                for m, _, value in elements(b):
                    memory.note(value, m)
                    memory.store_some(value, self.place(r, m, b), mask)

        write.choose(memory.whole("group_at", r), [partial(put, "beyond", g, 0) for g in memory.groups])
        for g in memory.groups:
            put(f"before{g}", g, 1)
        for m in range(self.count):
            own = write.load(T, memory.number(self.diagonal[m], r))
            write.store(T, own, self.place(r, m, 0), r)

    def store(self, value: str, r: str, m: int, b: int | str) -> None:
        """A vector of row r of matrix m, beyond its end where it ends within the vector."""
        memory = self.steps.memory
        memory.write.store(memory.real.type, value, self.place(r, m, b), align=memory.real.item)

    def place(self, r: str, m: int, b: int | str) -> str:
        """The address of a vector of row r of matrix m."""
        memory, write = self.steps.memory, self.steps.memory.write
        first = write.integer("add", write.integer("mul", r, self.width), m * self.stride)
        row = write.at(memory.one.type, self.pointer, first)
        return row if b == 0 else write.at(memory.one.type, row, write.integer("mul", b, memory.real.lanes))
