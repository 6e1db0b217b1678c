"""Rolled functions whose links can be computed side by side, with loops over the links distributed.

A sweep is a loop in which every link takes what its neighbour has left. Most of its operations do not: taken apart, it is a
sequence of layers. In each all links compute some operations at once, a link in each lane of a vector; then what is carried from
link to link follows from these,

    sums      values that grow by a term of every link, in which they do not appear: momenta, velocities, positions
    chains    values that depend on each other: the rotation of a link, computed link by link

and is known to the operations of the next layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import NamedTuple

from appell.compiler.emit import hoisted_angles
from appell.compiler.operations import Operation, OperationList
from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.steps import OF_NO_LINK, PairPlace, TracedClimb, TracedStep, TracedSweep
from appell.compiler.schedule import depth_first


class Sum(NamedTuple):
    """A carried value, and for each group the operation that is its term."""

    slot: int
    terms: tuple[int, ...]


class Chain(NamedTuple):
    """Carried values that are computed link by link, and for each group the operations that depend on them, in order."""

    slots: tuple[int, ...]
    bodies: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Layer:
    """One layer of a sweep.

    Attributes:
        bodies: for each group the operations that are computed here, in order.
        stored: for each group those of them whose values are needed later.
    """

    bodies: tuple[tuple[int, ...], ...]
    stored: tuple[frozenset[int], ...]
    sums: tuple[Sum, ...] = ()
    chain: Chain | None = None


@dataclass(frozen=True)
class DistributedSweep:
    """A sweep in layers; the last one computes what links keep. `steps` have the operations of the terms, too."""

    inward: bool
    start: tuple[float, ...]
    steps: tuple[TracedStep, ...]
    layers: tuple[Layer, ...]


@dataclass(frozen=True)
class LinkParallel:
    """A rolled function with distributed loops."""

    rolled: Rolled
    sweeps: tuple[DistributedSweep, ...]

    @classmethod
    def of(cls, rolled: Rolled) -> LinkParallel | None:
        """The form of a function, or None where its recursion does not allow it."""
        places = list(range(rolled.nv))
        single = all(link.degrees == 1 and link.leads and link.q == link.v for link in rolled.links)
        if not single or sorted(link.v for link in rolled.links) != places or rolled.by_link or rolled.solves:
            return None
        climbs = [*((climb, rolled.matrices) for climb in rolled.climb), *((climb, 1) for climb in rolled.masses)]
        fit = not rolled.stacked and all(_fits(climb, matrices) for climb, matrices in climbs)
        if not (rolled.climb and fit) or set(OF_NO_LINK) & set(rolled.inputs):
            return None
        sweeps = tuple(distributed(sweep) for sweep in rolled.sweeps)
        return None if None in sweeps else cls(rolled, sweeps)  # type: ignore[arg-type]

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.rolled.sizes

    @property
    def size_out(self) -> int:
        return self.rolled.size_out

    @property
    def cost(self) -> int:
        return self.rolled.cost

    @cached_property
    def ancestors(self) -> list[set[int]]:
        """For every link, those between it and the base."""
        found: list[set[int]] = []
        for link in self.rolled.links:
            found.append(found[link.parent] | {link.parent} if link.parent >= 0 else set())
        return found

    @property
    def has_strangers(self) -> bool:
        """Whether there are two links of which neither is beyond the other."""
        return any(len(ancestors) < i for i, ancestors in enumerate(self.ancestors))


class Swept(NamedTuple):
    """The sweeps of a function without its matrices.

    Attributes:
        places: for each group of links where in what they keep the numbers of their columns, and their elements on the diagonal,
            are, by target of a walk's start; None for zero.
    """

    rolled: Rolled
    places: tuple[dict[tuple[str, int], int | None], ...]


def swept(rolled: Rolled) -> Swept:
    """What is not kept yet, for the start of a walk, is computed in a last sweep and kept behind the rest."""
    places: list[dict[tuple[str, int], int | None]] = []
    steps, computed = [], dict[tuple[str, int], int]()
    for climb in rolled.climb:
        begin, found, outputs = climb.begin[0], dict[tuple[str, int], int | None](), dict[int, int]()
        for target, k in zip(begin.targets, begin.listed.outputs, strict=True):
            source = begin.source_of(k)
            if source is not None and source.origin == "kept":
                found[target] = source.index
            elif begin.listed.operations[k] == Operation("const"):
                found[target] = None
            else:
                place = rolled.row + computed.setdefault(target, len(computed))
                found[target], outputs[place] = place, k
        places.append(found)
        listed = replace(begin.listed, outputs=tuple(outputs.values()))
        steps.append(replace(begin, listed=listed, targets=tuple(("kept", place) for place in outputs)))
    sweeps = (*rolled.sweeps, TracedSweep(False, (), (), tuple(steps)))
    return Swept(replace(rolled, sweeps=sweeps, climb=(), row=rolled.row + len(computed)), tuple(places))


def _fits(climb: TracedClimb, matrices: int) -> bool:
    """Whether a walk carries the same values to all ancestors, and gives one element of each matrix to both."""
    found = [{place for kind, place in step.targets if kind == "result"} for step in (*climb.begin, climb.meet)]
    own, both = (
        {PairPlace(0, side, m).number(matrices) for side in range(sides) for m in range(matrices)} for sides in (1, 2)
    )
    return climb.carries_unchanged and found == [own, both]


MOST_SLOTS = 64
"""Values that a sweep carries at most."""


def distributed(sweep: TracedSweep) -> DistributedSweep | None:
    """The layers of a sweep; None where it has results of its own, or more than sums although links are visited inwards."""
    if len(sweep.alive) > MOST_SLOTS or any(kind == "result" for step in sweep.steps for kind, _ in step.targets):
        return None
    steps = [replace(step, listed=depth_first(step.listed)) for step in sweep.steps]
    reach = [_reach(step) for step in steps]
    outs = [
        {place: k for (kind, place), k in zip(step.targets, step.listed.outputs, strict=True) if kind == "carried"}
        for step in steps
    ]
    needs = {slot: {a for g in range(len(steps)) for a in reach[g][outs[g][slot]]} for slot in range(len(sweep.alive))}
    parts, level = _components(needs), {}
    for part in parts:  # in an order in which each needs those before it alone
        before = {level[a] for slot in part for a in needs[slot] if a not in part}
        level.update(dict.fromkeys(part, 1 + max(before, default=-1)))
    sums, chained = [], []
    for part in parts:
        terms = _terms(steps, reach, outs, part[0]) if len(part) == 1 else None
        if terms is not None:
            sums.append(Sum(part[0], terms))
        elif sweep.inward:
            return None
        else:
            chained.extend(part)
    layers = []
    for number in range(max(level.values(), default=-1) + 1):
        own = tuple(each for each in sums if level[each.slot] == number)
        slots = tuple(slot for slot in chained if level[slot] == number)
        bodies = tuple(_between(step, slots, outs[g], reach[g]) for g, step in enumerate(steps))
        chain = Chain(slots, bodies) if slots else None
        wanted = [{each.terms[g] for each in own} | _outside(step, g, chain) for g, step in enumerate(steps)]
        layers.append((wanted, own, chain))
    wanted = [
        {k for (kind, _), k in zip(step.targets, step.listed.outputs, strict=True) if kind != "carried"}
        for step in steps
    ]
    layers.append((wanted, (), None))
    return DistributedSweep(sweep.inward, sweep.start, tuple(steps), _layers(steps, layers))


def _reach(step: TracedStep) -> list[frozenset[int]]:
    """For every operation the carried values that it depends on."""
    found: list[frozenset[int]] = []
    for k, (_, arguments, _) in enumerate(step.listed.operations):
        source = step.source_of(k)
        own = frozenset((source.index,)) if source and source.origin == "carried" else frozenset()
        found.append(own.union(*(found[a] for a in arguments)))
    return found


def _components(needs: dict[int, set[int]]) -> list[list[int]]:
    """Values that need each other together, each after those that it needs."""
    behind = {slot: {slot, *others} for slot, others in needs.items()}
    for middle in behind:
        for reached in behind.values():
            if middle in reached:
                reached |= behind[middle]
    parts = {tuple(sorted(b for b in behind if a in behind[b] and b in behind[a])) for a in behind}
    return [list(part) for part in sorted(parts, key=lambda part: (len(behind[part[0]]), part))]


def _terms(
    steps: list[TracedStep], reach: list[list[frozenset[int]]], outs: list[dict[int, int]], slot: int
) -> tuple[int, ...] | None:
    """The term of each group by which a carried value grows, added to its operations; None where it does not just grow."""
    found = [_addends(step.listed, reach[g], outs[g][slot], slot) for g, step in enumerate(steps)]
    if any(addends is None for addends in found):
        return None
    terms = []
    for g, addends in enumerate(found):
        operations = list(steps[g].listed.operations)

        def put(*operation, operations: list[Operation] = operations, g: int = g) -> int:
            operations.append(Operation(*operation))
            reach[g].append(frozenset().union(*(reach[g][a] for a in operations[-1].arguments)))
            return len(operations) - 1

        signed = [put("neg", (k,)) if minus else k for minus, k in addends or ()]
        total = reduce(lambda a, b: put("add", (a, b)), signed) if signed else put("const")
        terms.append(total)
        steps[g] = replace(steps[g], listed=replace(steps[g].listed, operations=tuple(operations)))
    return tuple(terms)


def _addends(listed: OperationList, reach: list[frozenset[int]], k: int, slot: int) -> list[tuple[bool, int]] | None:
    """Operations whose sum with the carried value is operation k, and whether they are subtracted."""
    found: list[tuple[bool, int]] = []
    while listed.operations[k].name != "input":
        name, arguments, _ = listed.operations[k]
        inside = [slot in reach[a] for a in arguments]
        if name not in ("add", "sub") or all(inside) or (name == "sub" and inside[1]):
            return None
        k, other = arguments if inside[0] else arguments[::-1]
        found.append((name == "sub", other))
    return found


def _between(
    step: TracedStep, part: Sequence[int], outs: dict[int, int], reach: list[frozenset[int]]
) -> tuple[int, ...]:
    """The operations from carried values of one component to their next values."""
    needed = behind(step.listed, [outs[slot] for slot in part], lambda k: reach[k].isdisjoint(part))
    return tuple(k for k in needed if step.listed.operations[k].name != "input")


def _outside(step: TracedStep, g: int, chain: Chain | None) -> set[int]:
    """Operations that the body of a chain takes from other ones."""
    body = set(chain.bodies[g]) if chain else set()
    return {a for k in body for a in step.listed.operations[k].arguments} - body - _given(step.listed)


def _given(listed: OperationList) -> set[int]:
    """Inputs, constants, and sines and cosines of angles."""
    angles = hoisted_angles(listed)
    return {
        k
        for k, (name, arguments, _) in enumerate(listed.operations)
        if name in ("input", "const") or (name in ("sin", "cos") and arguments[0] in angles)
    }


def behind(listed: OperationList, wanted: Iterable[int], known) -> list[int]:
    """The operations behind some, in order, as far as they are not known."""
    found, waiting = set(), list(wanted)
    while waiting:
        k = waiting.pop()
        if k not in found and not known(k):
            found.add(k)
            waiting.extend(listed.operations[k].arguments)
    return sorted(found)


def _layers(steps: Sequence[TracedStep], planned) -> tuple[Layer, ...]:
    """Layers that compute each value once, and store what others need."""
    bodies: list[list[tuple[int, ...]]] = [[] for _ in steps]
    for g, step in enumerate(steps):
        known = _given(step.listed)
        for wanted, _, _ in planned:
            body = behind(step.listed, wanted[g], known.__contains__)
            known.update(body)
            bodies[g].append(tuple(body))
    layers = []
    for number, (_, sums, chain) in enumerate(planned):
        stored = []
        for g, step in enumerate(steps):
            later = {a for body in bodies[g][number + 1 :] for k in body for a in step.listed.operations[k].arguments}
            later |= {k for after, _, _ in planned[number + 1 :] for k in after[g]}
            stored.append(frozenset(k for k in bodies[g][number] if k in later or k in _outside(step, g, chain)))
        layers.append(Layer(tuple(own[number] for own in bodies), tuple(stored), sums, chain))
    return tuple(layers)
