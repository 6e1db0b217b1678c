"""Steps of a pass over triples of links traced for every group of links."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from appell.algebra import Scalar, is_zero
from appell.compiler.operations import OperationList
from appell.compiler.rolled.steps import Group, StepInputs, TracedStep, Tracer, handed_on, symbols_like
from appell.compiler.rolled.sweep import TriplePass, TripleStep
from appell.compiler.simplify import without_dead_code

if TYPE_CHECKING:
    from appell.algorithms.derivatives.second import Element


class TracedTriples(NamedTuple):
    """The steps of a `TriplePass` for one group; the first three for every degree of freedom."""

    begin: tuple[TracedStep, ...]
    own: tuple[TracedStep, ...]
    pair: tuple[TracedStep, ...]
    within: TracedStep
    between: TracedStep
    above: TracedStep


ORDERS = tuple(permutations(range(3)))
"""Which of three degrees of freedom gives the first, second and third index of an element."""


class TriplePlace(NamedTuple):
    """Where an element of a pass over triples goes: the visited degree of freedom, one of `ORDERS`, and the matrix."""

    degree: int
    order: int
    matrix: int

    def number(self, matrices: int) -> int:
        return (len(ORDERS) * self.degree + self.order) * matrices + self.matrix

    @classmethod
    def of(cls, index: int, matrices: int) -> TriplePlace:
        return cls(index // (len(ORDERS) * matrices), index // matrices % len(ORDERS), index % matrices)


def traced_triples(tracer: Tracer, triples: TriplePass) -> list[TracedTriples]:
    """The walks over triples for every group, which carry what is read alone."""
    traced = [_of_group(tracer, triples, group, g) for g, group in enumerate(tracer.groups)]
    given = _carried_places(step for each in traced for step in (*each.own, *each.pair))
    walk = _carried_places(step for each in traced for step in each[3:])
    return [
        TracedTriples(
            tuple(_renumbered(step, {}, given) for step in each.begin),
            tuple(_renumbered(step, given, walk) for step in each.own),
            tuple(_renumbered(step, given, walk) for step in each.pair),
            *(_renumbered(step, walk, {}) for step in each[3:]),
        )
        for each in traced
    ]


def _of_group(tracer: Tracer, triples: TriplePass, group: Group, g: int) -> TracedTriples:
    matrices, degrees = triples.matrices, range(group.like.kind.nv)
    given = triples.begin(tracer.visit(group, g, StepInputs()))[0]
    walk = triples.own(tracer.visit(group, g, StepInputs()), 0, given).carried

    def begin(degree: int) -> TracedStep:
        inputs = StepInputs()
        return inputs.trace(handed_on(triples.begin(tracer.visit(group, g, inputs))[degree]))

    def pair(step: Callable[..., TripleStep], degree: int) -> TracedStep:
        inputs = StepInputs()
        found = step(tracer.visit(group, g, inputs), degree, symbols_like(given, inputs))
        return inputs.trace([*handed_on(found.carried), *_elements(matrices, found.elements)])

    def meet(step: Callable[..., list[list[Element]]]) -> TracedStep:
        inputs = StepInputs()
        return inputs.trace(_elements(matrices, step(tracer.visit(group, g, inputs), symbols_like(walk, inputs))))

    return TracedTriples(
        tuple(begin(degree) for degree in degrees),
        tuple(pair(triples.own, degree) for degree in degrees),
        tuple(pair(triples.pair, degree) for degree in degrees),
        *(meet(step) for step in (triples.within, triples.between, triples.above)),
    )


def _carried_places(steps: Iterable[TracedStep]) -> dict[int, int]:
    """Carried values that some steps read, and their places without the others."""
    sources = (step.source_of(k) for step in steps for k in range(len(step.listed.operations)))
    read = {source.index for source in sources if source and source.origin == "carried"}
    return {k: place for place, k in enumerate(sorted(read))}


def _renumbered(step: TracedStep, given: dict[int, int], handed: dict[int, int]) -> TracedStep:
    """A step with other places of carried values, before and after it; what has no place is left out."""
    sources = [source for source in step.sources if source.origin != "carried" or source.index in given]
    place = {n: sources.index(source) for n, source in enumerate(step.sources) if source in sources}
    operations = tuple(
        each._replace(number=place[int(each.number)]) if each.name == "input" else each
        for each in step.listed.operations
    )
    pairs = zip(step.targets, step.listed.outputs, strict=True)
    kept = [((kind, k), output) for (kind, k), output in pairs if kind != "carried" or k in handed]
    listed = OperationList((len(sources),), operations, tuple(output for _, output in kept))
    return TracedStep(
        tuple(replace(each, index=given[each.index]) if each.origin == "carried" else each for each in sources),
        without_dead_code(listed),
        tuple((kind, handed[k]) if kind == "carried" else (kind, k) for (kind, k), _ in kept),
    )


def _elements(matrices: int, elements: list[list[Element]]) -> list[tuple[str, int, Scalar]]:
    """Elements of each degree of freedom of the visited link, without those that are always zero."""
    return [
        ("result", TriplePlace(degree, ORDERS.index(places), block).number(matrices), value)
        for degree, own in enumerate(elements)
        for places, block, value in own
        if not is_zero(value)
    ]
