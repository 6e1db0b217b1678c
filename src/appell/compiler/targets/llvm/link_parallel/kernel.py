"""The halves of a kernel with links side by side."""

from __future__ import annotations

from collections.abc import Collection

from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.link_parallel.matrices import MatrixWriter
from appell.compiler.targets.llvm.link_parallel.memory import LinkMemory
from appell.compiler.targets.llvm.link_parallel.solve import write_accelerations, write_solutions
from appell.compiler.targets.llvm.link_parallel.steps import LinkSteps
from appell.compiler.targets.llvm.link_parallel.sweeps import write_angles, write_sweep


def link_parallel_functions(form: LinkParallel, real: Real, half: str) -> tuple[tuple[str, ...], int]:
    """The functions of one half, and the numbers of scratch memory that they need."""
    write = FunctionWriter("internal i32 @link_body(ptr noalias %w, ptr noalias %y) #0")
    memory = LinkMemory(write, form, real)
    write_body(memory)
    body = memory.tables() + write.text()
    inputs = [memory.row((name,)) * memory.padded for name in form.rolled.inputs]
    if half == "one":
        return (body, one_text(memory, inputs)), memory.numbers
    return (body, batch_text(memory, inputs)), memory.numbers + form.size_out


def write_body(memory: LinkMemory) -> None:
    """`link_body(w, y)`, whose inputs are rows of w: 1 where a number is not finite, else 0."""
    write, rolled, T = memory.write, memory.rolled, memory.real.type
    steps = LinkSteps(memory)
    write_angles(steps)
    for number, sweep in enumerate(memory.form.sweeps):
        if rolled.masses and number == rolled.solved_after:
            write_accelerations(steps)
        write_sweep(steps, number, sweep)
    if rolled.masses:
        write_solutions(steps)
    else:
        if memory.form.has_strangers:
            memory.clear("%y", rolled.size_out)
        MatrixWriter(steps, rolled.climb, "result", "%y", rolled.width, rolled.stride, rolled.matrices).write_all()
    total, *others = [write.load(T, found) for found in memory.found]
    for other in others:
        total = write.value(f"fadd {T} {total}, {other}")
    bad = write.value(f"fcmp uno {T} {total}, zeroinitializer")
    write.line(f"ret i32 {write.value(f'zext i1 {write.any_lane(memory.real, bad)} to i32')}")


def one_text(memory: LinkMemory, inputs: Collection[int]) -> str:
    """One state; lanes without a link are zero."""
    write = FunctionWriter("i32 @appell_one(ptr %in, ptr %out, ptr noalias %work)")
    one = memory.one
    for k, (first, size) in enumerate(zip(inputs, memory.form.sizes, strict=True)):
        to = write.at(one.type, "%work", first)
        given = f"ptr {to}, ptr {write.load('ptr', '%in', k)}, i64 {size * one.item}"
        write.line(f"call void @llvm.memcpy.p0.p0.i64({given}, i1 false)")
        for pad in range(size, memory.padded):
            write.store(one.type, one.literal(0.0), to, pad)
    write.line(f"ret i32 {write.value('call i32 @link_body(ptr %work, ptr %out)')}")
    return write.text()


def batch_text(memory: LinkMemory, inputs: Collection[int]) -> str:
    """States one after the other; where the entries of a result are apart, it is copied."""
    write = FunctionWriter("i32 @appell_batch(ptr %in, ptr %step, ptr %pitch, ptr %out, i64 %n, ptr noalias %work)")
    one, form, bad = memory.one, memory.form, write.slot("i32", "0")
    own = write.at(one.type, "%work", memory.numbers)
    for first, size in zip(inputs, form.sizes, strict=True):
        for pad in range(size, memory.padded):
            write.store(one.type, one.literal(0.0), "%work", first + pad)
    with write.loop("%n") as i:
        for k, (first, size) in enumerate(zip(inputs, form.sizes, strict=True)):
            step, pitch = (write.load("i64", f"%{name}", k) for name in ("step", "pitch"))
            p = write.at(one.type, write.load("ptr", "%in", k), write.integer("mul", i, step))
            with write.loop(size) as j:
                number = write.load(one.type, p, write.integer("mul", j, pitch))
                write.store(one.type, number, "%work", write.integer("add", j, first))
        step, pitch = (write.load("i64", f"%{name}", len(form.sizes)) for name in ("step", "pitch"))
        to, apart = write.at(one.type, "%out", write.integer("mul", i, step)), write.integer("icmp ne", pitch, 1)
        y = write.value(f"select i1 {apart}, ptr {own}, ptr {to}")
        found = write.value(f"call i32 @link_body(ptr %work, ptr {y})")
        write.store("i32", write.value(f"or i32 {write.load('i32', bad)}, {found}"), bad)
        with write.when(apart), write.loop(form.size_out) as j:
            write.store(one.type, write.load(one.type, own, j), to, write.integer("mul", j, pitch))
    write.line(f"ret i32 {write.load('i32', bad)}")
    return write.text()
