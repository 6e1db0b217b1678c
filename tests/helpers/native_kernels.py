"""Kernels without the robot around them, for tests of the compiler."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from appell.algorithms.function_spec import Signature
from appell.compiler.lowering import LoweredFunction, StraightLine
from appell.compiler.operations import Operation, OperationList
from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.targets.llvm.build import builder_for
from appell.compiler.targets.llvm.isa import instruction_set
from appell.compiler.targets.llvm.jit import compile_text
from appell.compiler.targets.llvm.kernel import HALVES, kernel_text
from appell.compiler.targets.llvm.library import Library, open_library

GUARD = 256
"""Bytes before and after every buffer that must keep their content."""

POISON = 0xA5


def opened(text: str, half: str, dtype: str = "float64", isa: str | None = None) -> Library:
    """A module compiled and loaded, past the cache of kernels."""
    builder = builder_for(isa, dtype)
    return open_library(compile_text(text, builder.target.cpu, builder.target.features), half, builder.runtime)


def native_library(
    lowered: LoweredFunction | LinkParallel, dtype: str = "float64", isa: str | None = None, batch: str = "batch"
) -> Library:
    """A native kernel for one state and, if there is such a form, for batches, of rows as a rule or of columns."""
    real = instruction_set(isa).real(dtype)
    wanted = [half for half in ("one", batch) if half in halves(lowered)]
    one, *many = (opened(kernel_text(lowered, real, half), half, dtype, isa) for half in wanted)
    return one.joined(*many) if many else one


def halves(lowered: LoweredFunction | LinkParallel) -> tuple[str, ...]:
    """The halves that a form has: links side by side solve equations of one state alone."""
    return ("one",) if isinstance(lowered, LinkParallel) and lowered.rolled.masses else HALVES


def kernel(listed: OperationList, dtype: str = "float64", isa: str | None = None, threads: int = 1):
    """The native kernel of a list of operations."""
    signature = Signature(tuple((f"in{k}", size) for k, size in enumerate(listed.sizes)), (len(listed.outputs),))
    return native_library(StraightLine(listed), dtype, isa).kernel(signature, dtype, threads)


def listed(*operations: Operation, sizes: tuple[int, ...], outputs: tuple[int, ...]) -> OperationList:
    return OperationList(sizes, operations, outputs)


def inputs(count: int) -> list[Operation]:
    return [Operation("input", (), k) for k in range(count)]


def evaluate(function, *arrays: np.ndarray, outputs: int, dtype: str = "float64") -> np.ndarray:
    """Rows (N, outputs) of a kernel for rows of inputs; results are poisoned before."""
    given = tuple(np.ascontiguousarray(array, dtype=dtype) for array in arrays)
    out = np.full((len(given[0]), outputs), np.nan, dtype=dtype)
    function.run(given, out)
    return out


class Guarded:
    """Memory of a number of bytes between two guards, aligned as kernels get it, or off by one number."""

    def __init__(self, size: int, offset: int = 0) -> None:
        self.size, self.block = size, np.full(size + 2 * GUARD + 64 + offset, POISON, np.uint8)
        self.first = GUARD + (-(self.block.ctypes.data + GUARD)) % 64 + offset
        self.address = self.block.ctypes.data + self.first

    def array(self, dtype: str) -> np.ndarray:
        return self.block[self.first : self.first + self.size].view(dtype)

    def intact(self) -> bool:
        """Whether nothing was written outside."""
        return bool(
            (self.block[: self.first] == POISON).all() and (self.block[self.first + self.size :] == POISON).all()
        )


def run_guarded(
    library: Library,
    dtype: str,
    arrays: Sequence[np.ndarray],
    entries: int,
    columns: bool = False,
    one: bool = False,
    offset: int = 1,
) -> tuple[np.ndarray, int]:
    """Results (N, entries) and the status of a kernel whose inputs, results and scratch memory lie between guards.

    Inputs are (N, size), or (1, size) for a value of all states. Results are NaN before the call. Arrays begin `offset` numbers
    after a multiple of 64 bytes, and scratch memory holds NaN.
    """
    item, count = np.dtype(dtype).itemsize, max(len(array) for array in arrays)
    given = [Guarded(array.size * item, offset * item) for array in arrays]
    out, work = Guarded(count * entries * item, offset * item), Guarded(library.work)
    out.array(dtype)[:] = np.nan
    work.array("uint8")[:] = 0xFF  # not a number
    for place, array in zip(given, arrays, strict=True):
        place.array(dtype)[:] = (array.T if columns else array).ravel()
    before = [place.block.copy() for place in given]
    pointer, pointers = ctypes.c_void_p, (ctypes.c_void_p * len(given))(*(place.address for place in given))
    if one:
        status = ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 3)(library.one)(pointers, out.address, work.address)
    else:
        shapes = [*(array.shape for array in arrays), (count, entries)]
        strides = [(0 if n == 1 < count else 1 if columns else size, n if columns else 1) for n, size in shapes]
        step, pitch = ((ctypes.c_ssize_t * len(strides))(*each) for each in zip(*strides, strict=True))
        run = ctypes.CFUNCTYPE(ctypes.c_int, *[pointer] * 4, ctypes.c_ssize_t, pointer)(library.batch)
        status = run(pointers, step, pitch, out.address, count, work.address)
    assert all((place.block == content).all() for place, content in zip(given, before, strict=True)), "input changed"
    assert out.intact(), "written beside the result"
    assert work.intact(), "written beside the scratch memory"
    result = out.array(dtype)
    return (result.reshape(entries, count).T if columns else result.reshape(count, entries)).copy(), status
