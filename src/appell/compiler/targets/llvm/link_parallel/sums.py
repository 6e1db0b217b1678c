"""Sums over the links before each one, or beyond it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from appell.compiler.targets.llvm.lanes import exchanged
from appell.compiler.targets.llvm.link_parallel.memory import Key, LinkMemory


def write_sums(memory: LinkMemory, terms: Sequence[Key], starts: Mapping[Key, float], inward: bool) -> None:
    """Rows of sums from the rows of their terms; outward ones begin with a number."""
    if memory.blocks > 1:
        write_long_sums(memory, terms, starts, inward)
        return
    for term, (target, start) in zip(terms, starts.items(), strict=True):
        memory.keep(sum_of_block(memory, term, start, inward), target, 0)


def sum_of_block(memory: LinkMemory, term: Key, start: float, inward: bool) -> str:
    """A sum for all links, which lie in one vector."""
    write, T, links = memory.write, memory.real.type, memory.rolled.links
    before = {link.v: links[link.parent].v for link in links if link.parent >= 0}
    hops = {parent: lane for lane, parent in before.items()} if inward else before
    if len(hops) == len(before):  # every link has one neighbour there: sums over 1, 2, 4, ... of them
        total = moved(memory, memory.vector(term, 0), hops)
        while hops:
            total = write.value(f"fadd {T} {total}, {moved(memory, total, hops)}")
            hops = {lane: hops[over] for lane, over in hops.items() if over in hops}
        return write.value(f"fadd {T} {total}, {memory.real.literal(start)}") if start else total
    total = memory.real.literal(start)
    for i, link in enumerate(links):
        takers = {links[j].v for j in memory.form.ancestors[i]}
        if takers:
            mask = "<" + ", ".join(f"i1 {str(lane in takers).lower()}" for lane in range(memory.real.lanes)) + ">"
            more = write.value(f"fadd {T} {total}, {memory.splat(memory.number(term, link.v))}")
            total = memory.select(mask, more, total)
    return total


def moved(memory: LinkMemory, vector: str, origins: Mapping[int, int]) -> str:
    """Lanes of a vector in other places; zero where there is no origin."""
    lanes = memory.real.lanes
    places = [origins.get(k, lanes + k) for k in range(lanes)]
    return memory.write.shuffle(memory.real, vector, "zeroinitializer", lanes, places)


class Part(NamedTuple):
    """As many sums as lanes, added link by link: vectors of all terms of a link, and of all sums, begin here in w.

    Attributes:
        start: the sums of links without others before them.
        left: a variable with what the last link leaves to the next one.
    """

    terms: int
    totals: int
    start: str
    left: str


def write_long_sums(memory: LinkMemory, terms: Sequence[Key], starts: Mapping[Key, float], inward: bool) -> None:
    """The same for any number of links: rows are transposed, added link by link, and transposed again."""
    write, real, targets = memory.write, memory.real, list(starts)
    T, lanes = real.type, real.lanes
    slices = [slice(k, k + lanes) for k in range(0, len(targets), lanes)]
    parts = []
    for number, part in enumerate(slices):
        begin = constant(memory, [0.0 if inward else starts[key] for key in targets[part]])
        given, total = (memory.area((kind, number), lanes) * memory.blocks for kind in ("terms", "totals"))
        parts.append(Part(given, total, begin, write.slot(T, begin)))
    with write.loop(memory.blocks) as b:
        first = write.integer("mul", b, lanes)
        for part, own in zip(slices, parts, strict=True):
            vectors = [memory.vector(key, b) for key in terms[part]]
            vectors += [memory.zero] * (lanes - len(vectors))
            for lane, vector in enumerate(exchanged(write, real, vectors)):
                write.store(T, vector, "%w", memory.sum(own.terms + lane, first))
    for part in parts:  # sums to which other links than the next one add, and lanes without a link
        write.clear(write.at(T, "%w", part.totals), memory.padded * lanes * memory.real.item)
    add_links(memory, parts, inward)
    with write.loop(memory.blocks) as b:
        first = write.integer("mul", b, lanes)
        for part, own in zip(slices, parts, strict=True):
            links = [write.load(T, "%w", memory.sum(own.totals + lane, first)) for lane in range(lanes)]
            for key, vector in zip(targets[part], exchanged(write, real, links), strict=False):
                memory.keep(vector, key, b)


def constant(memory: LinkMemory, numbers: Sequence[float]) -> str:
    """A vector of these numbers, and zeros."""
    if not any(numbers):
        return memory.zero
    filled = (*numbers, *[0.0] * (memory.real.lanes - len(numbers)))
    return "<" + ", ".join(f"{memory.one.type} {memory.one.literal(x)}" for x in filled) + ">"


def add_links(memory: LinkMemory, parts: Sequence[Part], inward: bool) -> None:
    write, count = memory.write, len(memory.rolled.links)
    with write.loop(count) as index:
        i = write.integer("sub", count - 1, index) if inward else index
        lane, parent = memory.whole("v_of", i), memory.whole("parent_of", i)
        apart = write.integer("icmp ne", parent, write.integer("sub", i, 1))
        (add_inward if inward else add_outward)(memory, parts, lane, parent, apart)


def add_outward(memory: LinkMemory, parts: Sequence[Part], lane: str, parent: str, apart: str) -> None:
    """What the link before left is the sum of this one; where that is not its parent, the parent's sum and term are."""
    write, T = memory.write, memory.real.type
    with write.when(apart):
        root = write.integer("icmp slt", parent, 0)
        at = memory.whole("v_of", write.value(f"call i64 @llvm.smax.i64(i64 {parent}, i64 0)"))
        for part in parts:
            total, term = (write.load(T, "%w", memory.sum(first, at)) for first in (part.totals, part.terms))
            taken = write.value(f"fadd {T} {total}, {term}")
            write.store(T, write.value(f"select i1 {root}, {T} {part.start}, {T} {taken}"), part.left)
    for part in parts:
        before = write.load(T, part.left)
        write.store(T, before, "%w", memory.sum(part.totals, lane))
        term = write.load(T, "%w", memory.sum(part.terms, lane))
        write.store(T, write.value(f"fadd {T} {before}, {term}"), part.left)


def add_inward(memory: LinkMemory, parts: Sequence[Part], lane: str, parent: str, apart: str) -> None:
    """What the link beyond left, and what others added, is the sum of this one; it leaves that and its term to its parent."""
    write, T = memory.write, memory.real.type
    branched = any(link.parent != i - 1 for i, link in enumerate(memory.rolled.links))
    for part in parts:
        beyond, place = write.load(T, part.left), write.at(T, "%w", memory.sum(part.totals, lane))
        if branched:
            beyond = write.value(f"fadd {T} {beyond}, {write.load(T, place)}")
        write.store(T, beyond, place)
        term = write.load(T, "%w", memory.sum(part.terms, lane))
        write.store(T, write.value(f"fadd {T} {beyond}, {term}"), part.left)
    if not branched:
        return
    with write.when(apart):
        with write.when(write.integer("icmp sge", parent, 0)):
            at = memory.whole("v_of", parent)
            for part in parts:
                place = write.at(T, "%w", memory.sum(part.totals, at))
                write.store(T, write.value(f"fadd {T} {write.load(T, place)}, {write.load(T, part.left)}"), place)
        for part in parts:
            write.store(T, memory.zero, part.left)
