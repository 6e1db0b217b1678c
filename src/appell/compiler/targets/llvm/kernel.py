"""LLVM IR of kernels. The modules of a kernel export

    appell_one(in, out, work)                             one state, contiguous inputs
    appell_batch(in, step, pitch, out, n, work)           n states, one in each lane of a vector
    appell_work, appell_cost                              bytes of scratch memory, and operations of a state, roughly

where entry j of state i of input k is `in[k][i * step[k] + j * pitch[k]]` (the result's step and pitch come last): rows are
pitch 1, columns are step 1, a value for all states is step 0. Both return 1 when an input or a result is not finite, else 0.
The tail of a batch runs through the same code as full vectors, with its last state repeated.
"""

from __future__ import annotations

from appell.compiler.emit import plan_emission
from appell.compiler.lowering import LoweredFunction, StraightLine
from appell.compiler.rolled.form import Rolled
from appell.compiler.schedule import cut_into_parts, depth_first
from appell.compiler.targets.llvm.ir import Real, Writer
from appell.compiler.targets.llvm.lanes import load_text, store_text
from appell.compiler.targets.llvm.operations import straight_line
from appell.compiler.targets.llvm.rolled import RolledWriter, tables
from appell.compiler.targets.llvm.sincos import far_text, repair_text, sincos_text

ATTRIBUTES = """\
attributes #0 = { noinline nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" "stackrealign" }
"""
"""Bodies are called from several places: one copy of each keeps compilation short. Vectors that do not fit into registers lie
on the stack, which has to be aligned for them: up to a third faster (docs/decisions/0018)."""


class Form:
    """A lowered function as IR: its angles and its body.

    Attributes:
        sizes, size_out, angle_count, shared: as those of `appell.compiler.lowering.StraightLine`.
    """

    def __init__(self, lowered: LoweredFunction) -> None:
        self.lowered, self.sizes, self.size_out = lowered, lowered.sizes, lowered.size_out
        self.cost, self.angle_count, self.shared = lowered.cost, lowered.angle_count, lowered.shared
        if isinstance(lowered, StraightLine):
            self.planned = plan_emission(depth_first(lowered.listed), cut=cut_into_parts)
            self.angle_count, self.shared = len(self.planned.angles), len(self.planned.shared)

    def data(self, real: Real) -> str:
        """Constants that the functions read."""
        return tables(self.lowered, real) if isinstance(self.lowered, Rolled) else ""

    def functions(self, real: Real, prefix: str) -> str:
        """`<prefix>_angles` and `<prefix>_body`."""
        if isinstance(self.lowered, Rolled):
            return RolledWriter(self.lowered, real, prefix).text()
        return straight_line(self.planned, real, prefix)


HALVES = ("one", "batch")
"""Functions of a kernel that are compiled apart, each when it is first used: `appell_one` and `appell_batch`."""


def kernel_text(lowered: LoweredFunction, many: Real, half: str) -> str:
    """The module of one half of a kernel, over vectors of a type."""
    form, one = Form(lowered), Real(many.dtype)
    own = (
        (form.functions(one, "scalar"), one_text(form, one, many))
        if half == "one"
        else (
            form.functions(many, "vector"),
            states_text(form, many),
            *(load_text(many), store_text(many)),
            batch_text(form, many),
        )
    )
    places = sum(form.sizes) + form.size_out + 3 * form.angle_count + form.shared
    return "\n".join((
        *header(form, many, places * (many.lanes if half == "batch" else 1) + 3 * many.lanes),
        *own,
        ATTRIBUTES,
    ))  # fmt: skip


def header(form: Form, real: Real, numbers: int) -> tuple[str, ...]:
    """What is exported besides functions, for so many numbers of scratch memory; constants; sine and cosine."""
    return (
        f"@appell_cost = constant i64 {form.cost}",
        f"@appell_work = constant i64 {numbers * real.item}",
        form.data(Real(real.dtype)),
        *(far_text(real), sincos_text(real), repair_text(real)),
    )


