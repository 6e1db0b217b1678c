"""Functions that all kernels over one type of vectors share, compiled once.

appell_vectors, appell_rows                         batches (`batch`)
appell_load(p, step, pitch, size, count, x)         states of an array into vectors (`lanes`)
appell_store(x, step, pitch, size, count, p)        and back; both return 1 where a number is not finite, else 0
appell_gather(p, step, pitch, size, count, x)       states of an array as contiguous rows, one for each lane
appell_sincos(a, s, c, count)                       sines and cosines of vectors of angles (`sincos`)
appell_sincos_one(a, s, c, count)                   of single angles, a multiple of the lanes; taken in vectors, too
appell_nonfinite(x, count)                          1 where one of some numbers is not finite, else 0
"""

from __future__ import annotations

from appell.compiler.targets.llvm.batch import rows_text, vectors_text
from appell.compiler.targets.llvm.ir import ATTRIBUTES, FunctionWriter, Real
from appell.compiler.targets.llvm.lanes import FiniteCheck, gather_text, load_text, store_text
from appell.compiler.targets.llvm.sincos import is_far, repair_text, sincos_text

DECLARATIONS = """\
declare i32 @appell_load(ptr, i64, i64, i64, i64, ptr)
declare i32 @appell_store(ptr, i64, i64, i64, i64, ptr)
declare void @appell_gather(ptr, i64, i64, i64, i64, ptr)
declare i32 @appell_vectors(ptr, ptr, ptr, ptr, i64, ptr, ptr, ptr, ptr)
declare i32 @appell_rows(ptr, ptr, ptr, ptr, i64, ptr, ptr, ptr, ptr)
declare void @appell_sincos(ptr, ptr, ptr, i64)
declare void @appell_sincos_one(ptr, ptr, ptr, i64)
declare i32 @appell_nonfinite(ptr, i64)
"""

FUNCTIONS = tuple(line.partition("@")[2].partition("(")[0] for line in DECLARATIONS.splitlines())


def runtime_text(real: Real) -> str:
    """The module of the shared functions."""
    one = Real(real.dtype)
    return "\n".join((
        *(sincos_text(real), repair_text(real)),
        *(load_text(real), store_text(real), gather_text(real)),
        *(vectors_text(real), rows_text(real)),
        sines_text(real),
        sines_of_one_text(one, real),
        nonfinite_text(real, one),
        ATTRIBUTES,
    ))  # fmt: skip


def sines_text(real: Real) -> str:
    write = FunctionWriter("void @appell_sincos(ptr noalias %a, ptr noalias %s, ptr noalias %c, i64 %count) #0")
    far = write.slot(real.bits, "zeroinitializer")
    with write.loop("%count") as k:
        _sines(write, real, write.load(real.type, "%a", k), far, *(write.at(real.type, p, k) for p in ("%s", "%c")))
    _repair(write, real, far, write.integer("mul", "%count", real.lanes))
    return write.text()


def sines_of_one_text(one: Real, real: Real) -> str:
    write = FunctionWriter("void @appell_sincos_one(ptr noalias %a, ptr noalias %s, ptr noalias %c, i64 %count) #0")
    far = write.slot(real.bits, "zeroinitializer")
    with write.loop("%count", real.lanes) as first:
        angles = "poison"
        for lane in range(real.lanes):  # one by one: a vector loaded from where numbers were just stored waits for them
            angle = write.load(one.type, "%a", write.integer("add", first, lane))
            angles = write.value(f"insertelement {real.type} {angles}, {one.type} {angle}, i64 {lane}")
        _sines(write, real, angles, far, *(write.at(one.type, p, first) for p in ("%s", "%c")))
    _repair(write, real, far, "%count")
    return write.text()


def _sines(write: FunctionWriter, real: Real, angles: str, far: str, s: str, c: str) -> None:
    """Sines and cosines of a vector; `far` joins bits of lanes that need repair."""
    bits = write.value(f"call {real.bits} @sincos({real.type} {angles}, ptr {s}, ptr {c})")
    write.store(real.bits, write.value(f"or {real.bits} {write.load(real.bits, far)}, {bits}"), far)


def _repair(write: FunctionWriter, real: Real, far: str, count: str) -> None:
    with write.when(is_far(write, real, write.load(real.bits, far))):
        write.line(f"call void @repair(ptr %a, ptr %s, ptr %c, i64 {count})")
    write.line("ret void")


def nonfinite_text(real: Real, one: Real) -> str:
    """Whole vectors, then the numbers that are left."""
    write = FunctionWriter("i32 @appell_nonfinite(ptr noalias %x, i64 %count) #0")
    many, single = FiniteCheck(write, real), FiniteCheck(write, one)
    whole = write.integer("and", "%count", -real.lanes)
    with write.loop(whole, real.lanes) as j:
        many.noted(write.load(real.type, write.at(one.type, "%x", j), 0, one.item))
    with write.loop(write.integer("sub", "%count", whole)) as j:
        single.noted(write.load(one.type, "%x", write.integer("add", whole, j)))
    write.line(f"ret i32 {write.value(f'or i32 {many.result()}, {single.result()}')}")
    return write.text()
