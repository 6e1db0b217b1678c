"""Compiled code in memory, as kernels."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

import appell._native as native
from appell.compiler.targets.llvm.jit import link
from appell.compiler.targets.llvm.runtime import FUNCTIONS
from appell.errors import warn_at_caller

if TYPE_CHECKING:
    from appell.algorithms.function_spec import Signature
    from appell.compiler.evaluate import Kernel

PORTION = 500_000
"""Operations times states that are worth waking a thread for, about 20 microseconds of work."""
MOST_THREADS = 1024
"""Threads that a batch is split over at most, whatever the caller allows."""
MOST_STATES = 1 << 15
"""States of one call through ctypes: signals are handled between calls."""


@dataclass(frozen=True)
class Library:
    """Object code of a kernel, or of half of it, in memory.

    Attributes:
        handles: keep the code in memory.
        one, batch: addresses of its functions (`appell.compiler.targets.llvm.kernel` says what they compute), or 0.
        work, cost: bytes of scratch memory, and operations of one state.
    """

    handles: tuple[Any, ...]
    one: int
    batch: int
    work: int
    cost: int

    def joined(self, other: Library) -> Library:
        """Both halves of a kernel."""
        one, batch, work = self.one or other.one, self.batch or other.batch, max(self.work, other.work)
        return Library((*self.handles, *other.handles), one, batch, work, self.cost)

    def kernel(self, signature: Signature, dtype: str, threads: int | None, times: int = 1) -> Kernel:
        """The kernel for calls of this signature.

        Args:
            threads: the most a batch is split over; None for every core that the process may use.
            times: how often a call does the work of a state.
        """
        if native.Kernel is None:
            warn_ctypes_fallback()
            return CtypesKernel(self, dtype)
        sizes, grain = tuple(size for _, size in signature.inputs), PORTION // max(self.cost * times, 1)
        most = min(threads or 0, MOST_THREADS)
        return native.Kernel(
            self.handles, self.one, self.batch, self.work, sizes, signature.shape, dtype == "float32", most, grain
        )  # fmt: skip


def open_library(code: bytes, half: str, runtime: Any) -> Library:
    """The half of a kernel that object code holds; `runtime` holds what it calls."""
    imports = {name: runtime[name] for name in FUNCTIONS}
    function = "appell_one" if half == "one" else "appell_batch"
    handle = link(code, (function, "appell_work", "appell_cost"), imports)
    work, cost = (ctypes.c_int64.from_address(handle[name]).value for name in ("appell_work", "appell_cost"))
    addresses = (handle[function], 0) if half == "one" else (0, handle[function])
    return Library((handle, runtime), *addresses, work, cost)


@lru_cache(maxsize=1)
def warn_ctypes_fallback() -> None:
    """Say that calls are slower than they could be."""
    warn_at_caller(
        "appell was installed without its C extension (no C compiler at that time): calls are slower and use one thread. "
        "Install it again where a C compiler is found.",
        RuntimeWarning,
    )


class CtypesKernel:
    """A compiled kernel called through ctypes: what the C extension does, with more ceremony and on one thread."""

    def __init__(self, library: Library, dtype: str) -> None:
        self.library, self.item = library, np.dtype(dtype).itemsize
        pointer, size = ctypes.c_void_p, ctypes.c_ssize_t
        self.one = ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 3)(library.one)
        self.batch = ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 4, size, pointer)(library.batch)

    def run(self, inputs: tuple[np.ndarray, ...], out: np.ndarray) -> bool:
        if out.ndim == 2 and len(out) > MOST_STATES:
            parts = (slice(k, k + MOST_STATES) for k in range(0, len(out), MOST_STATES))
            finite = [self.run(tuple(array[part] for array in inputs), out[part]) for part in parts]
            return all(finite)
        scratch = ctypes.create_string_buffer(self.library.work + 64)
        work = ctypes.c_void_p(-(-ctypes.addressof(scratch) // 64) * 64)
        pointers = (ctypes.c_void_p * len(inputs))(*(array.ctypes.data for array in inputs))
        if out.ndim == 1:
            return not self.one(pointers, ctypes.c_void_p(out.ctypes.data), work)
        strides = [(array.strides[0] // self.item, array.strides[1] // self.item) for array in (*inputs, out)]
        steps, pitches = ((ctypes.c_ssize_t * len(strides))(*values) for values in zip(*strides, strict=True))
        return not self.batch(
            pointers, steps, pitches, ctypes.c_void_p(out.ctypes.data), ctypes.c_ssize_t(len(out)), work
        )
