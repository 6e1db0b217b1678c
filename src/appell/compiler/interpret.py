"""Forms evaluated by NumPy, operation by operation: needs neither a compiler nor CasADi, and is slow.

It is what a loaded robot uses where there is no C compiler, and the plain twin of the emitted code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from appell.compiler.lowering import LoweredFunction, StraightLine
from appell.compiler.operations import OPERATIONS, OperationList
from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.steps import TracedStep, TracedSweep

Lanes = np.ndarray
"""One value for many states."""


class InterpretedKernel:
    """A kernel (`appell.compiler.evaluate.Kernel`) that interprets a form."""

    CHUNK = 256

    def __init__(self, form: LoweredFunction, dtype: str) -> None:
        if not isinstance(form, (StraightLine, Rolled)):
            raise TypeError(f"{type(form).__name__} cannot be interpreted")
        self.form, self.dtype = form, np.dtype(dtype)

    def run(self, inputs: tuple[np.ndarray, ...], out: np.ndarray, /) -> bool:
        rows = out.reshape(1, -1) if out.ndim == 1 else out
        with np.errstate(all="ignore"):
            for start in range(0, len(rows), self.CHUNK):
                x = [column for array in inputs for column in np.atleast_2d(array)[start : start + self.CHUNK].T]
                y = interpret(self.form, [np.asarray(column, self.dtype) for column in x])
                rows[start : start + self.CHUNK] = np.stack(y, axis=-1)
        return bool(np.isfinite(out).all() and all(np.isfinite(array).all() for array in inputs))


def interpret(form: StraightLine | Rolled, x: Sequence[Lanes]) -> list[Lanes]:
    """Entries of the result from the entries of all inputs."""
    return run_rolled(form, x) if isinstance(form, Rolled) else run_listing(form.planned.listed, x)


def run_listing(listed: OperationList, x: Sequence[Lanes]) -> list[Lanes]:
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


def run_rolled(form: Rolled, x: Sequence[Lanes]) -> list[Lanes]:
    """The sweeps one after the other, and the climb."""
    state, first = {}, 0
    for name, size in zip(form.inputs, form.sizes, strict=True):
        state[name], first = x[first : first + size], first + size
    machine = _Machine(form, state, x[0])
    for sweep in form.sweeps:
        machine.sweep(sweep)
    if form.climb:
        machine.climb()
    return machine.result


class _Machine:
    """The memory of a rolled function: what links keep, and the result."""

    def __init__(self, form: Rolled, state: Mapping[str, Sequence[Lanes]], like: Lanes) -> None:
        self.form, self.state, self.like = form, state, like
        self.kept: list[dict[int, Lanes]] = [{} for _ in form.links]
        self.result = [np.zeros_like(like) for _ in range(form.size_out)]

    def sweep(self, sweep: TracedSweep) -> None:
        links = self.form.links
        start = [np.full_like(self.like, x) for x in sweep.start]
        carried = [list(start) for _ in links]
        order = reversed(range(len(links))) if sweep.inward else range(len(links))
        for i in order:
            link = links[i]
            if not sweep.inward and link.parent >= 0:
                carried[i] = carried[link.parent]
            carried[i], own = self.step(sweep.steps[link.group], i, carried[i])
            for k, value in own.items():
                self.result[link.v + k] = self.result[link.v + k] + value
            if sweep.inward and link.parent >= 0:
                both = zip(carried[link.parent], carried[i], strict=True)
                carried[link.parent] = [a + b for a, b in both]

    def climb(self) -> None:
        """From every degree of freedom to the base: one row and column of the matrix."""
        links, nv = self.form.links, self.form.nv
        for j, start in enumerate(links):
            for r, begin in enumerate(self.form.climb[start.group].begin):
                carried, own = self.step(begin, j, [])
                i = j
                while True:
                    for k, value in own.items():
                        self.result[(links[i].v + k) * nv + start.v + r] = value
                        self.result[(start.v + r) * nv + links[i].v + k] = value
                    if links[i].parent < 0:
                        break
                    carried, _ = self.step(self.form.climb[links[i].group].carry, i, carried)
                    i = links[i].parent
                    _, own = self.step(self.form.climb[links[i].group].meet, i, carried)

    def step(self, step: TracedStep, i: int, carried: Sequence[Lanes]) -> tuple[list[Lanes], dict[int, Lanes]]:
        """What link i carries on, and its entries of the result."""
        link = self.form.links[i]
        given = []
        for source in step.sources:
            if source.origin == "table":
                given.append(np.full_like(self.like, link.numbers[source.index]))
            elif source.origin == "carried":
                given.append(carried[source.index])
            elif source.origin == "kept":
                given.append(self.kept[i][source.index])
            else:
                given.append(self.state[source.origin][(link.q if source.origin == "q" else link.v) + source.index])
        onward, result = {}, {}
        for (kind, k), value in zip(step.targets, run_listing(step.listed, given or [self.like]), strict=True):
            {"carried": onward, "kept": self.kept[i], "result": result}[kind][k] = value
        return [onward[k] for k in range(len(onward))], result
