"""Operation counts with the papers' rules.

Products and sums of the traced graph; a difference is a sum; products with 0 and 1, sums with 0, changes of sign and
whatever is known before the motion starts (off-line) are free; so are the joint angles themselves, arguments of sine and
cosine; only what the result needs is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.operations import OPERATIONS
from appell.compiler.trace import trace

if TYPE_CHECKING:
    import casadi


class Counts(NamedTuple):
    """How many products, sums, divisions (square roots included) and sines and cosines a function needs."""

    mul: int
    add: int
    div: int = 0
    trig: int = 0


def count_operations(robot: Any, function: str, method: str | None = None, *, compiled: bool = False) -> Counts:
    """Operations of one evaluation of a function of a robot.

    Args:
        function: such as `"inverse_dynamics"`, `"mass_matrix"`, `"bias"`, `"forward_dynamics"`.
        method: the formulation; the default one if not given.
        compiled: count what the compiled kernels do, which lump mass that a joint does not move and compute common
            sub-expressions once. The papers count an algorithm as it is written, which is the default here.

    Example:
        >>> import appell
        >>> robot = appell.robots.random_chain(6, seed=1)
        >>> appell.count_operations(robot, "inverse_dynamics", method="mata2002").mul <= 96 * 6 - 101
        True
    """
    return count_graph(trace(robot.system, FunctionSpec(function, method), plain=not compiled).graph)


def count_graph(graph: casadi.Function) -> Counts:
    """Operations of a traced function."""
    import casadi

    kinds = {getattr(casadi, f"OP_{name.upper()}"): kind.counted_as for name, kind in OPERATIONS.items()}
    totals = dict.fromkeys(Counts._fields, 0)
    angles = arguments_of_trig(graph)
    for k in range(graph.n_instructions()):
        kind = kinds.get(graph.instruction_id(k))
        if kind and k not in angles:
            totals[kind] += 1
    return Counts(**totals)


def arguments_of_trig(graph: casadi.Function) -> set[int]:
    """Instructions whose result only sines and cosines use: the joint angles, which the papers take as given."""
    import casadi

    writer: dict[int, int] = {}
    users: dict[int, set[int]] = {}
    for k in range(graph.n_instructions()):
        operation = graph.instruction_id(k)
        if operation not in (casadi.OP_INPUT, casadi.OP_CONST):
            for place in graph.instruction_input(k):
                users.setdefault(writer[place], set()).add(operation)
        for place in graph.instruction_output(k):
            if operation != casadi.OP_OUTPUT:
                writer[place] = k
    return {k for k, used in users.items() if used <= {casadi.OP_SIN, casadi.OP_COS}}
