"""Functions evaluated without native code, slowly: by CasADi, or by NumPy alone as robots loaded from files need it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from appell.compiler.lowering import LoweredFunction
from appell.compiler.operations import OPERATIONS, OperationList, near_angles
from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.steps import OF_NO_LINK, PairPlace, TracedStep, TracedSweep
from appell.compiler.rolled.triple_steps import ORDERS, TriplePlace
from appell.compiler.trace import Trace

Lanes = np.ndarray
"""One value for many states."""


class _ChunkedKernel(ABC):
    """Batches are computed in chunks of states; `compute` maps rows of the inputs to rows of the result."""

    CHUNK: ClassVar[int]

    @abstractmethod
    def compute(self, inputs: list[np.ndarray]) -> np.ndarray: ...

    def run(self, inputs: tuple[np.ndarray, ...], out: np.ndarray, /) -> bool:
        rows = out.reshape(1, -1) if out.ndim == 1 else out
        with np.errstate(all="ignore"):
            for start in range(0, len(rows), self.CHUNK):
                chunk = slice(start, start + self.CHUNK)
                rows[chunk] = self.compute([np.atleast_2d(array)[chunk] for array in inputs])
        return bool(np.isfinite(out).all() and all(np.isfinite(array).all() for array in inputs))


class GraphKernel(_ChunkedKernel):
    """A traced graph evaluated by CasADi: slower than native code, needs no compiler, and is the reference for all targets."""

    CHUNK = 1024

    def __init__(self, traced: Trace, angles: Sequence[int] = (), dtype: str = "float64") -> None:
        self.graph, self.dtype = traced.graph, dtype
        self.angles = list(angles) if traced.inputs and traced.inputs[0][0] == "q" else []

    def compute(self, inputs: list[np.ndarray]) -> np.ndarray:
        columns = [array.T.astype(float) for array in inputs]
        if self.angles:
            columns[0][self.angles] = near_angles(columns[0][self.angles], self.dtype)
        return np.asarray(self.graph(*columns).full()).T


class InterpretedKernel(_ChunkedKernel):
    """A lowered function evaluated by NumPy, operation by operation."""

    CHUNK = 256

    def __init__(self, lowered: LoweredFunction, dtype: str) -> None:
        self.lowered, self.dtype = lowered, np.dtype(dtype)

    def compute(self, inputs: list[np.ndarray]) -> np.ndarray:
        x = [np.asarray(column, self.dtype) for array in inputs for column in array.T]
        return np.stack(interpret(self.lowered, x), axis=-1)


def interpret(lowered: LoweredFunction, x: Sequence[Lanes]) -> list[Lanes]:
    """Entries of the result from the entries of all inputs."""
    return run_rolled(lowered, x) if isinstance(lowered, Rolled) else run_operations(lowered.listed, x)


def run_operations(listed: OperationList, x: Sequence[Lanes]) -> list[Lanes]:
    like = x[0] if x else np.zeros(1)
    values: list[Lanes] = []
    for name, arguments, number in listed.operations:
        if name == "input":
            values.append(x[int(number)])
        elif name == "const":
            values.append(np.full_like(like, number))
        else:
            values.append(OPERATIONS[name].numpy(*(values[k] for k in arguments)))
    return [values[k] for k in listed.outputs]


def run_rolled(rolled: Rolled, x: Sequence[Lanes]) -> list[Lanes]:
    """The sweeps one after the other, and the climb or the walks over triples."""
    state, first = {}, 0
    for name, size in zip(rolled.inputs, rolled.sizes, strict=True):
        state[name], first = x[first : first + size], first + size
    machine = _Machine(rolled, state, x[0])
    for sweep in rolled.sweeps:
        machine.sweep(sweep)
    if rolled.climb:
        machine.climb()
    if rolled.triples:
        machine.triples()
    if rolled.solves:
        machine.solve()
    return machine.result


class _Machine:
    """The memory of a rolled function: what links keep, and the result."""

    def __init__(self, rolled: Rolled, state: Mapping[str, Sequence[Lanes]], like: Lanes) -> None:
        self.rolled, self.state, self.like = rolled, state, like
        self.kept: list[dict[int, Lanes]] = [{} for _ in rolled.links]
        self.result = [np.zeros_like(like) for _ in range(rolled.size_out)]

    def sweep(self, sweep: TracedSweep) -> None:
        links, results = self.rolled.links, self.rolled.integers[self.rolled.places[1]]
        start = [np.full_like(self.like, x) for x in sweep.start]
        carried = [list(start) for _ in links]
        order = reversed(range(len(links))) if sweep.inward else range(len(links))
        for i in order:
            link = links[i]
            if not sweep.inward and link.parent >= 0:
                carried[i] = carried[link.parent]
            carried[i], own = self.step(sweep.steps[link.group], i, carried[i])
            for k, value in own.items():
                place = results[i] + k * self.rolled.pitch
                self.result[place] = self.result[place] + value
            if sweep.inward and link.parent >= 0:
                both = zip(carried[link.parent], carried[i], strict=True)
                carried[link.parent] = [a + b for a, b in both]

    def climb(self) -> None:
        """From every degree of freedom to the base: one row and column of the matrices."""
        links, columns = self.rolled.links, self.rolled.integers[self.rolled.places[0]]
        for j, start in enumerate(links):
            for r, begin in enumerate(self.rolled.climb[start.group].begin):
                carried, own = self.step(begin, j, [])
                i = j
                while True:
                    for k, value in own.items():
                        degree, across, matrix = PairPlace.of(k, self.rolled.matrices)
                        row, column = links[i].v + degree, columns[j] + r
                        row, column = (column, row) if across else (row, column)
                        self.result[row * self.rolled.width + matrix * self.rolled.stride + column] = value
                    if links[i].parent < 0:
                        break
                    carried, _ = self.step(self.rolled.climb[links[i].group].carry, i, carried)
                    i = links[i].parent
                    _, own = self.step(self.rolled.climb[links[i].group].meet, i, carried)

    def triples(self) -> None:
        """Links a, b and c, where b is a or above, and c walks from a to the base."""
        links, traced, n = self.rolled.links, self.rolled.triples, self.rolled.nv

        def put(elements: dict[int, Lanes], entries: tuple[int, int], c: int) -> None:
            for number, value in elements.items():
                degree, order, matrix = TriplePlace.of(number, self.rolled.matrices)
                degrees = *entries, links[c].v + degree
                force, row, column = (degrees[role] for role in ORDERS[order])
                self.result[(force * n + row) * self.rolled.width + matrix * n + column] = value

        for a, below in enumerate(links):
            for r, begin in enumerate(traced[below.group].begin):
                given, _ = self.step(begin, a, [])
                b = a
                while b >= 0:
                    steps = traced[links[b].group]
                    for s, step in enumerate(steps.own if b == a else steps.pair):
                        entries = below.v + r, links[b].v + s
                        walk, elements = self.step(step, b, given)
                        put(elements, entries, b)
                        c = a if b != a else below.parent
                        while c >= 0:
                            if c != b:
                                own = traced[links[c].group]
                                step = own.within if c == a else own.between if c > b else own.above
                                put(self.step(step, c, walk)[1], entries, c)
                            c = links[c].parent
                    b = links[b].parent

    def solve(self) -> None:
        """-M⁻¹ A, ..., M⁻¹ from the matrices A, ..., M."""
        n, lanes = self.rolled.nv, self.like.shape
        rows = np.moveaxis(np.reshape(np.stack(self.result), (n, -1, *lanes)), (0, 1), (-2, -1))
        given, M = -rows[..., :-n], rows[..., -n:]
        unit = np.broadcast_to(np.eye(n, dtype=M.dtype), M.shape)
        solved = np.linalg.solve(M, np.concatenate([given, unit], axis=-1))
        self.result = list(np.moveaxis(solved, (-2, -1), (0, 1)).reshape(-1, *lanes))

    def step(self, step: TracedStep, i: int, carried: Sequence[Lanes]) -> tuple[list[Lanes], dict[int, Lanes]]:
        """What link i carries on, and its entries of the result."""
        link = self.rolled.links[i]
        given = []
        for source in step.sources:
            if source.origin == "table":
                given.append(np.full_like(self.like, link.numbers[source.index]))
            elif source.origin == "carried":
                given.append(carried[source.index])
            elif source.origin == "kept":
                given.append(self.kept[i][source.index])
            elif source.origin in OF_NO_LINK:
                given.append(self.state[source.origin][source.index])
            else:
                given.append(self.state[source.origin][(link.q if source.origin == "q" else link.v) + source.index])
        onward, result = {}, {}
        for (kind, k), value in zip(step.targets, run_operations(step.listed, given or [self.like]), strict=True):
            {"carried": onward, "kept": self.kept[i], "result": result}[kind][k] = value
        return [onward[k] for k in range(len(onward))], result
