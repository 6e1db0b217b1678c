"""Numbers for requests on the GPU: the counterpart of `appell.compiler.evaluate`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from appell.algorithms.request import Request, Signature
from appell.arrays import as_batch as host_batch
from appell.arrays import require_finite_result, result_array
from appell.arrays import require_unit_quaternions as require_unit_quaternions_on_host
from appell.checks import require_finite
from appell.compiler.forms import Form
from appell.compiler.options import Options
from appell.compiler.targets.cuda.arrays import any_bad, as_batch, entered, kind_of, require_unit_quaternions
from appell.compiler.targets.cuda.device import cupy, telling
from appell.compiler.targets.cuda.kernel import CudaKernel, build
from appell.errors import ArgumentError

Provider = Callable[[Request], tuple[str, Signature, Callable[[], Form]]]
"""For a request: a name of what it computes, what it takes and gives, and its form (made only when it is needed)."""

PIECE = 1 / 4
"""Part of the free memory that one piece of a batch from the host may take."""


class CudaEvaluator(dict[tuple, Callable[..., Any]]):
    """The functions of one robot, called as those of `appell.compiler.evaluate.Evaluator`."""

    def __init__(
        self,
        provide: Provider,
        options: Options,
        parameters: np.ndarray,
        quaternions: tuple[tuple[str, int], ...] = (),
    ) -> None:
        super().__init__()
        cupy()  # a machine without a GPU is told at once
        self.provide, self.options, self.parameters, self.quaternions = provide, options, parameters, quaternions
        self.kernels: dict[tuple[int, Request], CudaKernel] = {}

    def __missing__(self, key: tuple) -> Callable[..., Any]:
        self[key] = found = CudaFunction(self, key)
        return found

    def kernel(self, request: Request) -> CudaKernel:
        """The kernel of a request on the current device."""
        place = (cupy().cuda.Device().id, request)
        if place not in self.kernels:
            key, signature, form = self.provide(request)
            self.kernels[place] = build(key, form, signature, self.options.dtype, request.function)
        return self.kernels[place]


class CudaFunction:
    """One function of a robot for every kind of array."""

    def __init__(self, evaluator: CudaEvaluator, key: tuple) -> None:
        self.evaluator = evaluator
        function, method, *rest = key
        frame, reference = rest or (None, "LOCAL_WORLD_ALIGNED")
        runtime = evaluator.options.parameters == "runtime" and frame is None
        self.request = Request(function, method, frame=frame, reference=reference, parameters=runtime)

    def __call__(
        self,
        inputs: tuple[Any, ...],
        gravity: Any | None = None,
        external_forces: Mapping[str, Any] | None = None,
        parameters: Any | None = None,
        out: Any | None = None,
        check: bool = True,
    ) -> Any:
        if gravity is None and external_forces is None and parameters is None and not self.request.parameters:
            done = self._short_way(inputs, out)
            if done is not None:
                columns = self.evaluator.options.layout == "columns"
                return self._checked([x.T for x in inputs] if columns else inputs, done) if check else done
        request, values = self._completed(inputs, gravity, external_forces, parameters)
        kind = kind_of(values)
        if kind is None:
            return self._from_host(request, values, out, check)
        if out is not None and kind_of((out,)) is None:
            raise ArgumentError("out is an array on the host, but the inputs are on the GPU. Pass a GPU array.")
        with kind.stream(), telling(request.function):
            target = None if out is None else entered("out", out, self.evaluator.options.dtype)
            result = self._on_device(request, values, target, check)
            return kind.leave(result) if out is None else out

    def _short_way(self, inputs: tuple[Any, ...], out: Any | None) -> Any | None:
        """CuPy arrays that need no preparation go to the kernel at once; None where something needs a closer look."""
        cp, options = cupy(), self.evaluator.options
        columns = options.layout == "columns"
        kernel = self.evaluator.kernel(self.request)
        shape = inputs[0].shape if type(inputs[0]) is cp.ndarray else ()
        if len(shape) != 2:
            return None
        count = shape[1] if columns else shape[0]
        for array, (_, size) in zip(inputs, kernel.signature.inputs, strict=True):
            fits = type(array) is cp.ndarray and array.shape == ((size, count) if columns else (count, size))
            if not (fits and array.dtype == options.dtype and array.flags.c_contiguous):
                return None
        entries = kernel.signature.entries
        expected = (*kernel.signature.shape, count) if columns else (count, *kernel.signature.shape)
        result = cp.empty(expected, options.dtype) if out is None else out
        fits = type(result) is cp.ndarray and result.shape == expected and result.dtype == options.dtype
        if not (fits and result.flags.c_contiguous) or any(result.data.ptr == array.data.ptr for array in inputs):
            return None
        with telling(self.request.function):
            if columns:
                kernel.run_strided(inputs, [(1, count)] * (len(inputs) + 1), result, count)
            else:
                kernel.run_rows(
                    inputs, [size for _, size in kernel.signature.inputs], result.reshape(count, entries), count
                )
        return result

    def _checked(self, inputs: Sequence[Any], result: Any, lead: tuple[int, ...] | None = None) -> Any:
        """The result, if all numbers are finite and quaternions of unit length. Waits for the GPU."""
        named = self.evaluator.kernel(self.request).signature.inputs
        if any_bad(*inputs, result):
            for (name, _), array in zip(named, inputs, strict=False):
                require_finite(name, array.get())
            require_finite_result(self.request.function, result.get())
        if self.evaluator.quaternions:
            place = inputs[0].shape[:-1] if lead is None else lead
            require_unit_quaternions(named[0][0], inputs[0], place, self.evaluator.quaternions)
        return result

    def _on_device(self, request: Request, values: list[Any], out: Any | None, check: bool) -> Any:
        """Compute on the current stream; the finite check waits for it."""
        cp, options = cupy(), self.evaluator.options
        kernel = self.evaluator.kernel(request)
        columns = options.layout == "columns"
        arrays, lead = as_batch(kernel.signature.inputs, values, options.dtype, columns)
        count, entries = math.prod(lead), kernel.signature.entries
        shape = (*kernel.signature.shape, *lead) if columns else (*lead, *kernel.signature.shape)
        result = cp.empty(shape, options.dtype) if out is None else out
        if result.shape != shape:
            raise ArgumentError(f"out has shape {result.shape}, expected {shape}.")
        direct = result.flags.c_contiguous and not any(cp.may_share_memory(result, array) for array in arrays)
        flat = result if direct else cp.empty(shape, options.dtype)
        kernel.run(arrays, flat.reshape(entries, count).T if columns else flat.reshape(count, entries))
        if flat is not result:
            result[...] = flat
        return self._checked(arrays, result, lead) if check else result

    def _from_host(self, request: Request, values: list[Any], out: Any | None, check: bool) -> Any:
        """NumPy in, NumPy out, in pieces that fit the card."""
        cp, options = cupy(), self.evaluator.options
        columns = options.layout == "columns"
        kernel = self.evaluator.kernel(request)
        arrays, lead = host_batch(kernel.signature.inputs, values, options.dtype, check, columns)
        if check and self.evaluator.quaternions:
            require_unit_quaternions_on_host(kernel.signature.inputs[0][0], arrays[0], lead, self.evaluator.quaternions)
        shape = (*kernel.signature.shape, *lead) if columns else (*lead, *kernel.signature.shape)
        result = result_array(out, shape, options.dtype)
        count, entries = math.prod(lead), kernel.signature.entries
        flat = np.empty((count, entries), options.dtype)
        bytes_of_state = flat.itemsize * (entries + sum(size for _, size in kernel.signature.inputs))
        with telling(request.function):
            piece = max(1, int(cp.cuda.Device().mem_info[0] * PIECE) // bytes_of_state)
            for start in range(0, count, piece):
                part = [cp.asarray(np.ascontiguousarray(array[start : start + piece])) for array in arrays]
                target = cp.empty((min(piece, count - start), entries), options.dtype)
                kernel.run(part, target)
                target.get(out=flat[start : start + piece])
        result[...] = (flat.T if columns else flat).reshape(shape)
        if check:
            require_finite_result(request.function, result)
        return result if shape or out is not None else result[()]

    def _completed(self, inputs, gravity, external_forces, parameters) -> tuple[Request, list[Any]]:
        """The request with the options of this call, and all its values."""
        request, values, options = self.request, list(inputs), self.evaluator.options
        if gravity is not None:
            request = replace(request, gravity=True)
            values.append(gravity)
        if external_forces:
            request = replace(request, forces=tuple(external_forces))
            values.append(_joined(external_forces, options))
        if parameters is not None:
            request = replace(request, parameters=True)
        if request.parameters:
            values.append(self.evaluator.parameters if parameters is None else parameters)
        return request, values


def _joined(external_forces: Mapping[str, Any], options: Options) -> Any:
    """Wrenches of all frames one after the other."""
    cp = cupy()
    columns = options.layout == "columns"
    named = [(f"external_forces[{name!r}]", 6) for name in external_forces]
    arrays, lead = as_batch(named, list(external_forces.values()), options.dtype, columns)
    joined = cp.concatenate(arrays, axis=-1).reshape(*lead, -1)
    return cp.moveaxis(joined, -1, 0) if columns else joined
