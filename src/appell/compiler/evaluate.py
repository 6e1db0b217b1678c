"""Numbers for requests: arrays in, the right kernel, arrays out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import appell._native as native
from appell.compiler.arrays import as_batch, refuse_bad_result, refuse_non_finite, result_array, stacked
from appell.compiler.build import Builder
from appell.compiler.graph import GraphKernel
from appell.compiler.options import Options
from appell.compiler.request import Request
from appell.compiler.toolchain import find_compiler, native_wanted
from appell.compiler.trace import Signature, signature, trace
from appell.errors import CompileError
from appell.model.parameters import parameters as own_parameters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.model.tree import Tree

PATIENCE = 1024
"""States that are interpreted before a function is compiled, where compiling was not asked for."""

CALL = 32
"""States that one call counts for."""


class Kernel(Protocol):
    """Anything that computes a function.

    `run` takes contiguous vectors for one state or arrays (N, size) with any strides for a batch, writes the result's
    entries into `out`, (entries,) or (N, entries), and says whether all numbers are finite.
    """

    def run(self, inputs: tuple[np.ndarray, ...], out: np.ndarray, /) -> bool: ...


@dataclass
class Ready:
    """A request with what computes it now, and the states that were interpreted so far."""

    signature: Signature
    kernel: Kernel
    interpreted: int | None = None


class Evaluator(dict[tuple, Callable[..., Any]]):
    """The functions of one robot: `evaluator[function, method](inputs, gravity, external_forces, parameters, out, check)`.

    Keys are `(function, method)` or `(function, method, frame, reference)` of a `Request`. Functions are made when they are
    first asked for and then kept, so that a call costs one look-up in a dictionary.
    """

    def __init__(self, tree: Tree, options: Options) -> None:
        super().__init__()
        self.tree, self.options = tree, options
        self.ready: dict[Request, Ready] = {}

    def __reduce__(self) -> tuple:
        return Evaluator, (self.tree, self.options)  # kernels stay behind; they are made again

    def __missing__(self, key: tuple) -> Callable[..., Any]:
        self[key] = found = Function(self, key)
        return found

    def kernel(self, request: Request) -> Ready:
        """What computes a request: native code if it is in the cache or compiling pays, else the interpreter."""
        found = self.ready.get(request)
        if found is None:
            found = self.ready[request] = self._first(request)
        elif found.interpreted is not None and found.interpreted >= PATIENCE and self.builder:
            found.kernel, found.interpreted = self._compiled(request, found.signature) or found.kernel, None
        return found

    def _first(self, request: Request) -> Ready:
        expected = signature(self.tree, request)
        if self.builder:
            kernel = self.builder.cached(request, expected)
            if kernel is None and self.options.eager:
                kernel = self._compiled(request, expected)
            if kernel is not None:
                return Ready(expected, kernel)
        return Ready(expected, GraphKernel(trace(self.tree, request)), 0)

    def _compiled(self, request: Request, expected: Signature) -> Kernel | None:
        """Native code; where it was not asked for, a compiler that fails is a warning."""
        try:
            return self.builder.build(request, expected) if self.builder else None
        except CompileError as error:
            if self.options.eager:
                raise
            warn_once(f"{error} Results are right but slow.")
            return None

    @cached_property
    def builder(self) -> Builder | None:
        """What makes native kernels, or None where there is no compiler."""
        try:
            compiler = find_compiler()
        except CompileError as error:
            if self.options.eager:
                raise
            warn_once(f"{error} Results are right but slow.")
            return None
        if compiler is None:
            if native_wanted():
                warn_once(
                    "no C compiler was found (looked for $CC, cc, clang and the package ziglang): results are right but "
                    "slow. Install one, for instance with: pip install appell[compiler]"
                )
            return None
        return Builder(self.tree, self.options, compiler)

    @cached_property
    def parameters(self) -> np.ndarray:
        """The robot's own inertial parameters."""
        return np.array(own_parameters(self.tree), dtype=self.options.dtype)


class Function:
    """One function of a robot for every kind of argument."""

    def __init__(self, evaluator: Evaluator, key: tuple) -> None:
        self.evaluator, self.key = evaluator, key
        function, method, *rest = key
        frame, reference = rest or (None, "LOCAL_WORLD_ALIGNED")
        runtime = evaluator.options.parameters == "runtime" and frame is None
        self.request = Request(function, method, frame=frame, reference=reference, parameters=runtime)

    def __call__(
        self,
        inputs: tuple[ArrayLike, ...],
        gravity: ArrayLike | None = None,
        external_forces: Mapping[str, ArrayLike] | None = None,
        parameters: ArrayLike | None = None,
        out: np.ndarray | None = None,
        check: bool = True,
    ) -> Any:
        request, values = self._completed(inputs, gravity, external_forces, parameters, check)
        ready = self.evaluator.kernel(request)
        options = self.evaluator.options
        columns = options.layout == "columns"
        arrays, lead = as_batch(ready.signature.inputs, values, options.dtype, check=False, columns=columns)
        shape = (*ready.signature.shape, *lead) if columns else (*lead, *ready.signature.shape)
        result = result_array(out, shape, options.dtype)
        finite = self._run(ready, arrays, result, lead)
        if check and not finite:
            for (name, _), value in zip(ready.signature.inputs, values, strict=True):
                refuse_non_finite(name, np.asarray(value, dtype=options.dtype))
            refuse_bad_result(request.function, result)
        return result if shape or out is not None else result[()]

    def _run(self, ready: Ready, arrays: list[np.ndarray], result: np.ndarray, lead: tuple[int, ...]) -> bool:
        """Compute into the result, by way of another array where that is not possible."""
        entries, columns = ready.signature.entries, self.evaluator.options.layout == "columns"
        count = len(arrays[0]) if arrays else 1
        direct = result.flags.c_contiguous and not any(np.may_share_memory(result, array) for array in arrays)
        flat = result if direct else np.empty(result.shape, result.dtype)
        if not lead:
            kernel_inputs, target = tuple(np.ascontiguousarray(array[0]) for array in arrays), flat.reshape(entries)
        else:
            kernel_inputs = tuple(arrays)
            target = flat.reshape(entries, count).T if columns else flat.reshape(count, entries)
        finite = ready.kernel.run(kernel_inputs, target)
        if flat is not result:
            result[...] = flat
        self._counted(ready, count)
        return finite

    def _counted(self, ready: Ready, count: int) -> None:
        """Keep book of interpreted states; put native code on the short way."""
        if ready.interpreted is not None:
            ready.interpreted += max(count, CALL)
        elif native.Function and isinstance(ready.kernel, native.Kernel) and self.evaluator.get(self.key) is self:
            base = self.evaluator.ready.get(self.request)
            if base is ready:
                rows = self.evaluator.options.layout == "rows"
                self.evaluator[self.key] = native.Function(ready.kernel, self, rows)

    def _completed(self, inputs, gravity, external_forces, parameters, check) -> tuple[Request, list[ArrayLike]]:
        """The request with the options of this call, and all its values."""
        request, values = self.request, list(inputs)
        if gravity is not None:
            request = replace(request, gravity=True)
            values.append(gravity)
        if external_forces:
            request = replace(request, forces=tuple(external_forces))
            values.append(stacked(external_forces, check, self.evaluator.options.layout == "columns"))
        if parameters is not None:
            request = replace(request, parameters=True)
        if request.parameters:
            values.append(self.evaluator.parameters if parameters is None else parameters)
        return request, values


@lru_cache(maxsize=32)
def warn_once(message: str) -> None:
    """A warning that is not repeated."""
    warnings.warn(message, RuntimeWarning, stacklevel=2)
