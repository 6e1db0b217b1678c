"""Arrays of a rollout as rows of states, for NumPy and CuPy: `xp` is the array module.

Arrays shared by all states stay one row, without copies where possible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from appell.rollouts.plan import RolloutPlan


def state_rows(xp: Any, array: Any, plan: RolloutPlan) -> Any:
    """An array (..., n) as (N, n), or (1, n) if all states share it."""
    array = xp.moveaxis(array, 0, -1) if plan.columns else array
    size = array.shape[-1]
    if math.prod(array.shape[:-1]) == 1:
        return array.reshape(1, size)
    return xp.broadcast_to(array, (*plan.batch_shape, size)).reshape(-1, size)


def signal_rows(xp: Any, array: Any, plan: RolloutPlan) -> Any:
    """A signal as (N, K, n); K is 1 if it is constant, N is 1 if all states share it."""
    if plan.control_every is None:
        return state_rows(xp, array, plan)[:, None, :]
    if plan.columns:
        array = xp.moveaxis(array, (0, 1), (-1, -2))
    times, size = array.shape[-2:]
    if math.prod(array.shape[:-2]) == 1:
        return array.reshape(1, times, size)
    return xp.broadcast_to(array, (*plan.batch_shape, times, size)).reshape(-1, times, size)


def join_columns(xp: Any, parts: Sequence[Any], dimensions: int, dtype: Any) -> Any:
    """Vectors concatenated along the last axis; a single one is not copied, none give a row without entries."""
    if not parts:
        return xp.empty((*[1] * (dimensions - 1), 0), dtype)
    if len(parts) == 1:
        return parts[0]
    shape = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return xp.concatenate([xp.broadcast_to(part, (*shape, part.shape[-1])) for part in parts], axis=-1)


def empty_states(xp: Any, plan: RolloutPlan, dtype: Any) -> tuple[Any, Any]:
    """An empty array for the saved states (q, qd), and its view as (N, T, nq + nv)."""
    count, size = math.prod(plan.batch_shape), plan.nq + plan.nv
    shape = (size, plan.saved, count) if plan.columns else (count, plan.saved, size)
    array = xp.empty(shape, dtype)
    return array, (array.transpose(2, 1, 0) if plan.columns else array)


def split_states(array: Any, plan: RolloutPlan) -> tuple[Any, Any]:
    """q and qd of the saved states in the caller's layout, as views."""
    size = plan.nq + plan.nv
    if plan.columns:
        array = array.reshape(size, plan.saved, *plan.batch_shape)
        return array[: plan.nq], array[plan.nq :]
    array = array.reshape(*plan.batch_shape, plan.saved, size)
    return array[..., : plan.nq], array[..., plan.nq :]
