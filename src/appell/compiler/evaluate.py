"""Numbers from traces: one kernel per request, traced when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from appell.compiler.arrays import as_batch, refuse_bad_result, result_array
from appell.compiler.request import Request
from appell.compiler.trace import Trace, trace

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.model.tree import Tree


class Kernel(Protocol):
    """Anything that computes a trace on a batch: inputs (N, size) each, result (N, entries) written into `out`."""

    def __call__(self, inputs: list[np.ndarray], out: np.ndarray) -> None: ...


class Evaluator:
    """Answers requests for one robot. Kernels are made once and kept."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.kernels: dict[Request, tuple[Trace, Kernel]] = {}

    def __call__(
        self,
        request: Request,
        inputs: tuple[ArrayLike, ...],
        gravity: ArrayLike | None = None,
        external_forces: Mapping[str, ArrayLike] | None = None,
        out: np.ndarray | None = None,
        check: bool = True,
    ) -> Any:
        values = list(inputs)
        if gravity is not None:
            request = replace(request, gravity=True)
            values.append(gravity)
        if external_forces:
            request = replace(request, forces=tuple(external_forces))
            values.append(stacked(external_forces))
        traced, kernel = self.kernel(request)
        arrays, lead = as_batch(traced.inputs, values, check=check)
        shape = (*lead, *traced.shape)
        result = result_array(out, shape)
        flat = result if result.flags.c_contiguous else np.empty(shape)
        kernel(arrays, flat.reshape(arrays[0].shape[0], -1))
        if flat is not result:
            result[...] = flat
        if check:
            refuse_bad_result(request.function, result)
        return result if shape or out is not None else result[()]

    def kernel(self, request: Request) -> tuple[Trace, Kernel]:
        """The trace of a request and what computes it."""
        found = self.kernels.get(request)
        if found is None:
            traced = trace(self.tree, request)
            found = self.kernels[request] = (traced, GraphKernel(traced))
        return found


def stacked(external_forces: Mapping[str, ArrayLike]) -> np.ndarray:
    """Wrenches of all frames side by side, (..., 6 k)."""
    wrenches = []
    for name, wrench in external_forces.items():
        (array,), lead = as_batch(((f"external_forces[{name!r}]", 6),), (wrench,))
        wrenches.append(array.reshape(*lead, 6))
    lead = np.broadcast_shapes(*(wrench.shape[:-1] for wrench in wrenches))
    return np.concatenate([np.broadcast_to(wrench, (*lead, 6)) for wrench in wrenches], axis=-1)


class GraphKernel:
    """CasADi's own evaluator: slower than native code, needs no compiler, and is the definition of what is right."""

    CHUNK = 1024

    def __init__(self, traced: Trace) -> None:
        self.graph = traced.graph

    def __call__(self, inputs: list[np.ndarray], out: np.ndarray) -> None:
        count = out.shape[0]
        for start in range(0, count, self.CHUNK):
            stop = min(start + self.CHUNK, count)
            columns = [array[start:stop].T for array in inputs]
            out[start:stop] = np.asarray(self.graph(*columns).full()).T
