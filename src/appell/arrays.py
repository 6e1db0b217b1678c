"""Input and output arrays of functions over batches of states: shapes, dtypes, finite numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_finite
from appell.errors import AppellError, ArgumentError


def as_batch(
    named: Sequence[tuple[str, int]],
    values: Sequence[ArrayLike],
    dtype="float64",
    check: bool = True,
    columns: bool = False,
) -> tuple[list[np.ndarray], tuple[int, ...]]:
    """Inputs as arrays (N, size), N the product of the broadcast batch dimensions, and the batch shape.

    Broadcast entries are not copied: the arrays may have any strides.

    Args:
        named: name and size of each value.
        columns: whether the size is the first dimension and the batch the others, instead of the last.
    """
    arrays = [
        with_size(name, size, _as_numbers(name, value, dtype), columns)
        for (name, size), value in zip(named, values, strict=True)
    ]
    if check:
        for (name, _), array in zip(named, arrays, strict=True):
            require_finite(name, array)
    return broadcast_batch(named, arrays, columns)


def with_size(name: str, size: int, array: Any, columns: bool, xp: Any = np) -> Any:
    """The array (..., size) of an input that has it last, or first in columns; of NumPy or CuPy (`xp`)."""
    if array.ndim == 0 and size == 1:
        array = array.reshape(1)
    if array.ndim == 0 or array.shape[0 if columns else -1] != size:
        shape, place = (f"({size}, ...)", "first") if columns else (f"(..., {size})", "last")
        raise ArgumentError(f"{name} has shape {array.shape}, expected {shape}: its {place} dimension must be {size}.")
    return xp.moveaxis(array, 0, -1) if columns else array


def broadcast_batch(
    named: Sequence[tuple[str, int]], arrays: Sequence[Any], columns: bool, xp: Any = np
) -> tuple[list[Any], tuple[int, ...]]:
    """Arrays (..., size) as (N, size), and the batch shape; a row for all states costs no memory."""
    shapes = {array.shape[:-1] for array in arrays}
    try:
        batch_shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    except ValueError:
        given = [(*array.shape[-1:], *array.shape[:-1]) if columns else array.shape for array in arrays]
        texts = ", ".join(f"{name} {shape}" for (name, _), shape in zip(named, given, strict=True))
        place = "first" if columns else "last"
        raise ArgumentError(
            f"batch dimensions do not fit together: {texts}. All but the {place} dimension must broadcast."
        ) from None
    count, rows = math.prod(batch_shape), []
    for array in arrays:
        size = array.shape[-1]
        if array.shape[:-1] == batch_shape:
            rows.append(array.reshape(count, size))
        elif math.prod(array.shape[:-1]) == 1:
            rows.append(xp.broadcast_to(array.reshape(1, size), (count, size)))
        else:
            rows.append(xp.broadcast_to(array, (*batch_shape, size)).reshape(count, size))
    return rows, batch_shape


def wrenches_by_frame(external_forces: Any) -> Mapping[str, ArrayLike]:
    """The `external_forces` of a call; no frames for None."""
    if external_forces is None:
        return {}
    if not isinstance(external_forces, Mapping):
        raise ArgumentError(
            f"external_forces is {type(external_forces).__name__}, expected wrenches by name of a frame, as in "
            "{'tool0': [fx, fy, fz, mx, my, mz]}."
        )
    return external_forces


def stack_wrenches(external_forces: Mapping[str, ArrayLike], check: bool = True, columns: bool = False) -> np.ndarray:
    """Wrenches of k frames as one array (..., 6 k), or (6 k, ...) in columns."""
    named = [(f"external_forces[{name!r}]", 6) for name in external_forces]
    arrays, batch_shape = as_batch(named, list(external_forces.values()), check=check, columns=columns)
    joined = np.concatenate(arrays, axis=-1).reshape(*batch_shape, -1)
    return np.moveaxis(joined, -1, 0) if columns else joined


def _as_numbers(name: str, value: ArrayLike, dtype) -> np.ndarray:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError
        array = array.astype(dtype, copy=False)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be an array of real numbers, got {type(value).__name__}.") from None
    return array if array.flags.aligned else array.copy()


QUATERNION_LENGTH_TOL = 1e-6
"""Largest deviation of a quaternion's length from 1: six digits, as written by hand."""


def require_unit_quaternions(
    name: str, array: np.ndarray, batch_shape: tuple[int, ...], quaternions: Sequence[tuple[str, int]]
) -> None:
    """Raise for the first quaternion of finite length other than 1, naming its joint and index.

    Args:
        array: configurations (N, nq); N is the product of `batch_shape`.
        quaternions: names of joints, each with the index of the first entry of its quaternion.
    """
    for joint, first in quaternions:
        with np.errstate(over="ignore"):
            length = np.linalg.norm(array[:, first : first + 4], axis=1)
        wrong = np.flatnonzero((np.abs(length - 1.0) > QUATERNION_LENGTH_TOL) & np.isfinite(length))
        if wrong.size:
            where = "".join(f"{int(i)}, " for i in np.unravel_index(wrong[0], batch_shape))
            raise ArgumentError(
                f"{name}[{where}{first}:{first + 4}], the quaternion of joint {joint!r}, has length {length[wrong[0]]:.6g}, "
                "expected 1. Divide it by its length; Robot.neutral_configuration has unit quaternions."
            )


def result_array(out: np.ndarray | None, shape: tuple[int, ...], dtype="float64") -> np.ndarray:
    """The array for the result: the caller's `out`, checked, or a new one."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        got = f"{out.shape} {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ArgumentError(f"out is {got}, expected an array of shape {shape} and dtype {np.dtype(dtype)}.")
    if not out.flags.writeable or not out.flags.aligned:
        wrong = "misaligned" if out.flags.writeable else "read-only"
        raise ArgumentError(f"out is {wrong}; pass an array such as np.empty makes.")
    return out


def require_angles_within(q: np.ndarray, largest: float) -> None:
    """Raise for the first coordinate of a larger size, in a function whose result is not finite because of it."""
    far = np.argwhere(np.abs(q) > largest)
    if len(far):
        index = tuple(int(i) for i in far[0])
        raise ArgumentError(
            f"q[{', '.join(map(str, index))}] is {q[index]:.9g}, expected angles of at most {largest:.0e} rad, beyond which "
            "digits are lost. Wrap angles to one turn: np.remainder(q, 2 * np.pi)."
        )


def require_finite_result(function: str, result: np.ndarray) -> None:
    """Raise for a NaN or infinity in a result of finite inputs."""
    if np.isfinite(result).all():
        return
    index = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
    raise AppellError(
        f"{function}: result[{', '.join(map(str, index))}] is not finite although all inputs are. "
        "The mass matrix is singular there (a moving part without inertia: run appell.check) or a number overflowed."
    )
