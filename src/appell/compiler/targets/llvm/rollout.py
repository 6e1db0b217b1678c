"""LLVM IR of rollouts: robots in the lanes of a vector take all their steps before the next ones start, so that their states
stay at hand.

Inputs of `appell_batch` are coordinates, speeds, signals at the first time, constants (gains and parameters), and SETTINGS; the
result's entries are those of one state. In memory: state, signals, constants, then scratch memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.algorithms.runge_kutta import Tableau
from appell.compiler.lowering import LoweredFunction
from appell.compiler.targets.llvm.batch import GIVEN, load_states, note, states_left, store_states
from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.kernel import Form, module_text

SETTINGS = ("steps", "every", "hold", "signal_time", "result_time", "dt")
"""64-bit integers, and dt as a double: steps between states that are written (every) and between changes of the signals
(hold), numbers from one time to the next of signals and results."""

INPUTS = 5


class Sizes(NamedTuple):
    """Numbers of coordinates, speeds, all states (with the memory of a control law), signals and constants."""

    nq: int
    nv: int
    state: int
    signals: int
    constants: int


def rollout_text(
    lowered: LoweredFunction, real: Real, tableau: Tableau, sizes: Sizes, quaternions: Sequence[int]
) -> str:
    """The module of a rollout.

    Args:
        lowered: the rate of the state, as `appell.compiler.state_rate` orders it.
        quaternions: where they begin in the state.
    """
    form = Form(lowered)
    places = 4 * sizes.state + sizes.nq + sizes.signals + sizes.constants + 3 * form.angle_count + form.shared
    body, step = form.functions(real, "vector"), step_text(real, tableau, sizes, quaternions)
    functions = body, states_text(form, real), step, batch_text(real, sizes)
    return module_text(form.cost, places * real.lanes * real.item, form.data(Real(real.dtype)), *functions)


def states_text(form: Form, real: Real) -> str:
    """The states in the lanes of x."""
    write = FunctionWriter("internal void @vector_states(ptr noalias %x, ptr noalias %y, ptr noalias %work)")
    s, c, w = (write.at(real.type, "%work", k * form.angle_count) for k in (1, 2, 3))
    write.line("call void @vector_angles(ptr %x, ptr %work)")
    write.line(f"call void @appell_sincos(ptr %work, ptr {s}, ptr {c}, i64 {form.angle_count})")
    write.line(f"call void @vector_body(ptr %x, ptr {s}, ptr {c}, ptr {w}, ptr %y)")
    write.line("ret void")
    return write.text()


def step_text(real: Real, tableau: Tableau, sizes: Sizes, quaternions: Sequence[int]) -> str:
    """`@take_step(x, dt)`."""
    write = FunctionWriter(f"internal void @take_step(ptr noalias %x, {real.scalar} %dt)")
    T, state = real.type, sizes.state
    start = write.at(T, "%x", state + sizes.signals + sizes.constants)
    total, y, scratch = (write.at(T, start, place) for place in (state, 2 * state, 3 * state + sizes.nq))

    def times_dt(factor: float) -> str:
        number = Real(real.dtype).literal(factor)
        return write.splat(real, write.value(f"fmul {real.scalar} {number}, %dt"))

    def plus(a: str, factor: str, b: str) -> str:
        return write.value(f"fadd contract {T} {a}, {write.value(f'fmul contract {T} {factor}, {b}')}")

    with write.loop(state) as j:
        for pointer in (start, total):
            write.store(T, write.load(T, "%x", j), pointer, j)
    for stage, weight in enumerate(tableau.weights):
        write.line(f"call void @vector_states(ptr %x, ptr {y}, ptr {scratch})")
        weighted = times_dt(weight)
        ahead = times_dt(tableau.ahead[stage]) if stage < len(tableau.ahead) else None
        with write.loop(state) as j:
            rate = write.load(T, y, j)
            write.store(T, plus(write.load(T, total, j), weighted, rate), total, j)
            if ahead is not None:
                write.store(T, plus(write.load(T, start, j), ahead, rate), "%x", j)
    if tableau.new_speeds:
        dt = times_dt(1.0)
        square = write.value(f"fmul {T} {dt}, {dt}")
        with write.loop(sizes.nq) as j:
            further = write.load(T, y, write.integer("add", j, state))
            write.store(T, plus(write.load(T, total, j), square, further), total, j)
    with write.loop(state) as j:
        write.store(T, write.load(T, total, j), "%x", j)
    for place in quaternions:
        normalize(write, real, "%x", place)
    write.line("ret void")
    return write.text()


def normalize(write: FunctionWriter, real: Real, x: str, place: int) -> None:
    """Unit length for the quaternion at a place of x."""
    T, total = real.type, real.literal(0.0)
    entries = [write.load(T, x, place + k) for k in range(4)]
    for entry in entries:
        square = write.value(f"fmul contract {T} {entry}, {entry}")
        total = write.value(f"fadd contract {T} {total}, {square}")
    length = write.value(f"call {T} @llvm.sqrt.{real.suffix}({T} {total})")
    for k, entry in enumerate(entries):
        write.store(T, write.value(f"fdiv {T} {entry}, {length}"), x, place + k)


def batch_text(real: Real, sizes: Sizes) -> str:
    """All steps of a batch of robots."""
    write = FunctionWriter(f"i32 @appell_batch({GIVEN})")
    T, x, bad = real.type, "%work", write.slot("i32", "0")
    arrays = [write.load("ptr", "%in", k) for k in range(INPUTS)]
    strides = [(write.load("i64", "%step", k), write.load("i64", "%pitch", k)) for k in range(INPUTS + 1)]
    steps, every, hold, signal_time, result_time = (
        write.load("i64", arrays[4], k, real.item) for k in range(len(SETTINGS) - 1)
    )
    dt = write.load("double", arrays[4], len(SETTINGS) - 1, real.item)
    if real.scalar != "double":
        dt = write.value(f"fptrunc double {dt} to {real.scalar}")
    signals = write.at(T, x, sizes.state)
    with write.loop("%n", real.lanes) as i:
        count = states_left(write, real, i)
        load_states(write, real, sizes.nq, arrays[0], i, strides[0], count, x)
        load_states(write, real, sizes.nv, arrays[1], i, strides[1], count, write.at(T, x, sizes.nq))
        for j in range(sizes.nq + sizes.nv, sizes.state):
            write.store(T, real.literal(0.0), x, j)
        load_states(write, real, sizes.constants, arrays[3], i, strides[3], count, write.at(T, signals, sizes.signals))
        with write.loop(steps) as k:
            with write.when(write.integer("icmp eq", write.integer("srem", k, hold), 0)):
                time = write.integer("mul", write.integer("sdiv", k, hold), signal_time)
                now = write.at(real.scalar, arrays[2], time)
                load_states(write, real, sizes.signals, now, i, strides[2], count, signals)
            write.line(f"call void @take_step(ptr {x}, {real.scalar} {dt})")
            done = write.integer("add", k, 1)
            with write.when(write.integer("icmp eq", write.integer("srem", done, every), 0)):
                time = write.integer("mul", write.integer("sdiv", k, every), result_time)
                store_states(
                    write, real, sizes.nq + sizes.nv, x, write.at(real.scalar, "%out", time), i, strides[INPUTS], count
                )
        note(write, bad, write.value(f"call i32 @appell_nonfinite(ptr {x}, i64 {sizes.state * real.lanes})"))
    write.line(f"ret i32 {write.load('i32', bad)}")
    return write.text()
