"""A robot out of a file: its functions, without its description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algorithms.coordinate_rates import quaternions
from appell.algorithms.request import Request, Signature, describe
from appell.compiler.evaluate import Evaluator, Kernel
from appell.compiler.fingerprint import source_digest
from appell.compiler.forms import Form
from appell.compiler.interpret import InterpretedKernel
from appell.compiler.options import Options
from appell.compiler.targets.c.build import Builder
from appell.compiler.targets.c.isa import instruction_set
from appell.compiler.targets.c.simd import kernel_source
from appell.compiler.targets.c.toolchain import Compiler
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from os import PathLike

    from appell.compiler.listing import Listing


@dataclass(frozen=True)
class Stored:
    """One function of a file.

    Attributes:
        method: the one that was chosen where the request names none.
        signature: what it takes and gives.
        form: its operations.
        gpu: other forms of them for a GPU, by precision, where it bears longer or shorter straight-line code.
        key: a name of the operations.
    """

    request: Request
    method: str
    signature: Signature
    form: Form
    gpu: Mapping[str, Form]
    key: str


class Store:
    """The functions of a file by request; a request that names the method of a stored default finds it, too."""

    def __init__(
        self,
        place: str | PathLike,
        functions: tuple[Stored, ...],
        rates: Mapping[tuple[str, bool], tuple[str, Listing]],
    ) -> None:
        self.place, self.functions, self.rates = place, functions, rates
        named = {replace(each.request, method=each.method): each for each in functions}
        self.found = {**named, **{each.request: each for each in functions}}

    def __getitem__(self, request: Request) -> Stored:
        found = self.found.get(request)
        if found is not None:
            return found
        kept = ", ".join(describe(each.request) for each in self.functions)
        raise ArgumentError(
            f"{self.place} does not hold {describe(request)}. It holds: {kept}. "
            "Save the robot again with `functions` or `frames` that include it."
        )

    def provide(self, request: Request, dtype: str) -> tuple[str, Signature, Callable[[], Form]]:
        """What the GPU's evaluator asks for."""
        found = self[request]
        return found.key, found.signature, lambda: found.gpu.get(dtype, found.form)


class StoreBuilder(Builder):
    """Makes native kernels of stored functions."""

    def __init__(self, store: Store, options: Options, compiler: Compiler) -> None:
        self.store, self.options, self.compiler = store, options, compiler
        self.target = instruction_set(options.isa)

    def key(self, request: Request) -> str:
        return self.name(self.store[request].key, source_digest())

    def source(self, request: Request) -> str:
        dtype = self.options.dtype
        title = f"{request.function} of a stored robot: {dtype}, {self.target.name}"
        return kernel_source(self.store[request].form, dtype, self.target.lanes(dtype), title)


class StoreEvaluator(Evaluator):
    """The functions of a file on this machine's processor."""

    def __init__(self, store: Store, options: Options, facts: Any) -> None:
        dict.__init__(self)
        self.store, self.options = store, options
        self.quaternions = quaternions(facts.free)
        self.system = facts.system  # type: ignore[assignment]
        self.ready = {}
        self.parameters = np.array(facts.parameters, dtype=options.dtype)  # type: ignore[assignment]

    def signature(self, request: Request) -> Signature:
        return self.store[request].signature

    def interpreter(self, request: Request) -> Kernel:
        return InterpretedKernel(self.store[request].form, self.options.dtype)

    def builder_with(self, compiler: Compiler) -> Builder:
        return StoreBuilder(self.store, self.options, compiler)


def on_gpu(store: Store, options: Options, facts: Any) -> Any:
    """The functions of a file on a GPU."""
    from appell.compiler.targets.cuda.evaluate import CudaEvaluator

    provide, own = partial(store.provide, dtype=options.dtype), np.array(facts.parameters, options.dtype)
    return CudaEvaluator(provide, options, own, quaternions(facts.free))


TARGETS: dict[str, Callable[[Store, Options, Any], Any]] = {"cpu": StoreEvaluator, "cuda": on_gpu}
