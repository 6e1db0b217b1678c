"""Derivatives of a function along directions, as a system that is compiled like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra import Scalar
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.registry import Algorithm, Quantity
from appell.algorithms.system import System
from appell.compiler.fast_path import fast_path
from appell.compiler.trace import flat

if TYPE_CHECKING:
    from appell.compiler.evaluate import Evaluator


@dataclass(frozen=True)
class DirectionalSystem(System):
    """J δ (`jvp`) and J^T λ (`vjp`), with J the Jacobian of one function of a system in its inputs, by q in the tangent space."""

    base: System
    spec: FunctionSpec

    @property
    def inputs(self) -> tuple[str, ...]:
        """Inputs of the function."""
        return self.base.find(self.spec.function, self.spec.method)[0].inputs

    def tangent_size(self, name: str) -> int:
        """Entries of the directions of an input: those of q are generalized velocities."""
        return self.base.sizes["v" if name == "q" else name]

    @property
    def sizes(self) -> Mapping[str, int]:
        tangents = {tangent_of(name): self.tangent_size(name) for name in self.inputs}
        entries = self.base.signature(self.spec).entries
        return {**self.base.sizes, **tangents, "tangent": sum(tangents.values()), "cotangent": entries}

    @property
    def sources(self) -> tuple[Path, ...]:  # type: ignore[override]
        return self.base.sources

    @property
    def frames(self) -> Mapping[str, Any]:  # type: ignore[override]
        return self.base.frames

    @property
    def quaternions(self) -> tuple[tuple[str, int], ...]:  # type: ignore[override]
        return self.base.quaternions

    @property
    def angles(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.base.angles

    @property
    def fingerprint_data(self) -> object:
        frame = self.base.frames[self.spec.frame] if self.spec.frame else None
        return type(self.base).__qualname__, self.base.fingerprint_data, self.spec, frame

    def find(self, function: str, method: str | None = None) -> tuple[Quantity, str, Algorithm]:
        quantity, used, _ = self.base.find(self.spec.function, self.spec.method)
        own = replace(quantity, name=function, needs_frame=False)
        if function == "jvp":
            tangents = map(tangent_of, quantity.inputs)
            return replace(own, inputs=(*quantity.inputs, *tangents), shape=("cotangent",)), used, forward
        return replace(own, inputs=(*quantity.inputs, "cotangent"), shape=("tangent",)), used, reverse

    def with_inputs(self, spec: FunctionSpec, entries: Mapping[str, Sequence[Scalar]], lump: bool) -> DirectionalSystem:
        return replace(self, base=self.base.with_inputs(spec, entries, lump))

    def raise_nonfinite_cause(self, function: str, inputs: Mapping[str, np.ndarray]) -> None:
        self.base.raise_nonfinite_cause(self.spec.function, inputs)


class DirectionalCalls:
    """A function, if the evaluator has it, and its derivatives along directions, as methods with a `fast_path`."""

    def __init__(self, functions: Evaluator) -> None:
        self.functions = functions
        functions.owner = self

    @fast_path
    def value(self, *inputs, gravity=None, external_forces=None, parameters=None, out=None, check=True):
        return self.functions["value", None](inputs, gravity, external_forces, parameters, out, check)

    @fast_path
    def jvp(self, *inputs, gravity=None, external_forces=None, parameters=None, out=None, check=True):
        return self.functions["jvp", None](inputs, gravity, external_forces, parameters, out, check)

    @fast_path
    def vjp(self, *inputs, gravity=None, external_forces=None, parameters=None, out=None, check=True):
        return self.functions["vjp", None](inputs, gravity, external_forces, parameters, out, check)


def tangent_of(name: str) -> str:
    """Name of the direction of an input."""
    return f"tangent of {name}"


def forward(system: DirectionalSystem, *given: Sequence[Scalar]) -> list[Scalar]:
    """J δ at the inputs, which the parts of the direction δ follow."""
    count = len(system.inputs)
    return _directional(system, given[:count], [x for part in given[count:] for x in part], False)


def reverse(system: DirectionalSystem, *given: Sequence[Scalar]) -> list[Scalar]:
    """J^T λ at the inputs, with the weights λ of the result's entries as the last argument."""
    return _directional(system, given[:-1], given[-1], True)


def _directional(
    system: DirectionalSystem, inputs: Sequence[Sequence[Scalar]], weights: Sequence[Scalar], transposed: bool
) -> list[Scalar]:
    from appell.compiler.symbols import Symbol

    base, spec = system.base, system.spec
    quantity, _, algorithm = base.find(spec.function, spec.method)
    frame = (base.frames[spec.frame or ""], spec.reference) if quantity.needs_frame else ()
    sizes = [system.tangent_size(name) for name in system.inputs]

    def function(x: list[Symbol]) -> list[Scalar]:
        parts = [x[sum(sizes[:k]) : sum(sizes[: k + 1])] for k in range(len(sizes))]
        moved = [
            base.moved(value, part) if name == "q" else part
            for name, value, part in zip(system.inputs, inputs, parts, strict=True)
        ]
        return list(flat(algorithm(base if base.recursion is None else base.recursion, *moved, *frame)))

    at = [
        x
        for name, value, size in zip(system.inputs, inputs, sizes, strict=True)
        for x in ([0.0] * size if name == "q" else value)
    ]
    return Symbol.directional(function, at, weights, transposed)
