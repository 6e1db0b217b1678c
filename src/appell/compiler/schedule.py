"""Orders of operations that keep a processor busy.

`ordered` is for code that others compile, whose compiler keeps the order it gets.

List scheduling. Of the operations whose operands are there, the one goes first that most others wait for; once more values
are alive than there are registers, the one that ends most of them. Nothing but the order changes. Measured with gcc -O3 on
six- and seven-joint arms (docs/decisions/0009): inverse dynamics 0 to 16 % faster, forward dynamics 11 to 13 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import accumulate, pairwise

from appell.compiler.operations import OPERATIONS, OperationList

WIDTH, REGISTERS, LONGEST = 2, 20, 5000
"""Operations that start in a cycle, values kept alive, and operations beyond which registers are lost in any order."""


def ordered(listed: OperationList) -> OperationList:
    """The same function with its operations in another order."""
    if len(listed.operations) > LONGEST:
        return listed
    return listed.reordered(_Scheduler(listed).order())


LONGEST_PART = 12_000
"""Operations of a body that is not cut, and of the parts of others: beyond it compilers take more and more time for each
(docs/decisions/0018)."""


def depth_first(listed: OperationList, columns: int = 1) -> OperationList:
    """The same function with every value computed just before it is needed, results from the last to the first.

    Of two operands the one with more operations behind it in sequence comes first: few values are alive at a time
    (docs/decisions/0018). Of the orders of a matrix with so many columns the one is taken that keeps the fewest values alive.
    """
    given, operations = _given(listed), listed.operations
    depth = [0] * len(operations)
    operands: list[list[int]] = []
    for k, operation in enumerate(operations):
        own = [] if k in given else [a for a in operation.arguments if a not in given]
        own.sort(key=depth.__getitem__, reverse=True)
        operands.append(own)
        depth[k] = 1 + depth[own[0]] if own else int(k not in given)
    bodies = [_depth_first(outputs, operands, given) for outputs in _matrix_orders(listed.outputs, columns)]
    body = bodies[0] if len(bodies) == 1 else min(bodies, key=lambda each: max(_alive(listed, each)))
    return listed.reordered((*sorted(given), *body))


def _depth_first(outputs: Sequence[int], operands: list[list[int]], given: Iterable[int]) -> list[int]:
    """Operations in the order in which they are needed."""
    order, done, waiting = [], bytearray(len(operands)), list(outputs)
    for k in given:
        done[k] = True
    while waiting:
        k = waiting[-1]
        for a in () if done[k] else operands[k]:
            if not done[a]:
                waiting.append(a)
                break
        else:
            waiting.pop()
            if not done[k]:
                done[k] = True
                order.append(k)
    return order


def _matrix_orders(outputs: Sequence[int], columns: int) -> Iterator[Sequence[int]]:
    """The entries of a matrix by rows, by columns and, of square matrices side by side, by joints.

    Entry i, j of a matrix of the dynamics belongs to two joints, of which the one nearer to the tips has the links that matter:
    row and column j up to the diagonal share them. Columns j of all matrices share the motion of joint j.
    """
    yield outputs
    rows = len(outputs) // max(columns, 1)
    if columns > 1 and rows > 1:
        yield [k for first in range(columns) for k in outputs[first::columns]]
        if columns % rows == 0:
            entries = [(e // columns, e % rows, e % columns // rows) for e in range(len(outputs))]
            keys = [(max(i, j), i <= j, min(i, j), block) for i, j, block in entries]
            yield [outputs[e] for e in sorted(range(len(outputs)), key=keys.__getitem__)]
        if columns > rows and columns % rows == 0:
            yield [k for j in range(rows) for first in range(j, columns, rows) for k in outputs[first::columns]]


WINDOW = 400
"""Operations that may be overtaken while an operand is waited for (docs/decisions/0018)."""


def without_stalls(listed: OperationList) -> OperationList:
    """The same function with divisions, and what waits for them, overtaken by later operations that need not wait.

    A processor reorders by itself, but less far than a factorisation with its divisions takes.
    """
    given, operations = _given(listed), listed.operations
    body = [k for k in range(len(operations)) if k not in given]
    if not any(operations[k].name in ("inv", "div") for k in body):
        return listed
    place, uses = {k: i for i, k in enumerate(body)}, {k: list[int]() for k in body}
    missing = {k: {a for a in operations[k].arguments if a in place} for k in body}
    for k, arguments in missing.items():
        for a in arguments:
            uses[a].append(k)
    ready, since = [k for k in body if not missing[k]], dict.fromkeys(body, 0.0)
    waiting: list[tuple[float, int]] = []
    done: dict[int, None] = {}
    now, oldest = 0.0, 0
    while len(done) < len(body):
        while waiting and waiting[0][0] <= now:
            heappush(ready, heappop(waiting)[1])
        while body[oldest] in done:
            oldest += 1
        if waiting and not (ready and place[ready[0]] - oldest <= WINDOW):
            now = waiting[0][0]
            continue
        k = heappop(ready)
        done[k] = None
        now += 1 / WIDTH
        for user in uses[k]:
            since[user] = max(since[user], now + OPERATIONS[operations[k].name].latency)
            missing[user].discard(k)
            if not missing[user]:
                heappush(waiting, (since[user], user))
    return listed.reordered((*sorted(given), *done))


SHORT = 2000
"""Operations of a body whose order is not worth the time that `eager` takes (docs/decisions/0018)."""


def eager(listed: OperationList) -> OperationList:
    """The same function with operations that end as many values as they make executed as soon as their operands are there."""
    given, operations = _given(listed), listed.operations
    body = [k for k in range(len(operations)) if k not in given]
    if len(body) <= SHORT:
        return listed
    operands = {k: {a for a in operations[k].arguments if a not in given} for k in body}
    users: dict[int, list[int]] = {k: [] for k in body}
    for k, arguments in operands.items():
        for a in arguments:
            users[a].append(k)
    missing, uses = {k: len(operands[k]) for k in body}, {k: len(users[k]) for k in body}
    done: dict[int, None] = {}
    for first in body:
        waiting = [first]
        while waiting:
            k = waiting.pop()
            if k in done:
                continue
            done[k] = None
            candidates = set(users[k])
            for user in users[k]:
                missing[user] -= 1
            for a in operands[k]:
                uses[a] -= 1
                if uses[a] == 1:
                    candidates.update(users[a])
            for user in sorted(candidates, reverse=True):
                if not missing[user] and user not in done:
                    ended = sum(uses[a] == 1 for a in operands[user])
                    if ended >= bool(users[user]):
                        waiting.append(user)
    return listed.reordered((*sorted(given), *done))


def cut_into_parts(listed: OperationList, body: Sequence[int]) -> Sequence[Sequence[int]]:
    """Long bodies in parts, cut where few values pass from one part to a later one."""
    if len(body) <= LONGEST_PART:
        return [body]
    alive, count = _alive(listed, body), -(-len(body) // LONGEST_PART)
    size = len(body) // count
    cuts = [min(range(k * size - size // 3, k * size + size // 3), key=alive.__getitem__) for k in range(1, count)]
    return [body[a:b] for a, b in pairwise((0, *cuts, len(body)))]


def _alive(listed: OperationList, body: Sequence[int]) -> list[int]:
    """How many values of a body are still needed before each of its operations, and after the last."""
    place = {k: i for i, k in enumerate(body)}
    change = [0] * (len(body) + 1)
    last = {place[a]: i for i, k in enumerate(body) for a in listed.operations[k].arguments if a in place}
    for first, end in last.items():
        change[first + 1] += 1
        change[end + 1] -= 1
    return list(accumulate(change))


class _Scheduler:
    """A processor that starts operations one after the other.

    Attributes:
        uses: operations that wait for a value.
        height: cycles from the start of an operation to the end of all that wait for it.
        left: how many operations still wait for a value.
        missing: operands that an operation still waits for.
        since: the cycle from which an operation's operands are there.
        live: values that are still waited for.
    """

    def __init__(self, listed: OperationList) -> None:
        operations = listed.operations
        self.names = [operation.name for operation in operations]
        self.arguments = [tuple(set(operation.arguments)) for operation in operations]
        self.uses: list[list[int]] = [[] for _ in operations]
        for k, arguments in enumerate(self.arguments):
            for a in arguments:
                self.uses[a].append(k)
        self.given = _given(listed)
        self.height = [0] * len(operations)
        for k in reversed(range(len(operations))):
            self.height[k] = self._latency(k) + max((self.height[u] for u in self.uses[k]), default=0)
        self.left = [len(uses) for uses in self.uses]
        self.missing = [sum(a not in self.given for a in arguments) for arguments in self.arguments]
        self.since = [0] * len(operations)
        self.live = 0

    def order(self) -> list[int]:
        """All operations, those that are given first."""
        done = sorted(self.given)
        ready = {k for k, missing in enumerate(self.missing) if not missing and k not in self.given}
        now = started = 0
        while ready:
            k = self._next(ready, now)
            if self.since[k] > now:
                now, started = self.since[k], 0
            ready.remove(k)
            ready.update(self._start(k, now))
            done.append(k)
            started += 1
            if started == WIDTH:
                now, started = now + 1, 0
        return done

    def _latency(self, k: int) -> int:
        return 0 if k in self.given else OPERATIONS[self.names[k]].latency

    def _next(self, ready: set[int], now: int) -> int:
        """The operation to start."""
        if self.live >= REGISTERS:
            return max(ready, key=lambda k: (-self._growth(k), self.height[k], -k))
        soonest = min(self.since[k] for k in ready)
        there = (k for k in ready if self.since[k] <= max(now, soonest))
        return max(there, key=lambda k: (self.height[k], -self._growth(k), -k))

    def _growth(self, k: int) -> int:
        """How many more values are alive after an operation."""
        ended = sum(a not in self.given and self.left[a] == 1 for a in self.arguments[k])
        return bool(self.uses[k]) - ended

    def _start(self, k: int, now: int) -> list[int]:
        """Start an operation; those that then wait for nothing but time."""
        self.live += self._growth(k)
        for a in self.arguments[k]:
            self.left[a] -= 1
        freed = []
        for user in self.uses[k]:
            self.since[user] = max(self.since[user], now + self._latency(k))
            self.missing[user] -= 1
            if not self.missing[user]:
                freed.append(user)
        return freed


def _given(listed: OperationList) -> set[int]:
    """Inputs, constants, and sines and cosines with what is behind them: these are computed before all others."""
    given: set[int] = set()
    for k in reversed(range(len(listed.operations))):
        name, arguments, _ = listed.operations[k]
        if k in given or name in ("const", "input", "sin", "cos"):
            given.update((k, *arguments))
    return given
