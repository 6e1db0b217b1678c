"""LLVM IR of the adjoint of rollouts: robots in the lanes of a vector take all their steps forward and back again.

With the weights λ of the state after a step, stage i with the state X_i has, from the last stage to the first (b, a: weights and
`ahead` of the tableau, y: the rate),

    Ȳ_i = b_i dt λ + a_i dt X̄_{i+1}        X̄_i = (∂y/∂x)^T Ȳ_i        λ of the state before = λ + Σ X̄_i

and the same products give the gradients in signals and constants. On the way forward the state at the beginning of every segment
of `length` steps is kept. From the last segment to the first its steps are taken again, and the states of all stages kept.

Inputs of `appell_batch` are coordinates, speeds, signals at the first time, constants, weights of coordinates and of speeds
at the first time, and SETTINGS. Entries of the result are gradients in the state and the constants, the last step of these robots
before which they are not finite, or -1, and gradients in the signals, time after time; those after the last step are not written.

In memory: gradients in the inputs of the rate, these inputs (state, signals, constants), weights of the rate and scratch memory,
the first states of segments, and the states of one segment. The last two, whose sizes `kept_states` gives, add to `appell_work`.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algorithms.runge_kutta import Tableau
from appell.compiler.lowering import LoweredFunction
from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.kernel import Form, module_text
from appell.compiler.targets.llvm.rollout import Batch
from appell.compiler.targets.llvm.step import (
    Sizes,
    copy_vectors,
    places_of_step,
    plus,
    states_text,
    step_text,
    take_across,
    times_dt,
)

SETTINGS = ("steps", "every", "hold", "length", "signal_time", "q_time", "qd_time", "dt")
"""64-bit integers, and dt as a double: steps between states that have weights (every), between changes of the signals (hold), and
of a segment; numbers from one time to the next of signals and weights."""

INPUTS = 7


def kept_states(of_step: int, steps: int, length: int) -> int:
    """States that are kept of each robot: first ones of segments, and those of the steps of one segment."""
    return (steps - 1) // length + min(length, steps) * of_step


def states_of_step(tableau: Tableau, quaternions: Sequence[int]) -> int:
    """States that are kept of a step: those of its stages, and the one after it before quaternions are given unit length."""
    return len(tableau.weights) + bool(quaternions)


def adjoint_text(
    rate: LoweredFunction,
    reverse: LoweredFunction,
    real: Real,
    tableau: Tableau,
    sizes: Sizes,
    quaternions: Sequence[int],
) -> str:
    """The module of the adjoint of a rollout.

    Args:
        rate: the rate of the state, as `appell.compiler.state_rate` orders it, and no more results than the integrator takes.
        reverse: gradients in its inputs from these and weights of its results.
        quaternions: where they begin in the state.
    """
    forms = {"vector": Form(rate), "reverse": Form(reverse)}
    back = forms["reverse"]
    places_back = 2 * sizes.given + rate.size_out + 2 * sizes.state + 3 * back.angle_count + back.shared
    places = sizes.given + max(places_of_step(forms["vector"], sizes), places_back)
    functions = (
        *(form.functions(real, name) for name, form in forms.items()),
        *(states_text(form, real, name) for name, form in forms.items()),
        step_text(real, tableau, sizes, quaternions, recorded=True),
        step_back_text(real, tableau, sizes, quaternions, rate.size_out),
        AdjointWriter(real, sizes, places, states_of_step(tableau, quaternions) * sizes.state).text(),
    )
    return module_text(2 * rate.cost + reverse.cost, places * real.lanes * real.item, "", *functions)


def step_back_text(real: Real, tableau: Tableau, sizes: Sizes, quaternions: Sequence[int], rates: int) -> str:
    """`@step_back(x, dt, points, total)`: total are weights of the state after the step, then of the one before; gradients in
    signals and constants are added to what follows them."""
    given = f"ptr noalias %x, {real.scalar} %dt, ptr noalias readonly %points, ptr noalias %total"
    write, T, state = FunctionWriter(f"internal void @step_back({given})"), real.type, sizes.state
    of_rate = write.at(T, "%x", sizes.given)
    after = write.at(T, of_rate, rates)
    carried, y, scratch = (write.at(T, after, place) for place in (state, 2 * state, 2 * state + sizes.given))
    for place in quaternions:
        end = write.at(T, "%points", len(tableau.weights) * state + place)
        take_across(write, real, end, write.at(T, "%total", place))
    with write.loop(state) as j:
        write.store(T, write.load(T, "%total", j), after, j)
        write.store(T, real.literal(0.0), carried, j)
    for stage in reversed(range(len(tableau.weights))):
        copy_vectors(write, real, "%x", write.at(T, "%points", stage * state), state)
        weighted = times_dt(write, real, tableau.weights[stage])
        with write.loop(state) as j:
            weight = plus(write, real, write.load(T, carried, j), weighted, write.load(T, after, j))
            write.store(T, weight, of_rate, j)
        if tableau.new_speeds:
            square = write.value(f"fmul {T} {weighted}, {times_dt(write, real, 1.0)}")
            with write.loop(sizes.nq) as j:
                weight = write.value(f"fmul {T} {square}, {write.load(T, after, j)}")
                write.store(T, weight, of_rate, write.integer("add", j, state))
        write.line(f"call void @reverse_states(ptr %x, ptr {y}, ptr {scratch})")
        with write.loop(sizes.given) as j:
            total = write.value(f"fadd {T} {write.load(T, '%total', j)}, {write.load(T, y, j)}")
            write.store(T, total, "%total", j)
        if stage:
            ahead = times_dt(write, real, tableau.ahead[stage - 1])
            with write.loop(state) as j:
                write.store(T, write.value(f"fmul {T} {ahead}, {write.load(T, y, j)}"), carried, j)
    write.line("ret void")
    return write.text()


class AdjointWriter:
    """All steps of a batch of robots, forward and back.

    Attributes:
        total, x: gradients in the inputs of the rate, and these inputs.
        kept, points: first states of segments but the last one, and states of the steps of one segment.
        of_step: how many vectors of points a step has.
        failed, bad: variables, the last step before which gradients are not finite, and whether there is one.
    """

    def __init__(self, real: Real, sizes: Sizes, places: int, of_step: int) -> None:
        self.real, self.sizes, self.of_step = real, sizes, of_step
        self.batch = Batch(real, INPUTS, SETTINGS)
        self.write = write = self.batch.write
        self.failed, self.bad = write.slot("i64"), write.slot("i32", "0")
        steps, self.length = (self.batch.settings[name] for name in ("steps", "length"))
        self.last = write.integer("sdiv", write.integer("sub", steps, 1), self.length)
        self.total, self.x = "%work", write.at(real.type, "%work", sizes.given)
        self.signals = write.at(real.type, self.x, sizes.state)
        self.kept = write.at(real.type, "%work", places)
        self.points = write.at(real.type, self.kept, write.integer("mul", self.last, sizes.state))

    def text(self) -> str:
        write, sizes, last = self.write, self.sizes, self.last
        with self.batch.lanes():
            self.begin()
            with write.loop(write.integer("mul", last, self.length)) as k:
                with write.when(self.batch.divides("length", k)):
                    copy_vectors(write, self.real, self.state_before(k), self.x, sizes.state)
                self.step_forward(k, self.points)
            with write.loop(write.integer("add", last, 1)) as done:
                self.segment(write.integer("mul", write.integer("sub", last, done), self.length))
            self.store_gradients()
        write.line(f"ret i32 {write.load('i32', self.bad)}")
        return write.text()

    def begin(self) -> None:
        """The first state, constants, and gradients that are zero."""
        write, T, sizes = self.write, self.real.type, self.sizes
        self.clear(self.total, sizes.given)
        self.clear(self.x, sizes.state)
        self.batch.load(0, sizes.nq, self.x)
        self.batch.load(1, sizes.nv, write.at(T, self.x, sizes.nq))
        self.batch.load(3, sizes.constants, write.at(T, self.signals, sizes.signals))
        write.store("i64", "-1", self.failed)

    def clear(self, x: str, size: int) -> None:
        self.write.clear(x, size * self.real.lanes * self.real.item)

    def state_before(self, k: str) -> str:
        """Where the state before step k is kept, the first one of a segment."""
        number = self.write.integer("sdiv", k, self.length)
        return self.write.at(self.real.type, self.kept, self.write.integer("mul", number, self.sizes.state))

    def points_of(self, j: str) -> str:
        """States of step j of the segment."""
        return self.write.at(self.real.type, self.points, self.write.integer("mul", j, self.of_step))

    def segment(self, first: str) -> None:
        """The steps of a segment, from its first one on and back again; then the state is that of the segment before."""
        write, batch = self.write, self.batch
        left = write.integer("sub", batch.settings["steps"], first)
        size = write.value(f"call i64 @llvm.smin.i64(i64 {left}, i64 {self.length})")
        self.load_signals(first)
        with write.loop(size) as j:
            self.step_forward(write.integer("add", first, j), self.points_of(j))
        with write.loop(size) as done:
            j = write.integer("sub", write.integer("sub", size, 1), done)
            self.step_back(write.integer("add", first, j), self.points_of(j))
        with write.when(write.integer("icmp ne", first, 0)):
            before = self.state_before(write.integer("sub", first, self.length))
            copy_vectors(write, self.real, self.x, before, self.sizes.state)

    def load_signals(self, k: str) -> None:
        self.batch.load(2, self.sizes.signals, self.signals, self.batch.time(k, "hold", "signal_time"))

    def step_forward(self, k: str, points: str) -> None:
        with self.write.when(self.batch.divides("hold", k)):
            self.load_signals(k)
        self.write.line(f"call void @take_step(ptr {self.x}, {self.real.scalar} {self.batch.dt}, ptr {points})")

    def step_back(self, k: str, points: str) -> None:
        write, batch, done = self.write, self.batch, self.write.integer("add", k, 1)
        with write.when(batch.divides("every", done)):
            self.add_weights(k)
        with write.when(batch.divides("hold", done)):
            self.load_signals(k)
        given = f"ptr {self.x}, {self.real.scalar} {batch.dt}, ptr {points}, ptr {self.total}"
        write.line(f"call void @step_back({given})")
        self.check(k)
        with write.when(batch.divides("hold", k)):
            by_signals, number = write.at(self.real.type, self.total, self.sizes.state), self.sizes.signals
            entry = write.integer("mul", write.integer("sdiv", k, batch.settings["hold"]), number)
            batch.store(number, by_signals, write.integer("add", entry, self.sizes.state + self.sizes.constants + 1))
            self.clear(by_signals, number)

    def add_weights(self, k: str) -> None:
        """Weights of the state after step k."""
        write, T, sizes = self.write, self.real.type, self.sizes
        for number, size, first, numbers in ((4, sizes.nq, 0, "q_time"), (5, sizes.nv, sizes.nq, "qd_time")):
            self.batch.load(number, size, self.x, self.batch.time(k, "every", numbers))
            total = write.at(T, self.total, first)
            with write.loop(size) as j:
                weight = write.value(f"fadd {T} {write.load(T, total, j)}, {write.load(T, self.x, j)}")
                write.store(T, weight, total, j)

    def check(self, k: str) -> None:
        """Note that gradients before step k are not finite."""
        write, count = self.write, self.sizes.given * self.real.lanes
        found = write.value(f"call i32 @appell_nonfinite(ptr {self.total}, i64 {count})")
        with write.when(write.value(f"icmp ne i32 {found}, 0")):
            last = write.value(f"call i64 @llvm.smax.i64(i64 {write.load('i64', self.failed)}, i64 {k})")
            write.store("i64", last, self.failed)
            write.store("i32", "1", self.bad)

    def store_gradients(self) -> None:
        """All but those in signals."""
        write, real, sizes = self.write, self.real, self.sizes
        self.batch.store(sizes.state, self.total, 0)
        self.batch.store(sizes.constants, write.at(real.type, self.total, sizes.state + sizes.signals), sizes.state)
        failed = write.value(f"sitofp i64 {write.load('i64', self.failed)} to {real.scalar}")
        write.store(real.type, write.splat(real, failed), self.x)
        self.batch.store(1, self.x, sizes.state + sizes.constants)
