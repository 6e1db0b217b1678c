"""Checks of arguments: each returns the value in its plain type, or raises an ArgumentError with name, value and expectation."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from appell.errors import ArgumentError, unknown_name_message

LARGEST_FINITE, UNIT_TOL = float(np.finfo(float).max), 4.0 * float(np.finfo(float).eps)


def as_real(value: Any) -> float:
    """A Python or NumPy number or an array without dimensions as a float; NaN for anything else, truth values included.

    Example:
        >>> import numpy as np
        >>> from appell.checks import as_real
        >>> as_real(np.float32(0.5)), as_real(np.array(2)), as_real(True), as_real("1")
        (0.5, 2.0, nan, nan)
    """
    array = _array(value)
    return float(array) if array.ndim == 0 and array.dtype.kind in "iuf" else math.nan


def as_integer(value: Any) -> int | None:
    """A Python or NumPy integer as an int; None for anything else, truth values included.

    Example:
        >>> import numpy as np
        >>> from appell.checks import as_integer
        >>> as_integer(np.int64(3)), as_integer(3.0), as_integer(True)
        (3, None, None)
    """
    array = _array(value)
    return int(array) if array.ndim == 0 and array.dtype.kind in "iu" else None


def is_text(value: Any) -> bool:
    """Whether a value is text that UTF-8 can hold: without halves of surrogate pairs.

    Example:
        >>> from appell.checks import is_text
        >>> is_text("elbow"), is_text("\\ud800"), is_text(3)
        (True, False, False)
    """
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def require_positive(name: str, value: Any, unit: str = "", *, infinite: bool = False, note: str = "") -> float:
    """A number above zero; infinity only where it is allowed.

    Args:
        note: ends the sentence of the error, such as `" or None"`.

    Example:
        >>> from appell.checks import require_positive
        >>> require_positive("dt", 0, "s")
        Traceback (most recent call last):
        appell.errors.ArgumentError: dt is 0, expected a positive number [s].
    """
    number = as_real(value)
    if not 0.0 < number <= (math.inf if infinite else LARGEST_FINITE):
        raise ArgumentError(f"{name} is {value!r}, expected a positive number{_in(unit)}{note}.")
    return number


def require_in_range(
    name: str, value: Any, low: float = 0.0, high: float = LARGEST_FINITE, unit: str = "", *, note: str = ""
) -> float:
    """A number from `low` to `high`, both allowed. By default: finite and not negative."""
    number = as_real(value)
    if not low <= number <= high:
        limits = f">= {low:g}" if high >= LARGEST_FINITE else f"from {low:g} to {high:g}"
        raise ArgumentError(f"{name} is {value!r}, expected a number {limits}{_in(unit)}{note}.")
    return number


def require_integer(name: str, value: Any, low: int = 0, high: int | None = None, *, note: str = "") -> int:
    """An integer from `low` to `high`, both allowed.

    Example:
        >>> from appell.checks import require_integer
        >>> require_integer("port", 70000, 1, 65535)
        Traceback (most recent call last):
        appell.errors.ArgumentError: port is 70000, expected an integer from 1 to 65535.
    """
    number = as_integer(value)
    if number is None or number < low or (high is not None and number > high):
        limits = f">= {low}" if high is None else f"from {low} to {high}"
        raise ArgumentError(f"{name} is {value!r}, expected an integer {limits}{note}.")
    return number


def require_bool(name: str, value: Any) -> bool:
    """True or False, of Python or NumPy.

    Example:
        >>> from appell.checks import require_bool
        >>> require_bool("check", "no")
        Traceback (most recent call last):
        appell.errors.ArgumentError: check is 'no', expected True or False.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{name} is {value!r}, expected True or False.")
    return bool(value)


def require_choice(kind: str, value: Any, valid: Iterable[Any]) -> Any:
    """One of the valid names or values; the error lists them, the most similar first."""
    choices = tuple(valid)
    if value not in choices:
        raise ArgumentError(unknown_name_message(kind, value, choices))
    return value


def require_real_array(
    name: str, values: Any, shape: tuple[int, ...] | None = None, dtype: str = "float64", copy: bool = True
) -> np.ndarray:
    """An array of real numbers, of float64 by default, with this shape if one is given; the same one only without `copy`."""
    expected = "real numbers" if shape is None else f"real numbers of shape {shape}"
    array = _array(values)
    if array.dtype.kind not in "iuf" and (array.size or array.dtype.kind == "V"):
        got = f"an array of {array.dtype}" if isinstance(values, np.ndarray) and array.ndim else repr(values)
        raise ArgumentError(f"{name} is {got}, expected {expected}.")
    if shape is not None and array.shape != shape:
        raise ArgumentError(f"{name} has shape {array.shape}, expected {shape}.")
    return array.astype(dtype, copy=copy)


def require_finite(name: str, array: np.ndarray) -> np.ndarray:
    """An array without NaN and infinity; the error names the index of the first."""
    if not np.isfinite(array).all():
        index = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        where = index[0] if len(index) == 1 else index
        raise ArgumentError(f"{name}[{where}] is {array[index]}, expected a finite number.")
    return array


def require_vector(name: str, values: Any, size: int) -> np.ndarray:
    """Finite real numbers of shape (size,), as a new float64 array.

    Example:
        >>> from appell.checks import require_vector
        >>> require_vector("qd0", [0.0, 1.0], 3)
        Traceback (most recent call last):
        appell.errors.ArgumentError: qd0 has shape (2,), expected (3,).
    """
    return require_finite(name, require_real_array(name, values, (size,)))


def require_direction(name: str, values: Any) -> tuple[float, float, float]:
    """Three numbers as a unit vector; of one that is a unit vector to rounding errors, the same numbers.

    Example:
        >>> from appell.checks import require_direction
        >>> require_direction("axis", (0, 2, 0))
        (0.0, 1.0, 0.0)
    """
    array = require_vector(name, values, 3)
    length = float(np.linalg.norm(array))
    if length == 0.0:
        raise ArgumentError(f"{name} has length 0, expected a direction.")
    x, y, z = (array if abs(length - 1.0) <= UNIT_TOL else array / length).tolist()
    return x, y, z


def _array(values: Any) -> np.ndarray:
    try:
        return np.asarray(values)
    except ValueError:  # rows of different lengths
        return np.array(None)


def _in(unit: str) -> str:
    return f" [{unit}]" if unit else ""
