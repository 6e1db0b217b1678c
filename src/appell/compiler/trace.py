"""From an algorithm to a graph: run it once on symbols.

A `Trace` is the graph of one function of one robot, a `casadi.Function` over SX scalars with one vector per input and one
vector for the result (entries by rows). It is the definition of what every compile target must compute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from appell.algebra import Mat3, Vec3
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.system import System

if TYPE_CHECKING:
    import casadi


@dataclass(frozen=True)
class Trace:
    """The graph of one function.

    Attributes:
        inputs, shape: as in `Signature`; the graph's output is the result's entries by rows.
        graph: `casadi.Function` with those inputs as columns and one output column.
    """

    spec: FunctionSpec
    inputs: tuple[tuple[str, int], ...]
    shape: tuple[int, ...]
    graph: casadi.Function = field(compare=False)


def trace(system: System, spec: FunctionSpec, *, plain: bool = False, share: bool = True) -> Trace:
    """Run the algorithm on symbols.

    `plain` keeps the robot's own mass properties and repeated sub-expressions, as an algorithm is written in its paper;
    otherwise mass is lumped where the method allows it and common sub-expressions are shared. They need not be (`share`) where
    operations are simplified, which shares more of them.
    """
    import casadi

    from appell.compiler import symbols

    expected = system.signature(spec)
    quantity, method, algorithm = system.find(spec.function, spec.method)
    vectors, entries = symbols.inputs(expected.inputs)
    system = system.with_inputs(spec, entries, lump=method in quantity.lumpable and not plain)
    arguments: list[Any] = [entries[name] for name in quantity.inputs]
    if quantity.needs_frame:
        arguments += [system.frames[spec.frame or ""], spec.reference]
    result = algorithm(system if system.recursion is None else system.recursion, *arguments)
    output = symbols.column(flat(result))
    if share and not plain:
        output = casadi.densify(casadi.cse(output))
    graph = casadi.Function(spec.function, vectors, [output], list(entries), ["result"])
    return Trace(spec, expected.inputs, expected.shape, graph)


def flat(result: Any) -> Iterator[Any]:
    """The scalars of a nested result, by rows."""
    if isinstance(result, (list, tuple, Vec3, Mat3)):
        for entry in result:
            yield from flat(entry)
    else:
        yield result
