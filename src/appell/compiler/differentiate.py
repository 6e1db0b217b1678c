"""Derivatives of an operation list along directions, as operation lists.

A value v = f(a, b) has the derivative v' = f_a a' + f_b b' along a direction of the inputs (`forward`), and adds its weight v̄ to
those of its arguments, ā += f_a v̄, from the last value to the first (`reverse`). No CasADi is needed, so functions
of a file have derivatives, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from appell.compiler.operations import Operation, OperationList
from appell.compiler.simplify import simplify


class GraphBuilder:
    """A growing list of operations without sums with 0, products with 0, 1 and -1, and signs that cancel."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = list(operations)
        self.known = {operation: k for k, operation in enumerate(self.operations)}

    def append(self, name: str, *arguments: int, number: float = 0.0) -> int:
        operation = Operation(name, arguments, number)
        if operation not in self.known:
            self.known[operation] = len(self.operations)
            self.operations.append(operation)
        return self.known[operation]

    def constant(self, number: float) -> int:
        return self.append("const", number=number)

    def input(self, index: int) -> int:
        return self.append("input", number=index)

    def value(self, k: int) -> float | None:
        """The number of a constant, None for other values."""
        name, _, number = self.operations[k]
        return number if name == "const" else None

    def negated(self, k: int) -> int | None:
        """x where the value k is -x, else None."""
        name, arguments, _ = self.operations[k]
        return arguments[0] if name == "neg" else None

    def neg(self, a: int) -> int:
        number, inner = self.value(a), self.negated(a)
        if number is not None:
            return self.constant(-number)
        return self.append("neg", a) if inner is None else inner

    def add(self, a: int, b: int) -> int:
        if self.value(a) == 0.0:
            return b
        if self.value(b) == 0.0:
            return a
        first, second = self.negated(a), self.negated(b)
        if first is not None and second is not None:
            return self.neg(self.append("add", first, second))
        if second is not None:
            return self.append("sub", a, second)
        return self.append("add", a, b) if first is None else self.append("sub", b, first)

    def mul(self, a: int, b: int) -> int:
        for x, y in ((a, b), (b, a)):
            number, inner = self.value(x), self.negated(x)
            if number == 0.0:
                return x
            if number in (1.0, -1.0):
                return y if number == 1.0 else self.neg(y)
            if inner is not None:
                return self.neg(self.mul(inner, y))
        return self.append("mul", a, b)


Partial = Callable[[GraphBuilder, int, Sequence[int]], int]
"""The derivative of value k by one of its arguments."""


def _chosen(sign: float) -> tuple[Partial, Partial]:
    """1 for the argument that a minimum (sign -1) or maximum (1) takes, else 0; one half where both are equal."""

    def weight(graph: GraphBuilder, a: int, b: int) -> int:
        half, side = graph.constant(0.5), graph.append("sign", graph.append("sub", a, b))
        return graph.append("add", half, graph.append("mul", graph.constant(0.5 * sign), side))

    return lambda graph, k, x: weight(graph, x[0], x[1]), lambda graph, k, x: weight(graph, x[1], x[0])


def _inverse_root(graph: GraphBuilder, a: int) -> int:
    """1 / sqrt(1 - a²)."""
    square = graph.append("sub", graph.constant(1.0), graph.append("sq", a))
    return graph.append("inv", graph.append("sqrt", square))


def _norm(graph: GraphBuilder, x: Sequence[int]) -> int:
    return graph.append("add", graph.append("sq", x[0]), graph.append("sq", x[1]))


PARTIALS: dict[str, tuple[Partial, ...]] = {
    "add": (lambda g, k, x: g.constant(1.0), lambda g, k, x: g.constant(1.0)),
    "sub": (lambda g, k, x: g.constant(1.0), lambda g, k, x: g.constant(-1.0)),
    "mul": (lambda g, k, x: x[1], lambda g, k, x: x[0]),
    "div": (lambda g, k, x: g.append("inv", x[1]), lambda g, k, x: g.neg(g.append("div", k, x[1]))),
    "neg": (lambda g, k, x: g.constant(-1.0),),
    "sq": (lambda g, k, x: g.append("twice", x[0]),),
    "twice": (lambda g, k, x: g.constant(2.0),),
    "inv": (lambda g, k, x: g.neg(g.append("sq", k)),),
    "sqrt": (lambda g, k, x: g.append("inv", g.append("twice", k)),),
    "sin": (lambda g, k, x: g.append("cos", x[0]),),
    "cos": (lambda g, k, x: g.neg(g.append("sin", x[0])),),
    "tan": (lambda g, k, x: g.append("add", g.constant(1.0), g.append("sq", k)),),
    "asin": (lambda g, k, x: _inverse_root(g, x[0]),),
    "acos": (lambda g, k, x: g.neg(_inverse_root(g, x[0])),),
    "atan": (lambda g, k, x: g.append("inv", g.append("add", g.constant(1.0), g.append("sq", x[0]))),),
    "atan2": (
        lambda g, k, x: g.append("div", x[1], _norm(g, x)),
        lambda g, k, x: g.neg(g.append("div", x[0], _norm(g, x))),
    ),
    "exp": (lambda g, k, x: k,),
    "log": (lambda g, k, x: g.append("inv", x[0]),),
    "pow": (
        lambda g, k, x: g.mul(x[1], g.append("pow", x[0], g.append("sub", x[1], g.constant(1.0)))),
        lambda g, k, x: g.mul(k, g.append("log", x[0])),
    ),
    "fabs": (lambda g, k, x: g.append("sign", x[0]),),
    "fmin": _chosen(-1.0),
    "fmax": _chosen(1.0),
    "sign": (lambda g, k, x: g.constant(0.0),),
}
"""Derivatives of each operation by its arguments."""


