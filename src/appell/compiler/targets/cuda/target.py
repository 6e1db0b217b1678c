"""A GPU: one thread is one state; arrays of CuPy, PyTorch, JAX and NumPy in and out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.arrays import as_batch as host_batch
from appell.arrays import require_angles_within, require_finite_result, result_array
from appell.arrays import require_unit_quaternions as require_unit_quaternions_on_host
from appell.checks import require_finite
from appell.compiler.sincos import LARGEST_ANGLE
from appell.compiler.targets.cuda.arrays import (
    any_bad,
    as_batch,
    cupy,
    entered,
    kind_of,
    require_unit_quaternions,
    translate_gpu_errors,
)
from appell.compiler.targets.cuda.kernel import CudaKernel, build
from appell.compiler.targets.cuda.staged import build_stages
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.algorithms.function_spec import FunctionSpec, Signature
    from appell.compiler.evaluate import ActiveKernel
    from appell.compiler.options import Options
    from appell.compiler.provider import Provider

PIECE = 1 / 4
"""Part of the free memory that one piece of a batch from the host may take."""


class CudaTarget:
    """The current device of CuPy."""

    def __init__(self, options: Options) -> None:
        cupy()  # raises at once on a machine without a GPU
        self.options, self.columns = options, options.layout == "columns"

    def place(self, values: list[Any]) -> int:
        """Number of the current device."""
        return cupy().cuda.Device().id

    def cached(self, provider: Provider, spec: FunctionSpec, signature: Signature, place: Hashable) -> None:
        """`build` looks into the cache itself."""

    def build(self, provider: Provider, spec: FunctionSpec, signature: Signature, place: Hashable) -> CudaKernel:
        staged = build_stages(provider, spec, signature, self.options.dtype, self.build_function)
        return staged or self.build_function(provider, spec, signature)

    def build_function(self, provider: Provider, spec: FunctionSpec, signature: Signature) -> CudaKernel:
        """The kernel of a function that threads compute as a whole."""
        dtype = self.options.dtype
        form = lambda: provider.lowered(spec, "cuda", dtype)  # noqa: E731
        return build(provider.key(spec), form, signature, dtype, spec.function)

    def stack_wrenches(self, external_forces: Mapping[str, Any], check: bool) -> Any:
        cp = cupy()
        named = [(f"external_forces[{name!r}]", 6) for name in external_forces]
        arrays, lead = as_batch(named, list(external_forces.values()), self.options.dtype, self.columns)
        joined = cp.concatenate(arrays, axis=-1).reshape(*lead, -1)
        return cp.moveaxis(joined, -1, 0) if self.columns else joined

    def call(
        self,
        provider: Provider,
        spec: FunctionSpec,
        active: ActiveKernel,
        values: list[Any],
        out: Any | None,
        check: bool,
    ) -> Any:
        call = _Call(self.options, provider, spec, active, check)
        result = call.fast_path(values, out)
        if result is not None:
            return call.checked([x.T for x in values] if self.columns else values, result) if check else result
        kind = kind_of(values)
        if kind is None:
            return call.from_host(values, out)
        if out is not None and kind_of((out,)) is None:
            raise ArgumentError("out is an array on the host, but the inputs are on the GPU. Pass a GPU array.")
        with kind.stream(), translate_gpu_errors(spec.function):
            target = None if out is None else entered("out", out, self.options.dtype)
            result = call.on_device(values, target)
            return kind.leave(result) if out is None else out


class _Call:
    """One call of a function."""

    def __init__(
        self, options: Options, provider: Provider, spec: FunctionSpec, active: ActiveKernel, check: bool
    ) -> None:
        self.name, self.quaternions, self.check = spec.function, provider.quaternions, check
        self.signature = active.signature
        self.kernel: Any = active.kernel
        self.dtype, self.columns = options.dtype, options.layout == "columns"

    def shape(self, lead: tuple[int, ...]) -> tuple[int, ...]:
        """Of the result."""
        return (*self.signature.shape, *lead) if self.columns else (*lead, *self.signature.shape)

    def fast_path(self, inputs: Sequence[Any], out: Any | None) -> Any | None:
        """CuPy arrays that need no preparation go to the kernel at once; None where something has to be prepared."""
        cp = cupy()
        shape = inputs[0].shape if type(inputs[0]) is cp.ndarray else ()
        if len(shape) != 2:
            return None
        count = shape[1] if self.columns else shape[0]
        for array, (_, size) in zip(inputs, self.signature.inputs, strict=True):
            fits = type(array) is cp.ndarray and array.shape == ((size, count) if self.columns else (count, size))
            if not (fits and array.dtype == self.dtype and array.flags.c_contiguous):
                return None
        expected = self.shape((count,))
        result = cp.empty(expected, self.dtype) if out is None else out
        fits = type(result) is cp.ndarray and result.shape == expected and result.dtype == self.dtype
        if not (fits and result.flags.c_contiguous) or any(result.data.ptr == array.data.ptr for array in inputs):
            return None
        with translate_gpu_errors(self.name):
            if self.columns:
                self.kernel.run_strided(inputs, [(1, count)] * (len(inputs) + 1), result, count)
            else:
                sizes = [size for _, size in self.signature.inputs]
                self.kernel.run_rows(inputs, sizes, result.reshape(count, self.signature.entries), count)
        return result

    def checked(self, inputs: Sequence[Any], result: Any, lead: tuple[int, ...] | None = None) -> Any:
        """The result, if all numbers are finite and quaternions of unit length. Waits for the GPU."""
        named = self.signature.inputs
        if any_bad(*inputs, result):
            for (name, _), array in zip(named, inputs, strict=False):
                require_finite(name, array.get())
            self.require_finite_result(result.get(), inputs[0].get())
        if self.quaternions:
            place = inputs[0].shape[:-1] if lead is None else lead
            require_unit_quaternions(named[0][0], inputs[0], place, self.quaternions)
        return result

    def require_finite_result(self, result: np.ndarray, first: np.ndarray) -> None:
        """Raise for a NaN or infinity in a result of finite inputs, the first of which is usually q."""
        if self.signature.inputs[0][0] == "q" and not np.isfinite(result).all():
            require_angles_within(first, LARGEST_ANGLE[self.dtype])
        require_finite_result(self.name, result)

    def on_device(self, values: list[Any], out: Any | None) -> Any:
        """Compute on the current stream; the finite check waits for it."""
        cp = cupy()
        arrays, lead = as_batch(self.signature.inputs, values, self.dtype, self.columns)
        count, entries, shape = math.prod(lead), self.signature.entries, self.shape(lead)
        result = cp.empty(shape, self.dtype) if out is None else out
        if result.shape != shape:
            raise ArgumentError(f"out has shape {result.shape}, expected {shape}.")
        direct = result.flags.c_contiguous and not any(cp.may_share_memory(result, array) for array in arrays)
        flat = result if direct else cp.empty(shape, self.dtype)
        self.kernel.run(arrays, flat.reshape(entries, count).T if self.columns else flat.reshape(count, entries))
        if flat is not result:
            result[...] = flat
        return self.checked(arrays, result, lead) if self.check else result

    def from_host(self, values: list[Any], out: Any | None) -> Any:
        """NumPy in, NumPy out, in pieces that fit the memory of the GPU."""
        cp, named, entries = cupy(), self.signature.inputs, self.signature.entries
        arrays, lead = host_batch(named, values, self.dtype, self.check, self.columns)
        if self.check and self.quaternions:
            require_unit_quaternions_on_host(named[0][0], arrays[0], lead, self.quaternions)
        count, shape = math.prod(lead), self.shape(lead)
        result = result_array(out, shape, self.dtype)
        flat = np.empty((count, entries), self.dtype)
        bytes_of_state = flat.itemsize * (entries + sum(size for _, size in named))
        with translate_gpu_errors(self.name):
            piece = max(1, int(cp.cuda.Device().mem_info[0] * PIECE) // bytes_of_state)
            for start in range(0, count, piece):
                part = [cp.asarray(np.ascontiguousarray(array[start : start + piece])) for array in arrays]
                target = cp.empty((min(piece, count - start), entries), self.dtype)
                self.kernel.run(part, target)
                target.get(out=flat[start : start + piece])
        result[...] = (flat.T if self.columns else flat).reshape(shape)
        if self.check:
            self.require_finite_result(result, arrays[0])
        return result if shape or out is not None else result[()]
