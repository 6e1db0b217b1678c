"""Derivatives of forward dynamics of large robots on a GPU: stage by stage, for portions of a batch (`appell.compiler.stages`).

Two kernels follow those of the functions, over columns D of derivatives of inverse dynamics:

    appell_factors    a thread for each state: M to its factors
    appell_solution   a block for as many states as a warp has threads, whose factors are in shared memory: a warp for each column
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from appell.algorithms.function_spec import FunctionSpec, Signature
from appell.compiler.emit import emit
from appell.compiler.operations import OperationList
from appell.compiler.provider import Provider
from appell.compiler.schedule import depth_first
from appell.compiler.stages import Stages, before
from appell.compiler.targets.cuda.arrays import cupy
from appell.compiler.targets.cuda.kernel import CudaKernel, allow_shared, module
from appell.compiler.targets.cuda.source import BLOCK, COLUMN, LARGEST_SHARE, cuda_dialect, types_text

WARP, WARPS = 32, 8
"""Threads of a warp, and warps of a block that solves; 4 warps are not faster."""
REGISTERS = 256
"""Registers for all threads of a processor, for each thread of a block."""

PORTION_BYTES = 1 << 30
"""Size of the columns between two stages."""

WHOLE = 1 << 30

TEMPLATE = """
extern "C" __global__ void __launch_bounds__({block}, 1) appell_factors(
    real *restrict derivatives, int pitch, real *restrict factors, place n)
{{
    const place i = blockIdx.x * (place){block} + threadIdx.x;
    if (i >= n) return;
    const column d = {{derivatives, pitch, (unsigned)i}};
    real *restrict y = factors + i / {warp} * {size} + i % {warp};
{factor_lines}
}}

extern "C" __global__ void __launch_bounds__({threads}, {blocks}) appell_solution(
    real *restrict derivatives, int pitch, const real *restrict factors, real *restrict out, int out_pitch, place n)
{{
    extern __shared__ real own_factors[];
    for (int k = threadIdx.x; k < {size}; k += {threads}) own_factors[k] = factors[blockIdx.x * (place){size} + k];
    __syncthreads();
    const place i = blockIdx.x * (place){warp} + threadIdx.x % {warp};
    if (i >= n) return;
    const volatile real *f = own_factors + threadIdx.x % {warp};
    const column d = {{derivatives, pitch, (unsigned)i}}, y = {{out, out_pitch, (unsigned)i}};
    for (int k = threadIdx.x / {warp}; k < {columns}; k += {warps}) {{
        real b[{n}];
        if (k < {given}) {{
            #pragma unroll
            for (int j = 0; j < {n}; j++) b[j] = -d[j * {columns} + k];
        }} else {{
            #pragma unroll
            for (int j = 0; j < {n}; j++) b[j] = j == k - {given};
        }}
{solution_lines}
    }}
}}
"""


def staged_source(stages: Stages, dtype: str) -> str:
    """CUDA source of the last two stages."""
    n, count, dialect = stages.size, len(stages.factors.outputs), cuda_dialect(dtype)
    needed = 40 + n * np.dtype(dtype).itemsize // 4  # the right-hand side lies in registers

    def element(k: int) -> str:
        """An element of M, beside the derivatives by q and q̇."""
        return f"d[{k // n * 3 * n + 2 * n + k % n}]"

    def given(k: int) -> str:
        return f"f[{WARP * k}]" if k < count else f"b[{k - count}]"

    factors = replace(dialect, load=element, store=f"y[{{0}} * {WARP}] = {{1}};")
    solution = replace(dialect, load=given, store=f"y[{{0}} * {3 * n} + k] = {{1}};")
    return types_text(dtype, "derivatives of forward dynamics in stages") + COLUMN + TEMPLATE.format(
        block=BLOCK, warp=WARP, warps=WARPS, threads=WARP * WARPS, size=WARP * count, n=n, columns=3 * n, given=2 * n,
        blocks=max(1, REGISTERS // needed),
        factor_lines=lines(depth_first(stages.factors), factors), solution_lines=lines(stages.solution, solution),
    )  # fmt: skip


def lines(listed: OperationList, dialect: Any) -> str:
    """Statements of all operations, in their order."""
    (statements,) = emit(listed, dialect, WHOLE).parts
    return "\n".join(f"        {line}" for line in statements)


class StagedKernel(CudaKernel):
    """The stages of one function, ready to run on arrays (N, size)."""

    def __init__(
        self, signature: Signature, first: tuple[CudaKernel, CudaKernel], stages: Stages, dtype: str, last: Any
    ) -> None:
        self.signature, (self.accelerations, self.derivatives) = signature, first
        self.dtype, self.n, self.factors = np.dtype(dtype), stages.size, len(stages.factors.outputs)
        self.groups, self.rows, self.turn = 1, None, self.derivatives.turn
        self.factorise, self.solve = (last.get_function(f"appell_{name}") for name in ("factors", "solution"))
        self.shared = WARP * self.factors * self.dtype.itemsize
        allow_shared(self.solve, self.shared)

    def launch(self, arrays: Sequence[Any], strides: Sequence[tuple[int, int]], count: int) -> None:
        """All stages of one portion after the other; results are in columns."""
        cp, n, entries = cupy(), self.n, 3 * self.n * self.n
        portion = min(count, max(BLOCK, PORTION_BYTES // (entries * self.dtype.itemsize)))
        qdd, between = cp.empty((n, portion), self.dtype), cp.empty((entries, portion), self.dtype)
        factors = cp.empty(-(-portion // WARP) * WARP * self.factors, self.dtype)
        own, (_, pitch) = (1, portion), strides[-1]
        for start in range(0, count, portion):
            size = min(portion, count - start)
            *given, out = (
                np.int64(array.data.ptr + start * step * self.dtype.itemsize)
                for array, (step, _) in zip(arrays, strides, strict=True)
            )
            self.accelerations.launch((*given, qdd), (*strides[:-1], own), size)
            self.derivatives.launch((*given[:2], qdd, between), (*strides[:2], own, own), size)
            place = between, np.int32(portion), factors
            self.factorise((-(-size // BLOCK),), (BLOCK,), (*place, size))
            grid, block = (-(-size // WARP),), (WARP * WARPS,)
            self.solve(grid, block, (*place, out, np.int32(pitch), size), shared_mem=self.shared)


def build_stages(
    provider: Provider, spec: FunctionSpec, signature: Signature, dtype: str, build_function: Callable[..., CudaKernel]
) -> StagedKernel | None:
    """The kernel of a function in stages; None where it has none, or a block has too little memory for them."""
    stages = provider.stages(spec)
    if stages is None or WARP * len(stages.factors.outputs) * np.dtype(dtype).itemsize > LARGEST_SHARE:
        return None
    first = tuple(build_function(provider, each, provider.signature(each)) for each in before(spec))
    last = module(f"{provider.key(spec)} stages", lambda: staged_source(stages, dtype), dtype)
    return StagedKernel(signature, first, stages, dtype, last)  # type: ignore[arg-type]