def forward(listed: OperationList) -> OperationList:
    """J δ: a further input holds a direction δ of all inputs.

    Example:
        >>> square = OperationList((1,), (Operation("input"), Operation("sq", (0,))), (1,))
        >>> [operation.name for operation in forward(square).operations]
        ['input', 'input', 'twice', 'mul']
    """
    graph, tangents = _with_tangents(listed)
    return _finished(graph.operations, (*listed.sizes, listed.size_in), tangents)


def forward_by_parts(listed: OperationList, inputs: Sequence[int], outputs: Sequence[int]) -> OperationList:
    """The function together with J δ: every part of the inputs and of the results, of these sizes, is followed by its direction.

    Example:
        >>> product = OperationList((2,), (Operation("input"), Operation("input", (), 1), Operation("mul", (0, 1))), (2,))
        >>> found = forward_by_parts(product, (1, 1), (1,))
        >>> found.sizes, [found.operations[k].name for k in found.outputs]
        ((2, 2), ['mul', 'add'])
    """
    graph, tangents = _with_tangents(listed)
    place = _places(inputs)
    operations = [
        Operation(name, arguments, place[int(number)] if name == "input" else number)
        for name, arguments, number in graph.operations
    ]
    values = dict(zip(_places(outputs), (*listed.outputs, *tangents), strict=True))
    return _finished(operations, tuple(2 * size for size in inputs), [values[k] for k in range(len(values))])


def _places(sizes: Sequence[int]) -> list[int]:
    """Of the entries of parts, then of their directions, where each part is followed by its direction."""
    parts = list(zip(accumulate(sizes, initial=0), sizes, strict=False))
    return [2 * first + own * size + k for own in (0, 1) for first, size in parts for k in range(size)]


def _with_tangents(listed: OperationList) -> tuple[GraphBuilder, list[int]]:
    """The operations with those of the derivatives of all results along a direction, which follows the inputs."""
    graph = GraphBuilder(listed.operations)
    zero = graph.constant(0.0)
    tangents: list[int] = []
    for k, (name, arguments, number) in enumerate(listed.operations):
        tangent = graph.input(listed.size_in + int(number)) if name == "input" else zero
        for place, a in enumerate(arguments):
            if tangents[a] != zero:
                tangent = graph.add(tangent, graph.mul(PARTIALS[name][place](graph, k, arguments), tangents[a]))
        tangents.append(tangent)
    return graph, [tangents[k] for k in listed.outputs]


def reverse(listed: OperationList) -> OperationList:
    """J^T λ: a further input holds weights λ of all outputs.

    Example:
        >>> square = OperationList((1,), (Operation("input"), Operation("sq", (0,))), (1,))
        >>> [operation.name for operation in reverse(square).operations]
        ['input', 'input', 'twice', 'mul']
    """
    graph, operations = GraphBuilder(listed.operations), listed.operations
    zero = graph.constant(0.0)
    varies: list[bool] = []
    for name, arguments, _ in operations:
        varies.append(name == "input" or any(varies[a] for a in arguments))
    weights = [zero] * len(operations)
    for place, k in enumerate(listed.outputs):
        weights[k] = graph.add(weights[k], graph.input(listed.size_in + place))
    for k in reversed(range(len(operations))):
        name, arguments, _ = operations[k]
        if weights[k] != zero:
            for place, a in enumerate(arguments):
                if varies[a]:
                    part = graph.mul(PARTIALS[name][place](graph, k, arguments), weights[k])
                    weights[a] = graph.add(weights[a], part)
    of_inputs = {int(number): weights[k] for k, (name, _, number) in enumerate(operations) if name == "input"}
    outputs = [of_inputs.get(index, zero) for index in range(listed.size_in)]
    return _finished(graph.operations, (*listed.sizes, len(listed.outputs)), outputs)


def _finished(operations: Sequence[Operation], sizes: tuple[int, ...], outputs: Sequence[int]) -> OperationList:
    return simplify(OperationList(sizes, tuple(operations), tuple(outputs)))
