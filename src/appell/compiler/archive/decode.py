"""Lowered functions read from untrusted data.

C is written and compiled from what is read here, so every index is checked against the array that it will be used on:
operations refer to earlier ones only, inputs and outputs lie within their vectors, links to links before them, and a step of
a rolled function reads and writes only places that exist.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from appell.checks import is_text
from appell.compiler.emit import hoisted_angles
from appell.compiler.lowering import LoweredFunction, StraightLine
from appell.compiler.operations import OPERATIONS, Operation, OperationList
from appell.compiler.rolled.form import Rolled, RolledLink
from appell.compiler.rolled.steps import OF_NO_LINK, PairPlace, StepSource, TracedClimb, TracedStep, TracedSweep
from appell.compiler.rolled.triple_steps import ORDERS, TracedTriples
from appell.errors import CompileError

Item = TypeVar("Item")

MOST = 10**6
"""Entries of a vector, links, values kept by a link."""

STATE = ("q", "qd", "qdd", "tau")


class CorruptFileError(CompileError):
    """Content that no version of this library has written."""


def require(condition: object, what: str) -> None:
    if not condition:
        raise CorruptFileError(f"the file was not written by appell: {what}.")


def field(data: Any, name: str) -> Any:
    """A field of an object."""
    require(isinstance(data, Mapping) and name in data, f"a field {name!r} is missing")
    return data[name]


def whole(value: Any, least: int, below: int, what: str) -> int:
    """A whole number in [least, below)."""
    require(
        isinstance(value, int) and not isinstance(value, bool), f"{what} is {type(value).__name__}, not a whole number"
    )
    require(least <= value < below, f"{what} is {value}, which is not in {least} .. {below - 1}")
    return value


def number(value: Any, what: str) -> float:
    """A finite number."""
    require(isinstance(value, (int, float)) and not isinstance(value, bool), f"{what} is no number")
    require(abs(value) <= sys.float_info.max, f"{what} is not finite")  # also of a whole number of many digits
    return float(value)


def text(value: Any, what: str) -> str:
    require(is_text(value) and len(value) <= 10_000, f"{what} is no text of sensible length")
    return value


def flag(value: Any, what: str) -> bool:
    require(isinstance(value, bool), f"{what} is neither true nor false")
    return value


def items(value: Any, read: Callable[[Any], Item], what: str, most: int = 10**7) -> tuple[Item, ...]:
    """A list whose entries are read one by one."""
    require(isinstance(value, list) and len(value) <= most, f"{what} is no list of sensible length")
    return tuple(read(entry) for entry in value)


def read_lowered(data: Any) -> LoweredFunction:
    """A lowered function, checked."""
    kind = text(field(data, "kind"), "the kind of a form")
    require(kind in READERS, f"forms of the kind {kind!r} are unknown")
    return READERS[kind](data)


def read_operations(data: Any) -> OperationList:
    """Operations, each with a known name, the right number of arguments, and only earlier values as arguments."""
    sizes = items(field(data, "sizes"), lambda size: whole(size, 0, MOST, "the size of an input"), "sizes", most=16)
    given = field(data, "operations")
    require(isinstance(given, list) and len(given) <= 10**7, "operations is no list of sensible length")
    operations = tuple(read_operation(entry, place, sum(sizes)) for place, entry in enumerate(given))
    outputs = items(field(data, "outputs"), lambda k: whole(k, 0, len(operations), "an output"), "outputs")
    return OperationList(sizes, operations, outputs)


def read_operation(entry: Any, place: int, size_in: int) -> Operation:
    require(isinstance(entry, list) and entry, "an operation is no list")
    name, *arguments = entry
    name = text(name, "the name of an operation")
    if name == "input":
        require(len(arguments) == 1, "an input has one index")
        return Operation(name, (), whole(arguments[0], 0, size_in, "the index of an input"))
    if name == "const":
        require(len(arguments) == 1, "a constant is one number")
        return Operation(name, (), number(arguments[0], "a constant"))
    require(name in OPERATIONS, f"the operation {name!r} is unknown")
    require(
        len(arguments) == OPERATIONS[name].arity, f"{name} has {len(arguments)} arguments, not {OPERATIONS[name].arity}"
    )
    return Operation(name, tuple(whole(k, 0, place, f"an argument of {name}") for k in arguments))


def read_straight(data: Any) -> StraightLine:
    return StraightLine(read_operations(data))


def read_rolled(data: Any) -> Rolled:
    nq, nv = (whole(field(data, name), 1, MOST, name) for name in ("nq", "nv"))
    row = whole(field(data, "row"), 0, MOST, "row")
    known = {*STATE, *OF_NO_LINK}
    inputs = items(field(data, "inputs"), lambda name: text(name, "an input"), "inputs", most=len(known))
    require(len(set(inputs)) == len(inputs) and set(inputs) <= known, "inputs are not those of a state")
    forces = whole(data.get("forces", 0), 0, MOST, "forces")
    require(("external_forces" in inputs) == (forces > 0), "there are external forces without an input, or none for it")
    sweeps = items(field(data, "sweeps"), read_sweep, "sweeps", most=16)
    climb = items(field(data, "climb"), read_climb, "climb", most=1000)
    require(sweeps, "there are no sweeps")
    groups = len(sweeps[0].steps)
    given = field(data, "links")
    require(isinstance(given, list) and 0 < len(given) <= MOST, "links is no list of sensible length")
    links = tuple(read_link(entry, place, nq, nv, groups) for place, entry in enumerate(given))
    require(len({len(link.numbers) for link in links}) == 1, "links have tables of different length")
    require(nq <= 7 * len(links) and nv <= 6 * len(links), "there are more coordinates than the links have")
    matrices = whole(field(data, "matrices"), 1, 16, "matrices")
    solves, by_link, sums, stacked = (
        flag(data.get(name, False), name) for name in ("solves", "by_link", "sums", "stacked")
    )
    require(climb or not (solves or by_link), "there is no matrix to be solved with, or to have columns")
    require(not (solves and by_link), "there is no square matrix to be solved with")
    require(climb or not stacked, "there are no matrices that follow each other")
    require(not (stacked and (solves or by_link)), "matrices that follow each other have systems or columns of links")
    triples = items(data.get("triples", []), read_triples, "triples", most=1000)
    require(not (climb and triples), "there is a pass over pairs and one over triples")
    require(not (sums and (climb or triples)), "a matrix is no sum")
    masses = items(data.get("masses", []), read_climb, "masses", most=1000)
    solved_after = whole(data.get("solved_after", 0), 0, len(sweeps), "solved_after")
    fits = climb and "qdd" not in inputs and not (solves or by_link)
    require(not masses or fits, "there are no accelerations to be solved for")
    last = masses, solved_after, stacked, triples, forces
    rolled = Rolled(inputs, nq, nv, links, sweeps, climb, row, matrices, solves, by_link, sums, *last)
    check_steps(rolled)
    return rolled


def read_link(entry: Any, place: int, nq: int, nv: int, groups: int) -> RolledLink:
    require(isinstance(entry, list) and len(entry) == len(RolledLink._fields), "a link has the wrong number of fields")
    group, parent, q, v, degrees, leads, numbers = entry
    found = RolledLink(
        whole(group, 0, groups, "the group of a link"),
        whole(parent, -1, place, "the parent of a link"),
        whole(q, 0, nq, "the coordinate of a link"),
        whole(v, 0, nv, "the speed of a link"),
        whole(degrees, 1, 7, "the degrees of a link"),
        flag(leads, "leads"),
        items(numbers, lambda x: number(x, "a number of a link"), "numbers", most=1000),
    )
    require(found.v + found.degrees <= nv, "the speeds of a link are beyond the last one")
    return found


def read_sweep(data: Any) -> TracedSweep:
    start = items(field(data, "start"), lambda x: number(x, "a start"), "start", most=1000)
    alive = items(field(data, "alive"), lambda k: whole(k, 0, MOST, "a slot"), "alive", most=1000)
    require(len(start) == len(alive), "a sweep carries something else than it starts with")
    return TracedSweep(
        flag(field(data, "inward"), "inward"), start, alive, items(field(data, "steps"), read_step, "steps", most=1000)
    )


def read_climb(data: Any) -> TracedClimb:
    begin = items(field(data, "begin"), read_step, "begin", most=6)
    return TracedClimb(begin, read_step(field(data, "carry")), read_step(field(data, "meet")))


def read_triples(data: Any) -> TracedTriples:
    begin, own, pair = (items(field(data, name), read_step, name, most=6) for name in ("begin", "own", "pair"))
    within, between, above = (read_step(field(data, name)) for name in ("within", "between", "above"))
    return TracedTriples(begin, own, pair, within, between, above)


def read_step(data: Any) -> TracedStep:
    def pair(entry: Any) -> tuple[str, int]:
        require(isinstance(entry, list) and len(entry) == 2, "a place has a name and an index")
        return text(entry[0], "the name of a place"), whole(entry[1], 0, MOST, "the index of a place")

    sources = items(field(data, "sources"), lambda entry: StepSource(*pair(entry)), "sources", most=10_000)
    listed = read_operations(field(data, "listed"))
    targets = items(field(data, "targets"), pair, "targets", most=10_000)
    require(listed.size_in == len(sources), "a step has other inputs than sources")
    require(len(listed.outputs) == len(targets), "a step has other results than targets")
    require(len(hoisted_angles(listed)) <= 1, "a step takes sines of several angles")
    return TracedStep(sources, listed, targets)


def check_steps(rolled: Rolled) -> None:
    """Every step reads what was written before and stays within its arrays, for every link that takes it."""
    groups, inputs = len(rolled.sweeps[0].steps), rolled.inputs
    kept: list[set[int]] = [set() for _ in range(groups)]
    for number, sweep in enumerate(rolled.sweeps):
        require(len(sweep.steps) == groups, "a sweep lacks a step for a group of links")
        if rolled.masses and number == rolled.solved_after:
            check_climbs(rolled, rolled.masses, 1, inputs, kept)
            inputs = (*inputs, "qdd")
        for group, step in enumerate(sweep.steps):
            check_step(rolled, group, step, inputs, len(sweep.alive), kept[group])
            require(carried(step) == list(range(len(sweep.alive))), "a step does not carry on what it should")
            kept[group] |= {index for kind, index in step.targets if kind == "kept"}
    require(rolled.row <= max((1 + index for each in kept for index in each), default=1), "links keep too many values")
    check_climbs(rolled, rolled.climb, rolled.matrices, inputs, kept)
    check_triples(rolled, inputs, kept)


def check_climbs(
    rolled: Rolled, climbs: tuple[TracedClimb, ...], matrices: int, inputs: tuple[str, ...], kept: list[set[int]]
) -> None:
    """The same for walks to the base that give so many matrices."""
    require(len(climbs) in (0, len(kept)), "a climb lacks a step for a group of links")
    for group, climb in enumerate(climbs):
        walks = {1 if rolled.by_link else link.degrees for link in rolled.links if link.group == group}
        require(walks <= {len(climb.begin)}, "a climb begins for other degrees than a link has")
        results = [
            k for step in (*climb.begin, climb.carry, climb.meet) for kind, k in step.targets if kind == "result"
        ]
        across = any(PairPlace.of(k, matrices).across for k in results)
        require(not (rolled.by_link and across), "a climb writes across a matrix that is not square")
        width = len(carried(climbs[0].carry))
        for step in climb.begin:
            check_step(rolled, group, step, inputs, 0, kept[group], 2 * matrices)
        for step in (climb.carry, climb.meet):
            check_step(rolled, group, step, inputs, width, kept[group], 2 * matrices)
        for step in (*climb.begin, climb.carry):
            require(carried(step) == list(range(width)), "a climb does not carry on what it should")


def check_triples(rolled: Rolled, inputs: tuple[str, ...], kept: list[set[int]]) -> None:
    """The same for walks over triples."""
    require(len(rolled.triples) in (0, len(kept)), "a pass over triples lacks a step for a group of links")
    for group, triples in enumerate(rolled.triples):
        begin, own, pair, *visits = triples
        degrees = {link.degrees for link in rolled.links if link.group == group}
        numbers = {len(begin), len(own), len(pair)}
        require(degrees | numbers <= {len(begin)}, "a pass over triples has steps for other degrees than a link has")
        given, walk = (len(carried(steps[0])) for steps in rolled.triples[0][:2])
        elements = len(ORDERS) * rolled.matrices
        for step in begin:
            check_step(rolled, group, step, inputs, 0, kept[group], 0)
            require(carried(step) == list(range(given)), "a pass over triples does not carry on what it should")
        for step in (*own, *pair):
            check_step(rolled, group, step, inputs, given, kept[group], elements)
            require(carried(step) == list(range(walk)), "a pass over triples does not carry on what it should")
        for step in visits:
            check_step(rolled, group, step, inputs, walk, kept[group], elements)
            require(not carried(step), "a pass over triples carries on what it should not")


def carried(step: TracedStep) -> list[int]:
    """Which values a step carries on."""
    return sorted(index for kind, index in step.targets if kind == "carried")


def check_step(
    rolled: Rolled,
    group: int,
    step: TracedStep,
    inputs: tuple[str, ...],
    width: int,
    kept: set[int],
    per_degree: int = 1,
) -> None:
    """The places of one step: `width` carried values, those that its links have kept, and results per degree of freedom."""
    links = [link for link in rolled.links if link.group == group]
    q = max((link.q for link in links), default=0)
    v = max((link.v for link in links), default=0)
    room = {"table": len(rolled.links[0].numbers), "carried": width, "kept": rolled.row}
    room |= {name: rolled.nq - q if name == "q" else rolled.nv - v for name in inputs if name not in OF_NO_LINK}
    room |= {name: size for name, size in zip(rolled.inputs, rolled.sizes, strict=True) if name in OF_NO_LINK}
    for source in step.sources:
        exists = source.index < room.get(source.origin, 0) and (source.origin != "kept" or source.index in kept)
        require(exists, f"a step reads {source.origin}[{source.index}], which does not exist")
    room = {
        "carried": len(step.targets),
        "kept": rolled.row,
        "result": 1 if rolled.sums else per_degree * (rolled.nv - v),
    }
    for kind, index in step.targets:
        require(index < room.get(kind, 0), f"a step writes {kind}[{index}], which does not exist")


READERS = {"straight": read_straight, "rolled": read_rolled}
"""By the kind of a lowered function."""
