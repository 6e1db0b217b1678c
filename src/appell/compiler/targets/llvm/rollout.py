"""LLVM IR of rollouts: robots in the lanes of a vector take all their steps before the next ones start, so that their states
stay at hand.

Inputs of `appell_batch` are coordinates, speeds, signals at the first time, constants (gains and parameters), and SETTINGS; the
result's entries are those of one state. In memory: state, signals, constants, then scratch memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from appell.algorithms.runge_kutta import Tableau
from appell.compiler.lowering import LoweredFunction
from appell.compiler.targets.llvm.batch import GIVEN, load_states, note, states_left, store_states
from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.kernel import Form, module_text
from appell.compiler.targets.llvm.step import Sizes, places_of_step, states_text, step_text

SETTINGS = ("steps", "every", "hold", "signal_time", "result_time", "dt")
"""64-bit integers, and dt as a double: steps between states that are written (every) and between changes of the signals
(hold), numbers from one time to the next of signals and results."""

INPUTS = 5


def rollout_text(
    lowered: LoweredFunction,
    real: Real,
    tableau: Tableau,
    sizes: Sizes,
    quaternions: Sequence[int],
    directions: bool = False,
) -> str:
    """The module of a rollout.

    Args:
        lowered: the rate of the state, as `appell.compiler.state_rate` orders it.
        quaternions: where they begin in the state.
        directions: whether the second half of every part of state, signals and constants is the direction of the first, as in
            `appell.compiler.differentiate.forward_by_parts`. Then the result's entries are those of directions.
    """
    form, nq, nv = Form(lowered), sizes.nq, sizes.nv
    written = [(nq // 2, nq // 2), (nq + nv // 2, nv // 2)] if directions else [(0, nq + nv)]
    functions = (
        form.functions(real, "vector"),
        states_text(form, real, "vector"),
        step_text(real, tableau, sizes, quaternions, direction=nq // 2 if directions else 0),
        batch_text(real, sizes, written),
    )
    work = places_of_step(form, sizes) * real.lanes * real.item
    return module_text(form.cost, work, form.data(Real(real.dtype)), *functions)


class Batch:
    """`appell_batch` of a rollout: numbers move between its arrays and the lanes, which are states i, i + 1, ...

    Attributes:
        settings: by name, from the last input; all but dt, which is `dt`.
    """

    def __init__(self, real: Real, inputs: int, settings: Sequence[str]) -> None:
        self.write = write = FunctionWriter(f"i32 @appell_batch({GIVEN})")
        self.real, self.i, self.count = real, "", ""
        self.arrays = [*(write.load("ptr", "%in", k) for k in range(inputs)), "%out"]
        self.strides = [(write.load("i64", "%step", k), write.load("i64", "%pitch", k)) for k in range(inputs + 1)]
        last = self.arrays[inputs - 1]
        self.settings = {name: write.load("i64", last, k, real.item) for k, name in enumerate(settings[:-1])}
        self.dt = write.load("double", last, len(settings) - 1, real.item)
        if real.scalar != "double":
            self.dt = write.value(f"fptrunc double {self.dt} to {real.scalar}")

    @contextmanager
    def lanes(self) -> Iterator[None]:
        """Repeat for all states."""
        with self.write.loop("%n", self.real.lanes) as self.i:
            self.count = states_left(self.write, self.real, self.i)
            yield

    def time(self, k: str, each: str, numbers: str) -> str:
        """Numbers from the first time to the one of step k, where times are so many steps and so many numbers apart."""
        index = self.write.integer("sdiv", k, self.settings[each])
        return self.write.integer("mul", index, self.settings[numbers])

    def divides(self, each: str, k: str) -> str:
        """Whether a setting divides k."""
        return self.write.integer("icmp eq", self.write.integer("srem", k, self.settings[each]), 0)

    def load(self, number: int, size: int, to: str, first: int | str = 0) -> None:
        """Entries of an input, from so many numbers on."""
        array = self.write.at(self.real.scalar, self.arrays[number], first)
        load_states(self.write, self.real, size, array, self.i, self.strides[number], self.count, to)

    def store(self, size: int, x: str, entry: int | str, first: int | str = 0) -> None:
        """Entries of the result, from this one and so many numbers on."""
        place = self.write.integer("add", first, self.write.integer("mul", self.strides[-1][1], entry))
        array = self.write.at(self.real.scalar, "%out", place)
        store_states(self.write, self.real, size, x, array, self.i, self.strides[-1], self.count)


def batch_text(real: Real, sizes: Sizes, written: Sequence[tuple[int, int]]) -> str:
    """All steps of a batch of robots; first entries and numbers of the parts of the state that are written."""
    batch = Batch(real, INPUTS, SETTINGS)
    write, T, x, bad = batch.write, real.type, "%work", batch.write.slot("i32", "0")
    signals = write.at(T, x, sizes.state)
    with batch.lanes():
        batch.load(0, sizes.nq, x)
        batch.load(1, sizes.nv, write.at(T, x, sizes.nq))
        for j in range(sizes.nq + sizes.nv, sizes.state):
            write.store(T, real.literal(0.0), x, j)
        batch.load(3, sizes.constants, write.at(T, signals, sizes.signals))
        with write.loop(batch.settings["steps"]) as k:
            with write.when(batch.divides("hold", k)):
                batch.load(2, sizes.signals, signals, batch.time(k, "hold", "signal_time"))
            write.line(f"call void @take_step(ptr {x}, {real.scalar} {batch.dt})")
            with write.when(batch.divides("every", write.integer("add", k, 1))):
                time, entry = batch.time(k, "every", "result_time"), 0
                for first, size in written:
                    batch.store(size, write.at(T, x, first), entry, time)
                    entry += size
        note(write, bad, write.value(f"call i32 @appell_nonfinite(ptr {x}, i64 {sizes.state * real.lanes})"))
    write.line(f"ret i32 {write.load('i32', bad)}")
    return write.text()
