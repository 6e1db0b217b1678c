"""A function of a robot as a module on the GPU: compiled by NVRTC, kept on disk, launched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell.algorithms.function_spec import Signature
from appell.compiler import cache
from appell.compiler.fingerprint import digest, source_digest
from appell.compiler.lowering import LoweredFunction
from appell.compiler.targets.cuda.arrays import cupy, translate_gpu_errors
from appell.compiler.targets.cuda.source import BLOCK, LARGEST_SHARE, TILE, TURNED_BY, kernel_source
from appell.errors import CompileError

OPTIONS = ("-std=c++17", "--fmad=true")

COLUMNS_BYTES = 1 << 28
"""Size of columns that are turned to rows: enough states to keep a card busy. Of 2^25 to 2^30 bytes, 2^28 and more give floating
quadrupeds 1.2 to 1.8 times the speed of 2^25, and a Panda 0.9 to 1.6 times."""


class CudaKernel:
    """One function, ready to run on arrays (N, size)."""

    def __init__(self, signature: Signature, module: Any) -> None:
        self.signature = signature
        self.batch = module.get_function("appell_batch")
        self.groups, self.shared = whole_number(module, "appell_groups"), whole_number(module, "appell_shared")
        allow_shared(self.batch, self.shared)
        resident = whole_number(module, "appell_resident")
        self.most_blocks = resident_blocks(self.batch, self.shared) if resident else None
        self.rows = function_of(module, "appell_rows")
        self.turn = function_of(module, "appell_turn")

    def run(self, inputs: Sequence[Any], out: Any) -> None:
        """Queue the work on arrays (N, size) of any strides on the current stream."""
        count = out.shape[0]
        strides = [_strides(array) for array in (*inputs, out)]
        sizes = [array.shape[1] for array in (*inputs, out)]
        if all(pitch == 1 and step in (0, size) for (step, pitch), size in zip(strides, sizes, strict=True)):
            self.run_rows(inputs, [step for step, _ in strides[:-1]], out, count)
        else:
            self.run_strided(inputs, strides, out, count)

    def run_rows(self, inputs: Sequence[Any], steps: Sequence[int], out: Any, count: int) -> None:
        """Contiguous rows; `steps` are the numbers of a row, or 0 for a row that all states share."""
        if self.rows is None:
            return self.run_turned(inputs, [(step, 1) for step in steps], out)
        if not count:
            return None
        given = [argument for pair in zip(inputs, steps, strict=True) for argument in pair]
        return self.rows((-(-count // BLOCK),), (BLOCK,), (*given, out, count))

    def run_turned(self, inputs: Sequence[Any], strides: Sequence[tuple[int, int]], out: Any) -> None:
        """Results in columns that are turned: neighbouring threads write neighbouring numbers."""
        count, entries = out.shape
        portion = max(BLOCK, COLUMNS_BYTES // (entries * out.itemsize))
        columns = cupy().empty((entries, min(count, portion)), out.dtype)
        for first in range(0, count, portion):
            rows = out[first : first + portion]
            part = [array[first:] if step else array for array, (step, _) in zip(inputs, strides, strict=True)]
            self.run_strided(part, [*strides, (1, columns.shape[1])], columns, len(rows))
            if self.turn is None or not rows.flags.c_contiguous:
                rows[...] = columns[:, : len(rows)].T
            else:
                tiles = -(-len(rows) // TILE), -(-entries // TILE)
                self.turn(tiles, (TILE * TURNED_BY,), (columns, columns.shape[1], rows, len(rows)))

    def run_strided(self, inputs: Sequence[Any], strides: Sequence[tuple[int, int]], out: Any, count: int) -> None:
        """Any strides: numbers between states and between entries, for every input and the result."""
        if self.groups and strides[-1][0] != 1:
            self.run_turned(inputs, strides[:-1], out)
        elif count:
            self.launch((*inputs, out), strides, count)

    def launch(self, arrays: Sequence[Any], strides: Sequence[tuple[int, int]], count: int) -> None:
        """Queue the work on inputs and result; arrays may be addresses."""
        given = [a for array, (s, p) in zip(arrays, strides, strict=True) for a in (array, s, p)]
        blocks = -(-count // BLOCK)
        grid = min(blocks, self.most_blocks or blocks), max(self.groups, 1)
        self.batch(grid, (BLOCK,), (*given, count), shared_mem=self.shared)


RESERVED_BYTES = 16 * 1024
"""Shared memory of a block for what is not kept there by `spill`, such as inputs of the next states."""


def _strides(array: Any) -> tuple[int, int]:
    """Numbers between states and between entries."""
    size = array.dtype.itemsize
    step = array.strides[0] // size if array.shape[0] > 1 else array.shape[1]
    pitch = array.strides[1] // size if array.shape[1] > 1 else 1
    return step, pitch


def function_of(module: Any, name: str) -> Any | None:
    """A kernel of a module, where it has it."""
    try:
        return module.get_function(name)
    except cupy().cuda.driver.CUDADriverError:
        return None


def whole_number(module: Any, name: str) -> int:
    """A variable of a module."""
    runtime, value = cupy().cuda.runtime, np.empty(1, np.int32)
    runtime.memcpy(value.ctypes.data, module.get_global_var(name), value.nbytes, runtime.memcpyDeviceToHost)
    return int(value[0])


def allow_shared(function: Any, size: int) -> None:
    """Let blocks of a kernel ask for so many bytes of shared memory; beyond 48 KiB that has to be said before."""
    driver = cupy().cuda.driver
    driver.funcSetAttribute(function.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, size)


def resident_blocks(function: Any, shared: int) -> int:
    """Blocks of a kernel, with so much shared memory each, that run at a time on the current device."""
    cuda = cupy().cuda
    processors = cuda.Device().attributes["MultiProcessorCount"]
    return processors * cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, BLOCK, shared)


def build(key: str, form: Callable[[], LoweredFunction], signature: Signature, dtype: str, title: str) -> CudaKernel:
    """The kernel of a form; `key` names what it computes."""
    width = signature.shape[-1] if len(signature.shape) > 1 else None
    most = cupy().cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"] - RESERVED_BYTES
    source = lambda: kernel_source(form(), dtype, title, width, min(most, LARGEST_SHARE))  # noqa: E731
    return CudaKernel(signature, module(key, source, dtype))


def module(key: str, source: Callable[[], str], dtype: str) -> Any:
    """Compiled code for the current device, kept on disk beside that of the CPU."""
    cp = cupy()
    card = cp.cuda.Device().compute_capability
    name = digest(key, dtype, "cuda", card, cp.cuda.nvrtc.getVersion(), OPTIONS, source_digest())
    code = cache.load(name)
    if code is None:
        code = compiled(source())
        cache.store(name, code)
    return loaded(code)


def compiled(source: str) -> bytes:
    """Machine code for the current device."""
    cp = cupy()
    try:
        code, _ = cp.cuda.compiler.compile_using_nvrtc(source, OPTIONS, None, "appell.cu")
    except cp.cuda.compiler.CompileException as error:
        raise CompileError(f"NVRTC refused a kernel: {str(error).splitlines()[0]}", output=str(error)) from None
    return code


def loaded(code: bytes) -> Any:
    """The code as a module of the current device."""
    module = cupy().cuda.function.Module()
    with translate_gpu_errors("load a kernel"):
        module.load(code)
    return module
