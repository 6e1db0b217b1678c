"""Fewer and cheaper operations for the same result, on the list of operations.

Operations that are equal for all inputs become one, however they are written; several divisions by one number become one
reciprocal and products (a vector division costs as much as a dozen products; the result differs by at most an ulp); what no
output needs is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from math import isfinite
from random import Random

from appell.compiler.operations import OPERATIONS, Operation, OperationList


def simplify(listed: OperationList) -> OperationList:
    """The same function with less work."""
    return without_dead_code(with_shared_values(with_shared_reciprocals(listed)))


def with_shared_reciprocals(listed: OperationList) -> OperationList:
    """a / d, b / d, ... become products with 1 / d."""
    uses = Counter(o.arguments[-1] for o in listed.operations if o.name in ("div", "inv"))
    if max(uses.values(), default=1) == 1:
        return listed
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
    """Each value once: of operations that are equal for all inputs the first one stays, or is negated; sums of zero vanish.

    They are equal where they agree at a random point in arithmetic modulo a prime, which knows no rounding: other polynomials
    of degree d agree there with a probability of d / PRIME (Schwartz 1980). Sines and cosines lie on the unit circle; functions
    beyond arithmetic are equal where their arguments are.
    """
    draw, free = Random(1), dict[Hashable, int]()
    found: dict[int, int] = {}
    place: list[int] = []
    values: list[int] = []
    operations: list[Operation] = []

    def keep(operation: Operation, value: int) -> int:
        operations.append(operation)
        values.append(value)
        return found.setdefault(value, len(operations) - 1)

    def unknown(*key: Hashable) -> int:
        return free.setdefault(key, draw.randrange(1, PRIME))

    for name, given, number in listed.operations:
        arguments = [place[k] for k in given]
        if name in OPERATIONS and OPERATIONS[name].commutative:
            arguments.sort()
        value = _modular(name, [values[k] for k in arguments], number, unknown)
        if value in found:
            place.append(found[value])
        elif value in (0, 1):
            place.append(keep(Operation("const", (), float(value)), value))
        elif name not in ("const", "input") and PRIME - value in found:
            place.append(keep(Operation("neg", (found[PRIME - value],)), value))
        else:
            place.append(keep(Operation(name, tuple(arguments), number), value))
    return OperationList(listed.sizes, tuple(operations), tuple(place[k] for k in listed.outputs))


PRIME = 2**127 - 1


def _modular(name: str, given: list[int], number: float, unknown: Callable[..., int]) -> int:
    """The value of an operation modulo PRIME; `unknown` gives a random number for each key."""
    if name in MODULAR and not (name in ("inv", "div") and given[-1] == 0):
        return MODULAR[name](*given) % PRIME
    if name == "const" and isfinite(number):
        above, below = float(number).as_integer_ratio()
        return above * pow(below, -1, PRIME) % PRIME
    if name in ("sin", "cos"):
        t = unknown("angle", *given)
        share = pow(1 + t * t, -1, PRIME)
        return (2 * t if name == "sin" else 1 - t * t) * share % PRIME
    return unknown(name, number, *given)


MODULAR: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a * pow(b, -1, PRIME),
    "inv": lambda a: pow(a, -1, PRIME),
    "neg": lambda a: -a,
    "sq": lambda a: a * a,
    "twice": lambda a: 2 * a,
}
"""Arithmetic; all other operations are functions that are not looked into."""


def without_dead_code(listed: OperationList) -> OperationList:
    """Only what the outputs need, in the same order."""
    needed = set(listed.outputs)
    for k in reversed(range(len(listed.operations))):
        if k in needed:
            needed.update(listed.operations[k].arguments)
    return listed if len(needed) == len(listed.operations) else listed.reordered(sorted(needed))
