"""Base parameters: the identifiable combinations of a robot's parameters.

tau = K Φ has columns that are zero or linearly dependent for every motion. With K = K_b B, B of full row rank, only the base
parameters β = B Φ are identifiable (M. Gautier, Numerical calculation of the base inertial parameters of robots, J. Robotic
Systems 8 (1991)). They are computed from random states: the rank by a QR decomposition with column pivoting, the choice of
columns by orthogonalization in an order of preference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from appell.deprecation import renamed_arguments
from appell.errors import IdentificationError
from appell.model.parameters import PER_LINK
from appell.robot.protocol import AnyRobot
from appell.robot.regressor_terms import RegressorTerm, append_terms, as_terms
from appell.table import Table

LINK_PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Names of the inertial parameters of a body; mx = m cx."""

ZERO_COLUMN_TOL = 1e-9
"""Columns smaller than this, relative to the largest, count as zero."""

MIN_GAP = 1e4
"""Least ratio of the pivots on both sides of the rank for the rank to be certain."""


class Certificate(NamedTuple):
    """Evidence for the rank.

    Attributes:
        rank: number of base parameters.
        kept, dropped: smallest pivot within the rank and largest beyond it, of unit columns.
        mismatch: relative difference of K and K_b B at other random states.
        states: number of random states.
    """

    rank: int
    kept: float
    dropped: float
    mismatch: float
    states: int

    @property
    def gap(self) -> float:
        """Ratio of the two pivots."""
        return self.kept / self.dropped

    def __str__(self) -> str:
        return (
            f"rank {self.rank} at {self.states} random states: pivots {self.kept:.2g} and {self.dropped:.2g}, gap "
            f"{self.gap:.1e}; K and K_b B differ by {self.mismatch:.1e} at other states"
        )


@dataclass(frozen=True)
class BaseParameters:
    """The base parameters β = B Φ of a robot.

    Attributes:
        names: names of all parameters Φ, (p).
        independent: columns K_b of the regressor that are kept, (b,).
        dependent: columns that are combinations of these.
        unidentifiable: columns that are zero for every motion.
        B: (b, p); its columns `independent` are the unit matrix.
        used: which kept columns enter the force of each velocity, (nv, b).
        certificate: evidence for the number b.
    """

    names: tuple[str, ...]
    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    unidentifiable: tuple[int, ...]
    B: np.ndarray = field(repr=False)
    used: np.ndarray = field(repr=False)
    certificate: Certificate

    def __len__(self) -> int:
        return len(self.independent)

    @property
    def base_names(self) -> tuple[str, ...]:
        """Name of each base parameter: that of its column, with a star if other parameters combine with it."""
        grouped = (np.abs(self.B) > 0).sum(axis=1) > 1
        return tuple(self.names[i] + "*" * bool(more) for i, more in zip(self.independent, grouped, strict=True))

    @property
    def formulas(self) -> tuple[str, ...]:
        """Definition of each base parameter, such as `Ixx[link2]* = Ixx[link2] - Iyy[link2]`."""
        return tuple(
            f"{name} = {_combination(row, self.names, first)}"
            for name, row, first in zip(self.base_names, self.B, self.independent, strict=True)
        )

    def of(self, parameters: np.ndarray) -> np.ndarray:
        """β = B Φ."""
        return self.B @ np.asarray(parameters, dtype=float)

    def table(self) -> Table:
        """The formulas, the parameters without any effect, and the certificate."""
        unknown = ", ".join(self.names[i] for i in self.unidentifiable) or "none"
        rows = tuple(tuple(formula.split(" = ", 1)) for formula in self.formulas)
        notes = (f"Without any effect: {unknown}.", f"Certificate: {self.certificate}.")
        title = f"{len(self)} base parameters of {len(self.names)}"
        return Table(title, ("base parameter", "combination"), rows, notes)

    def __str__(self) -> str:
        return str(self.table())


