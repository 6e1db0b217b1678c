"""A traced graph as a plain list of operations, which needs no CasADi to be read.

Every operation is named, writes one value and is written once (single assignment); values are numbered by position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from appell.errors import CompileError

if TYPE_CHECKING:
    import casadi

OPERATIONS = (
    "add", "sub", "mul", "div", "neg", "sq", "twice", "inv", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
    "exp", "log", "pow", "fabs", "fmin", "fmax", "sign",
)  # fmt: skip
"""What a listing may contain beside inputs and constants: the lower-case names of CasADi's operation codes."""


class Operation(NamedTuple):
    """One value: `name` applied to earlier values, entry `number` of the inputs, or the constant `number`."""

    name: str
    arguments: tuple[int, ...] = ()
    number: float = 0.0


@dataclass(frozen=True)
class Listing:
    """The operations of one function.

    Attributes:
        sizes: entries of each input; `Operation("input", (), k)` counts through all of them.
        outputs: the value of each entry of the result.
    """

    sizes: tuple[int, ...]
    operations: tuple[Operation, ...]
    outputs: tuple[int, ...]

    @property
    def size_in(self) -> int:
        return sum(self.sizes)


def listing(graph: casadi.Function) -> Listing:
    """Read a graph of scalars. Equal constants become one value, as do repeated reads of an input."""
    import casadi

    names = {getattr(casadi, f"OP_{name.upper()}"): name for name in OPERATIONS}
    sizes = tuple(graph.numel_in(i) for i in range(graph.n_in()))
    first = [sum(sizes[:i]) for i in range(len(sizes))]
    operations: list[Operation] = []
    leaves: dict[Operation, int] = {}
    place: dict[int, int] = {}  # CasADi's work vector: which value each place holds now
    outputs = [-1] * graph.numel_out(0)

    def leaf(operation: Operation) -> int:
        if operation not in leaves:
            leaves[operation] = len(operations)
            operations.append(operation)
        return leaves[operation]

    for k in range(graph.n_instructions()):
        code, read, written = graph.instruction_id(k), graph.instruction_input(k), graph.instruction_output(k)
        if code == casadi.OP_OUTPUT:
            outputs[written[1]] = place[read[0]]
        elif code == casadi.OP_INPUT:
            place[written[0]] = leaf(Operation("input", (), first[read[0]] + read[1]))
        elif code == casadi.OP_CONST:
            place[written[0]] = leaf(Operation("const", (), graph.instruction_constant(k)))
        elif code in names:
            operations.append(Operation(names[code], tuple(place[i] for i in read)))
            place[written[0]] = len(operations) - 1
        else:
            raise CompileError(
                f"{graph.name()}: operation {_name(code)} has no translation to C. "
                f"Known: {', '.join(OPERATIONS)}; add it to appell.compiler.emit."
            )
    return Listing(sizes, tuple(operations), tuple(outputs))


def _name(code: int) -> str:
    import casadi

    return next((name for name in dir(casadi) if name.startswith("OP_") and getattr(casadi, name) == code), str(code))
