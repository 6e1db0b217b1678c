"""One function of a robot: arrays in, the right kernel, arrays out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import appell._native as native
from appell.algorithms.request import Request
from appell.arrays import as_batch, require_finite_result, require_unit_quaternions, result_array, stack_wrenches
from appell.checks import require_finite

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell._native.boundary import Kernel as NativeKernel
    from appell.compiler.evaluate import Evaluator, Ready


class Function:
    """One function of a robot for every kind of argument."""

    def __init__(self, evaluator: Evaluator, key: tuple) -> None:
        self.evaluator, self.key = evaluator, key
        function, method, *rest = key
        frame, reference = rest or (None, "LOCAL_WORLD_ALIGNED")
        runtime = evaluator.options.parameters == "runtime" and frame is None
        self.request = Request(function, method, frame=frame, reference=reference, parameters=runtime)
        self.variants: dict[tuple, Request] = {}
        self.columns = evaluator.options.layout == "columns"

    def __call__(
        self,
        inputs: tuple[ArrayLike, ...],
        gravity: ArrayLike | None = None,
        external_forces: Mapping[str, ArrayLike] | None = None,
        parameters: ArrayLike | None = None,
        out: np.ndarray | None = None,
        check: bool = True,
    ) -> Any:
        request = self.variant(gravity is not None, tuple(external_forces or ()), parameters is not None)
        values = list(inputs)
        if gravity is not None:
            values.append(gravity)
        if external_forces:
            values.append(stack_wrenches(external_forces, check, self.columns))
        if request.parameters:
            values.append(self.evaluator.parameters if parameters is None else parameters)
        ready = self.evaluator.kernel(request)
        named, dtype = ready.signature.inputs, self.evaluator.options.dtype
        arrays, lead = as_batch(named, values, dtype, check=False, columns=self.columns)
        if check and self.evaluator.quaternions:
            require_unit_quaternions(named[0][0], arrays[0], lead, self.evaluator.quaternions)
        shape = (*ready.signature.shape, *lead) if self.columns else (*lead, *ready.signature.shape)
        result = result_array(out, shape, dtype)
        direct = out is None or (out.flags.c_contiguous and not any(np.may_share_memory(out, each) for each in arrays))
        written = result if direct else np.empty(shape, dtype)
        finite = self.run(ready, arrays, written, lead)
        if not direct:
            result[...] = written
        if check and not finite:
            for (name, _), value in zip(named, values, strict=True):
                require_finite(name, np.asarray(value, dtype=dtype))
            if self.evaluator.system is not None:
                given = {name: array.reshape(*lead, -1) for (name, _), array in zip(named, arrays, strict=True)}
                self.evaluator.system.explain(request.function, given)
            require_finite_result(request.function, result)
        return result if shape or out is not None else result[()]

    def variant(self, gravity: bool, forces: tuple[str, ...], parameters: bool) -> Request:
        """The request with what a call gives beside the state."""
        key = gravity, forces, parameters
        found = self.variants.get(key)
        if found is None:
            parameters = parameters or self.request.parameters
            found = self.variants[key] = replace(self.request, gravity=gravity, forces=forces, parameters=parameters)
        return found

    def run(self, ready: Ready, arrays: list[np.ndarray], result: np.ndarray, lead: tuple[int, ...]) -> bool:
        """Compute into a contiguous result; whether all numbers are finite."""
        entries, count = ready.signature.entries, len(arrays[0])
        if not lead:
            finite = ready.kernel.run(
                tuple(np.ascontiguousarray(array[0]) for array in arrays), result.reshape(entries)
            )
        elif self.columns:
            finite = ready.kernel.run(tuple(arrays), result.reshape(entries, count).T)
        else:
            finite = ready.kernel.run(tuple(arrays), result.reshape(count, entries))
        ready.used(count)
        if (
            native.Kernel
            and isinstance(ready.kernel, native.Kernel)
            and self.evaluator.ready.get(self.request) is ready
        ):
            self.shorten(ready.kernel)
        return finite

    def shorten(self, kernel: NativeKernel) -> None:
        """Let plain calls of the owner's method go straight to the kernel from now on."""
        owner, (name, method, *frame) = self.evaluator.owner, self.key
        function = None if method or frame else getattr(owner, name, None)
        if native.Function and native.bind and isinstance(function, native.Function):
            parameters = self.evaluator.parameters if self.request.parameters else None
            quaternions = tuple(first for _, first in self.evaluator.quaternions)
            native.bind(function, kernel, parameters, not self.columns, quaternions)
