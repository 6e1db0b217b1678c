"""The GPU through CuPy: found, or a clear word about what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

from appell.errors import AppellError, CompileError


@lru_cache(maxsize=1)
def cupy() -> Any:
    """The module, with at least one usable device behind it."""
    try:
        module = import_module("cupy")
    except ImportError as error:
        raise CompileError(
            f"target='cuda' needs CuPy ({error}). Install it with: pip install 'appell[cuda]', or use target='cpu'."
        ) from None
    try:
        count = module.cuda.runtime.getDeviceCount()
    except Exception as error:
        raise CompileError(
            f"target='cuda' found no usable GPU: {error}. Check the driver with nvidia-smi, or use target='cpu'."
        ) from None
    if count == 0:
        raise CompileError("target='cuda' found no GPU on this machine. Use target='cpu'.")
    return module


@contextmanager
def translate_gpu_errors(what: str) -> Iterator[None]:
    """Errors of CuPy as errors of this library, with what was being done."""
    cp = cupy()
    try:
        yield
    except cp.cuda.memory.OutOfMemoryError as error:
        raise AppellError(
            f"{what}: the GPU is out of memory ({error}). Pass smaller batches, an `out` array, or NumPy arrays, which are "
            "processed in pieces."
        ) from None
    except (cp.cuda.driver.CUDADriverError, cp.cuda.runtime.CUDARuntimeError) as error:
        raise AppellError(f"{what}: the GPU reports {error}.") from error
