"""C text of walks over triples of links (`appell.compiler.rolled.sweep.TriplePass`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from appell.compiler.rolled.steps import TracedStep
from appell.compiler.rolled.triple_steps import ORDERS, TriplePlace

if TYPE_CHECKING:
    from appell.compiler.rolled.text import Writer


def triples_text(own: Writer) -> list[str]:
    """Links j, k and i, where k is j or above, and i walks from j to the base; b is what j gives, p what both give."""
    n, width, matrices = own.rolled.nv, own.rolled.width, own.rolled.matrices
    begins, owns, pairs, withins, betweens, aboves = zip(*own.rolled.triples, strict=True)

    def element(number: int) -> str:
        degree, order, matrix = TriplePlace.of(number, matrices)
        degrees = "v_of[j] + r", "v_of[k] + t", f"v_of[i] + {degree}"
        force, row, column = (degrees[role] for role in ORDERS[order])
        return f"y[(({force}) * {n} + {row}) * {width} + {matrix * n} + {column}]"

    def of_degree(steps: Iterable[Iterable[TracedStep]], degree: str, handed: str) -> list[str]:
        cases = [own.step(step, element, handed=handed) for each in steps for step in each]
        return switch(f"begin_of[i] + {degree}", cases)

    def visit(steps: Iterable[TracedStep]) -> list[str]:
        return switch("group_of[i]", [own.step(step, element, given="p") for step in steps])

    def declared(name: str, step: TracedStep) -> str:
        count = sum(kind == "carried" for kind, _ in step.targets)
        return f"{own.type} {', '.join(f'{name}{number}' for number in range(count))};"

    return [
        "(void)x; (void)s; (void)c; (void)w;",
        "for (int j = 0; j < LINKS; j++)",
        "for (int r = 0; r < walks_of[j]; r++) {",
        "    int i = j;",
        f"    {declared('b', begins[0][0])}",
        *indented(of_degree(begins, "r", "b")),
        "    for (int k = j; k >= 0; k = parent_of[k])",
        "    for (int t = 0; t < walks_of[k]; t++) {",
        f"        {declared('p', owns[0][0])}",
        "        i = k;",
        "        if (k == j) {",
        *indented(of_degree(owns, "t", "p"), 3),
        "        } else {",
        *indented(of_degree(pairs, "t", "p"), 3),
        "            i = j;",
        *indented(visit(withins), 3),
        "            for (i = parent_of[j]; i != k; i = parent_of[i]) {",
        *indented(visit(betweens), 4),
        "            }",
        "        }",
        "        for (i = parent_of[k]; i >= 0; i = parent_of[i]) {",
        *indented(visit(aboves), 3),
        "        }",
        "    }",
        "}",
    ]


def switch(selector: str, cases: list[list[str]]) -> list[str]:
    """The statements of the case that the selector names; a single case needs no choice."""
    if len(cases) == 1:
        return ["{", *indented(cases[0]), "}"]
    lines = [f"switch ({selector}) {{"]
    for n, case in enumerate(cases):
        label = f"case {n}" if n + 1 < len(cases) else "default"
        lines += [f"{label}: {{", *indented(case), "    break;", "}"]
    return [*lines, "}"]


def indented(lines: Iterable[str], levels: int = 1) -> list[str]:
    """Lines of a block within others."""
    return [f"{4 * levels * ' '}{line}" for line in lines]
