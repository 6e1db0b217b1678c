"""Arrays at the border: every input becomes (N, size) of the right dtype, or an error says which one is wrong and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.errors import AppellError, ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def as_batch(
    named: Sequence[tuple[str, int]], values: Sequence[ArrayLike], dtype=np.float64, check: bool = True
) -> tuple[list[np.ndarray], tuple[int, ...]]:
    """Inputs as arrays (N, size), N the product of the broadcast leading dimensions, and those dimensions.

    Args:
        named: name and number of entries expected of each value.
    """
    arrays = [_as_numbers(name, size, value, dtype) for (name, size), value in zip(named, values, strict=True)]
    if check:
        for (name, _), array in zip(named, arrays, strict=True):
            refuse_non_finite(name, array)
    leads = [array.shape[:-1] for array in arrays]
    try:
        lead = np.broadcast_shapes(*leads)
    except ValueError:
        told = ", ".join(f"{name} {array.shape}" for (name, _), array in zip(named, arrays, strict=True))
        raise ArgumentError(
            f"batch dimensions do not fit together: {told}. All but the last dimension must broadcast."
        ) from None
    count = int(np.prod(lead, dtype=np.int64))
    return [
        np.ascontiguousarray(np.broadcast_to(array, (*lead, array.shape[-1]))).reshape(count, array.shape[-1])
        for array in arrays
    ], lead


def _as_numbers(name: str, size: int, value: ArrayLike, dtype) -> np.ndarray:
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiub":
            raise TypeError
        array = array.astype(dtype, copy=False)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} must be an array of real numbers, got {type(value).__name__}.") from None
    if array.ndim == 0 and size == 1:
        array = array.reshape(1)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ArgumentError(
            f"{name} has shape {array.shape}, expected (..., {size}): its last dimension must be {size}."
        )
    return array


def refuse_non_finite(name: str, array: np.ndarray) -> None:
    """Raise for the first NaN or infinity, naming its index."""
    if np.isfinite(array).all():
        return
    index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    where = index[0] if len(index) == 1 else index
    raise ArgumentError(f"{name}[{where}] is {array[index]}, expected a finite number.")


def result_array(out: np.ndarray | None, shape: tuple[int, ...], dtype=np.float64) -> np.ndarray:
    """The array to write into: the caller's, checked, or a new one."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype:
        got = f"{out.shape} {out.dtype}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ArgumentError(f"out is {got}, expected an array of shape {shape} and dtype {np.dtype(dtype)}.")
    if not out.flags.writeable:
        raise ArgumentError("out is read-only; pass a writeable array.")
    return out


def refuse_bad_result(function: str, result: np.ndarray) -> None:
    """Raise when finite inputs gave a number that is not finite."""
    if np.isfinite(result).all():
        return
    index = tuple(int(i) for i in np.argwhere(~np.isfinite(result))[0])
    raise AppellError(
        f"{function}: result[{', '.join(map(str, index))}] is not finite although all inputs are. "
        "The mass matrix is singular there (a moving part without inertia: run appell.check) or a number overflowed."
    )
