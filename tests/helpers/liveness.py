"""How many values of a function are alive at a time."""

from __future__ import annotations

from appell.compiler.operations import OperationList


def most_alive(listed: OperationList) -> int:
    """The most values that are waited for at a time, beside inputs, constants, what is behind sines and cosines, and slots."""
    behind = {k for k, operation in enumerate(listed.operations) if operation.name in ("sin", "cos")}
    for k in sorted(range(len(listed.operations)), reverse=True):
        if k in behind:
            behind.update(listed.operations[k].arguments)
    free = {k for k, operation in enumerate(listed.operations) if operation.name in ("input", "const", "keep")} | behind
    last: dict[int, int] = {}
    for k, operation in enumerate(listed.operations):
        if operation.name != "fetch":
            last.update(dict.fromkeys(operation.arguments, k))
    most = alive = 0
    for k, operation in enumerate(listed.operations):
        if k not in free:
            ended = {a for a in operation.arguments if a not in free and last.get(a) == k}
            alive += (k in last) - len(ended)
        else:
            alive -= len({a for a in operation.arguments if a not in free and last.get(a) == k})
        most = max(most, alive)
    return most
