"""Recursions over the links as data: what is carried, what is kept, what comes out.

A `LinkPass` visits all links, outwards (parents first, each link gets what its parent carried) or inwards (tips first, each
link gets the sum of what its children handed over). Its step is an ordinary function over scalars, built from the steps
of the algorithms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from appell.algebra import Mat3, Scalar, Sym3, Vec3, Wrench
from appell.model.tree import Link, Placement

if TYPE_CHECKING:
    from appell.algorithms.derivatives.second import Element

Value = Any
"""A scalar, a Vec3, Mat3, Sym3, or a (named) tuple of values."""


class StepInput(NamedTuple):
    """What a step is given: the link, its place, its own entries of the inputs, and what earlier sweeps kept for it.

    `own` has the gravity vector, too, where that is an input. `more` are the link's numbers of `Program.more`; `alone` is true
    for that of `Program.alone`, `at_base` for links on the base; `external` is the external wrench on the link, at its origin.
    """

    link: Link
    place: Placement
    own: Mapping[str, list[Scalar]]
    kept: Mapping[str, Value]
    more: Value
    alone: bool
    at_base: bool
    external: Wrench | None

    def less_external(self, force: Wrench) -> Wrench:
        """A wrench on the link less the external one."""
        return force if self.external is None else force.minus(self.external)


class StepOutput(NamedTuple):
    """What a step leaves: the carried value, values kept for later sweeps, and entries of the result (or none)."""

    carried: Value
    kept: Mapping[str, Value] = {}
    result: list[Scalar] | None = None


Step = Callable[[StepInput, Value], StepOutput]


@dataclass(frozen=True)
class LinkPass:
    """One pass over the links.

    Attributes:
        inward: direction.
        start: what the base carries (outwards), or the zero to which children add (inwards).
        step: from what is carried to what is left.
    """

    inward: bool
    start: Value
    step: Step


class Elements(NamedTuple):
    """Elements of matrices side by side: in the row of the visited degree of freedom and the column of j's, and across."""

    row: list[Scalar]
    column: list[Scalar]


@dataclass(frozen=True)
class AncestorPass:
    """For every link j, walks from j to the base that give rows and columns of matrices.

    These are square matrices side by side, with one walk, row and column for each degree of freedom of j; or, where columns
    belong to links, one matrix to which the one walk of a link gives as many columns, and results of sweeps the last ones, one
    for each link that has any.

    Attributes:
        begin: what link j carries at the start, one value per walk.
        own: for one of these, its column within the link: elements in the row of each degree.
        carry: the carried value seen from the parent; the visit is of the link that is left.
        meet: elements between j's degree and each of the visited link.
        matrices: number of matrices, or of columns of a link.
        by_link: whether columns belong to links.
        stacked: whether matrices follow each other as a whole, not side by side.
    """

    begin: Callable[[StepInput], Value]
    own: Callable[[StepInput, int], list[list[Scalar]]]
    carry: Callable[[StepInput, Value], Value]
    meet: Callable[[StepInput, Value], list[Elements]]
    matrices: int = 1
    by_link: bool = False
    stacked: bool = False


class TripleStep(NamedTuple):
    """What two degrees of freedom give: the value that their walk carries, and elements for each degree of the visited link."""

    carried: Value
    elements: list[list[Element]]


@dataclass(frozen=True)
class TriplePass:
    """For every link a and each link b from a to the base, walks from a to the base that give elements at three indices.

    The result has a row of matrices, side by side, for each degree of freedom. Elements are of degrees of freedom of a, b and the
    visited link c; all steps are in one frame, in which nothing that is carried changes.

    Attributes:
        begin: of link a, a value for each of its degrees of freedom.
        own: for one of these values and a degree of freedom of a as b, what a walk carries, and elements with c = a.
        pair: the same for a link b above a, with elements where c = b.
        within, between, above: elements with c = a below b, c between these, and c above b, for each degree of freedom of c.
        matrices: number of matrices side by side.
    """

    begin: Callable[[StepInput], Sequence[Value]]
    own: Callable[[StepInput, int, Value], TripleStep]
    pair: Callable[[StepInput, int, Value], TripleStep]
    within: Callable[[StepInput, Value], list[list[Element]]]
    between: Callable[[StepInput, Value], list[list[Element]]]
    above: Callable[[StepInput, Value], list[list[Element]]]
    matrices: int


@dataclass(frozen=True)
class Program:
    """A function of the robot as sweeps, one after the other.

    Attributes:
        inputs: name of each input.
        sweeps: the passes.
        climb: a last pass over all pairs, for matrices.
        triples: a last pass over all triples, in its place.
        solves: whether the matrices A, B, ..., M of the climb then become -M⁻¹ A, -M⁻¹ B, ..., M⁻¹; M is symmetric and positive.
        sums: whether the result is one number, the sum over all links.
        more: numbers of every link that are not in `Link`.
        alone: a link with steps of its own, such as the one whose frame all others are seen from.
        masses, solved_after: a pass over pairs whose matrix is M, and whose walks carry the forces that are left for
            accelerations as their last number. After so many sweeps it gives accelerations, an input `qdd` of those that follow;
            then the matrices A, B, ... of the climb become -M⁻¹ A, -M⁻¹ B, ..., M⁻¹.
        force_frames, forced: frames of the external forces, where these are an input, and the links that they act on.
    """

    inputs: tuple[str, ...]
    sweeps: tuple[LinkPass, ...]
    climb: AncestorPass | None = None
    triples: TriplePass | None = None
    solves: bool = False
    sums: bool = False
    more: tuple[Value, ...] = ()
    alone: int | None = None
    masses: AncestorPass | None = None
    solved_after: int = 0
    force_frames: tuple[str, ...] = ()
    forced: frozenset[int] = frozenset()

    def more_of(self, i: int) -> Value:
        """The further numbers of one link."""
        return self.more[i] if self.more else ()


def pack(value: Value) -> list[Scalar]:
    """The scalars of a value in order."""
    if isinstance(value, (tuple, list, Vec3, Mat3, Sym3)):
        return [scalar for part in value for scalar in pack(part)]
    return [value]


def unpack(like: Value, scalars: list[Scalar]) -> Value:
    """A value of the same form with these scalars, which are taken from the front of the list."""
    if isinstance(like, (Vec3, Mat3, Sym3)):
        return type(like)(*(scalars.pop(0) for _ in like))
    if isinstance(like, tuple):
        parts = [unpack(part, scalars) for part in like]
        return type(like)(*parts) if hasattr(like, "_fields") else tuple(parts)
    return scalars.pop(0)