@renamed_arguments(columns="terms")
def base_parameters(robot: AnyRobot, terms: Sequence[str | RegressorTerm] = (), seed: int = 0) -> BaseParameters:
    """The base parameters of a robot: the identifiable combinations of its parameters.

    Args:
        terms: regressor terms besides the link inertias, as in `Robot.regressor`.
        seed: seed of the random states.

    Raises:
        IdentificationError: no joint moves, or the rank is uncertain: the pivots on both sides of it are too close.

    Example:
        >>> import appell
        >>> base = appell.base_parameters(appell.load("planar2r"))
        >>> len(base), base.certificate.gap > 1e9
        (6, True)
        >>> print(base.formulas[0])
        mx[link1]* = mx[link1] + m[link2]
    """
    terms = as_terms(terms)
    if not robot.nv:
        raise IdentificationError(f"{robot.name!r} has no joint that moves: no parameter is identifiable.")
    names = parameter_names(robot, terms)
    count = state_count(robot, len(names))
    draw = random_regressors(robot, terms, np.random.default_rng([seed, robot.nv]))
    choice = choose_columns(draw(count), preferred_order(robot, len(names)))
    K = draw(20)
    kept = K[:, :, list(choice.independent)]
    mismatch = float(np.abs(kept @ choice.B - K).max() / np.abs(K).max())
    certificate = Certificate(len(choice.independent), choice.kept, choice.dropped, mismatch, count)
    if certificate.gap < MIN_GAP or mismatch > 1e-6:
        raise IdentificationError(
            f"the number of base parameters of {robot.name!r} is uncertain: {certificate}. Expected a gap above {MIN_GAP:.0e}. "
            "Look for lengths or columns that almost vanish, or for angles rounded to a few digits."
        )
    dependent = tuple(sorted(set(range(len(names))) - set(choice.independent) - choice.zero))
    used = np.asarray((np.abs(kept) > 1e-12).any(axis=0))
    return BaseParameters(names, choice.independent, dependent, tuple(sorted(choice.zero)), choice.B, used, certificate)


def parameter_names(robot: AnyRobot, terms: Sequence[RegressorTerm]) -> tuple[str, ...]:
    """Inertial parameters of all links, then those of the terms."""
    inertial = [f"{name}[{body}]" for body, _ in robot.system.parameter_bodies for name in LINK_PARAMETERS]
    return (*inertial, *(name for term in terms for name in term.names(robot)))


def nominal_parameters(robot: AnyRobot, terms: Sequence[RegressorTerm]) -> np.ndarray:
    """Their values in the robot's description; zero for terms of closed loops, whose joints have their own."""
    described = []
    for term in terms:
        own, count = term.nominal_values(robot), len(term.names(robot))
        described.append(own if len(own) == count else np.zeros(count))
    return np.concatenate([link_columns(robot, robot.parameters), *described])


def link_columns(robot: AnyRobot, entries: np.ndarray) -> np.ndarray:
    """Parameters, or columns of the regressor, of the links alone: rotors are a term (`Rotor`)."""
    return entries[..., : PER_LINK * len(robot.system.parameter_bodies)]


def preferred_order(robot: AnyRobot, count: int) -> list[int]:
    """Columns in order of preference as base parameters.

    First the parameters that act on the joint of their own body, then those of the terms, and last those that are
    customarily regrouped towards the base (Khalil and Gautier): mass, first moment along the axis, and one moment of
    inertia across it.
    """
    bodies = robot.system.parameter_bodies
    inertial = PER_LINK * len(bodies)
    regrouped: list[int] = []
    for i, (_, axis) in enumerate(bodies):
        moment = {0: 9, 1: 4, 2: 6}[axis]  # Izz, Ixx, Iyy across x, y, z
        regrouped += [PER_LINK * i, PER_LINK * i + 1 + axis, PER_LINK * i + moment]
    first = [k for k in range(inertial) if k not in regrouped]
    return [*first, *range(inertial, count), *regrouped]


def state_count(robot: AnyRobot, columns: int) -> int:
    """Random states that show the rank of this many columns with certainty: several times as many rows, and 40 more."""
    return 40 + 4 * columns // max(robot.nv, 1)


def random_regressors(
    robot: AnyRobot, terms: Sequence[RegressorTerm], rng: np.random.Generator
) -> Callable[[int], np.ndarray]:
    """A function that returns regressors (n, nv, p) of the generalized forces at n random states within the joint limits."""

    def draw(count: int) -> np.ndarray:
        q = robot.random_configurations(count, rng)
        qd, qdd = rng.uniform(-3.0, 3.0, (count, robot.nv)), rng.uniform(-9.0, 9.0, (count, robot.nv))
        if terms:  # friction near rest has an effect at low speeds only
            qd[::2] *= 10.0 ** rng.uniform(-2.5, 0.0, qd[::2].shape)
        K = robot.generalized_regressor(q, qd, qdd)
        return append_terms(link_columns(robot, K), terms, q, qd, qdd)

    return draw


