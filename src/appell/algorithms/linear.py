"""Solution of M x = b for symmetric positive definite M over scalars, keeping the zeros between branches.

M = L^T diag(d) L, eliminated from the tips to the base: in this order the zeros between joints of different branches
stay zeros (R. Featherstone, Efficient factorization of the joint-space inertia matrix for branched kinematic trees, Int.
J. Robotics Research 24 (2005)). Without square roots, one division per joint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.algebra import Scalar, Scalars, is_zero
from appell.errors import ModelError
from appell.model.tree import Tree


def elimination_order(tree: Tree) -> list[int]:
    """Indices of qd from the tips to the base."""
    last = {}
    for i, link in enumerate(tree.links):
        for k in range(link.kind.nv):
            last[link.idx_v + k] = (i, k)
    return sorted(last, key=lambda v: last[v], reverse=True)


def reciprocal(pivot: Scalar, where: str) -> Scalar:
    """1 / pivot; raises where the pivot is zero for every state."""
    if is_zero(pivot):
        raise ModelError(
            f"the mass matrix is singular: {where} moves no mass, inertia or rotor. Give the links that "
            "it carries their inertia, or the joint its rotor inertia; appell.check lists such joints."
        )
    return 1.0 / pivot


class EliminationStep(NamedTuple):
    """One step: the unknown, 1 / pivot, and the factors of the unknowns that it is eliminated from."""

    unknown: int
    inverse: Scalar
    factors: list[tuple[int, Scalar]]


def solve(M: Sequence[Scalars], b: Scalars, order: Sequence[int]) -> list[Scalar]:
    """x with M x = b, eliminating the unknowns in the given order."""
    return substitute(factorise(M, order), b)


def factorise(M: Sequence[Scalars], order: Sequence[int]) -> list[EliminationStep]:
    """The elimination of the unknowns in the given order, for any right-hand side."""
    A = [list(row) for row in M]
    steps = []
    for step, k in enumerate(order):
        inverse = reciprocal(A[k][k], f"degree of freedom {k}")
        left = [i for i in order[step + 1 :] if not is_zero(A[k][i])]
        column = [(i, A[k][i] * inverse) for i in left]
        for n, (i, factor) in enumerate(column):
            for j in left[n:]:
                A[i][j] = A[j][i] = A[i][j] - factor * A[k][j]
        steps.append(EliminationStep(k, inverse, column))
    return steps


def substitute(steps: Sequence[EliminationStep], b: Scalars) -> list[Scalar]:
    """x with M x = b, from the elimination of M."""
    return back_substitute(steps, forward_substitute(steps, b))


def forward_substitute(steps: Sequence[EliminationStep], b: Scalars) -> list[Scalar]:
    """y = L^-T b."""
    y = list(b)
    for k, _, column in steps:
        if not is_zero(y[k]):
            for i, factor in column:
                y[i] = y[i] - factor * y[k]
    return y


def back_substitute(steps: Sequence[EliminationStep], y: Scalars) -> list[Scalar]:
    """x with diag(d) L x = y."""
    x = list(y)
    for k, inverse, column in reversed(steps):
        x[k] = x[k] * inverse
        for i, factor in column:
            x[k] = x[k] - factor * x[i]
    return x


def dot(a: Scalars, b: Scalars) -> Scalar:
    """a · b without structural zeros."""
    total: Scalar = 0.0
    for x, y in zip(a, b, strict=True):
        if not (is_zero(x) or is_zero(y)):
            total = total + x * y
    return total
