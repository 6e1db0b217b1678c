"""Arrays of CuPy, PyTorch, JAX and NumPy: seen as CuPy arrays without a copy where they are on the GPU, and back.

Results come back as the kind of array that came in. Work is queued on the caller's stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from appell.arrays import QUATERNION_LENGTH_TOL, broadcast_batch, with_size
from appell.arrays import require_unit_quaternions as require_unit_quaternions_on_host
from appell.errors import AppellError, ArgumentError, CompileError


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


class Kind(NamedTuple):
    """One library of arrays.

    Attributes:
        on_device: whether an array is in the memory of a GPU.
        enter: its view as a CuPy array.
        leave: a CuPy array as one of this kind.
        stream: context in which CuPy works on the stream that this library is using.
    """

    on_device: Callable[[Any], bool]
    enter: Callable[[Any], Any]
    leave: Callable[[Any], Any]
    stream: Callable[[], Any] = nullcontext


def _torch_stream() -> Any:
    stream, current = cupy().cuda.Stream, import_module("torch").cuda.current_stream()
    if hasattr(stream, "from_external"):
        return stream.from_external(current)
    return cupy().cuda.ExternalStream(current.cuda_stream)


def _to_torch(array: Any) -> Any:
    return import_module("torch").from_dlpack(array)


def _to_jax(array: Any) -> Any:
    return import_module("jax").dlpack.from_dlpack(array)


def _jax_on_device(array: Any) -> bool:
    return next(iter(array.devices())).platform in ("gpu", "cuda")


KINDS: dict[str, Kind] = {
    "cupy": Kind(lambda array: True, lambda array: array, lambda array: array),
    "torch": Kind(
        lambda array: array.is_cuda, lambda array: cupy().from_dlpack(array.detach()), _to_torch, _torch_stream
    ),
    "jaxlib": Kind(_jax_on_device, lambda array: cupy().from_dlpack(array), _to_jax),
    "jax": Kind(_jax_on_device, lambda array: cupy().from_dlpack(array), _to_jax),
}
"""By the name of the package that the array's type comes from. Everything else is NumPy's, or becomes so."""


def kind_of(values: Sequence[Any]) -> Kind | None:
    """The kind of the first array that is on a GPU; None where all are on the host."""
    for value in values:
        kind = KINDS.get(type(value).__module__.partition(".")[0])
        if kind is not None and kind.on_device(value):
            return kind
    return None


def entered(name: str, value: Any, dtype: str) -> Any:
    """A CuPy array of the right type: a view where possible, else a copy."""
    kind = kind_of((value,))
    array = np.asarray(value) if kind is None else kind.enter(value)
    if array.dtype.kind not in "fiub":
        raise ArgumentError(f"{name} must be an array of real numbers, got {type(value).__name__} of {array.dtype}.")
    return cupy().asarray(array, dtype=dtype)


def as_batch(
    named: Sequence[tuple[str, int]], values: Sequence[Any], dtype: str, columns: bool
) -> tuple[list[Any], tuple[int, ...]]:
    """Inputs as CuPy arrays (N, size) with any strides, and the batch dimensions (see `appell.arrays`)."""
    cp = cupy()
    arrays = [
        with_size(name, size, entered(name, value, dtype), columns, cp)
        for (name, size), value in zip(named, values, strict=True)
    ]
    return broadcast_batch(named, arrays, columns, cp)


def any_bad(*arrays: Any) -> bool:
    """Whether a number is not finite, in one pass over the arrays. Waits for the GPU."""
    found = [_bad_kernel()(array) for array in arrays if array.size]
    return bool(cupy().stack(found).any()) if found else False


@lru_cache(maxsize=1)
def _bad_kernel() -> Any:
    return cupy().ReductionKernel("T x", "bool y", "!isfinite(x)", "a || b", "y = a", "false", "appell_bad")


def require_unit_quaternions(
    name: str, array: Any, lead: tuple[int, ...], quaternions: Sequence[tuple[str, int]]
) -> None:
    """`appell.arrays.require_unit_quaternions` for coordinates on the GPU; the error message is built on the CPU."""
    for _, first in quaternions:
        square = (array[:, first : first + 4] ** 2).sum(axis=1)
        if bool((abs(square - 1.0) > 2 * QUATERNION_LENGTH_TOL).any()):
            require_unit_quaternions_on_host(name, array.get(), lead, quaternions)
