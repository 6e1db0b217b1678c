"""Steps of a rolled function for a vector of links, or for one link."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from appell.compiler.rolled.link_parallel import behind
from appell.compiler.rolled.steps import StepSource, TracedStep
from appell.compiler.targets.llvm.ir import Real
from appell.compiler.targets.llvm.link_parallel.memory import Key, LinkMemory
from appell.compiler.targets.llvm.operations import Values

Carried = Callable[[int], Key]
"""The row of a carried value."""


def nothing_carried(slot: int) -> Key:
    raise AssertionError(f"value {slot} is carried by a step that has no other before it")


class LinkSteps:
    """Values of steps; `kept` are the rows of what links keep between sweeps, for each group."""

    def __init__(self, memory: LinkMemory) -> None:
        self.memory, self.kept = memory, [dict[int, Key]() for _ in memory.groups]

    def key_of(self, g: int, source: StepSource, carried: Carried) -> Key:
        """The row of a step's input, which is not from the table."""
        if source.origin == "kept":
            return self.kept[g][source.index]
        return carried(source.index) if source.origin == "carried" else (source.origin,)

    def read_key(self, g: int, step: TracedStep, k: int, carried: Carried) -> Key | None:
        """The row of an operation that only reads one."""
        source = step.source_of(k)
        return None if source is None or source.origin == "table" else self.key_of(g, source, carried)

    def values(
        self, real: Real, step: TracedStep, given: Callable[[StepSource], str], known: Mapping[int, Callable[[], str]]
    ) -> Values:
        """Values of a step: `given` are its inputs, sine and cosine among them, `known` what was computed before."""

        def load(k: int) -> str | None:
            name, source = step.listed.operations[k].name, step.source_of(k)
            if name in ("sin", "cos"):
                return given(StepSource(name, 0))
            if source is not None:
                return given(source)
            return known[k]() if k in known else None

        return Values(self.memory.write, real, step.listed, load)

    def in_lanes(
        self, step: TracedStep, g: int, b: int | str, carried: Carried, known: Mapping[int, Key] | None = None
    ) -> Values:
        """Values for a vector of links."""
        memory = self.memory
        rows = {k: partial(memory.vector, key, b) for k, key in (known or {}).items()}
        return self.values(memory.real, step, lambda source: self.vector(g, source, b, carried), rows)

    def vector(self, g: int, source: StepSource, b: int | str, carried: Carried) -> str:
        """An input of a step for a vector of links."""
        if source.origin == "table":
            return self.memory.constants(source.index, b)
        return self.memory.vector(self.key_of(g, source, carried), b)

    def splat(self, g: int, source: StepSource, r: str, carried: Carried) -> str:
        """An input of a step for the link of row r, in all lanes."""
        memory = self.memory
        if source.origin == "table":
            place = memory.sum(source.index * memory.padded, r)
            return memory.splat(memory.write.at(memory.one.type, "@columns", place))
        return memory.splat(memory.number(self.key_of(g, source, carried), r))

    def of_link(
        self, step: TracedStep, g: int, lane: str, carried: Carried, known: Mapping[int, Key], left: Mapping[int, str]
    ) -> Values:
        """Values for one link, whose parent left some carried values in variables."""
        memory, write = self.memory, self.memory.write

        def read(key: Key) -> str:
            return write.load(memory.one.type, memory.number(key, lane))

        def given(source: StepSource) -> str:
            if source.origin == "table":
                return write.load(memory.one.type, "@columns", memory.sum(source.index * memory.padded, lane))
            if source.origin == "carried" and source.index in left:
                return write.load(memory.one.type, left[source.index])
            return read(self.key_of(g, source, carried))

        return self.values(memory.one, step, given, {k: partial(read, key) for k, key in known.items()})

    def of_group(self, values: Sequence[str], b: int | str) -> str:
        """Of one value for each group, that of each lane's group."""
        memory, chosen = self.memory, values[0]
        for g, value in enumerate(values[1:], 1):
            mask = memory.mask(memory.write.load(memory.bits, f"@members{g}", b))
            chosen = memory.select(mask, value, chosen)
        return chosen


def inputs_behind(step: TracedStep, wanted: Collection[int], are_carried: bool) -> list[StepSource]:
    """Inputs behind some operations: those that are carried, or all others."""
    sources = (step.source_of(k) for k in behind(step.listed, wanted, frozenset().__contains__))
    return [source for source in sources if source and (source.origin == "carried") == are_carried]


def outputs(step: TracedStep) -> dict[tuple[str, int], int]:
    """The operation of each target."""
    return dict(zip(step.targets, step.listed.outputs, strict=True))
