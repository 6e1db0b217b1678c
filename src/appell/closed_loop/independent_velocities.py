"""Choice of independent velocities, made once from the rank of the closure Jacobian at the reference configuration."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.closed_loop.elimination import LENGTH_TOL, SINE_TOL
from appell.closed_loop.kinematics import closure_jacobian

if TYPE_CHECKING:
    from appell.closed_loop.system import LoopSystem

RANK_TOL = 1e-9
"""Singular values below this fraction of the largest one count as zero."""
PREFERRED_SINE = 1e-3
"""Preferred lower bound of the sine between the column of a dependent velocity and the columns before it."""


def jacobian_at(system: LoopSystem, q: Sequence[float] | np.ndarray) -> np.ndarray:
    """K(q), (rows, n), evaluated in floats without compilation."""
    return np.array(closure_jacobian(system, [float(x) for x in q]), dtype=float).reshape(system.rows, -1)


def rank(K: np.ndarray) -> int:
    """Number of independent closure equations."""
    values = np.linalg.svd(K, compute_uv=False)
    return int((values > RANK_TOL * values.max(initial=0.0)).sum()) if values.size else 0


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
