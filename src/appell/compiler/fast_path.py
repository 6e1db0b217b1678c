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

from collections.abc import Callable, Sequence
from functools import update_wrapper
from itertools import accumulate, pairwise
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
    """A method with an array as the result, of which callers get the blocks side by side as a named tuple of views."""

    def __init__(self, method: Callable[..., Any], blocks: type[tuple], rank: int) -> None:
        super().__init__(method)
        self.blocks, self.rank = blocks, rank

    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., Any]:
        if instance is None:
            return self.method
        bound = self.method.__get__(instance)
        columns = instance.functions.options.layout == "columns"  # type: ignore[attr-defined]
        call = _Split(bound, self.blocks, self.rank, columns)
        return vars(instance).setdefault(
            self.method.__name__, call if _native.Function is None else _native.Function(call)
        )


class _Split:
    """A bound method with its result, of so many dimensions, split along the last one; pickled by the method's name."""

    def __init__(self, whole: Callable[..., Any], blocks: type[tuple], rank: int, columns: bool) -> None:
        self.whole, self.blocks, self.rank, self.columns = whole, blocks, rank, columns
        update_wrapper(self, whole)

    def __call__(self, *arguments: Any, **options: Any) -> tuple:
        result = self.whole(*arguments, **options)
        shape = result.shape[: self.rank] if self.columns else result.shape[-self.rank :]
        before = (slice(None),) * (self.rank - 1) if self.columns else (...,)
        ends = accumulate(block_widths(self.blocks, shape), initial=0)
        return self.blocks._make(result[(*before, slice(*pair))] for pair in pairwise(ends))  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        return self.whole.__reduce__()


def block_widths(blocks: type[tuple], shape: Sequence[int]) -> tuple[int, ...]:
    """Columns of the blocks of a result of this shape; those by tau, the last ones, may be fewer or more than the others."""
    names, width = blocks._fields, shape[-1]  # type: ignore[attr-defined]
    same = shape[0] if names[-1] == "dtau" else width // len(names)
    return (*[same] * (len(names) - 1), width - same * (len(names) - 1))


def split_fast_path(blocks: type[tuple], rank: int = 2) -> Callable[[Method], Method]:
    """`fast_path` with a result of `rank` dimensions that is split into blocks side by side."""
    return lambda method: _SplitFastPath(method, blocks, rank)  # type: ignore[return-value]


def bind_fast_path(
    owner: object,
    name: str,
    kernel: object,
    parameters: np.ndarray | None,
    rows: bool,
    quaternions: tuple[tuple[str, int], ...],
    shape: Sequence[int],
) -> None:
    """Let plain calls of `owner.name` run a native kernel from now on; interpreted and GPU kernels are left alone."""
    if _native.bind is None or not isinstance(kernel, _native.Kernel or ()):
        return
    function = getattr(owner, name, None)
    if isinstance(function, _native.Function or ()):
        blocks = getattr(function, "blocks", None)
        widths = block_widths(blocks, shape) if blocks else ()
        _native.bind(function, kernel, parameters, rows, tuple(first for _, first in quaternions), blocks, widths)
