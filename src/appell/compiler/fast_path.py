"""Plain calls of a robot's methods that do not pass through Python code.

A call such as `robot.inverse_dynamics(q, qd, qdd)` would cost more in Python than the kernel takes. So:

1. A method marked `@fast_path` is a descriptor. When it is first looked up on an object, the object gets a callable of its
   own in its `__dict__`: the C extension's `Function` around the bound method.
2. At first that callable passes every call on to the method, which asks `self.functions` as usual.
3. When the evaluator has run the plain form of the function (no gravity, external forces or parameters) as native code, it
   calls `bind_fast_path`: from then on the C extension converts arrays and runs the kernel itself. It still passes on to
   the method whatever needs Python: options, other types of arrays, shapes that broadcast, errors.

Without the C extension methods are plain methods, and everything else is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any, TypeVar

import numpy as np

from appell import _native

Method = TypeVar("Method", bound=Callable[..., Any])


class _FastPath:
    """Marks a method whose positional arguments are the arrays of one compiled function of the same name."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        if instance is None:
            return self.method
        bound = self.method.__get__(instance)
        if _native.Function is None:
            return bound
        return vars(instance).setdefault(self.method.__name__, _native.Function(bound))


fast_path: Callable[[Method], Method] = _FastPath  # type: ignore[assignment]


class _SplitFastPath(_FastPath):
    """A method with a matrix as the result, of which callers get the blocks side by side as a named tuple of views."""

    def __init__(self, method: Callable[..., Any], blocks: type[tuple]) -> None:
        super().__init__(method)
        self.blocks = blocks

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        if instance is None:
            return self.method
        bound = self.method.__get__(instance)
        whole = bound if _native.Function is None else _native.Function(bound)
        columns = instance.functions.options.layout == "columns"  # type: ignore[attr-defined]
        call = update_wrapper(partial(_split, whole, self.blocks, columns), bound)
        return vars(instance).setdefault(self.method.__name__, call)


def _split(whole: Callable[..., Any], blocks: type[tuple], columns: bool, /, *arguments: Any, **options: Any) -> tuple:
    """Derivatives by q, by qd and by the third input, side by side in the result."""
    result = whole(*arguments, **options)
    rows, width = result.shape[:2] if columns else result.shape[-2:]
    n = width // 3 if blocks._fields[-1] == "dqdd" else rows  # type: ignore[attr-defined]
    if columns:
        return tuple.__new__(blocks, (result[:, :n], result[:, n : 2 * n], result[:, 2 * n :]))
    return tuple.__new__(blocks, (result[..., :n], result[..., n : 2 * n], result[..., 2 * n :]))


def split_fast_path(blocks: type[tuple]) -> Callable[[Method], Method]:
    """`fast_path` with a result that is split into three blocks side by side."""
    return lambda method: _SplitFastPath(method, blocks)  # type: ignore[return-value]


def bind_fast_path(
    owner: object,
    name: str,
    kernel: object,
    parameters: np.ndarray | None,
    rows: bool,
    quaternions: tuple[tuple[str, int], ...],
) -> None:
    """Let plain calls of `owner.name` run a native kernel from now on; interpreted and GPU kernels are left alone."""
    if _native.bind is None or not isinstance(kernel, _native.Kernel or ()):
        return
    function = getattr(owner, name, None)
    function = function.args[0] if isinstance(function, partial) else function
    if isinstance(function, _native.Function or ()):
        _native.bind(function, kernel, parameters, rows, tuple(first for _, first in quaternions))