def base_regressor(
    robot: AnyRobot, base: BaseParameters, terms: Sequence[RegressorTerm], q, qd, qdd, check: bool = True
):
    """K_b of the base parameters, (..., nv, b); the other columns are dropped before terms are appended."""
    inertial = PER_LINK * len(robot.system.parameter_bodies)
    kept = np.array(base.independent, dtype=int)
    if terms and robot is not robot.spanning_tree:  # terms act on the velocities, rows are actuators
        return np.take(robot.regressor(q, qd, qdd, terms=terms, check=check), kept, axis=-1)
    K = np.take(robot.regressor(q, qd, qdd, check=check), kept[kept < inertial], axis=-1)
    if not terms:
        return K
    added = append_terms(K[..., :0], terms, q, qd, qdd)
    return np.concatenate([K, np.take(added, kept[kept >= inertial] - inertial, axis=-1)], axis=-1)


class ColumnChoice(NamedTuple):
    """Independent columns, zero columns, all columns in terms of the independent ones, and the pivots next to the rank."""

    independent: tuple[int, ...]
    zero: set[int]
    B: np.ndarray
    kept: float
    dropped: float


def choose_columns(K: np.ndarray, preferred: Sequence[int]) -> ColumnChoice:
    """Independent columns of a stack of regressors (n, nv, p), in the order of preference."""
    from scipy.linalg import qr

    A = np.asarray(np.linalg.qr(K.reshape(-1, K.shape[-1]), mode="r"))
    norms = np.linalg.norm(A, axis=0)
    zero = {int(k) for k in np.flatnonzero(norms <= ZERO_COLUMN_TOL * norms.max(initial=0.0))}
    order = [k for k in preferred if k not in zero]
    A = A[:, order] / norms[order]
    diagonal = np.abs(np.diag(qr(A, mode="r", pivoting=True)[0])) if order else ()  # type: ignore[index]
    pivots = np.maximum([1.0, *diagonal, 0.0], np.finfo(float).eps)
    rank = int(np.argmax(pivots[1:-1] / pivots[2:])) + 1 if order else 0
    kept, dropped = float(pivots[rank]), float(pivots[rank + 1])
    chosen = _first_independent(A, np.sqrt(kept * dropped), rank)
    combined, *_ = np.linalg.lstsq(A[:, chosen], A, rcond=None)
    combined[np.abs(combined) < 1e-9] = 0.0
    combined[:, chosen] = np.eye(len(chosen))
    independent = [order[k] for k in chosen]
    B = np.zeros((len(chosen), K.shape[-1]))
    B[:, order] = combined * norms[order] / norms[independent][:, None]
    sequence = np.argsort(independent)
    return ColumnChoice(tuple(int(independent[k]) for k in sequence), zero, B[sequence], kept, dropped)


def _first_independent(A: np.ndarray, tolerance: float, rank: int) -> list[int]:
    """The first columns that are not combinations of those before them, by Gram-Schmidt orthogonalization."""
    Q = np.zeros((A.shape[0], 0))
    chosen: list[int] = []
    for k in range(A.shape[1]):
        rest = A[:, k] - Q @ (Q.T @ A[:, k])
        rest = rest - Q @ (Q.T @ rest)
        length = np.linalg.norm(rest)
        if length > tolerance and len(chosen) < rank:
            chosen.append(k)
            Q = np.column_stack([Q, rest / length])
    return chosen


def _combination(row: np.ndarray, names: Sequence[str], first: int) -> str:
    """A readable sum that begins with the parameter `first`."""
    text = names[first]
    for k in map(int, np.flatnonzero(row)):
        if k != first:
            factor = "" if abs(abs(row[k]) - 1.0) < 1e-9 else f"{abs(row[k]):.6g} "
            text += f" {'-' if row[k] < 0 else '+'} {factor}{names[k]}"
    return text
