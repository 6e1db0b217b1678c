"""LLVM IR of kernels. The modules of a kernel export

    appell_one(in, out, work)                             one state, contiguous inputs
    appell_batch(in, step, pitch, out, n, work)           n states, one in each lane of a vector
    appell_work, appell_cost                              bytes of scratch memory, and operations of a state, roughly

where entry j of state i of input k is `in[k][i * step[k] + j * pitch[k]]` (the result's step and pitch come last): rows are
pitch 1, columns are step 1, a value for all states is step 0. Both return 1 when an input or a result is not finite, else 0.
The tail of a batch runs through the same code as full vectors, with its last state repeated.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from math import inf
from statistics import fmean

from appell.compiler.emit import plan_emission
from appell.compiler.lowering import LoweredFunction, StraightLine
from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.schedule import cut_into_parts, depth_first, eager, without_stalls
from appell.compiler.targets.llvm.batch import call_text, shape_text
from appell.compiler.targets.llvm.ir import ATTRIBUTES, SCALAR_ATTRIBUTES, FunctionWriter, Real
from appell.compiler.targets.llvm.link_parallel.batch import batch_functions
from appell.compiler.targets.llvm.link_parallel.kernel import one_functions
from appell.compiler.targets.llvm.operations import straight_line, straight_line_of_rows
from appell.compiler.targets.llvm.rolled import RolledWriter, tables
from appell.compiler.targets.llvm.runtime import DECLARATIONS


class Form:
    """A lowered function as IR: its angles and its body, in which operations overtake divisions or not.

    Attributes:
        sizes, size_out, angle_count, shared: as those of `appell.compiler.lowering.StraightLine`.
    """

    def __init__(self, lowered: LoweredFunction, columns: int = 1, overtakes: bool = True) -> None:
        self.lowered, self.sizes, self.size_out, self.cost = lowered, lowered.sizes, lowered.size_out, lowered.cost
        if isinstance(lowered, StraightLine):
            listed = depth_first(lowered.listed, columns)
            self.planned = plan_emission(eager(without_stalls(listed) if overtakes else listed), cut=cut_into_parts)
            self.angle_count, self.shared = len(self.planned.angles), len(self.planned.shared)
        else:
            self.angle_count, self.shared = lowered.angle_count, lowered.shared

    def data(self, real: Real) -> str:
        """Constants that the functions read."""
        return tables(self.lowered, real) if isinstance(self.lowered, Rolled) else ""

    @property
    def takes_rows(self) -> bool:
        """Whether rows of inputs can be read inside the functions."""
        return isinstance(self.lowered, StraightLine) and len(self.planned.pieces) == 1

    @property
    def cleared(self) -> int:
        """Entries of the result that have to be zero before the first of several calls alone."""
        rolled = isinstance(self.lowered, Rolled) and self.lowered.needs_zeros and self.lowered.keeps_zeros
        return self.size_out if rolled else 0

    def functions(self, real: Real, prefix: str, clears: bool = True) -> str:
        """`<prefix>_angles` and `<prefix>_body`, which clears its result where that is needed."""
        if isinstance(self.lowered, Rolled):
            return RolledWriter(self.lowered, real, prefix, clears).text()
        return straight_line(self.planned, real, prefix)


HALVES = ("one", "batch", "columns")
"""Functions of a kernel that are compiled apart, each when it is first used: `appell_one`, and `appell_batch` where batches are
rows or columns as a rule; both take either."""


BY_LINKS, SOLVED_BY_LINKS = {"one": 2500, "batch": 30_000}, {"one": 4000}
"""Operations of a state beyond which links side by side may be faster than states side by side, or numbers, of functions without
and with a system of equations (docs/decisions/0020)."""
DEEP = {"one": 0, "batch": 18}
"""Links from one to the base, in the mean of all, beyond which they are faster."""
FEWEST_LANES = 4
"""Lanes of vectors that are worth filling with links."""


def form_of_half(
    lowered: LoweredFunction, find_links: Callable[[], LinkParallel | None], many: Real, half: str
) -> LoweredFunction | LinkParallel:
    """The faster form of a half; links side by side are looked for only where they may be faster."""
    if many.lanes < FEWEST_LANES or lowered.cost <= BY_LINKS.get(half, inf):
        return lowered
    links = find_links()
    if links is None or fmean(links.rolled.depths) <= DEEP[half]:
        return lowered
    solved = links.rolled.masses and lowered.cost <= SOLVED_BY_LINKS.get(half, inf)
    return lowered if solved else links


def kernel_text(lowered: LoweredFunction | LinkParallel, many: Real, half: str, columns: int = 1) -> str:
    """The module of one half of a kernel, over vectors of a type; the result is a matrix of so many columns."""
    if isinstance(lowered, LinkParallel):
        functions, numbers = (one_functions if half == "one" else batch_functions)(lowered, many)
        return module_text(lowered.cost, numbers * many.item, "", *functions)
    form, one = Form(lowered, columns, overtakes=half != "one"), Real(many.dtype)
    places = sum(form.sizes) + form.size_out + 3 * form.angle_count + form.shared
    if half == "one":
        functions = form.functions(one, "scalar"), one_text(form, one, many.lanes)
        work = (places + 3 * many.lanes) * many.item
        return module_text(form.cost, work, form.data(one), *functions, attributes=SCALAR_ATTRIBUTES)
    if half == "batch" and form.takes_rows:
        work = (places + len(form.sizes)) * many.lanes * many.item
        return module_text(form.cost, work, form.data(one), *rows_functions(form, many))
    shape = shape_text(form.sizes, form.size_out, form.angle_count)
    call = call_text("appell_vectors", cleared=(many, form.cleared) if form.cleared else None)
    functions = shape, form.functions(many, "vector", clears=not form.cleared), call
    return module_text(form.cost, places * many.lanes * many.item, form.data(one), *functions)


def rows_functions(form: Form, real: Real) -> tuple[str, ...]:
    """A kernel over rows; angles that are entries of one input side by side are loaded, others are computed."""
    planned, operations = form.planned, form.planned.listed.operations
    entries = {k: int(operations[k].number) for k in planned.angles if operations[k].name == "input"}
    first, ends = min(entries.values(), default=0), list(accumulate(form.sizes))
    loaded, holder = range(first, first + form.angle_count), min(bisect(ends, first), len(ends) - 1)
    if sorted(entries.values()) != list(loaded) or loaded.stop > ends[holder]:
        body = straight_line_of_rows(planned, real, "vector", form.sizes)
        return shape_text(form.sizes, form.size_out, form.angle_count), body, call_text("appell_rows")
    planned = replace(planned, angles={k: j - first for k, j in entries.items()})
    body = straight_line_of_rows(planned, real, "vector", form.sizes, loaded)
    place = holder, first - (ends[holder] - form.sizes[holder])
    return shape_text(form.sizes, form.size_out, form.angle_count, place), body, call_text("appell_rows", "null")


def module_text(cost: int, work: int, data: str, *functions: str, attributes: str = ATTRIBUTES) -> str:
    """A module with these functions over these constants, which need so many bytes of scratch memory."""
    return "\n".join((
        f"@appell_cost = constant i64 {cost}",
        f"@appell_work = constant i64 {work}",
        *(DECLARATIONS, data, *functions, attributes),
    ))  # fmt: skip


def one_text(form: Form, one: Real, lanes: int) -> str:
    """One state. Its inputs are copied before anything is written, so that the result may take their place."""
    write = FunctionWriter("i32 @appell_one(ptr %in, ptr %out, ptr noalias %work)")
    T, inputs, padded = one.type, sum(form.sizes), -(-form.angle_count // lanes) * lanes
    place, x = 0, "%work"
    for k, size in enumerate(form.sizes):
        copy(write, write.at(T, x, place), write.load("ptr", "%in", k), size * one.item)
        place += size
    a = write.at(T, x, inputs)
    s, c, w = (write.at(T, a, k * padded) for k in (1, 2, 3))
    for k in range(form.angle_count, padded):
        write.store(T, one.literal(0.0), a, k)
    write.line(f"call void @scalar_angles(ptr {x}, ptr {a})")
    write.line(f"call void @appell_sincos_one(ptr {a}, ptr {s}, ptr {c}, i64 {padded})")
    write.line(f"call void @scalar_body(ptr {x}, ptr {s}, ptr {c}, ptr {w}, ptr %out)")
    found = [
        write.value(f"call i32 @appell_nonfinite(ptr {numbers}, i64 {count})")
        for numbers, count in ((x, inputs), ("%out", form.size_out))
    ]
    write.line(f"ret i32 {write.value(f'or i32 {found[0]}, {found[1]}')}")
    return write.text()


def copy(write: FunctionWriter, to: str, source: str, size: int) -> None:
    write.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")
