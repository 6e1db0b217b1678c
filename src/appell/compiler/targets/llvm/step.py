"""Steps of rollouts as LLVM IR, over robots in the lanes of vectors: x are state, signals and constants, then scratch memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.algorithms.runge_kutta import Tableau
from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.kernel import Form


class Sizes(NamedTuple):
    """Numbers of coordinates, speeds, all states (with the memory of a control law), signals and constants."""

    nq: int
    nv: int
    state: int
    signals: int
    constants: int

    @property
    def given(self) -> int:
        """Entries of all inputs of the rate."""
        return self.state + self.signals + self.constants


def places_of_step(form: Form, sizes: Sizes) -> int:
    """Vectors of a step, from x on."""
    return 3 * sizes.state + sizes.nq + sizes.given + 3 * form.angle_count + form.shared


def states_text(form: Form, real: Real, prefix: str) -> str:
    """`@<prefix>_states(x, y, work)`: the results y of a form for the states in the lanes of x."""
    write = FunctionWriter(f"internal void @{prefix}_states(ptr noalias %x, ptr noalias %y, ptr noalias %work)")
    s, c, w = (write.at(real.type, "%work", k * form.angle_count) for k in (1, 2, 3))
    write.line(f"call void @{prefix}_angles(ptr %x, ptr %work)")
    write.line(f"call void @appell_sincos(ptr %work, ptr {s}, ptr {c}, i64 {form.angle_count})")
    write.line(f"call void @{prefix}_body(ptr %x, ptr {s}, ptr {c}, ptr {w}, ptr %y)")
    write.line("ret void")
    return write.text()


def times_dt(write: FunctionWriter, real: Real, factor: float) -> str:
    """A multiple of the step in every lane."""
    number = Real(real.dtype).literal(factor)
    return write.splat(real, write.value(f"fmul {real.scalar} {number}, %dt"))


def plus(write: FunctionWriter, real: Real, a: str, factor: str, b: str) -> str:
    """a + factor b."""
    product = write.value(f"fmul contract {real.type} {factor}, {b}")
    return write.value(f"fadd contract {real.type} {a}, {product}")


def copy_vectors(write: FunctionWriter, real: Real, to: str, source: str, size: int) -> None:
    with write.loop(size) as j:
        write.store(real.type, write.load(real.type, source, j), to, j)


def step_text(
    real: Real,
    tableau: Tableau,
    sizes: Sizes,
    quaternions: Sequence[int],
    recorded: bool = False,
    direction: int = 0,
) -> str:
    """`@take_step(x, dt)`.

    Args:
        recorded: write `@take_step(x, dt, points)`, which keeps the states of all stages, and the one after them before
            quaternions are given unit length.
        direction: entries from a quaternion to its direction, or 0.
    """
    points = ", ptr noalias %points" if recorded else ""
    write = FunctionWriter(f"internal void @take_step(ptr noalias %x, {real.scalar} %dt{points})")
    T, state = real.type, sizes.state
    start = write.at(T, "%x", sizes.given)
    total, y, scratch = (write.at(T, start, place) for place in (state, 2 * state, 3 * state + sizes.nq))

    def record(number: int, x: str) -> None:
        if recorded:
            copy_vectors(write, real, write.at(T, "%points", number * state), x, state)

    with write.loop(state) as j:
        for pointer in (start, total):
            write.store(T, write.load(T, "%x", j), pointer, j)
    for stage, weight in enumerate(tableau.weights):
        record(stage, "%x")
        write.line(f"call void @vector_states(ptr %x, ptr {y}, ptr {scratch})")
        weighted = times_dt(write, real, weight)
        ahead = times_dt(write, real, tableau.ahead[stage]) if stage < len(tableau.ahead) else None
        with write.loop(state) as j:
            rate = write.load(T, y, j)
            write.store(T, plus(write, real, write.load(T, total, j), weighted, rate), total, j)
            if ahead is not None:
                write.store(T, plus(write, real, write.load(T, start, j), ahead, rate), "%x", j)
    if tableau.new_speeds:
        dt = times_dt(write, real, 1.0)
        square = write.value(f"fmul {T} {dt}, {dt}")
        with write.loop(sizes.nq) as j:
            further = write.load(T, y, write.integer("add", j, state))
            write.store(T, plus(write, real, write.load(T, total, j), square, further), total, j)
    copy_vectors(write, real, "%x", total, state)
    if quaternions:
        record(len(tableau.weights), "%x")
    for place in quaternions:
        if direction:
            take_across(write, real, write.at(T, "%x", place), write.at(T, "%x", place + direction))
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


def take_across(write: FunctionWriter, real: Real, x: str, vector: str) -> None:
    """The part of a vector across a quaternion, divided by the length of the quaternion.

    So the quaternion of unit length changes with x, and so weights of x follow from weights of the quaternion of unit length.
    """
    T = real.type

    def product(a: list[str], b: list[str]) -> str:
        total = real.literal(0.0)
        for pair in zip(a, b, strict=True):
            total = plus(write, real, total, *pair)
        return total

    entries, given = ([write.load(T, pointer, k) for k in range(4)] for pointer in (x, vector))
    square = product(entries, entries)
    length = write.value(f"call {T} @llvm.sqrt.{real.suffix}({T} {square})")
    along = write.value(f"fdiv {T} {product(entries, given)}, {square}")
    opposite = write.value(f"fneg {T} {along}")
    for k in range(4):
        across = plus(write, real, given[k], opposite, entries[k])
        write.store(T, write.value(f"fdiv {T} {across}, {length}"), vector, k)
