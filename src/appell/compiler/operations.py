"""A traced graph as a plain list of operations, which needs no CasADi to be read.

Every operation is named, writes one value and is written once (single assignment); values are numbered by position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.compiler.sincos import LARGEST_ANGLE
from appell.errors import CompileError

if TYPE_CHECKING:
    import casadi


class OperationKind(NamedTuple):
    """What the library has to know of an operation, for every use of it.

    Attributes:
        arity: number of arguments.
        numpy: how it is interpreted, on arrays of lanes.
        text: C with an operator; None where it is a function of libm, or written by each dialect.
        llvm: LLVM IR of such an operator over the type `{T}`; other operations are intrinsic functions.
        counted_as: how the papers count it (`appell.compiler.count.Counts`), if at all.
        latency: cycles until a result can be used, of current processors.
        commutative: whether the order of arguments does not matter.
    """

    arity: int
    numpy: Callable[..., Any]
    text: str | None = None
    counted_as: str | None = None
    latency: int = 4
    commutative: bool = False
    llvm: str | None = None


def near_angles(angles: np.ndarray, dtype: str) -> np.ndarray:
    """The angles, with NaN for those that are too large (`appell.compiler.sincos`)."""
    return np.where(np.abs(angles) <= LARGEST_ANGLE[dtype], angles, np.asarray(np.nan, angles.dtype))


OPERATIONS = {
    "add": OperationKind(2, np.add, "{0} + {1}", "add", 3, commutative=True, llvm="fadd contract {T} {0}, {1}"),
    "sub": OperationKind(2, np.subtract, "{0} - {1}", "add", 3, llvm="fsub contract {T} {0}, {1}"),
    "mul": OperationKind(2, np.multiply, "{0} * {1}", "mul", commutative=True, llvm="fmul contract {T} {0}, {1}"),
    "div": OperationKind(2, np.divide, "{0} / {1}", "div", 13, llvm="fdiv contract {T} {0}, {1}"),
    "neg": OperationKind(1, np.negative, "-{0}", latency=1, llvm="fneg {T} {0}"),
    "sq": OperationKind(1, np.square, "{0} * {0}", "mul", llvm="fmul contract {T} {0}, {0}"),
    "twice": OperationKind(1, lambda a: a + a, "{0} + {0}", "add", 3, llvm="fadd contract {T} {0}, {0}"),
    "inv": OperationKind(1, np.reciprocal, "{one} / {0}", "div", 13, llvm="fdiv contract {T} {one}, {0}"),
    "sqrt": OperationKind(1, np.sqrt, None, "div", 20),
    "sin": OperationKind(1, lambda a: np.sin(near_angles(a, a.dtype.name)), None, "trig"),
    "cos": OperationKind(1, lambda a: np.cos(near_angles(a, a.dtype.name)), None, "trig"),
    "tan": OperationKind(1, np.tan),
    "asin": OperationKind(1, np.arcsin),
    "acos": OperationKind(1, np.arccos),
    "atan": OperationKind(1, np.arctan),
    "atan2": OperationKind(2, np.arctan2),
    "exp": OperationKind(1, np.exp),
    "log": OperationKind(1, np.log),
    "pow": OperationKind(2, np.power),
    "fabs": OperationKind(1, np.abs),
    "fmin": OperationKind(2, np.fmin, commutative=True),
    "fmax": OperationKind(2, np.fmax, commutative=True),
    "sign": OperationKind(1, np.sign),
}
"""Operations besides inputs and constants: the lower-case names of CasADi's operation codes."""

LIBM = tuple(name for name, kind in OPERATIONS.items() if kind.text is None and name != "sign")
"""Operations that are functions of libm; C has no sign, which every dialect writes by comparisons."""


class Operation(NamedTuple):
    """One value: `name` applied to earlier values, entry `number` of the inputs, or the constant `number`."""

    name: str
    arguments: tuple[int, ...] = ()
    number: float = 0.0


@dataclass(frozen=True)
class OperationList:
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

    def reordered(self, order: Sequence[int]) -> OperationList:
        """The same function with these operations, in this order; all that the outputs need must be among them."""
        place, operations = {k: i for i, k in enumerate(order)}, self.operations
        moved = [
            Operation(name, tuple([place[a] for a in arguments]), number)
            for name, arguments, number in (operations[k] for k in order)
        ]
        return OperationList(self.sizes, tuple(moved), tuple(place[k] for k in self.outputs))


def list_operations(graph: casadi.Function) -> OperationList:
    """Read a graph of scalars. Equal constants become one value, as do repeated reads of an input."""
    import casadi

    names = {getattr(casadi, f"OP_{name.upper()}"): name for name in OPERATIONS}
    sizes = tuple(graph.numel_in(i) for i in range(graph.n_in()))
    first = [sum(sizes[:i]) for i in range(len(sizes))]
    operations: list[Operation] = []
    leaves: dict[Operation, int] = {}
    place: dict[int, int] = {}  # CasADi's work vector: which value each place holds now
    outputs = [-1] * graph.numel_out(0)

    for k in range(graph.n_instructions()):
        code, read, written = graph.instruction_id(k), graph.instruction_input(k), graph.instruction_output(k)
        if code == casadi.OP_OUTPUT:
            outputs[written[1]] = place[read[0]]
        elif code in (casadi.OP_INPUT, casadi.OP_CONST):
            is_input = code == casadi.OP_INPUT
            number = first[read[0]] + read[1] if is_input else graph.instruction_constant(k)
            leaf = Operation("input" if is_input else "const", (), number)
            if leaf not in leaves:
                leaves[leaf] = len(operations)
                operations.append(leaf)
            place[written[0]] = leaves[leaf]
        elif code in names:
            operations.append(Operation(names[code], tuple(place[i] for i in read)))
            place[written[0]] = len(operations) - 1
        else:
            raise CompileError(
                f"{graph.name()}: operation {_name(code)} has no translation. "
                f"Known: {', '.join(OPERATIONS)}; add it to appell.compiler.operations."
            )
    return OperationList(sizes, tuple(operations), tuple(outputs))


def _name(code: int) -> str:
    import casadi

    return next((name for name in dir(casadi) if name.startswith("OP_") and getattr(casadi, name) == code), str(code))
