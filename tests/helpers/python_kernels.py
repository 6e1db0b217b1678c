"""Kernels of the C extension that run a Python function, so that a test decides what happens during a call."""

import ctypes
import weakref
from collections.abc import Callable

from appell import _native

BATCH = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 4, ctypes.c_ssize_t, ctypes.c_void_p)


class CodeInMemory:
    """Stands for the library that a kernel keeps loaded."""


def python_kernel(batch: Callable[[int], object], grain: int = 1) -> tuple[object, weakref.ref]:
    """A kernel from two entries to two entries that runs a function of the number of states, and its library."""
    library = CodeInMemory()
    library.code = BATCH(lambda *arguments: (batch(arguments[4]), 0)[1])  # type: ignore[attr-defined]
    address = ctypes.cast(library.code, ctypes.c_void_p).value  # type: ignore[attr-defined]
    kernel = _native.Kernel(library, address, address, 0, (2,), (2,), False, 1, grain)  # type: ignore[misc]
    return kernel, weakref.ref(library)
