"""Walks over triples of links as LLVM IR (`appell.compiler.rolled.sweep.TriplePass`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from appell.compiler.rolled.steps import TracedStep
from appell.compiler.rolled.triple_steps import ORDERS, TriplePlace
from appell.compiler.targets.llvm.ir import FunctionWriter

if TYPE_CHECKING:
    from appell.compiler.targets.llvm.rolled import RolledWriter


def write_triples(own: RolledWriter, write: FunctionWriter) -> None:
    """Links a, b and c, where b is a or above, and c walks from a to the base."""
    begins, owns, pairs, withins, betweens, aboves = zip(*own.rolled.triples, strict=True)
    given, walk = (own.variables(write, steps[0][0]) for steps in (begins, owns))
    b_place, c_place = write.slot("i64"), write.slot("i64")
    width = own.rolled.width
    strides = own.rolled.nv * width, width, 1

    def whole(name: str, link: str) -> str:
        return own.whole(write, name, link)

    def weighted(entry: str) -> list[str]:
        """What a degree of freedom adds to the place of an element as its first, second and third index."""
        return [write.integer("mul", entry, stride) if stride > 1 else entry for stride in strides]

    def setter(firsts: list[str], c: str) -> Callable[[FunctionWriter, str, int, str], None]:
        """Sets elements with link c; `firsts` are the places for each order without it."""
        third = weighted(whole("v_of", c))
        places = [write.integer("add", x, third[order.index(2)]) for x, order in zip(firsts, ORDERS, strict=True)]

        def set_element(write: FunctionWriter, i: str, number: int, value: str) -> None:
            degree, order, matrix = TriplePlace.of(number, own.rolled.matrices)
            distance = degree * strides[ORDERS[order].index(2)] + matrix * own.rolled.stride
            write.store(own.real.type, value, "%y", write.integer("add", places[order], distance))

        return set_element

    def of_degree(steps: Sequence[Sequence[TracedStep]], link: str, degree: str, *places) -> None:
        number = write.integer("add", whole("begin_of", link), degree)
        write.choose(number, [partial(own.step, write, link, step, *places) for each in steps for step in each])

    def visit(steps: Sequence[TracedStep], c: str, firsts: list[str]) -> None:
        set_element = setter(firsts, c)
        write.choose(whole("group_of", c), [partial(own.step, write, c, step, walk, set_element) for step in steps])

    def visit_while(condition: Callable[[str], str], steps: Sequence[TracedStep], firsts: list[str]) -> None:
        with write.repeat_while(lambda: condition(write.load("i64", c_place))):
            c = write.load("i64", c_place)
            visit(steps, c, firsts)
            write.store("i64", whole("parent_of", c), c_place)

    with write.loop(len(own.rolled.links)) as a, write.loop(whole("walks_of", a)) as r:
        first = weighted(write.integer("add", whole("v_of", a), r))
        of_degree(begins, a, r, given, no_element)
        write.store("i64", a, b_place)
        with write.repeat_while(lambda: write.integer("icmp sge", write.load("i64", b_place), 0)):
            b = write.load("i64", b_place)
            same = write.integer("icmp eq", a, b)
            with write.loop(whole("walks_of", b)) as s:
                second = weighted(write.integer("add", whole("v_of", b), s))
                firsts = [write.integer("add", first[order.index(0)], second[order.index(1)]) for order in ORDERS]
                set_element = setter(firsts, b)
                with write.when(same):
                    of_degree(owns, b, s, given, set_element, walk)
                with write.when(write.value(f"xor i1 {same}, true")):
                    of_degree(pairs, b, s, given, set_element, walk)
                    visit(withins, a, firsts)
                    write.store("i64", whole("parent_of", a), c_place)
                    visit_while(lambda c: write.integer("icmp ne", c, b), betweens, firsts)
                write.store("i64", whole("parent_of", b), c_place)
                visit_while(lambda c: write.integer("icmp sge", c, 0), aboves, firsts)
            write.store("i64", whole("parent_of", b), b_place)


def no_element(write: FunctionWriter, i: str, number: int, value: str) -> None:
    """Begins give no elements."""
