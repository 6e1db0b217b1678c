"""Which speeds are independent: chosen once, at a reference configuration, from the rank of the closures there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.closed_loop.elimination import NOTHING, SINE
from appell.closed_loop.kinematics import closure_jacobian

if TYPE_CHECKING:
    from appell.closed_loop.system import LoopSystem

RANK = 1e-9
"""Singular values below this part of the largest one count as zero."""
GOOD = 1e-3
"""A dependent speed is chosen while the sine of its column to those before is above this, if it can be had."""


def jacobian_at(system: LoopSystem, q: Sequence[float] | np.ndarray) -> np.ndarray:
    """K(q), (rows, n), by plain numbers: nothing is compiled."""
    return np.array(closure_jacobian(system, [float(x) for x in q]), dtype=float).reshape(system.rows, -1)


def rank(K: np.ndarray) -> int:
    """How many equations of the closures are independent."""
    values = np.linalg.svd(K, compute_uv=False)
    return int((values > RANK * values.max(initial=0.0)).sum()) if values.size else 0


def sines(K: np.ndarray, columns: Iterable[int]) -> list[float]:
    """For each column the sine of its angle to those before: as `Elimination` meets them."""
    basis: list[np.ndarray] = []
    found = []
    for k in columns:
        rest = _without(K[:, k], basis)
        left = float(np.linalg.norm(rest))
        found.append(left / math.hypot(np.linalg.norm(K[:, k]), NOTHING))
        if left:
            basis.append(rest / left)
    return found


def dependent_speeds(K: np.ndarray, count: int, kept: Iterable[int]) -> list[int] | None:
    """Speeds that the closures can be solved for, none of `kept` if that is possible; None where there are too few.

    The longest column goes first, then what is longest beside those before, so that dependent speeds stay small.
    """
    chosen: list[int] = []
    basis: list[np.ndarray] = []
    late = set(kept)
    for bound, allowed in ((GOOD, False), (SINE, False), (SINE, True)):
        while len(chosen) < count:
            rests = {
                k: _without(K[:, k], basis)
                for k in range(K.shape[1])
                if k not in chosen and (allowed or k not in late) and _sine(K[:, k], basis) > bound
            }
            best = max(rests, key=lambda k: float(np.linalg.norm(rests[k])), default=None)
            if best is None:
                break
            chosen.append(best)
            basis.append(rests[best] / np.linalg.norm(rests[best]))
    return chosen if len(chosen) == count else None


def elimination_order(system: LoopSystem, dependent: Iterable[int]) -> tuple[int, ...]:
    """Speeds of few loops first, loop by loop: what is zero between loops then stays zero."""
    touched: dict[int, list[tuple[int, int]]] = {}
    for n, loop in enumerate(system.loops):
        for place, i in enumerate((*loop.inward, *loop.outward)):
            link = system.tree.links[i]
            for k in range(link.idx_v, link.idx_v + link.kind.nv):
                touched.setdefault(k, []).append((n, place))
    return tuple(sorted(dependent, key=lambda k: (len({n for n, _ in touched[k]}), touched[k])))


def _without(column: np.ndarray, basis: Iterable[np.ndarray]) -> np.ndarray:
    for unit in basis:
        column = column - unit * (unit @ column)
    return column


def _sine(column: np.ndarray, basis: Iterable[np.ndarray]) -> float:
    return float(np.linalg.norm(_without(column, basis))) / math.hypot(np.linalg.norm(column), NOTHING)
