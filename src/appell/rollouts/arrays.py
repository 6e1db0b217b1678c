"""Arrays of a rollout as rows of states, for NumPy and CuPy alike: `xp` is the module whose arrays are meant.

What all states share stays one row, and what need not be copied is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from appell.rollouts.plan import Plan


def rows(xp: Any, array: Any, plan: Plan) -> Any:
    """An array (..., n) of a plan as (N, n), or (1, n) where all states share it."""
    array = xp.moveaxis(array, 0, -1) if plan.columns else array
    size = array.shape[-1]
    if math.prod(array.shape[:-1]) == 1:
        return array.reshape(1, size)
    return xp.broadcast_to(array, (*plan.lead, size)).reshape(-1, size)


def timed(xp: Any, array: Any, plan: Plan) -> Any:
    """A signal as (N, K, n); K is 1 where it does not change, N is 1 where all states share it."""
    if plan.hold is None:
        return rows(xp, array, plan)[:, None, :]
    if plan.columns:
        array = xp.moveaxis(array, (0, 1), (-1, -2))
    times, size = array.shape[-2:]
    if math.prod(array.shape[:-2]) == 1:
        return array.reshape(1, times, size)
    return xp.broadcast_to(array, (*plan.lead, times, size)).reshape(-1, times, size)


def side_by_side(xp: Any, parts: Sequence[Any], dimensions: int, dtype: Any) -> Any:
    """Vectors one after the other along the last axis; a single one stays where it is, none are a row of no entries."""
    if not parts:
        return xp.empty((*[1] * (dimensions - 1), 0), dtype)
    if len(parts) == 1:
        return parts[0]
    lead = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return xp.concatenate([xp.broadcast_to(part, (*lead, part.shape[-1])) for part in parts], axis=-1)


def states(xp: Any, plan: Plan, dtype: Any) -> tuple[Any, Any]:
    """An empty array for the states of a rollout, coordinates then speeds, and its view as (N, T, nq + nv)."""
    count, size = math.prod(plan.lead), plan.nq + plan.nv
    shape = (size, plan.kept, count) if plan.columns else (count, plan.kept, size)
    array = xp.empty(shape, dtype)
    return array, (array.transpose(2, 1, 0) if plan.columns else array)


def parted(array: Any, plan: Plan) -> tuple[Any, Any]:
    """Coordinates and speeds of the states of a rollout in the caller's layout, as views."""
    size = plan.nq + plan.nv
    if plan.columns:
        array = array.reshape(size, plan.kept, *plan.lead)
        return array[: plan.nq], array[plan.nq :]
    array = array.reshape(*plan.lead, plan.kept, size)
    return array[..., : plan.nq], array[..., plan.nq :]
