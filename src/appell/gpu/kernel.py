"""A function of a robot as a module on the GPU: compiled by NVRTC, kept on disk, launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from appell.compiler import cache
from appell.compiler.fingerprint import digest, source_digest
from appell.compiler.forms import Form
from appell.compiler.trace import Signature
from appell.errors import CompileError
from appell.gpu.device import cupy, telling
from appell.gpu.source import BLOCK, kernel_source

OPTIONS = ("-std=c++17", "--fmad=true")


class CudaKernel:
    """One function, ready to run on arrays (N, size)."""

    def __init__(self, signature: Signature, module: Any) -> None:
        self.signature = signature
        self.batch = module.get_function("appell_batch")
        try:
            self.rows = module.get_function("appell_rows")
        except (
            cupy().cuda.driver.CUDADriverError
        ):  # rows that are too wide for shared memory have no kernel of their own
            self.rows = None

    def run(self, inputs: list[Any], out: Any, bad: Any | None) -> None:
        """Queue the work on the current stream. `bad` is an integer on the device, set where a number is not finite."""
        n = out.shape[0]
        if n == 0:
            return
        flag = 0 if bad is None else bad
        grid, block = (-(-n // BLOCK),), (BLOCK,)
        steps = [_strides(array) for array in (*inputs, out)]
        packed = all(
            pitch == 1 and step in (0, array.shape[1])
            for (step, pitch), array in zip(steps, (*inputs, out), strict=True)
        )
        with telling("launch"):
            if self.rows is not None and packed and steps[-1][0]:
                given = [x for array, (step, _) in zip(inputs, steps, strict=False) for x in (array, np.int64(step))]
                self.rows(grid, block, (*given, out, np.int64(n), flag))
            else:
                given = [
                    x
                    for array, (step, pitch) in zip((*inputs, out), steps, strict=True)
                    for x in (array, np.int64(step), np.int64(pitch))
                ]
                self.batch(grid, block, (*given, np.int64(n), flag))


def _strides(array: Any) -> tuple[int, int]:
    """Numbers between states and between entries."""
    size = array.dtype.itemsize
    step = array.strides[0] // size if array.shape[0] > 1 else array.shape[1]
    pitch = array.strides[1] // size if array.shape[1] > 1 else 1
    return step, pitch


def build(key: str, form: Callable[[], Form], signature: Signature, dtype: str, title: str) -> CudaKernel:
    """The kernel of a form; `key` names what it computes."""
    return CudaKernel(signature, module(key, lambda: kernel_source(form(), dtype, title), dtype))


def module(key: str, source: Callable[[], str], dtype: str) -> Any:
    """Compiled code for the current device, kept on disk beside that of the CPU."""
    cp = cupy()
    folder = cache.default_folder()
    card = cp.cuda.Device().compute_capability
    name = digest(key, dtype, "cuda", card, cp.cuda.nvrtc.getVersion(), OPTIONS, source_digest())
    path = cache.find(folder, name)
    if path is not None:
        return loaded(path.read_bytes())
    code = compiled(source())
    cache.store(folder, name, code)
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
    with telling("load a kernel"):
        module.load(code)
    return module
