"""Accelerations that follow from M, and matrices that are solved with it."""

from __future__ import annotations

from appell.compiler.targets.llvm.link_parallel.matrices import MatrixWriter
from appell.compiler.targets.llvm.link_parallel.memory import Key, LinkMemory
from appell.compiler.targets.llvm.link_parallel.steps import LinkSteps

MASSES: Key = ("masses",)
INVERSE: Key = ("inverse masses",)
"""Rows of M and M⁻¹."""
TILE = 4
"""Rows of products that are computed at a time, so that no sum waits for the last one; the last row may be repeated."""


def write_accelerations(steps: LinkSteps) -> None:
    """M⁻¹, and accelerations M⁻¹ times the forces that are left for them, the last number that walks carry.

    The product with an inverse is less exact than a solution: of more links than lanes it is corrected once, by M⁻¹ times what
    it leaves of the forces (chains of 30 joints: 7e-12 to 2e-13).
    """
    memory, write, T, n = steps.memory, steps.memory.write, steps.memory.real.type, steps.memory.rolled.nv
    masses, inverse = (write.at(T, "%w", memory.area(key, n) * memory.blocks) for key in (MASSES, INVERSE))
    write.clear(masses, n * memory.padded * memory.real.item)
    matrix = MatrixWriter(steps, memory.rolled.masses, "M", masses, memory.padded, memory.padded, 1)
    matrix.write_all()
    size = n * memory.padded * memory.real.item
    write.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {inverse}, ptr {masses}, i64 {size}, i1 false)")
    invert(memory, inverse)
    left, qdd, rest = matrix.column[max(matrix.column)], ("qdd",), ("rest",)
    add_product(memory, inverse, left, None, qdd)
    if memory.blocks > 1:
        add_product(memory, masses, qdd, left, rest, "fsub")
        add_product(memory, inverse, rest, qdd, qdd)


def add_product(
    memory: LinkMemory, matrix: str, factors: Key, given: Key | None, result: Key, operator: str = "fadd"
) -> None:
    """A symmetric matrix times a row, added to another one or taken from it."""
    write, T = memory.write, memory.real.type
    total = write.slot(T)
    with memory.each_block() as b:
        write.store(T, memory.zero if given is None else memory.vector(given, b), total)
        with write.loop(memory.rolled.nv) as k:
            row, factor = write.load(T, matrix, place_in(memory, k, b)), memory.splat(memory.number(factors, k))
            write.store(T, memory.plus_product(write.load(T, total), factor, row, operator), total)
        memory.keep(write.load(T, total), result, b)


def place_in(memory: LinkMemory, row: str, b: int | str) -> str:
    """The place of a vector in a matrix with rows of all blocks."""
    return memory.write.integer("add", memory.write.integer("mul", row, memory.blocks), b)


def invert(memory: LinkMemory, matrix: str) -> None:
    """Gauss and Jordan's elimination; the inverse grows in the place of the matrix, which is symmetric and positive."""
    if memory.blocks == 1:
        invert_block(memory, matrix)
        return
    write, T, one, n = memory.write, memory.real.type, memory.one, memory.rolled.nv
    with write.loop(n) as k:
        pivots = write.at(T, matrix, write.integer("mul", k, memory.blocks))
        inverse = write.value(f"fdiv {one.type} {one.literal(1.0)}, {write.load(one.type, pivots, k)}")
        factor = write.splat(memory.real, inverse)
        with memory.each_block() as b:
            write.store(T, write.value(f"fmul {T} {write.load(T, pivots, b)}, {factor}"), pivots, b)
        write.store(one.type, inverse, pivots, k)
        with write.loop(n) as i, write.when(write.integer("icmp ne", i, k)):
            row = write.at(T, matrix, write.integer("mul", i, memory.blocks))
            own = write.load(one.type, row, k)
            factor = write.splat(memory.real, own)
            with memory.each_block() as b:
                left = memory.plus_product(write.load(T, row, b), factor, write.load(T, pivots, b), "fsub")
                write.store(T, left, row, b)
            product = write.value(f"fmul {one.type} {own}, {inverse}")
            write.store(one.type, write.value(f"fneg {one.type} {product}"), row, k)


def invert_block(memory: LinkMemory, matrix: str) -> None:
    """The same of rows that are one vector each."""
    write, real, n = memory.write, memory.real, memory.rolled.nv
    T, rows = real.type, [write.load(real.type, matrix, i) for i in range(n)]
    for k in range(n):
        unit = "<" + ", ".join(f"i1 {str(lane == k).lower()}" for lane in range(real.lanes)) + ">"
        pivot = write.shuffle(real, rows[k], "poison", real.lanes, [k] * real.lanes)
        inverse = write.value(f"fdiv {T} {real.literal(1.0)}, {pivot}")
        scaled = memory.select(unit, inverse, write.value(f"fmul {T} {rows[k]}, {inverse}"))
        for i in range(n):
            if i != k:
                factor = write.shuffle(real, rows[i], "poison", real.lanes, [k] * real.lanes)
                rows[i] = memory.plus_product(memory.select(unit, memory.zero, rows[i]), factor, scaled, "fsub")
        rows[k] = scaled
    for i, row in enumerate(rows):
        write.store(T, row, matrix, i)


def write_solutions(steps: LinkSteps) -> None:
    """-M⁻¹ A, -M⁻¹ B, ..., M⁻¹ from the matrices A, B, ... of the last walks."""
    memory, write, rolled, T = steps.memory, steps.memory.write, steps.memory.rolled, steps.memory.real.type
    n, count = rolled.nv, rolled.matrices
    area = memory.area(("right-hand sides",), n * count)
    right = write.at(T, "%w", area * memory.blocks)
    write.clear(right, n * count * memory.padded * memory.real.item)
    MatrixWriter(steps, rolled.climb, "A", right, count * memory.padded, memory.padded, count).write_all()
    solved = write.at(T, "%w", memory.area(INVERSE, n) * memory.blocks)
    totals = [[write.slot(T) for _ in range(count)] for _ in range(TILE)]
    with write.loop(n, TILE) as first, memory.each_block() as b:
        places = (write.integer("add", first, k) for k in range(TILE))
        rows = [write.value(f"call i64 @llvm.smin.i64(i64 {place}, i64 {n - 1})") for place in places]
        inverses = [write.at(T, solved, write.integer("mul", row, memory.blocks)) for row in rows]
        for total in (each for own in totals for each in own):
            write.store(T, memory.zero, total)
        with write.loop(n) as k:
            row = write.integer("mul", k, count)
            sides = [write.load(T, right, place_in(memory, write.integer("add", row, m), b)) for m in range(count)]
            for own, inverse in zip(totals, inverses, strict=True):
                factor = memory.splat(write.at(memory.one.type, inverse, k))
                for total, side in zip(own, sides, strict=True):
                    write.store(T, memory.plus_product(write.load(T, total), factor, side, "fsub"), total)
        mask = memory.mask(write.load(memory.bits, "@links", b))
        column = write.integer("mul", b, memory.real.lanes)
        for row, own, inverse in zip(rows, totals, inverses, strict=True):
            start = write.integer("add", write.integer("mul", row, rolled.width), column)
            for m, value in enumerate([*(write.load(T, total) for total in own), write.load(T, inverse, b)]):
                memory.note(value, m)
                to = write.at(memory.one.type, "%y", write.integer("add", start, m * rolled.stride))
                memory.store_some(value, to, mask)
