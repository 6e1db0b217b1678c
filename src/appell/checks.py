"""Real numbers as people write them: Python's, NumPy's, and arrays without dimensions; truth values are none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from appell.errors import ArgumentError


def real(value: Any) -> float:
    """The number, or NaN, which no comparison accepts, if it is none.

    Example:
        >>> import numpy as np
        >>> from appell.checks import real
        >>> real(np.float32(0.5)), real(np.array(2)), real(True), real("1")
        (0.5, 2.0, nan, nan)
    """
    array = np.asarray(value)
    return float(array) if array.ndim == 0 and array.dtype.kind in "iuf" else math.nan


def whole(value: Any) -> int | None:
    """The whole number, or None if it is none.

    Example:
        >>> import numpy as np
        >>> from appell.checks import whole
        >>> whole(np.int64(3)), whole(3.0), whole(True)
        (3, None, None)
    """
    array = np.asarray(value)
    return int(array) if array.ndim == 0 and array.dtype.kind in "iu" else None


def positive(name: str, value: Any, most: float = np.finfo(float).max) -> float:
    """A number above zero, finite unless more is allowed."""
    if not 0.0 < real(value) <= most:
        raise ArgumentError(f"{name} is {value!r}, expected a positive number.")
    return real(value)


def count(name: str, value: Any) -> int:
    """A whole number from zero up."""
    number = whole(value)
    if number is None or number < 0:
        raise ArgumentError(f"{name} is {value!r}, expected a whole number from 0 up.")
    return number


def numbers(name: str, values: Any) -> np.ndarray:
    """An array of real numbers."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.array(None)
    if array.dtype.kind not in "iuf" and array.size:
        raise ArgumentError(f"{name} is {values!r}, expected real numbers.")
    return array.astype(float)
