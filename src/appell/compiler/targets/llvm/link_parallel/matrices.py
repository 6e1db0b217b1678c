"""Matrices: what the link of a row shares with those beyond it, and with those before it, with its own numbers in all lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from appell.compiler.rolled.steps import PairPlace, TracedClimb
from appell.compiler.targets.llvm.link_parallel.memory import Key
from appell.compiler.targets.llvm.link_parallel.runs import Kind, Relation
from appell.compiler.targets.llvm.link_parallel.steps import LinkSteps, inputs_behind, nothing_carried, outputs


@dataclass
class MatrixWriter:
    """Matrices side by side, from walks of all links to the base. Every element is written, also those of links apart.

    Whole vectors are stored, beyond the end of a row where it ends within one: what lies there is written later (`runs`).

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
        self.write_elements()

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

    def write_elements(self) -> None:
        memory, write = self.steps.memory, self.steps.memory.write
        with memory.each_block() as b:
            for m, key in self.diagonal.items():
                memory.note(memory.vector(key, b), m)
        with write.loop(len(memory.runs)) as k:
            cases = [partial(self.write_run, kind, k) for kind in memory.kinds]
            write.choose(memory.whole("run_kind", k), cases)

    def write_run(self, kind: Kind, k: str) -> None:
        """A vector of columns in the rows of run k."""
        memory, write = self.steps.memory, self.steps.memory.write
        b = 0 if memory.blocks == 1 else memory.whole("run_block", k)
        first, count, own = memory.whole("run_row", k), memory.whole("run_rows", k), None
        if kind.relation in (Relation.BEYOND, Relation.BEFORE):
            own = self.elements(kind.group, kind.relation is Relation.BEFORE, b)
        with write.loop(count) as i:
            r = write.integer("add", first, i)
            if kind.relation is Relation.MIXED:
                self.write_mixed(r, b)
            else:
                for m, value in own(r).items() if own else ((m, memory.zero) for m in range(self.count)):
                    memory.note(value, m)
                    write.store(memory.real.type, value, self.place(r, m, b), align=memory.real.item)

    def elements(self, g: int, across: bool, b: int | str) -> Callable[[str], dict[int, str]]:
        """Elements of a row by matrix, in columns of links beyond it in a step of its group, or across, before it, of theirs.

        Numbers of the columns are loaded now, and those of the row for each row.
        """
        memory, steps, step = self.steps.memory, self.steps, self.climbs[g].meet
        places = (
            (PairPlace.of(place, self.count), k) for (kind, place), k in outputs(step).items() if kind == "result"
        )
        wanted = {place.matrix: k for place, k in places if place.across == across}
        own, others = (inputs_behind(step, wanted.values(), are_carried) for are_carried in (across, not across))
        columns = {source: steps.vector(g, source, b, self.carried) for source in others}

        def of_row(r: str) -> dict[int, str]:
            given = columns | {source: steps.splat(g, source, r, self.carried) for source in own}
            values = steps.values(memory.real, step, given.__getitem__, {})
            return {m: values[k] for m, k in wanted.items()}

        return of_row

    def write_mixed(self, r: str, b: int | str) -> None:
        """A vector with links of several relations to that of a row, relation by relation, or its own; zeros for all others."""
        memory, write, T = self.steps.memory, self.steps.memory.write, self.steps.memory.one.type
        if memory.form.has_strangers:
            links = memory.mask(memory.relation("links", r, b))
            for m in range(self.count):
                memory.store_some(memory.zero, self.place(r, m, b), links)

        def put(g: int, across: bool, mask: str) -> None:
            for m, value in self.elements(g, across, b)(r).items():
                memory.note(value, m)
                memory.store_some(value, self.place(r, m, b), mask)

        with memory.related("beyond", r, b) as mask:
            write.choose(memory.whole("group_at", r), [partial(put, g, False, mask) for g in memory.groups])
        for g in memory.groups:
            with memory.related(f"before{g}", r, b) as mask:
                put(g, True, mask)
        for m in range(self.count):
            own = write.load(T, memory.number(self.diagonal[m], r))
            write.store(T, own, self.place(r, m, 0), r)

    def place(self, r: str, m: int, b: int | str) -> str:
        """The address of a vector of row r of matrix m."""
        memory, write = self.steps.memory, self.steps.memory.write
        first = write.integer("add", write.integer("mul", r, self.width), m * self.stride)
        row = write.at(memory.one.type, self.pointer, first)
        return row if b == 0 else write.at(memory.one.type, row, write.integer("mul", b, memory.real.lanes))
