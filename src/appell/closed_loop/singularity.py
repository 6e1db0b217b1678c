"""Independent velocities, chosen once by the rank of the closure Jacobian, and singular configurations.

A configuration is singular if the independent velocities, or the actuators, no longer determine the motion.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.closed_loop.constraints import CLOSURE_TOL, closure_residual
from appell.closed_loop.dynamics import actuator_jacobian, closure_jacobian
from appell.closed_loop.elimination import LENGTH_TOL, SINE_TOL
from appell.closed_loop.position_closure import RCOND
from appell.errors import LoopClosureError

if TYPE_CHECKING:
    from appell.closed_loop.system import LoopSystem

VELOCITY_SINGULARITY, ACTUATOR_SINGULARITY = "singular speeds", "singular actuators"
ACTUATOR_FUNCTIONS = {"inverse_dynamics"}
"""Functions that solve for actuator forces."""
PREFERRED_SINE = 1e-3
"""Preferred lower bound of the sine between the column of a dependent velocity and the columns before it."""


class Singularity(NamedTuple):
    """A singularity of a configuration.

    Attributes:
        status: `"singular speeds"`: the closures do not determine a joint from the independent velocities;
            `"singular actuators"`: the actuators do not determine the motion, so that forces are unbounded.
        where: name of the joint that is not determined.
        sine: of the angle between the dependent columns; 0 at the singularity.
    """

    status: str
    where: str
    sine: float


def singularity_at(
    system: LoopSystem, q: np.ndarray, actuators: bool = True, bound: float = SINE_TOL
) -> Singularity | None:
    """The singularity of one configuration (nq,), None if it is regular: all sines are above a bound."""
    sines = column_sines(jacobian_at(system, q), system.dependent)
    for k, sine in zip(system.dependent, sines, strict=True):
        if sine <= bound:
            return Singularity(VELOCITY_SINGULARITY, _name(system, k), sine)
    if actuators and len(system.actuated) >= len(system.independent):
        J = np.array(actuator_jacobian(system, [float(x) for x in q]), dtype=float)
        for k, sine in zip(system.independent, column_sines(J, range(J.shape[1])), strict=True):
            if sine <= bound:
                return Singularity(ACTUATOR_SINGULARITY, _name(system, k), sine)
    return None


def require_nonsingular(system: LoopSystem, function: str, q: np.ndarray) -> None:
    """Raise for the first configuration of (N, nq) that is open or singular."""
    for i, state in enumerate(q):
        _require_closed(system, function, state, (i,) if len(q) > 1 else ())
        singularity = singularity_at(system, state, function in ACTUATOR_FUNCTIONS)
        if singularity is not None:
            at = f" of state {i}" if len(q) > 1 else ""
            raise LoopClosureError(
                f"{function}: {describe_singularity(system, singularity)} in the configuration{at} "
                f"(sine {singularity.sine:.2g}, bound {SINE_TOL:g}).",
                status=singularity.status, where=singularity.where, value=singularity.sine, index=(i,) if len(q) > 1 else (),
            )  # fmt: skip


def _require_closed(system: LoopSystem, function: str, q: np.ndarray, index: tuple[int, ...]) -> None:
    residual = np.array(closure_residual(system, [float(x) for x in q]), dtype=float)
    if float(np.linalg.norm(residual)) < CLOSURE_TOL:
        return
    names = [loop.name for loop in system.loops for _ in range(loop.kind.count)]
    worst = int(np.argmax(np.abs(residual)))
    raise LoopClosureError(
        f"{function}: q{list(index) if index else ''} does not close the loops: closure {names[worst]!r} is open by "
        f"{residual[worst]:.3g} m (rad). Take q from robot.solve_loop_closure(q).q.",
        status="open", where=names[worst], value=float(residual[worst]), index=index,
    )  # fmt: skip


def describe_singularity(system: LoopSystem, singularity: Singularity) -> str:
    """The part of an error message that describes a singularity."""
    if singularity.status == ACTUATOR_SINGULARITY:
        driven = ", ".join(_name(system, k) for k in system.actuated)
        return f"singular actuators: with {driven} held, {singularity.where} can still move"
    kept = ", ".join(_name(system, k) for k in system.independent) or "nothing"
    return (
        f"singular speeds: with {kept} held, {singularity.where} can still move; choose other `independent_velocities`"
    )


def _name(system: LoopSystem, k: int) -> str:
    link = next(
        link for link in system.tree.links if link.is_independent and link.idx_v <= k < link.idx_v + link.kind.nv
    )
    several = sum(other.kind.nv for other in system.tree.links if other.name == link.name) > 1
    first = min(other.idx_v for other in system.tree.links if other.name == link.name)
    return f"{link.name}[{k - first}]" if several else link.name


def jacobian_at(system: LoopSystem, q: Sequence[float] | np.ndarray) -> np.ndarray:
    """K(q), (rows, n), evaluated in floats without compilation."""
    return np.array(closure_jacobian(system, [float(x) for x in q]), dtype=float).reshape(system.rows, -1)


def rank(K: np.ndarray) -> int:
    """Number of independent closure equations."""
    values = np.linalg.svd(K, compute_uv=False)
    return int((values > RCOND * values.max(initial=0.0)).sum()) if values.size else 0


def column_sines(K: np.ndarray, columns: Iterable[int]) -> list[float]:
    """Sine of the angle of each column to the span of the columns before it, as in `Elimination`."""
    basis: list[np.ndarray] = []
    result = []
    for k in columns:
        rest = _orthogonal_part(K[:, k], basis)
        length = float(np.linalg.norm(rest))
        result.append(length / math.hypot(np.linalg.norm(K[:, k]), LENGTH_TOL))
        if length:
            basis.append(rest / length)
    return result


def dependent_velocities(K: np.ndarray, count: int, preferred_independent: Iterable[int]) -> list[int] | None:
    """Velocities that the closures can be solved for, none of `preferred_independent` if possible; None if there are too few.

    Columns are pivoted by the length of their orthogonal part, so that dependent velocities stay small.
    """
    chosen: list[int] = []
    basis: list[np.ndarray] = []
    avoided = set(preferred_independent)
    for bound, allowed in ((PREFERRED_SINE, False), (SINE_TOL, False), (SINE_TOL, True)):
        while len(chosen) < count:
            rests = {
                k: _orthogonal_part(K[:, k], basis)
                for k in range(K.shape[1])
                if k not in chosen and (allowed or k not in avoided) and _sine(K[:, k], basis) > bound
            }
            best = max(rests, key=lambda k: float(np.linalg.norm(rests[k])), default=None)
            if best is None:
                break
            chosen.append(best)
            basis.append(rests[best] / np.linalg.norm(rests[best]))
    return chosen if len(chosen) == count else None


def elimination_order(system: LoopSystem, dependent: Iterable[int]) -> tuple[int, ...]:
    """Order of elimination: velocities in few loops first, loop by loop, which keeps structural zeros between loops."""
    touched: dict[int, list[tuple[int, int]]] = {}
    for n, loop in enumerate(system.loops):
        for place, i in enumerate((*loop.inward, *loop.outward)):
            link = system.tree.links[i]
            for k in range(link.idx_v, link.idx_v + link.kind.nv):
                touched.setdefault(k, []).append((n, place))
    return tuple(sorted(dependent, key=lambda k: (len({n for n, _ in touched[k]}), touched[k])))


def _orthogonal_part(column: np.ndarray, basis: Iterable[np.ndarray]) -> np.ndarray:
    for unit in basis:
        column = column - unit * (unit @ column)
    return column


def _sine(column: np.ndarray, basis: Iterable[np.ndarray]) -> float:
    return float(np.linalg.norm(_orthogonal_part(column, basis))) / math.hypot(np.linalg.norm(column), LENGTH_TOL)
