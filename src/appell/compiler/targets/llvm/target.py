"""The processor of this machine: native code by LLVM, NumPy arrays in and out."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from appell.arrays import (
    as_batch,
    require_angles_within,
    require_finite_result,
    require_unit_quaternions,
    result_array,
    stack_wrenches,
)
from appell.checks import require_finite
from appell.compiler.sincos import LARGEST_ANGLE
from appell.compiler.targets.llvm.build import Builder, builder_for
from appell.compiler.targets.llvm.jit import machine
from appell.compiler.targets.llvm.kernel import form_of_half, kernel_text
from appell.compiler.targets.llvm.library import Library
from appell.errors import CompileError, warn_at_caller

if TYPE_CHECKING:
    from appell.algorithms.function_spec import FunctionSpec, Signature
    from appell.compiler.evaluate import ActiveKernel
    from appell.compiler.options import Options
    from appell.compiler.provider import Kernel, Provider

Result = TypeVar("Result")


class CpuTarget:
    """One SIMD lane is one state, batches are split over threads."""

    def __init__(self, options: Options) -> None:
        self.options, self.columns = options, options.layout == "columns"
        self.libraries: dict[FunctionSpec, Library] = {}

    def place(self, values: list[Any]) -> str:
        batch = "columns" if self.columns else "batch"
        try:
            return batch if any(np.ndim(value) > 1 for value in values) else "one"
        except ValueError:  # rows of different lengths, for which the call has an error of its own
            return "one"

    def cached(self, provider: Provider, spec: FunctionSpec, signature: Signature, place: Hashable) -> Kernel | None:
        half = str(place)
        library = self.builder and self.builder.cached(self.builder.name(provider.key(spec), half), half)
        return library and self._kernel(spec, signature, library)

    def build(self, provider: Provider, spec: FunctionSpec, signature: Signature, place: Hashable) -> Kernel | None:
        builder, half = self.builder, str(place)
        if builder is None:
            return None

        def compiled() -> Library:
            lowered = provider.lowered(spec, "cpu", self.options.dtype)
            form = form_of_half(lowered, lambda: provider.link_parallel(spec), builder.real, half)
            columns = signature.shape[-1] if len(signature.shape) > 1 else 1
            text = kernel_text(form, builder.real, half, columns)
            return builder.compiled(builder.name(provider.key(spec), half), half, text)

        library = self._or_warn(compiled, self.options.eager)
        return library and self._kernel(spec, signature, library)

    def _kernel(self, spec: FunctionSpec, signature: Signature, library: Library) -> Kernel:
        """A kernel of all halves that are there by now."""
        if spec in self.libraries:
            library = library.joined(self.libraries[spec])
        self.libraries[spec] = library
        return library.kernel(signature, self.options.dtype, self.options.threads)

    @cached_property
    def builder(self) -> Builder | None:
        """Makes native code, or None where that is not wanted or, with a warning, LLVM does not run here."""
        usable = native_wanted() and self._or_warn(lambda: machine("", ""), raises=False)
        return (
            self._or_warn(lambda: builder_for(self.options.isa, self.options.dtype), self.options.eager)
            if usable
            else None
        )

    def _or_warn(self, make: Callable[[], Result], raises: bool) -> Result | None:
        """The result; what fails is raised, or gives a warning and None."""
        try:
            return make()
        except CompileError as error:
            if raises:
                raise
            warn_once(f"{error} Results are right but slow.")
            return None

    def stack_wrenches(self, external_forces: Mapping[str, Any], check: bool) -> np.ndarray:
        return stack_wrenches(external_forces, check, self.columns)

    def call(
        self,
        provider: Provider,
        spec: FunctionSpec,
        active: ActiveKernel,
        values: list[Any],
        out: Any | None,
        check: bool,
    ) -> Any:
        named, dtype = active.signature.inputs, self.options.dtype
        arrays, lead = as_batch(named, values, dtype, check=False, columns=self.columns)
        if check and provider.quaternions:
            require_unit_quaternions(named[0][0], arrays[0], lead, provider.quaternions)
        shape = (*active.signature.shape, *lead) if self.columns else (*lead, *active.signature.shape)
        result = result_array(out, shape, dtype)
        direct = out is None or (out.flags.c_contiguous and not any(np.may_share_memory(out, each) for each in arrays))
        written = result if direct else np.empty(shape, dtype)
        finite = self._run(active, arrays, written, lead)
        if not direct:
            result[...] = written
        if check and not finite:
            given = {name: np.asarray(value, dtype=dtype) for (name, _), value in zip(named, values, strict=True)}
            for name, value in given.items():
                require_finite(name, value)
            if "q" in given:
                require_angles_within(given["q"], LARGEST_ANGLE[dtype])
            inputs = {name: array.reshape(*lead, -1) for (name, _), array in zip(named, arrays, strict=True)}
            provider.raise_nonfinite_cause(spec.function, inputs)
            require_finite_result(spec.function, result)
        return result if shape or out is not None else result[()]

    def _run(self, active: ActiveKernel, arrays: list[np.ndarray], result: np.ndarray, lead: tuple[int, ...]) -> bool:
        """Compute into a contiguous result; whether all numbers are finite."""
        entries, count = active.signature.entries, len(arrays[0])
        if not lead:
            inputs, flat = tuple(np.ascontiguousarray(array[0]) for array in arrays), result.reshape(entries)
        else:
            inputs = tuple(arrays)
            flat = result.reshape(entries, count).T if self.columns else result.reshape(count, entries)
        return active.kernel.run(inputs, flat)


def native_wanted() -> bool:
    """Whether the environment allows native code: `APPELL_NATIVE=0` does not."""
    return os.environ.get("APPELL_NATIVE", "1") != "0"


@lru_cache(maxsize=32)
def warn_once(message: str) -> None:
    """A warning that is not repeated."""
    warn_at_caller(message, RuntimeWarning)
