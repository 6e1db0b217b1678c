"""Compiled code in memory: kernels out of shared libraries."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import appell._native as native
from appell.errors import CompileError

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
    """A loaded shared library with one kernel.

    Attributes:
        handle: keeps the code in memory.
        one, batch: addresses of its two functions (`appell.compiler.targets.c.simd` says what they compute).
        work, cost: bytes of scratch memory, and operations of one state.
    """

    handle: ctypes.CDLL
    one: int
    batch: int
    work: int
    cost: int

    def kernel(self, signature: Signature, dtype: str, threads: int | None, times: int = 1) -> Kernel:
        """The kernel for calls of this signature.

        Args:
            threads: the most a batch is split over; None for every core that the process may use.
            times: how often a call does the work of a state.
        """
        if native.Kernel is None:
            warn_ctypes_fallback()
            return CtypesKernel(self.handle, self.work, dtype)
        sizes, grain = tuple(size for _, size in signature.inputs), PORTION // max(self.cost * times, 1)
        most = min(threads or 0, MOST_THREADS)
        return native.Kernel(
            self.handle, self.one, self.batch, self.work, sizes, signature.shape, dtype == "float32", most, grain
        )  # fmt: skip


def open_library(path: Path) -> Library:
    """The library in a file."""
    try:
        handle = ctypes.CDLL(os.fspath(path))
        one, batch = (ctypes.cast(handle[name], ctypes.c_void_p).value or 0 for name in ("appell_one", "appell_batch"))
        work, cost = (ctypes.c_ssize_t.in_dll(handle, name).value for name in ("appell_work", "appell_cost"))
    except (OSError, AttributeError, ValueError) as error:
        raise CompileError(f"the compiled kernel {path.name} cannot be loaded: {error}") from error
    return Library(handle, one, batch, work, cost)


def open_code(code: bytes) -> Library:
    """The library with this content, for when there is no cache to keep it in."""
    folder = tempfile.mkdtemp(prefix="appell-")
    try:
        path = Path(folder, "kernel.so")
        path.write_bytes(code)
        return open_library(path)
    finally:  # what is loaded stays in memory
        shutil.rmtree(folder, ignore_errors=True)


@lru_cache(maxsize=1)
def warn_ctypes_fallback() -> None:
    """Say that calls are slower than they could be."""
    warnings.warn(
        "appell was installed without its C extension (no C compiler at that time): calls are slower and use one thread. "
        "Install it again where a C compiler is found.",
        RuntimeWarning,
        stacklevel=2,
    )


class CtypesKernel:
    """A compiled kernel called through ctypes: what the C extension does, with more ceremony and on one thread."""

    def __init__(self, library: ctypes.CDLL, work: int, dtype: str) -> None:
        self.one, self.batch = library.appell_one, library.appell_batch
        self.work, self.item = work, np.dtype(dtype).itemsize

    def run(self, inputs: tuple[np.ndarray, ...], out: np.ndarray) -> bool:
        if out.ndim == 2 and len(out) > MOST_STATES:
            parts = (slice(k, k + MOST_STATES) for k in range(0, len(out), MOST_STATES))
            finite = [self.run(tuple(array[part] for array in inputs), out[part]) for part in parts]
            return all(finite)
        scratch = ctypes.create_string_buffer(self.work + 64)
        work = ctypes.c_void_p(-(-ctypes.addressof(scratch) // 64) * 64)
        pointers = (ctypes.c_void_p * len(inputs))(*(array.ctypes.data for array in inputs))
        if out.ndim == 1:
            return not self.one(pointers, ctypes.c_void_p(out.ctypes.data), work)
        strides = [(array.strides[0] // self.item, array.strides[1] // self.item) for array in (*inputs, out)]
        steps, pitches = ((ctypes.c_ssize_t * len(strides))(*values) for values in zip(*strides, strict=True))
        return not self.batch(
            pointers, steps, pitches, ctypes.c_void_p(out.ctypes.data), ctypes.c_ssize_t(len(out)), work
        )
