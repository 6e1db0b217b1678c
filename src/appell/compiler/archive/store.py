"""The functions of a file as a provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from appell.algorithms.function_spec import FunctionSpec, Signature, describe
from appell.compiler.differentiate import forward, reverse
from appell.compiler.directional import tangent_of
from appell.compiler.fingerprint import digest, source_digest
from appell.compiler.interpret import InterpretedKernel
from appell.compiler.lowering import LoweredFunction, StraightLine
from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.stages import Stages, before
from appell.errors import ArgumentError, LoopClosureError

if TYPE_CHECKING:
    from os import PathLike

    import numpy as np

    from appell.algorithms.laws import Law
    from appell.compiler.operations import OperationList
    from appell.compiler.provider import Kernel


@dataclass(frozen=True)
class StoredFunction:
    """One function of a file.

    Attributes:
        method: the one that was chosen where the spec names none.
        signature: inputs and shape.
        form: its operations.
        gpu: other forms of them for a GPU, by precision, where straight-line code may be longer or shorter.
        links: their form with links side by side, if there is one.
        stages: their last stages on a GPU, if there are any.
        key: a digest of the operations.
    """

    spec: FunctionSpec
    method: str
    signature: Signature
    form: LoweredFunction
    gpu: Mapping[str, LoweredFunction]
    key: str
    links: LinkParallel | None = None
    stages: Stages | None = None


@dataclass(frozen=True)
class FunctionStore:
    """The functions of a file; a spec that names the method of a stored default gets it, too.

    Attributes:
        path: of the file, for messages.
        parameters: the robot's own inertial parameters.
        quaternions: joints with a unit quaternion, and where in q it begins.
        runtime: whether inertial parameters are inputs of the functions.
        rates: rates of the state by name of a control law and whether friction is in them: digest and operations.
        loops: whether the robot has closed loops, which may be singular.
    """

    path: str | PathLike
    functions: tuple[StoredFunction, ...]
    parameters: tuple[float, ...]
    quaternions: tuple[tuple[str, int], ...]
    runtime: bool
    rates: Mapping[tuple[str, bool], tuple[str, OperationList]]
    loops: bool

    @property
    def held(self) -> tuple[str, ...]:
        """The functions in the file, as `functions=` of `save` takes them."""
        return tuple(describe(function.spec) for function in self.functions)

    @cached_property
    def _by_spec(self) -> dict[FunctionSpec, StoredFunction]:
        named = {replace(each.spec, method=each.method): each for each in self.functions}
        return {**named, **{each.spec: each for each in self.functions}}

    def __getitem__(self, spec: FunctionSpec) -> StoredFunction:
        if spec in self._by_spec:
            return self._by_spec[spec]
        raise ArgumentError(
            f"{self.path} does not hold {describe(spec)}. It holds: {', '.join(self.held)}. "
            "Save the robot again with `functions` or `frames` that include it."
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_by_spec"}

    def signature(self, spec: FunctionSpec) -> Signature:
        return self[spec].signature

    def require_mass(self, function: str) -> None:
        """Files hold functions of robots with mass only."""

    def key(self, spec: FunctionSpec) -> str:
        return digest(self[spec].key, source_digest())

    def lowered(self, spec: FunctionSpec, target: str, dtype: str) -> LoweredFunction:
        stored = self[spec]
        return stored.gpu.get(dtype, stored.form) if target == "cuda" else stored.form

    def is_rolled(self, spec: FunctionSpec) -> bool:
        return not isinstance(self[spec].form, StraightLine)

    def straight_line(self, spec: FunctionSpec) -> StraightLine:
        stored = self[spec]
        form = next((each for each in (stored.form, *stored.gpu.values()) if isinstance(each, StraightLine)), None)
        if form is None:
            raise ArgumentError(
                f"{spec.function} of this long robot is a loop over links in its file, which cannot be differentiated. Use the "
                "robot it was made of."
            )
        return form

    def link_parallel(self, spec: FunctionSpec) -> LinkParallel | None:
        return self[spec].links

    def stages(self, spec: FunctionSpec) -> Stages | None:
        return self[spec].stages if all(each in self._by_spec for each in before(spec)) else None

    def interpreted(self, spec: FunctionSpec, dtype: str) -> Kernel:
        return InterpretedKernel(self[spec].form, dtype)

    def raise_nonfinite_cause(self, function: str, inputs: Mapping[str, np.ndarray]) -> None:
        """Which leg or closure is singular is known only with the robot's description."""
        if self.loops:
            raise LoopClosureError(
                f"{function} is not finite: the configuration does not close the loops, is out of reach, or is singular. "
                "The robot from which the file was saved says which, at the same configuration.",
                status="singular", where="robot", value=float("nan"), index=(),
            )  # fmt: skip

    def has_rate(self, law: Law, runtime: bool) -> bool:
        return (law.name, True) in self.rates and runtime == self.runtime

    def rate(self, law: Law, passive: bool, runtime: bool) -> tuple[str, Callable[[], OperationList]]:
        if runtime and not self.runtime:
            raise ArgumentError(
                f"{self.path} has inertial parameters baked in. "
                "Save the robot again from appell.compile(robot, parameters='runtime')."
            )
        if not self.has_rate(law, runtime):
            kept = ", ".join(sorted({name for name, _ in self.rates})) or "none"
            raise ArgumentError(
                f"{self.path} does not hold rollouts with the law {law.name!r}. It holds: {kept}. "
                f"Save the robot again with rollouts=[{law.name!r}]."
            )
        key, listed = self.rates[law.name, passive]
        return key, lambda: listed


def directional_store(key: str, inputs: Mapping[str, int], listed: OperationList) -> FunctionStore:
    """A function, `value`, and its derivatives along directions: `jvp`, J δ, with a direction for each input, and `vjp`, J^T λ.

    Args:
        key: a digest of the operations.
        inputs: entries of each input by name, which may be parts of those that are listed.
    """
    sizes, entries = tuple(inputs.values()), len(listed.outputs)
    listed = replace(listed, sizes=sizes)
    kinds = {"value": (listed, {}, entries)}
    tangents = {tangent_of(name): size for name, size in inputs.items()}
    kinds["jvp"] = replace(forward(listed), sizes=(*sizes, *sizes)), tangents, entries
    kinds["vjp"] = reverse(listed), {"cotangent": entries}, listed.size_in
    functions = [
        StoredFunction(
            FunctionSpec(name), "", Signature((*inputs.items(), *more.items()), (size,)), StraightLine(operations), {},
            digest(key, sizes, entries, name),
        )
        for name, (operations, more, size) in kinds.items()
    ]  # fmt: skip
    return FunctionStore("", tuple(functions), (), (), False, {}, False)