def one_text(form: Form, one: Real, many: Real) -> str:
    """One state; its sines and cosines are taken in vectors, too."""
    padded = -(-form.angle_count // many.lanes) * many.lanes
    write = Writer("i32 @appell_one(ptr %in, ptr %out, ptr noalias %work)")
    T, lanes, inputs = one.type, many.lanes, sum(form.sizes)
    place, x = 0, "%work"
    for k, size in enumerate(form.sizes):
        copy(write, write.at(T, x, place), write.load("ptr", "%in", k), size * one.item)
        place += size
    y = write.at(T, x, inputs)
    a = write.at(T, y, form.size_out)
    s, c, w = (write.at(T, a, k * padded) for k in (1, 2, 3))
    for k in range(form.angle_count, padded):
        write.store(T, one.literal(0.0), a, k)
    write.line(f"call void @scalar_angles(ptr {x}, ptr {a})")
    far = "zeroinitializer"
    for first in range(0, padded, lanes):
        angles = "poison"
        for lane in range(lanes):  # one by one: a vector loaded from where numbers were just stored waits for them
            angles = write.value(
                f"insertelement {many.type} {angles}, {T} {write.load(T, a, first + lane)}, i64 {lane}"
            )
        far = write.value(f"or {many.mask} {far}, {write.value(f'call {many.mask} @far({many.type} {angles})')}")
        write.line(f"call void @sincos({many.type} {angles}, ptr {write.at(T, s, first)}, ptr {write.at(T, c, first)})")
    if padded:
        with write.when(write.any_lane(many, far)):
            write.line(f"call void @repair(ptr {a}, ptr {s}, ptr {c}, i64 {form.angle_count})")
    write.line(f"call void @scalar_body(ptr {x}, ptr {s}, ptr {c}, ptr {w}, ptr {y})")
    copy(write, "%out", y, form.size_out * one.item)
    return_nonfinite(write, one, zero_if_finite(write, one, x, inputs + form.size_out))
    return write.text()


def states_text(form: Form, real: Real) -> str:
    """The states in the lanes of x."""
    write = Writer("internal void @vector_states(ptr noalias %x, ptr noalias %y, ptr noalias %work)")
    T, count = real.type, form.angle_count
    s, c, w = (write.at(T, "%work", k * count) for k in (1, 2, 3))
    write.line("call void @vector_angles(ptr %x, ptr %work)")
    if count:
        far = write.slot(real.mask, "zeroinitializer")
        with write.loop(count) as k:
            angle = write.load(T, "%work", k)
            beyond = write.value(f"call {real.mask} @far({T} {angle})")
            write.store(real.mask, write.value(f"or {real.mask} {write.load(real.mask, far)}, {beyond}"), far)
            write.line(f"call void @sincos({T} {angle}, ptr {write.at(T, s, k)}, ptr {write.at(T, c, k)})")
        with write.when(write.any_lane(real, write.load(real.mask, far))):
            write.line(f"call void @repair(ptr %work, ptr {s}, ptr {c}, i64 {count * real.lanes})")
    write.line(f"call void @vector_body(ptr %x, ptr {s}, ptr {c}, ptr {w}, ptr %y)")
    write.line("ret void")
    return write.text()


def batch_text(form: Form, real: Real) -> str:
    """A batch of states."""
    write = Writer("i32 @appell_batch(ptr %in, ptr %step, ptr %pitch, ptr %out, i64 %n, ptr noalias %work)")
    T, inputs, outputs = real.type, len(form.sizes), form.size_out
    y = write.at(T, "%work", sum(form.sizes))
    scratch = write.at(T, y, outputs)
    zero = write.slot(T, real.literal(0.0))
    strides = [(write.load("i64", "%step", k), write.load("i64", "%pitch", k)) for k in range(inputs + 1)]
    with write.loop("%n", real.lanes) as i:
        count = states_left(write, real, i)
        for k, size in enumerate(form.sizes):
            x = write.at(T, "%work", sum(form.sizes[:k]))
            load_states(write, real, size, write.load("ptr", "%in", k), i, strides[k], count, x)
        write.line(f"call void @vector_states(ptr %work, ptr {y}, ptr {scratch})")
        store_states(write, real, outputs, y, "%out", i, strides[inputs], count)
        more = zero_if_finite(write, real, "%work", sum(form.sizes) + outputs)
        write.store(T, write.value(f"fadd {T} {write.load(T, zero)}, {more}"), zero)
    return_nonfinite(write, real, write.load(T, zero))
    return write.text()


def states_left(write: Writer, real: Real, i: str) -> str:
    """States from state i to the end of the batch, at most one for each lane."""
    return write.value(f"call i64 @llvm.smin.i64(i64 {write.integer('sub', '%n', i)}, i64 {real.lanes})")


def load_states(
    write: Writer, real: Real, size: int, array: str, i: str, strides: tuple[str, str], count: str, x: str
) -> None:
    """States i, i + 1, ... of an array into vectors."""
    p = write.at(real.scalar, array, write.integer("mul", i, strides[0]))
    write.line(f"call void @load(ptr {p}, i64 {strides[0]}, i64 {strides[1]}, i64 {size}, i64 {count}, ptr {x})")


def store_states(
    write: Writer, real: Real, size: int, x: str, array: str, i: str, strides: tuple[str, str], count: str
) -> None:
    """Vectors into states i, i + 1, ... of an array."""
    p = write.at(real.scalar, array, write.integer("mul", i, strides[0]))
    write.line(f"call void @store(ptr {x}, i64 {strides[0]}, i64 {strides[1]}, i64 {size}, i64 {count}, ptr {p})")


def zero_if_finite(write: Writer, real: Real, x: str, count: int) -> str:
    """Zero in every lane whose numbers are all finite, else NaN. Four sums, so that one does not wait for the other."""
    T, zero = real.type, real.literal(0.0)
    sums = [write.slot(T, zero) for _ in range(4)]

    def add(variable: str, j: int | str) -> None:
        product = write.value(f"fmul contract {T} {write.load(T, x, j)}, {zero}")
        write.store(T, write.value(f"fadd contract {T} {write.load(T, variable)}, {product}"), variable)

    with write.loop(count - count % 4, 4) as j:
        for k, variable in enumerate(sums):
            add(variable, write.integer("add", j, k))
    for k in range(count % 4):
        add(sums[k], count - count % 4 + k)
    a, b, c, d = (write.load(T, variable) for variable in sums)
    ab, cd = (write.value(f"fadd {T} {first}, {second}") for first, second in ((a, b), (c, d)))
    return write.value(f"fadd {T} {ab}, {cd}")


def return_nonfinite(write: Writer, real: Real, zero: str) -> None:
    """Return 1 where a lane is not zero."""
    found = write.any_lane(real, write.value(f"fcmp une {real.type} {zero}, {real.literal(0.0)}"))
    write.line(f"ret i32 {write.value(f'zext i1 {found} to i32')}")


def copy(write: Writer, to: str, source: str, size: int) -> None:
    write.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")
