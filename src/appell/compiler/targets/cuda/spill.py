"""Values beyond the registers of a thread wait in shared memory: Belady's rule on straight-line code.

The compiler of a GPU places values beyond the registers in memory too, but fetches them just before they are used, when all other
threads wait for theirs. Here the value that is not used for the longest time leaves first, and comes back some operations before
its use. Two more operations are written for that,

    keep(a)     a slot becomes a; the result is a
    fetch(b)    the slot that the operation b has kept

so that few enough values are alive for the compiler to leave all of them where they are (docs/decisions/0020).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from appell.compiler.emit import plan_emission
from appell.compiler.operations import Operation, OperationList

AHEAD = 40
"""Operations between a fetch and the first use of its value, at most. 8 to 40 differ by 4 % at most."""

WHOLE = 1 << 30


class Budget(NamedTuple):
    """Values that a thread has in registers at a time, and blocks that a processor is to hold then."""

    values: int
    blocks: int


BUDGETS = {"float32": (Budget(150, 6), Budget(225, 1)), "float64": (Budget(116, 1),)}
"""By precision, the first one whose slots fit. More blocks only pay for code in one piece (docs/decisions/0020)."""
PROCESSOR_BYTES = 200 * 1024
"""Shared memory of a processor for the slots of all its blocks."""
FEWEST_BLOCKS = 4
"""Blocks that a processor is to hold of code in several parts."""


class Spilled(NamedTuple):
    """Operations with those that keep and fetch, and how many slots these need."""

    listed: OperationList
    slots: int


class Placement(NamedTuple):
    """Functions of one kernel with at most so many values alive, bytes of shared memory of a block, and blocks of a processor."""

    parts: tuple[OperationList, ...]
    shared: int
    blocks: int


def placement(parts: Sequence[OperationList], dtype: str, block: int, shared: int) -> Placement:
    """Functions for blocks of so many threads, which may have so much shared memory."""
    bytes_of_slot = block * np.dtype(dtype).itemsize
    if len(parts) > 1:  # the shared memory that one of them needs is taken from all
        shared = min(shared, PROCESSOR_BYTES // FEWEST_BLOCKS)
    found = Placement(tuple(parts), 0, 1)
    for values, blocks in BUDGETS[dtype] if len(parts) == 1 else BUDGETS[dtype][-1:]:
        each = [spilled(part, values, shared // bytes_of_slot) for part in parts]
        found = Placement(tuple(one.listed for one in each), bytes_of_slot * max(one.slots for one in each), blocks)
        if found.shared * blocks <= PROCESSOR_BYTES:
            break
    return found


class Fetch(NamedTuple):
    """A value that leaves the registers after one operation of a body, and is there again for another one."""

    value: int
    left: int
    used: int

    @property
    def place(self) -> int:
        """The operation before which it is fetched."""
        return max(self.left + 1, self.used - AHEAD)


def spilled(listed: OperationList, registers: int, slots: int) -> Spilled:
    """The same function with at most so many values in registers at a time; those without a slot stay to the compiler."""
    planned = plan_emission(listed, WHOLE)
    before = set(planned.before)
    body = [k for k in planned.pieces[0] if k not in before]
    start = {k for k in (*planned.free, *before) if listed.operations[k].name != "const"}
    fetches = _fetches(listed, body, start, registers)
    fetched, kept = _with_slots(fetches, {k: position for position, k in enumerate(body)}, slots)
    return _written(listed, sorted({*planned.free, *before}), body, fetched, kept)


def _fetches(listed: OperationList, body: Sequence[int], start: Collection[int], registers: int) -> list[Fetch]:
    """Belady's rule: the value whose next use is the last one leaves. Values of `start` are there before the body."""
    uses: dict[int, deque[int]] = {k: deque() for k in (*start, *body)}
    arguments = [[a for a in dict.fromkeys(listed.operations[k].arguments) if a in uses] for k in body]
    for position, own in enumerate(arguments):
        for a in own:
            uses[a].append(position)
    inside, left, found = {k for k in start if uses[k]}, dict[int, int](), list[Fetch]()

    def make_room(position: int) -> None:
        while len(inside) > registers:
            value = max(inside, key=lambda a: (uses[a][0], a))
            inside.discard(value)
            left[value] = position

    make_room(-1)
    for position, k in enumerate(body):
        for a in arguments[position]:
            if a not in inside:
                found.append(Fetch(a, left[a], position))
                inside.add(a)
            uses[a].popleft()
        inside.difference_update([a for a in arguments[position] if not uses[a]])
        if uses[k]:
            inside.add(k)
        make_room(position)
    return found


def _with_slots(
    fetches: Iterable[Fetch], born: Mapping[int, int], slots: int
) -> tuple[dict[int, list[tuple[Fetch, int]]], dict[int, list[tuple[int, int]]]]:
    """Fetches that get a slot, by place, and values that are kept, by where they are born; both with their slot."""
    of_value: dict[int, list[Fetch]] = {}
    for fetch in fetches:
        of_value.setdefault(fetch.value, []).append(fetch)
    free, ends, used = list[int](), list[tuple[int, int]](), 0
    fetched: dict[int, list[tuple[Fetch, int]]] = {}
    kept: dict[int, list[tuple[int, int]]] = {}
    for value in sorted(of_value, key=lambda k: (born.get(k, -1), k)):
        birth = born.get(value, -1)
        while ends and ends[0][0] <= birth:
            heappush(free, heappop(ends)[1])
        if not free and used == slots:
            continue
        if not free:
            free, used = [used], used + 1
        slot = heappop(free)
        heappush(ends, (max(fetch.place for fetch in of_value[value]), slot))
        kept.setdefault(birth, []).append((value, slot))
        for fetch in of_value[value]:
            fetched.setdefault(fetch.place, []).append((fetch, slot))
    return fetched, kept


def _written(
    listed: OperationList,
    begin: Sequence[int],
    body: Sequence[int],
    fetched: Mapping[int, list[tuple[Fetch, int]]],
    kept: Mapping[int, list[tuple[int, int]]],
) -> Spilled:
    """The operations with those that keep and fetch between them."""
    operations: list[Operation] = []
    place: dict[int, int] = {}  # of every value, where it was last made or fetched
    home: dict[int, int] = {}  # of every kept value, the operation that did so
    made: dict[int, int] = {}

    def put(operation: Operation) -> int:
        operations.append(operation)
        return len(operations) - 1

    def compute(k: int) -> None:
        name, arguments, number = listed.operations[k]
        made[k] = place[k] = put(Operation(name, tuple(place[a] for a in arguments), number))

    def keep(position: int) -> None:
        for value, slot in kept.get(position, ()):
            home[value] = put(Operation("keep", (place[value],), slot))

    for k in begin:
        compute(k)
    keep(-1)
    for position, k in enumerate(body):
        for fetch, slot in fetched.get(position, ()):
            place[fetch.value] = put(Operation("fetch", (home[fetch.value],), slot))
        compute(k)
        keep(position)
    outputs = tuple(made[k] for k in listed.outputs)
    slots = 1 + max((slot for each in kept.values() for _, slot in each), default=-1)
    return Spilled(OperationList(listed.sizes, tuple(operations), outputs), slots)
