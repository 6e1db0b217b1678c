"""Operation lists and loops over links as LLVM IR, over numbers or vectors of lanes.

Every form defines `<prefix>_angles(x, a)`, the arguments of sine and cosine, and `<prefix>_body(x, s, c, w, y)`, everything
else: inputs x, sines and cosines s and c, scratch memory w, results y, as in `appell.compiler.emit`. Functions over rows
(`appell.compiler.targets.llvm.rows`) take those instead of x.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from itertools import pairwise

from appell.compiler.emit import EmissionPlan
from appell.compiler.operations import OPERATIONS, Operation, OperationList
from appell.compiler.targets.llvm.ir import FunctionWriter, Real
from appell.compiler.targets.llvm.rows import RowInputs

INTRINSICS = {"fmin": "minnum", "fmax": "maxnum"}
"""Operations whose intrinsic function has another name."""

GIVEN = ", ".join((*(f"ptr noalias readonly %{name}" for name in "xsc"), *(f"ptr noalias %{name}" for name in "wy")))
"""What is only read can be loaded again where it is needed, rather than kept in a register."""
PASSED = ", ".join(f"ptr %{name}" for name in "xscwy")


@lru_cache(maxsize=16)
def templates(real: Real) -> dict[str, str]:
    """Text of operators over a type, to be formatted with the operands."""
    fixed = {"T": real.type, "one": real.literal(1.0)}
    known = ((name, kind.llvm) for name, kind in OPERATIONS.items() if kind.llvm)
    return {name: text.format("{0}", "{1}", **fixed) for name, text in known}


class Values:
    """Values of an operation list inside one function, written when they are first used."""

    def __init__(
        self, write: FunctionWriter, real: Real, listed: OperationList, load: Callable[[int], str | None]
    ) -> None:
        self.write, self.real, self.listed, self.load = write, real, listed, load
        self.known: dict[int, str] = {}
        self.templates = templates(real)

    def __getitem__(self, k: int) -> str:
        """The value of operation k: a constant, loaded, or computed before."""
        if k not in self.known:
            name, _, number = self.listed.operations[k]
            loaded = self.real.literal(number) if name == "const" else self.load(k)
            self.known[k] = self.compute(k) if loaded is None else loaded
        return self.known[k]

    def compute(self, k: int) -> str:
        name, arguments, _ = self.listed.operations[k]
        operands, operator = [self[a] for a in arguments], self.templates.get(name)
        self.known[k] = self.write.value(operator.format(*operands)) if operator else self.function(name, operands)
        return self.known[k]

    def function(self, name: str, operands: list[str]) -> str:
        """The value of an operation that is not an operator."""
        write, real, T = self.write, self.real, self.real.type
        if name == "sign":
            zero, one, minus = (real.literal(number) for number in (0.0, 1.0, -1.0))
            positive, negative = (write.value(f"fcmp {test} {T} {operands[0]}, {zero}") for test in ("ogt", "olt"))
            below = write.value(f"select {real.mask} {negative}, {T} {minus}, {T} {zero}")
            return write.value(f"select {real.mask} {positive}, {T} {one}, {T} {below}")
        given = ", ".join(f"{T} {operand}" for operand in operands)
        return write.value(f"call {T} @llvm.{INTRINSICS.get(name, name)}.{real.suffix}({given})")


Inputs = Callable[[int], str]
"""The value of an entry of all inputs in some function."""


def straight_line(planned: EmissionPlan, real: Real, prefix: str) -> str:
    """Every operation an instruction."""
    angles = FunctionWriter(f"internal void @{prefix}_angles(ptr noalias %x, ptr noalias %a) #0")
    body = FunctionWriter(f"internal void @{prefix}_body({GIVEN}) #0")
    write_angles(planned, real, angles, partial(angles.load, real.type, "%x"))
    write_zeros(planned, real, body)
    parts = []
    for number in range(len(planned.pieces)):
        write = body
        if len(planned.pieces) > 1:
            parts.append(write := FunctionWriter(f"internal void @{prefix}_part{number}({GIVEN}) #0"))
            body.line(f"call void @{prefix}_part{number}({PASSED})")
        write_piece(planned, real, write, partial(write.load, real.type, "%x"), number)
    for write in (angles, *parts, body):
        write.line("ret void")
    return "\n".join(write.text() for write in (angles, *parts, body))


def straight_line_of_rows(
    planned: EmissionPlan, real: Real, prefix: str, sizes: Sequence[int], loaded: Collection[int] | None = None
) -> str:
    """The same in one piece, with rows instead of x; both functions return the check of what they read first.

    Args:
        loaded: entries of inputs that are the angles, which then are loaded and checked elsewhere.
    """
    checked, functions = set(loaded or ()), []
    if loaded is None:
        write = FunctionWriter(f"internal {real.bits} @{prefix}_angles(ptr noalias readonly %x, ptr noalias %a) #0")
        rows = RowInputs(write, real, sizes, checked)
        write_angles(planned, real, write, rows.load)
        rows.return_check()
        functions.append(write)
    write = FunctionWriter(f"internal {real.bits} @{prefix}_body({GIVEN.replace('ptr noalias %w, ', '')}) #0")
    rows = RowInputs(write, real, sizes, checked)
    write_zeros(planned, real, write)
    write_piece(planned, real, write, rows.load, 0)
    for j in set(range(sum(sizes))) - checked:
        rows.load(j)
    rows.return_check()
    return "\n".join(each.text() for each in (*functions, write))


def write_angles(planned: EmissionPlan, real: Real, write: FunctionWriter, inputs: Inputs) -> None:
    """The arguments of sine and cosine."""
    values = Values(write, real, planned.listed, _loads(write, real.type, planned, {}, inputs))
    for k in planned.before:
        values.compute(k)
    for k, place in planned.angles.items():
        write.store(real.type, values[k], "%a", place)


def write_zeros(planned: EmissionPlan, real: Real, write: FunctionWriter) -> None:
    """Results that are zero for all states."""
    operations = planned.listed.operations
    zeros = [place for place, k in enumerate(planned.listed.outputs) if _is_zero(operations[k])]
    for first, count in _runs(zeros):
        write.clear(write.at(real.type, "%y", first), count * real.lanes * real.item)


def write_piece(planned: EmissionPlan, real: Real, write: FunctionWriter, inputs: Inputs, number: int) -> None:
    """One piece of the body; results that are inputs, constants, sines or cosines belong to the last."""
    listed, piece, T = planned.listed, planned.pieces[number], real.type
    results: dict[int, list[int]] = {}
    for place, k in enumerate(listed.outputs):
        results.setdefault(k, []).append(place)
    inside, last = set(piece), number + 1 == len(planned.pieces)
    elsewhere = {k: place for k, place in planned.shared.items() if k not in inside}
    values = Values(write, real, listed, _loads(write, T, planned, elsewhere, inputs))
    free = (k for k in results if last and k in planned.free and not _is_zero(listed.operations[k]))
    for k in (*piece, *free):
        value = values.compute(k) if k in inside else values[k]
        for place in results.get(k, ()):
            write.store(T, value, "%y", place)
        if k in planned.shared:
            write.store(T, value, "%w", planned.shared[k])


def _is_zero(operation: Operation) -> bool:
    return operation.name == "const" and operation.number == 0


def _runs(places: list[int]) -> list[tuple[int, int]]:
    """First and number of consecutive places."""
    starts = [k for k, place in enumerate(places) if k == 0 or place != places[k - 1] + 1]
    return [(places[a], b - a) for a, b in pairwise((*starts, len(places)))]


def _loads(
    write: FunctionWriter, T: str, planned: EmissionPlan, elsewhere: Mapping[int, int], inputs: Inputs
) -> Callable[[int], str | None]:
    """How values that a function does not compute are loaded."""
    operations, angles = planned.listed.operations, planned.angles

    def load(k: int) -> str | None:
        name, arguments, number = operations[k]
        if name == "input":
            return inputs(int(number))
        if k in planned.free:
            return write.load(T, "%s" if name == "sin" else "%c", angles[arguments[0]])
        return write.load(T, "%w", elsewhere[k]) if k in elsewhere else None

    return load
