"""Kernels without the robot around them, for tests of the compiler."""

from __future__ import annotations

import numpy as np

from appell.algorithms.function_spec import Signature
from appell.compiler.lowering import StraightLine
from appell.compiler.operations import Operation, OperationList
from appell.compiler.targets.c.isa import instruction_set
from appell.compiler.targets.c.library import open_code
from appell.compiler.targets.c.simd import kernel_source
from appell.compiler.targets.c.toolchain import find_compiler


def kernel(
    listed: OperationList, dtype: str = "float64", isa: str | None = None, part: int | None = None, threads: int = 1
):
    """The native kernel of a list of operations."""
    compiler, target = find_compiler(), instruction_set(isa)
    source = kernel_source(StraightLine(listed, part), dtype, target.lanes(dtype), "test")
    signature = Signature(tuple((f"in{k}", size) for k, size in enumerate(listed.sizes)), (len(listed.outputs),))
    return open_code(compiler.build(source, target)).kernel(signature, dtype, threads)


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
