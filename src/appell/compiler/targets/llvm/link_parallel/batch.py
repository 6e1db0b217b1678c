"""Batches with links side by side: sweeps over the links with a state in each lane, then the matrices of each state by itself.

appell_vectors    the sweeps of as many states as lanes, which leave the numbers of each link in vectors of states
link_rows         transposes those that matrices are made of: rows of each state, with a link in each lane
link_matrices     the matrices of one state, written where they belong
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.link_parallel import LinkParallel, Swept, swept
from appell.compiler.targets.llvm.batch import GIVEN, note, shape_text, states_left, strides
from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.lanes import BLOCK, transposed
from appell.compiler.targets.llvm.link_parallel.kernel import result_writer
from appell.compiler.targets.llvm.link_parallel.memory import Key, LinkMemory, whole_numbers
from appell.compiler.targets.llvm.link_parallel.steps import LinkSteps
from appell.compiler.targets.llvm.rolled import RolledWriter, tables

Origin = list[int | None]
"""For each group of links the place of a number in what they keep; None for zero."""


class Work(NamedTuple):
    """Where parts of scratch memory begin [vectors], and numbers of all.

    Attributes:
        kept: what links keep, and a zero behind it.
        rows: of the states.
        result: of a state whose entries are apart.
    """

    kept: int
    zero: int
    rows: int
    result: int
    numbers: int


def batch_functions(form: LinkParallel, real: Real) -> tuple[tuple[str, ...], int]:
    """The functions of a batch, and the numbers of scratch memory that they need."""
    found, without_inputs = swept(form.rolled), replace(form, rolled=replace(form.rolled, inputs=()))
    write = FunctionWriter("internal i32 @link_matrices(ptr noalias %w, ptr noalias %y) #0")
    memory, angles = LinkMemory(write, without_inputs, real), found.rolled.angle_count
    origins = write_matrices(memory, found)
    kept = sum(form.sizes) + 3 * angles
    zero = kept + found.rolled.shared
    result = zero + 1 + memory.numbers
    work = Work(kept, zero, zero + 1, result, result * real.lanes + form.size_out)
    functions = (
        tables(found.rolled, Real(real.dtype)),
        memory.tables(),
        shape_text(form.sizes, 0, angles),
        RolledWriter(found.rolled, real, "vector").text(),
        write.text(),
        rows_text(memory, found.rolled, origins),
        batch_text(memory, form, work),
    )
    return functions, work.numbers


def write_matrices(memory: LinkMemory, found: Swept) -> dict[Key, Origin]:
    """`link_matrices(w, y)`: 1 where a number is not finite, else 0. Returns the origin of every row of w."""
    steps = LinkSteps(memory)
    writer = result_writer(steps)
    origins: dict[Key, Origin] = {}
    for g, kept in enumerate(steps.kept):
        for place in range(memory.rolled.row):
            kept[place] = ("kept", g, place)
            origins[kept[place]] = [place if other == g else None for other in memory.groups]
    for kind, place in found.places[0]:
        key = "column", kind, place
        (writer.column if kind == "carried" else writer.diagonal)[place] = key
        origins[key] = [places[kind, place] for places in found.places]
    writer.write_elements()
    memory.return_status({"%y": memory.rolled.size_out})
    return {key: origins[key] for key in memory.rows}


def rows_text(memory: LinkMemory, kept: Rolled, origins: Mapping[Key, Origin]) -> str:
    """`link_rows(w, r)`: what links keep in w, a state in each lane, as rows r of each state, a link in each lane.

    A vector of a row is made where one of its links has an origin; lanes without one are zero.
    """
    real, T, zero = memory.real, memory.real.type, kept.shared
    width, vectors = min(BLOCK, real.lanes), len(memory.rows) * memory.blocks
    write = FunctionWriter("internal void @link_rows(ptr noalias %w, ptr noalias %r) #0")
    links = sorted(range(kept.nv), key=lambda i: kept.links[i].v)
    made, places = [], []
    for key, row in memory.rows.items():
        own = [origins[key][kept.links[i].group] for i in links]
        lanes = [zero if place is None else i * kept.row + place for i, place in zip(links, own, strict=True)]
        lanes += [zero] * (memory.padded - kept.nv)
        for b in range(memory.blocks):
            part = slice(b * real.lanes, (b + 1) * real.lanes)
            if any(place is not None for place in own[part]) or all(place is None for place in own):
                made.append(row * memory.blocks + b)
                places += lanes[part]
    with write.loop(len(made)) as k:
        first = write.integer("mul", k, real.lanes)
        found = [write.load("i64", "@places", write.integer("add", first, lane)) for lane in range(real.lanes)]
        begins = [write.at(T, "%w", place) for place in found]
        to = write.at(T, "%r", write.load("i64", "@made", k))
        for state in range(0, real.lanes, width):
            parts = [write.at(real.scalar, begin, state) for begin in begins]
            for i, vector in enumerate(transposed(write, real, parts, width), state):
                write.store(T, vector, to, i * vectors)
    write.line("ret void")
    return whole_numbers({"made": made, "places": places}) + write.text()


def batch_text(memory: LinkMemory, form: LinkParallel, work: Work) -> str:
    """As many states as lanes at a time; where the entries of a result are apart, it is copied."""
    write, real, one = FunctionWriter(f"i32 @appell_batch({GIVEN})"), memory.real, memory.one
    T, count, bad = real.type, len(form.sizes), write.slot("i32", "0")
    given = write.slot(f"[{count} x ptr]")
    kept, zero, rows, own = (write.at(T, "%work", place) for place in work[:4])
    write.store(T, memory.zero, zero)
    step, pitch = strides(write, count)
    apart = write.integer("icmp ne", pitch, 1)
    with write.loop("%n", real.lanes) as i:
        states = states_left(write, real, i)
        for k in range(count):
            first = write.integer("mul", i, strides(write, k)[0])
            write.store("ptr", write.at(one.type, write.load("ptr", "%in", k), first), given, k)
        passed = f"ptr {given}, ptr %step, ptr %pitch, ptr %out, i64 {states}, ptr %work"
        vectors = f"call i32 @appell_vectors({passed}, ptr @shape, ptr @vector_angles, ptr @vector_body)"
        note(write, bad, write.value(vectors))
        write.line(f"call void @link_rows(ptr {kept}, ptr {rows})")
        with write.loop(states) as s:
            to = write.at(one.type, "%out", write.integer("mul", write.integer("add", i, s), step))
            y = write.value(f"select i1 {apart}, ptr {own}, ptr {to}")
            w = write.at(one.type, rows, write.integer("mul", s, memory.numbers))
            note(write, bad, write.value(f"call i32 @link_matrices(ptr {w}, ptr {y})"))
            with write.when(apart), write.loop(form.size_out) as j:
                write.store(one.type, write.load(one.type, own, j), to, write.integer("mul", j, pitch))
    write.line(f"ret i32 {write.load('i32', bad)}")
    return write.text()
