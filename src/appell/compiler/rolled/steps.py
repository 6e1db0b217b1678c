"""Steps of a program traced for every group of links: which values are alive, and the operations of each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from appell.algebra import Scalar, Wrench, is_zero
from appell.algorithms.system import external_wrenches
from appell.compiler.operations import OperationList, list_operations
from appell.compiler.rolled.sweep import AncestorPass, LinkPass, Program, StepInput, StepOutput, Value, pack, unpack
from appell.compiler.simplify import simplify
from appell.model.tree import BASE, Link, Tree

if TYPE_CHECKING:
    from appell.compiler.symbols import Symbol


OF_NO_LINK = ("gravity", "external_forces")
"""Inputs whose entries do not belong to links."""

CONSTANTS = ("azimuth", "tilt", "offset", "origin", "inertia", "armature", "multiplier", "mimic_offset")
"""The fields of a link that hold numbers."""


@dataclass(frozen=True)
class Group:
    """Links whose numbers differ only where `varies` says so.

    Attributes:
        members: their indices.
        like, more: one of them, and its numbers that are not in `Link`.
        varies: for each number of a link, whether it is read from the table (True) or the same in all members.
    """

    members: tuple[int, ...]
    like: Link
    more: Value
    varies: tuple[bool, ...]

    def symbolic(self, symbols: Sequence[Scalar]) -> tuple[Link, Value]:
        """The link of the group with symbols for the numbers that vary. It stands at the front of its inputs."""
        own = [
            symbol if varies else number
            for symbol, number, varies in zip(symbols, numbers(self.like, self.more), self.varies, strict=True)
        ]
        parts = unpack(tuple(getattr(self.like, name) for name in CONSTANTS), own)
        link = replace(self.like, idx_q=0, idx_v=0, **dict(zip(CONSTANTS, parts, strict=True)))
        return link, unpack(self.more, own)


def groups(tree: Tree, program: Program, by_zeros: bool = True) -> list[Group]:
    """All links in few groups: by joint kind, by mimicry, one link alone, and by rotor and trivial rotations.

    Where gravity is an input, links on the base are apart, and links that bear external forces are alone.
    """
    found: dict[tuple[Any, ...], list[int]] = {}
    for i, link in enumerate(tree.links):
        zeros = (by_zeros and x == 0 for x in (link.azimuth.sin, link.tilt.sin, link.tilt.cos, link.armature))
        by_inputs = link.parent == BASE and "gravity" in program.inputs, i if i in program.forced else None
        shape = (link.kind, *zeros, link.is_independent, i == program.alone, *by_inputs)
        found.setdefault(shape, []).append(i)
    groups = []
    for members in found.values():
        columns = zip(*(numbers(tree.links[i], program.more_of(i)) for i in members), strict=True)
        varies = tuple(len(set(column)) > 1 or column[0] not in (0.0, 1.0, -1.0) for column in columns)
        groups.append(Group(tuple(members), tree.links[members[0]], program.more_of(members[0]), varies))
    return groups


def numbers(link: Link, more: Value) -> list[float]:
    """All numbers of a link in the order of the table."""
    return pack((*(getattr(link, name) for name in CONSTANTS), more))


@dataclass(frozen=True)
class StepSource:
    """Where an input of a step comes from: `table`, `carried`, `kept`, or the name of an input of the function."""

    origin: str
    index: int


@dataclass(frozen=True)
class TracedStep:
    """One step for one group.

    Attributes:
        sources: of its inputs, in the order of the operation list's.
        listed: its operations; results are `targets` in order.
        targets: where each result goes: (`carried` | `kept` | `result`, index).
    """

    sources: tuple[StepSource, ...]
    listed: OperationList
    targets: tuple[tuple[str, int], ...]

    def source_of(self, k: int) -> StepSource | None:
        """Where operation k reads an input, if it does."""
        name, _, number = self.listed.operations[k]
        return self.sources[int(number)] if name == "input" else None


@dataclass(frozen=True)
class TracedSweep:
    """A sweep whose steps are traced. `alive` lists the slots of the carried value that can differ from zero."""

    inward: bool
    start: tuple[float, ...]
    alive: tuple[int, ...]
    steps: tuple[TracedStep, ...]


class TracedClimb(NamedTuple):
    """A climb for one group: its start for every degree of freedom, the step to the parent, a meeting."""

    begin: tuple[TracedStep, ...]
    carry: TracedStep
    meet: TracedStep

    @property
    def carries_unchanged(self) -> bool:
        """Whether a walk carries the same values to all ancestors, as in a common frame."""
        found = zip(self.carry.targets, self.carry.listed.outputs, strict=True)
        return all(self.carry.source_of(k) == StepSource("carried", place) for (_, place), k in found)


class PairPlace(NamedTuple):
    """Where an element of a climb goes: the visited degree of freedom, 1 for the element across, and the matrix."""

    degree: int
    across: int
    matrix: int

    def number(self, matrices: int) -> int:
        return (2 * self.degree + self.across) * matrices + self.matrix

    @classmethod
    def of(cls, index: int, matrices: int) -> PairPlace:
        return cls(index // (2 * matrices), index // matrices % 2, index % matrices)


class Tracer:
    """Traces the sweeps of a program one after the other, remembering what each group keeps, and which inputs are known."""

    def __init__(self, tree: Tree, program: Program, groups: list[Group]) -> None:
        self.tree, self.program, self.groups, self.inputs = tree, program, groups, program.inputs
        self.kept: list[dict[str, Value]] = [{} for _ in groups]  # forms of the kept values, with live slots as True
        self.places: list[dict[str, int]] = [{} for _ in groups]  # where each kept value starts
        self.size = [0] * len(groups)

    def sweep(self, sweep: LinkPass) -> TracedSweep:
        start = [float(x) for x in pack(sweep.start)]
        alive = [x != 0.0 for x in start]
        while True:  # a slot lives when the base or any step gives it something else than zero
            lefts = [self._left(group, g, sweep, alive)[0] for g, group in enumerate(self.groups)]
            grown = [a or any(not is_zero(pack(left.carried)[k]) for left in lefts) for k, a in enumerate(alive)]
            if grown == alive:
                break
            alive = grown
        slots = tuple(k for k, a in enumerate(alive) if a)
        steps = []
        for g, group in enumerate(self.groups):
            left, inputs = self._left(group, g, sweep, alive)
            outputs = [("carried", n, pack(left.carried)[k]) for n, k in enumerate(slots)]
            outputs += self._keep(g, left)
            outputs += [("result", k, entry) for k, entry in enumerate(left.result or [])]
            steps.append(inputs.trace(outputs))
        return TracedSweep(sweep.inward, tuple(start[k] for k in slots), slots, tuple(steps))

    def masses(self, masses: AncestorPass) -> list[TracedClimb]:
        """The walk that gives M, after which accelerations are known."""
        traced = self.climb(masses)
        self.inputs = (*self.inputs, "qdd")
        return traced

    def climb(self, climb: AncestorPass) -> list[TracedClimb]:
        """The walk to the base for every group."""
        return [self._climb(climb, group, g) for g, group in enumerate(self.groups)]

    def _climb(self, climb: AncestorPass, group: Group, g: int) -> TracedClimb:
        begins = []
        for row in range(1 if climb.by_link else group.like.kind.nv):
            inputs = StepInputs()
            visit = self.visit(group, g, inputs)
            carried, own = climb.begin(visit)[row], climb.own(visit, row)
            results = [(PairPlace(a, 0, m), x) for a, values in enumerate(own) for m, x in enumerate(values)]
            begins.append(inputs.trace([*handed_on(carried), *_pairs(climb, results)]))
        carry, meet = StepInputs(), StepInputs()
        moved = climb.carry(self.visit(group, g, carry), self._carried(climb, g, carry))
        elements = climb.meet(self.visit(group, g, meet), self._carried(climb, g, meet))
        results = [
            (PairPlace(a, side, m), x)
            for a, both in enumerate(elements)
            for side, values in enumerate(both)
            for m, x in enumerate(values)
        ]
        return TracedClimb(tuple(begins), carry.trace(handed_on(moved)), meet.trace(_pairs(climb, results)))

    def _carried(self, climb: AncestorPass, g: int, inputs: StepInputs) -> Value:
        """What a walk carries, as symbols."""
        return symbols_like(climb.begin(self.visit(self.groups[g], g, StepInputs()))[0], inputs)

    def _left(self, group: Group, g: int, sweep: LinkPass, alive: list[bool]) -> tuple[StepOutput, StepInputs]:
        inputs = StepInputs()
        numbering = iter(range(len(alive)))
        carried = [inputs.symbol("carried", next(numbering)) if a else 0.0 for a in alive]
        return sweep.step(self.visit(group, g, inputs), unpack(sweep.start, carried)), inputs

    def visit(self, group: Group, g: int, inputs: StepInputs) -> StepInput:
        """What a step is given for a group, as symbols."""
        link, more = group.symbolic([inputs.symbol("table", k) for k in range(len(group.varies))])
        own = {}
        for name in ("q", "qd", "qdd", "tau"):
            size = group.like.kind.nq if name == "q" else group.like.kind.nv
            own[name] = [inputs.symbol(name, k) if name in self.inputs else 0.0 for k in range(size)]
        kept = {}
        for name, form in self.kept[g].items():
            first = self.places[g][name]
            lives = pack(form)
            symbols = [inputs.symbol("kept", first + sum(lives[:k])) if live else 0.0 for k, live in enumerate(lives)]
            kept[name] = unpack(form, symbols)
        own["gravity"] = [inputs.symbol("gravity", k) if "gravity" in self.inputs else 0.0 for k in range(3)]
        alone, at_base = group.members == (self.program.alone,), group.like.parent == BASE
        placed = link, link.placement(own["q"])
        return StepInput(*placed, own, kept, more, alone, at_base, self._external(group, inputs))

    def _external(self, group: Group, inputs: StepInputs) -> Wrench | None:
        """The external wrench on the link of a group."""
        if group.members[0] not in self.program.forced:
            return None
        names = self.program.force_frames
        entries = [inputs.symbol("external_forces", k) for k in range(6 * len(names))]
        return external_wrenches(self.tree, names, entries)[group.members[0]]

    def _keep(self, g: int, left: StepOutput) -> list[tuple[str, int, Scalar]]:
        outputs = []
        for name, value in left.kept.items():
            scalars = pack(value)
            self.kept[g][name] = unpack(value, [not is_zero(x) for x in scalars])
            self.places[g][name] = self.size[g]
            for x in scalars:
                if not is_zero(x):
                    outputs.append(("kept", self.size[g], x))
                    self.size[g] += 1
        return outputs


@dataclass
class StepInputs:
    """Symbols of one step, made when they are first used."""

    symbols: dict[StepSource, Symbol] = field(default_factory=dict)

    def symbol(self, origin: str, index: int) -> Symbol:
        import casadi

        from appell.compiler.symbols import Symbol

        source = StepSource(origin, index)
        if source not in self.symbols:
            self.symbols[source] = Symbol(casadi.SX.sym(f"{origin}{index}"))
        return self.symbols[source]

    def trace(self, outputs: list[tuple[str, int, Any]]) -> TracedStep:
        import casadi

        from appell.compiler.symbols import column

        results = column(x for _, _, x in outputs)
        graph = casadi.Function("step", [casadi.vertcat(*(x.sx for x in self.symbols.values()))], [results])
        return TracedStep(
            tuple(self.symbols), simplify(list_operations(graph)), tuple((kind, k) for kind, k, _ in outputs)
        )


def symbols_like(form: Value, inputs: StepInputs) -> Value:
    """A carried value of a form."""
    return unpack(form, [inputs.symbol("carried", k) for k in range(len(pack(form)))])


def _pairs(climb: AncestorPass, results: list[tuple[PairPlace, Scalar]]) -> list[tuple[str, int, Scalar]]:
    return [("result", place.number(climb.matrices), value) for place, value in results]


def handed_on(value: Value) -> list[tuple[str, int, Scalar]]:
    """What a step carries on."""
    return [("carried", k, scalar) for k, scalar in enumerate(pack(value))]
