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


def one_functions(form: LinkParallel, real: Real) -> tuple[tuple[str, ...], int]:
    """The functions of one state, and the numbers of scratch memory that they need."""
    write = FunctionWriter("internal i32 @link_body(ptr noalias %w, ptr noalias %y) #0")
    memory = LinkMemory(write, form, real)
    write_body(memory)
    inputs = [memory.row((name,)) * memory.padded for name in form.rolled.inputs]
    return (memory.tables(), memory.order_tables(), write.text(), one_text(memory, inputs)), memory.numbers


def write_body(memory: LinkMemory) -> None:
    """`link_body(w, y)`, whose inputs are the first rows of w: 1 where a number is not finite, else 0."""
    rolled, steps = memory.rolled, LinkSteps(memory)
    write_angles(steps)
    for number, sweep in enumerate(memory.form.sweeps):
        if rolled.masses and number == rolled.solved_after:
            write_accelerations(steps)
        write_sweep(steps, number, sweep)
    if rolled.masses:
        write_solutions(steps)
    else:
        result_writer(steps).write_all()
    memory.return_status({"%w": len(rolled.inputs) * memory.padded, "%y": rolled.size_out})


def result_writer(steps: LinkSteps) -> MatrixWriter:
    """Writes the matrices of the result."""
    rolled = steps.memory.rolled
    return MatrixWriter(steps, rolled.climb, "result", "%y", rolled.width, rolled.stride, rolled.matrices)


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
