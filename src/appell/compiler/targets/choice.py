"""Where compiled functions can run. A target is a folder here with a class of this interface, and a line in TARGETS."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from appell.algorithms.function_spec import FunctionSpec, Signature
    from appell.compiler.evaluate import ActiveKernel
    from appell.compiler.provider import Kernel, Provider


class Target(Protocol):
    """Compiles functions for one kind of processor and calls them with the arrays that belong there."""

    def place(self, values: list[Any]) -> Hashable:
        """Where code for these values runs now, such as the number of a GPU: kernels are kept for each place."""
        ...

    def cached(self, provider: Provider, spec: FunctionSpec, signature: Signature, place: Hashable) -> Kernel | None:
        """A kernel that was compiled before."""
        ...

    def build(self, provider: Provider, spec: FunctionSpec, signature: Signature, place: Hashable) -> Kernel | None:
        """A kernel compiled now; None where it has to be interpreted."""
        ...

    def stack_wrenches(self, external_forces: Mapping[str, Any], check: bool) -> Any:
        """Wrenches of all frames one after the other."""
        ...

    def call(
        self,
        provider: Provider,
        spec: FunctionSpec,
        active: ActiveKernel,
        values: list[Any],
        out: Any | None,
        check: bool,
    ) -> Any:
        """Arrays in, arrays out: shapes, types and, if `check`, all numbers are checked."""
        ...


TARGETS = {
    "cpu": "appell.compiler.targets.llvm.target:CpuTarget",
    "cuda": "appell.compiler.targets.cuda.target:CudaTarget",
}
"""Module and class of each target, imported when it is used."""
