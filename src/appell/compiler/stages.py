"""Derivatives of forward dynamics of large robots in stages.

As one function they have some 100 000 operations for a humanoid, too many for a thread of a GPU, and what columns share would
have to be computed for each group of them. In stages every thread has little to do: accelerations; derivatives of inverse
dynamics at these, with M (`forward_dynamics`, `inverse_dynamics_derivatives`); the factors of M; and one column after the other
is solved with these, by the same operations. Zeros between branches stay zeros (`appell.algorithms.linear`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from appell.algebra import Scalar
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.linear import EliminationStep, elimination_order, factorise, substitute
from appell.compiler.operations import OperationList, list_operations
from appell.compiler.simplify import simplify
from appell.model.tree import Tree

STAGED = "forward_dynamics_derivatives"
MOST_FACTORS = 800
"""Factors of matrices that are solved with straight-line code."""


@dataclass(frozen=True)
class Stages:
    """The last two stages.

    Attributes:
        factors: from the n² entries of M by rows, of which those that may differ from zero are read.
        solution: from the factors and n entries of a right-hand side.
    """

    factors: OperationList
    solution: OperationList

    @classmethod
    def of(cls, tree: Tree) -> Stages | None:
        """The stages of a tree; None where joints are coupled, or M has too many elements that may differ from zero."""
        if not all(link.is_independent for link in tree.links):
            return None
        order = elimination_order(tree)
        places = [(i, j) for i, j in elements_of(tree) if i <= j]
        if len(places) > MOST_FACTORS:
            return None
        return cls(_factors(tree.nv, order, places), _solution(tree.nv, order, places))

    @property
    def size(self) -> int:
        """Degrees of freedom."""
        return len(self.solution.outputs)


def before(spec: FunctionSpec) -> tuple[FunctionSpec, FunctionSpec]:
    """The functions of the first two stages."""
    return replace(spec, function="forward_dynamics", method=None), replace(
        spec, function="inverse_dynamics_derivatives", method=None
    )


def elements_of(tree: Tree) -> list[tuple[int, int]]:
    """Rows and columns of the elements of M that may differ from zero: one link carries the other one."""
    degrees = [range(link.idx_v, link.idx_v + link.kind.nv) for link in tree.links]
    pairs = [(i, k) for i in range(len(tree.links)) for k in tree.ancestors(i)]
    found = {(a, b) for i, k in pairs for a in degrees[i] for b in degrees[k]}
    return sorted(found | {(b, a) for a, b in found})


def _factors(n: int, order: Sequence[int], places: Sequence[tuple[int, int]]) -> OperationList:
    """1 / pivot and factors of every step of the elimination."""
    from appell.compiler import symbols

    vectors, given = symbols.inputs([("M", n * n)])
    M: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for i, j in places:
        M[i][j] = M[j][i] = given["M"][i * n + j]
    steps = factorise(M, order)
    return _listed(vectors, [x for step in steps for x in (step.inverse, *(factor for _, factor in step.factors))])


def _solution(n: int, order: Sequence[int], places: Sequence[tuple[int, int]]) -> OperationList:
    """x of M x = b: in every step an unknown is eliminated from those after it that share an element with it."""
    from appell.compiler import symbols

    known = set(places)
    after = {k: [i for i in order[step + 1 :] if (min(i, k), max(i, k)) in known] for step, k in enumerate(order)}
    vectors, given = symbols.inputs([("factors", sum(1 + len(each) for each in after.values())), ("right", n)])
    factors = iter(given["factors"])
    steps = [EliminationStep(k, next(factors), [(i, next(factors)) for i in after[k]]) for k in order]
    return _listed(vectors, substitute(steps, given["right"]))


def _listed(vectors: Sequence[Any], results: Sequence[Scalar]) -> OperationList:
    import casadi

    from appell.compiler import symbols

    return simplify(list_operations(casadi.Function("stage", vectors, [symbols.column(results)])))
