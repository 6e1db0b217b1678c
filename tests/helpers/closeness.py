"""Comparison of numbers."""

from __future__ import annotations

import numpy as np


def assert_close(
    actual, expected, *, tolerance: float | None = None, scale: float | None = None, what: str = ""
) -> None:
    """Same shape, same dtype, no NaN, and every entry equal within `tolerance * scale`.

    Args:
        expected: an array; lists and plain numbers are taken as float64.
        tolerance: relative; default 64 roundings of the dtype times the last dimension.
        scale: what the tolerance is relative to; default the largest entry of `expected`. Give the size of the terms
            where the result is their difference.
    """
    actual = np.asarray(actual)
    expected = np.asarray(expected, dtype=None if hasattr(expected, "dtype") else np.float64)
    name = f"{what}: " if what else ""
    assert actual.shape == expected.shape, f"{name}shape {actual.shape}, expected {expected.shape}"
    assert actual.dtype == expected.dtype, f"{name}dtype {actual.dtype}, expected {expected.dtype}"
    for side, array in (("actual", actual), ("expected", expected)):
        assert np.isfinite(array).all(), f"{name}{side} is not finite at {np.argwhere(~np.isfinite(array))[0].tolist()}"
    if actual.size == 0:
        return
    if tolerance is None:
        tolerance = 64 * float(np.finfo(actual.dtype).eps) * max(1, *actual.shape[-1:], 1)
    if scale is None:
        scale = float(np.abs(expected).max())
    error = np.abs(actual - expected)
    worst = np.unravel_index(int(error.argmax()), error.shape)
    assert error[worst] <= tolerance * scale, (
        f"{name}worst entry {[int(i) for i in worst]} is {actual[worst]!r}, expected {expected[worst]!r}: "
        f"off by {error[worst]:.3g}, allowed {tolerance:.3g} of {scale:.3g}"
    )


def differs(actual, expected, by: float = 1e-3) -> bool:
    """Whether two results are clearly not equal, relative to the largest entry: for equations that are wrong in print."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    return bool(np.abs(actual - expected).max() > by * np.abs(expected).max())
