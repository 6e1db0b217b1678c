"""Regressor terms by cross-validation: coupled joints, width of Coulomb friction, further friction."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from appell.errors import ModelError
from appell.identification.base import BaseParameters
from appell.identification.cross_validation import Products
from appell.model.parameters import PER_LINK
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import (
    AsymmetricViscous,
    Coulomb,
    Coupling,
    LoadFriction,
    Offset,
    RegressorTerm,
    Rotor,
    Stribeck,
    Viscous,
)

COULOMB_WIDTH = 0.01
"""Velocity over which Coulomb friction is smoothed, unless cross-validation prefers another. [rad/s, m/s]"""
COULOMB_WIDTHS = (0.0025, 0.005, 0.02, 0.04, 0.08)
FINER_WIDTHS = (0.7, 0.85, 1.2, 1.4)
STRIBECK_VELOCITIES = (0.05, 0.15, 0.4)
DEFAULT_TERMS = (Rotor(), Viscous(), Coulomb(COULOMB_WIDTH), Offset())
"""Regressor terms besides the link inertias, by default."""

MIN_GAIN, MIN_TERM_GAIN = 0.01, 0.03
"""Relative reduction of the prediction error for which another width than the default is chosen, or a term is added."""
MIN_COUPLING_GAIN = 0.1
"""Relative reduction of the prediction error of both joints for which they count as coupled."""
MIN_STRIBECK = 0.05
"""Least root mean square of the columns of Stribeck friction, between 0 and 1."""

Terms = tuple[RegressorTerm, ...]


def coupling_terms(robot: AnyRobot, width: float) -> Terms:
    """Shafts that turn with the sum or difference of the velocities of a joint and the next one of its chain."""
    links = robot.spanning_tree.tree.links
    pairs = [(links[link.parent], link) for link in links if link.parent >= 0]
    return tuple(
        Coupling(before.idx_v, link.idx_v, width, ratio)
        for before, link in pairs
        if before.kind.nv == link.kind.nv == 1 and before.idx_v != link.idx_v
        for ratio in (1.0, -1.0)
    )


def width_terms(robot: AnyRobot, terms: Terms, widths: Sequence[float] = COULOMB_WIDTHS) -> list[Terms]:
    """Coulomb friction of joints and shafts with other widths."""
    smooth = [term for term in terms if isinstance(term, (Coulomb, Coupling))]
    return [tuple(replace(term, width=width) for term in smooth) for width in widths]


def friction_terms(robot: AnyRobot, terms: Terms) -> list[Terms]:
    """Widths near the chosen one, and friction terms that may be added."""
    width = next(term.width for term in terms if isinstance(term, Coulomb))
    others = width_terms(robot, terms, [round(factor * width, 6) for factor in FINER_WIDTHS])
    others += [(AsymmetricViscous(),), *((Stribeck(velocity, width),) for velocity in STRIBECK_VELOCITIES)]
    with contextlib.suppress(ModelError):  # a description without masses has no loads
        if np.abs(robot.gravity(robot.random_configurations(20, np.random.default_rng(0)))).max(initial=0.0) > 0:
            others.append((LoadFriction(robot, width),))
    return others


class ActiveTerm(NamedTuple):
    """A term with its columns in the products, (size,)."""

    term: RegressorTerm
    columns: np.ndarray


@dataclass(frozen=True)
class TermComparison:
    """Prediction errors of `terms` with some replaced by those of an alternative, or added.

    Attributes:
        data: products of the base parameters of `terms`, of all terms of the alternatives, and of forces.
        alternatives: each one or several terms; a term replaces another of its type (and joints, for couplings).
        rhs: index of the forces among the right-hand sides.
    """

    robot: AnyRobot
    base: BaseParameters
    terms: Terms
    data: Products
    alternatives: Sequence[Terms]
    rhs: int

    def friction(self) -> tuple[Terms, list[str]]:
        """The terms with those alternatives, in turn, that reduce the prediction error noticeably; a note for each."""
        chosen = self._given()
        least = self._error(chosen)
        lines = [
            f"{self._describe(next(t for t in self.terms if isinstance(t, Coulomb)))}: prediction error {100 * least:.2f} %"
        ]
        for own in self._alternatives():
            first = next(iter(own.values()))
            if isinstance(first.term, Stribeck) and self.data.smallest_column(first.columns) < MIN_STRIBECK:
                lines.append(f"{self._describe(first.term)}: not seen, since some joint is hardly ever as slow")
                continue
            value = self._error(chosen | own)
            taken = value < (1.0 - (MIN_GAIN if isinstance(first.term, Coulomb) else MIN_TERM_GAIN)) * least
            lines.append(f"{self._describe(first.term)}: {100 * value:.2f} %{', chosen' if taken else ''}")
            if taken:
                chosen, least = chosen | own, value
        return tuple(each.term for each in chosen.values()), lines

    def couplings(self) -> tuple[Terms, list[str]]:
        """The terms with those couplings, the best first, that clearly reduce the errors of both joints."""
        chosen, lines = self._given(), []
        left = self._alternatives()
        while left:
            without = self._error(chosen)
            errors = [self._error(chosen | own) for own in left]
            own, error = left[int(np.argmin(errors))], min(errors)
            ((key, (term, _)),) = own.items()
            if error > (1.0 - MIN_TERM_GAIN) * without or not self._both_gain(term, chosen, chosen | own):
                break
            chosen, left = chosen | own, [other for other in left if key not in other]
            lines.append(f"{self._describe(term)}: prediction error {100 * error:.2f} %, without {100 * without:.2f} %")
        return tuple(each.term for each in chosen.values()), lines

    def _given(self) -> dict[Hashable, ActiveTerm]:
        """The given terms with their columns among the base parameters."""
        first, result = PER_LINK * len(self.robot.system.parameter_bodies), {}
        independent = np.full(self.data.size, -1)
        independent[: len(self.base)] = self.base.independent
        for term in self.terms:
            last = first + len(term.names(self.robot))
            result[_key(term)] = ActiveTerm(term, (independent >= first) & (independent < last))
            first = last
        return result

    def _alternatives(self) -> list[dict[Hashable, ActiveTerm]]:
        columns = (self.data.term_columns(k) for k in range(len(self.data.edges) - 1))
        return [{_key(term): ActiveTerm(term, next(columns)) for term in terms} for terms in self.alternatives]

    def _active(self, chosen: dict[Hashable, ActiveTerm]) -> np.ndarray:
        """Columns of the links and of these terms, (size,)."""
        of_terms = np.logical_or.reduce([each.columns for each in self._given().values()])
        return np.logical_or.reduce([self.data.base_columns & ~of_terms, *(each.columns for each in chosen.values())])

    def _error(self, chosen: dict[Hashable, ActiveTerm]) -> float:
        return self.data.error(self._active(chosen), [self.rhs] * self.data.forces)

    def _both_gain(self, coupling: Any, before: dict[Hashable, ActiveTerm], after: dict[Hashable, ActiveTerm]) -> bool:
        """Whether the errors of both joints shrink clearly, and in all folds but one."""
        rhs, joints = [self.rhs] * self.data.forces, [coupling.first, coupling.second]
        old, new = (self.data.residuals(self._active(each), rhs)[:, joints] for each in (before, after))
        clearly = new.sum(axis=0) < (1.0 - MIN_COUPLING_GAIN) ** 2 * old.sum(axis=0)
        return bool(clearly.all() and ((new < old).sum(axis=0) >= len(old) - 1).all())

    def _describe(self, term: RegressorTerm) -> str:
        if isinstance(term, Coulomb):
            return f"Coulomb friction over {term.width} rad/s"
        if isinstance(term, Stribeck):
            return f"with Stribeck friction below {term.velocity} rad/s"
        if isinstance(term, Coupling):
            first, second = (self.robot.qd_names[k] for k in (term.first, term.second))
            return f"a motor shaft turns with {first} {'+' if term.ratio > 0 else '-'} {second}"
        return {"AsymmetricViscous": "with viscous friction that differs between directions"}.get(
            type(term).__name__, "with friction in proportion to the load"
        )


def _key(term: RegressorTerm) -> Hashable:
    """Terms with the same key replace each other."""
    return (Coupling, term.first, term.second) if isinstance(term, Coupling) else type(term)
