"""Fewer and cheaper operations for the same result, on the list of operations.

Equal operations become one, whatever the order of their operands; several divisions by one number become one reciprocal and
products (a vector division costs as much as a dozen products; the result differs by at most an ulp); what no output needs
is left out.
"""

from __future__ import annotations

from collections import Counter

from appell.compiler.operations import OPERATIONS, Operation, OperationList


def simplify(listed: OperationList) -> OperationList:
    """The same function with less work."""
    return without_dead_code(with_shared_values(with_shared_reciprocals(listed)))


def with_shared_reciprocals(listed: OperationList) -> OperationList:
    """a / d, b / d, ... become products with 1 / d."""
    uses = Counter(o.arguments[-1] for o in listed.operations if o.name in ("div", "inv"))
    place: list[int] = []
    operations: list[Operation] = []
    reciprocals: dict[int, int] = {}
    for operation in listed.operations:
        if operation.name in ("div", "inv") and uses[operation.arguments[-1]] > 1:
            divisor = operation.arguments[-1]
            if divisor not in reciprocals:
                reciprocals[divisor] = len(operations)
                operations.append(Operation("inv", (place[divisor],)))
            if operation.name == "inv":
                place.append(reciprocals[divisor])
                continue
            arguments = (place[operation.arguments[0]], reciprocals[divisor])
            operation = Operation("mul")
        else:
            arguments = tuple([place[k] for k in operation.arguments])
        place.append(len(operations))
        operations.append(Operation(operation.name, arguments, operation.number))
    return OperationList(listed.sizes, tuple(operations), tuple(place[k] for k in listed.outputs))


def with_shared_values(listed: OperationList) -> OperationList:
    """Each value once."""
    place: list[int] = []
    known: dict[Operation, int] = {}
    for name, given, number in listed.operations:
        arguments = [place[k] for k in given]
        if name in OPERATIONS and OPERATIONS[name].commutative:
            arguments.sort()
        place.append(known.setdefault(Operation(name, tuple(arguments), number), len(known)))
    return OperationList(listed.sizes, tuple(known), tuple(place[k] for k in listed.outputs))


def without_dead_code(listed: OperationList) -> OperationList:
    """Only what the outputs need, in the same order."""
    needed = set(listed.outputs)
    for k in reversed(range(len(listed.operations))):
        if k in needed:
            needed.update(listed.operations[k].arguments)
    return listed.reordered(sorted(needed))
