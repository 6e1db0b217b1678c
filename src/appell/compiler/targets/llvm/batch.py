"""Batches of states as LLVM IR: what all kernels share around their functions, which are compiled once.

A kernel's `appell_batch` calls one of these with its SHAPE, the function of the arguments of sine and cosine, and its body:

    appell_vectors    angles(x, a), body(x, s, c, w, y)     inputs are loaded into vectors x
    appell_rows       angles(x, a), body(x, s, c, y)        x are pointers to rows (`appell.compiler.targets.llvm.rows`)

Where the angles are entries of one input side by side, `appell_rows` loads them, and there is no such function.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.lanes import FiniteCheck

GIVEN = "ptr %in, ptr %step, ptr %pitch, ptr %out, i64 %n, ptr noalias %work"
"""Parameters of a batch (`appell.compiler.targets.llvm.kernel`)."""

SHAPE = ("inputs", "outputs", "angles", "input_of_angles", "first_angle")
"""64-bit integers: the numbers of inputs, entries of the result, and angles; the input that holds the angles side by side, or -1,
and the first of them; then the sizes of the inputs."""


def shape_text(sizes: Sequence[int], outputs: int, angles: int, place: tuple[int, int] | None = None) -> str:
    """The shape of a kernel."""
    numbers = (len(sizes), outputs, angles, *(place or (-1, 0)), *sizes)
    return f"@shape = internal constant [{len(numbers)} x i64] [{', '.join(f'i64 {number}' for number in numbers)}]\n"


def call_text(name: str, angles: str = "@vector_angles", cleared: tuple[Real, int] | None = None) -> str:
    """`appell_batch` of a kernel; so many entries of the result are cleared once, which `appell_vectors` keeps in `work`."""
    write = FunctionWriter(f"i32 @appell_batch({GIVEN})")
    if cleared is not None:
        real, count = cleared
        with write.loop(count) as j:
            write.store(real.type, real.literal(0.0), "%work", j)
    passed = f"{GIVEN.replace('noalias ', '')}, ptr @shape, ptr {angles}, ptr @vector_body"
    write.line(f"ret i32 {write.value(f'tail call i32 @{name}({passed})')}")
    return write.text()


def vectors_text(real: Real) -> str:
    """A batch whose states are loaded into vectors."""
    write, T = FunctionWriter(f"i32 @appell_vectors({GIVEN}, ptr %shape, ptr %angles, ptr %body) #0"), real.type
    inputs, outputs, angles = (write.load("i64", "%shape", k) for k in range(3))
    a = write.at(T, "%work", outputs)
    s = write.at(T, a, angles)
    c = write.at(T, s, angles)
    x, place, bad = write.at(T, c, angles), write.slot("ptr"), write.slot("i32", "0")
    with write.loop("%n", real.lanes) as i:
        count = states_left(write, real, i)
        write.store("ptr", x, place)
        with write.loop(inputs) as k:
            size, array = write.load("i64", "%shape", write.integer("add", k, len(SHAPE))), write.load("ptr", "%in", k)
            to = write.load("ptr", place)
            note(write, bad, load_states(write, real, size, array, i, strides(write, k), count, to))
            write.store("ptr", write.at(T, to, size), place)
        write.line(f"call void %angles(ptr {x}, ptr {a})")
        write.line(f"call void @appell_sincos(ptr {a}, ptr {s}, ptr {c}, i64 {angles})")
        write.line(f"call void %body(ptr {x}, ptr {s}, ptr {c}, ptr {write.load('ptr', place)}, ptr %work)")
        note(write, bad, store_states(write, real, outputs, "%work", "%out", i, strides(write, inputs), count))
    write.line(f"ret i32 {write.load('i32', bad)}")
    return write.text()


def rows_text(real: Real) -> str:
    """A batch whose states are read as contiguous rows; others, and the tail of a batch, are copied to such."""
    write, T = FunctionWriter(f"i32 @appell_rows({GIVEN}, ptr %shape, ptr %angles, ptr %body) #0"), real.type
    inputs, outputs, angles, holder, first = (write.load("i64", "%shape", k) for k in range(len(SHAPE)))
    s = write.at(T, "%work", angles)
    c = write.at(T, s, angles)
    y = write.at(T, c, angles)
    x = write.at(T, y, outputs)
    own, bad, check = write.slot("ptr"), write.slot("i32", "0"), FiniteCheck(write, real)
    with write.loop("%n", real.lanes) as i:
        count = states_left(write, real, i)
        write.store("ptr", write.at(T, x, inputs), own)
        with write.loop(inputs) as k:
            size, array = write.load("i64", "%shape", write.integer("add", k, len(SHAPE))), write.load("ptr", "%in", k)
            step, pitch = strides(write, k)
            p = write.at(real.scalar, array, write.integer("mul", i, step))
            write.store("ptr", p, x, k)
            others = "false"
            for given, expected in ((step, size), (pitch, 1), (count, real.lanes)):
                others = write.value(f"or i1 {others}, {write.integer('icmp ne', given, expected)}")
            to = write.load("ptr", own)
            write.store("ptr", write.at(T, to, size), own)
            with write.when(others):
                write.store("ptr", to, x, k)
                begin, each = write.integer("icmp eq", i, 0), write.integer("icmp ne", step, 0)
                with write.when(write.value(f"or i1 {begin}, {each}")):  # a value for all states stays where it is
                    given = f"ptr {p}, i64 {step}, i64 {pitch}, i64 {size}, i64 {count}, ptr {to}"
                    write.line(f"call void @appell_gather({given})")

        def load_angles() -> None:
            size = write.load("i64", "%shape", write.integer("add", holder, len(SHAPE)))
            p = write.at(real.scalar, write.load("ptr", x, holder), first)
            given = f"ptr {p}, i64 {size}, i64 1, i64 {angles}, i64 {real.lanes}, ptr %work"
            note(write, bad, write.value(f"call i32 @appell_load({given})"))

        def compute_angles() -> None:
            check.add(write.value(f"call {real.bits} %angles(ptr {x}, ptr %work)"))

        computed = write.value(f"zext i1 {write.integer('icmp slt', holder, 0)} to i64")
        write.choose(computed, [load_angles, compute_angles])
        write.line(f"call void @appell_sincos(ptr %work, ptr {s}, ptr {c}, i64 {angles})")
        check.add(write.value(f"call {real.bits} %body(ptr {x}, ptr {s}, ptr {c}, ptr {y})"))
        note(write, bad, store_states(write, real, outputs, y, "%out", i, strides(write, inputs), count))
    note(write, bad, check.result())
    write.line(f"ret i32 {write.load('i32', bad)}")
    return write.text()


def strides(write: FunctionWriter, k: int | str) -> tuple[str, str]:
    """Step and pitch of input k."""
    return write.load("i64", "%step", k), write.load("i64", "%pitch", k)


def states_left(write: FunctionWriter, real: Real, i: str) -> str:
    """States from state i to the end of the batch, at most one for each lane."""
    return write.value(f"call i64 @llvm.smin.i64(i64 {write.integer('sub', '%n', i)}, i64 {real.lanes})")


def load_states(
    write: FunctionWriter, real: Real, size: int | str, array: str, i: str, strides: tuple[str, str], count: str, x: str
) -> str:
    """States i, i + 1, ... of an array into vectors; 1 where a number is not finite, else 0."""
    p = write.at(real.scalar, array, write.integer("mul", i, strides[0]))
    given = f"ptr {p}, i64 {strides[0]}, i64 {strides[1]}, i64 {size}, i64 {count}, ptr {x}"
    return write.value(f"call i32 @appell_load({given})")


def store_states(
    write: FunctionWriter, real: Real, size: int | str, x: str, array: str, i: str, strides: tuple[str, str], count: str
) -> str:
    """Vectors into states i, i + 1, ... of an array; 1 where a number is not finite, else 0."""
    p = write.at(real.scalar, array, write.integer("mul", i, strides[0]))
    given = f"ptr {x}, i64 {strides[0]}, i64 {strides[1]}, i64 {size}, i64 {count}, ptr {p}"
    return write.value(f"call i32 @appell_store({given})")


def note(write: FunctionWriter, bad: str, found: str) -> None:
    """Set a variable that is 1 once something was found."""
    write.store("i32", write.value(f"or i32 {write.load('i32', bad)}, {found}"), bad)
