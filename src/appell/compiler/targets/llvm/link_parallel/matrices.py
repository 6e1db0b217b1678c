"""Matrices by rows: what a link shares with those beyond it, then with those before it, with its own numbers in all lanes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from appell.compiler.rolled.steps import PairPlace, StepSource, TracedClimb, TracedStep
from appell.compiler.targets.llvm.link_parallel.memory import Key
from appell.compiler.targets.llvm.link_parallel.steps import LinkSteps, nothing_carried, outputs


@dataclass
class MatrixWriter:
    """Matrices side by side, from walks of all links to the base.

    Attributes:
        climbs: for each group of links.
        name: of its rows.
        pointer: where the first row begins.
        width: numbers from row to row.
        stride: from matrix to matrix.
        count: the number of matrices.
        column: the rows of what walks carry.
    """

    steps: LinkSteps
    climbs: Sequence[TracedClimb]
    name: str
    pointer: str
    width: int
    stride: int
    count: int
    column: dict[int, Key] = field(default_factory=dict)

    def carried(self, slot: int) -> Key:
        return self.column[slot]

    def write_all(self) -> None:
        self.write_columns()
        memory, write = self.steps.memory, self.steps.memory.write
        T = memory.one.type
        with write.loop(memory.rolled.nv) as r:
            start = write.at(T, self.pointer, write.integer("mul", r, self.width))
            beyond = [partial(self.write_beyond, g, r, start) for g in memory.groups]
            write.choose(memory.whole("group_at", r), beyond)
            for g in memory.groups:
                self.write_before(g, r, start)
            for m in range(self.count):
                own = write.load(T, memory.number((self.name, "own", m), r))
                write.store(T, own, start, write.integer("add", r, m * self.stride))

    def write_columns(self) -> None:
        """What the column of each link is made of, and its elements on the diagonal."""
        steps, memory = self.steps, self.steps.memory
        begins = [climb.begin[0] for climb in self.climbs]
        wanted = [outputs(step) for step in begins]
        own: dict[tuple[str, int], Key] = {}
        for kind, place in wanted[0]:
            key: Key | None = (self.name, "own", place)
            if kind == "carried":
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
                memory.note(value, target[1])

    def write_beyond(self, g: int, r: str, start: str) -> None:
        """Row r, of a link of a group, in the columns of all links beyond it."""
        step, memory = self.climbs[g].meet, self.steps.memory
        wanted = self.elements(step, across=0)
        numbers = self.steps.in_all_lanes(step, wanted.values(), g, r, self.carried, is_carried=False)
        with memory.each_block() as b, self.relatives("beyond", r, b) as mask:

            def given(source: StepSource) -> str:
                return memory.vector(self.column[source.index], b) if source.origin == "carried" else numbers[source]

            self.write_elements(step, given, wanted, start, b, mask)

    def write_before(self, g: int, r: str, start: str) -> None:
        """Row r in the columns of all links of a group before it."""
        step, memory, steps = self.climbs[g].meet, self.steps.memory, self.steps
        wanted = self.elements(step, across=1)
        numbers = steps.in_all_lanes(step, wanted.values(), g, r, self.carried, is_carried=True)
        with memory.each_block() as b, self.relatives("before", r, b, g) as mask:

            def given(source: StepSource) -> str:
                if source.origin == "carried":
                    return numbers[source]
                if source.origin == "table":
                    return memory.constants(source.index, b)
                return memory.vector(steps.key_of(g, source, self.carried), b)

            self.write_elements(step, given, wanted, start, b, mask)

    def elements(self, step: TracedStep, across: int) -> dict[int, int]:
        """Operations that are elements of one row, by matrix."""
        places = (
            (PairPlace.of(place, self.count), k) for (kind, place), k in outputs(step).items() if kind == "result"
        )
        return {place.matrix: k for place, k in places if place.across == across}

    @contextmanager
    def relatives(self, relation: str, r: str, b: int | str, g: int = 0) -> Iterator[str]:
        """If row r has such links in a vector of lanes: which ones they are."""
        memory, write = self.steps.memory, self.steps.memory.write
        place = write.integer("add", write.integer("mul", r, memory.blocks), b)
        bits = write.load(memory.bits, f"@{relation}", place)
        if relation == "before" and len(memory.groups) > 1:
            bits = write.value(f"and {memory.bits} {bits}, {write.load(memory.bits, f'@members{g}', b)}")
        with write.when(write.value(f"icmp ne {memory.bits} {bits}, 0")):
            yield memory.mask(bits)

    def write_elements(
        self, step: TracedStep, given: Callable[[StepSource], str], wanted: Mapping[int, int],
        start: str, b: int | str, mask: str,
    ) -> None:  # fmt: skip
        memory, write = self.steps.memory, self.steps.memory.write
        values = self.steps.values(memory.real, step, given, {})
        for m, k in wanted.items():
            value = values[k]
            memory.note(value, m)
            place = write.integer("add", write.integer("mul", b, memory.real.lanes), m * self.stride)
            memory.store_some(value, write.at(memory.one.type, start, place), mask)
