"""CUDA text as ordinary C++: what a thread computes, run on this machine."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np

SHIM = """
#include <cmath>
using namespace std;
#define __device__
#define __global__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
static void __syncthreads() {}
struct float2 { float x, y; };
struct double2 { double x, y; };
struct { long long x, y; } blockIdx, threadIdx, gridDim = {1, 1};
extern "C" void appell_at(long long state, int block, int group)
{
    blockIdx.x = state / block;
    blockIdx.y = group;
    threadIdx.x = state % block;
}
"""

POINTERS = {"float64": ctypes.c_double, "float32": ctypes.c_float}


def compiler() -> str | None:
    return shutil.which("g++") or shutil.which("c++")


def run(source: str, folder: Path, dtype: str, block: int, inputs: list[np.ndarray], entries: int) -> np.ndarray:
    """Results (N, entries) of `appell_batch` on arrays (N, size), state by state, into a poisoned array.

    Of code for resident blocks one block runs.
    """
    code = library(source, folder)
    groups = ctypes.c_int.in_dll(code, "appell_groups").value
    out = np.full((len(inputs[0]), entries), np.nan, dtype, order="F" if groups else "C")
    arrays = [part for array in (*inputs, out) for part in (pointer(array), *strides(array))]
    threads = block - 3 if ctypes.c_int.in_dll(code, "appell_resident").value else len(out)
    for group in range(max(groups, 1)):
        launch(code, "appell_batch", block, threads, [*arrays, ctypes.c_longlong(len(out))], group)
    return out


def library(source: str, folder: Path) -> ctypes.CDLL:
    """CUDA text as a loaded library."""
    path, product = folder / "kernel.cpp", folder / "kernel.so"
    path.write_text(SHIM + re.sub(r"extern __shared__ real (\w+)\[\]", r"static real \1[1 << 16]", source))
    command = [compiler() or "g++", "-O1", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC", "-w"]
    subprocess.run([*command, "-o", str(product), str(path)], check=True, capture_output=True)
    return ctypes.CDLL(str(product))


def launch(code: ctypes.CDLL, name: str, block: int, count: int, arguments: list, group: int = 0) -> None:
    """One thread after the other; those beyond the batch must leave everything alone."""
    for state in range(count + 3):
        code.appell_at(ctypes.c_longlong(state), block, group)
        code[name](*arguments)


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def strides(array: np.ndarray) -> list[ctypes.c_longlong]:
    """Numbers between neighbours along every axis, 0 along those of length 1."""
    sizes = zip(array.shape, array.strides, strict=True)
    return [ctypes.c_longlong(0 if size == 1 else stride // array.itemsize) for size, stride in sizes]
