"""The order in which matrices with links side by side are written: vectors of columns in rows that are computed alike."""

from __future__ import annotations

from enum import Enum
from functools import partial
from itertools import groupby
from typing import NamedTuple

from appell.compiler.rolled.link_parallel import LinkParallel

FEW = 1
"""Vectors of a row up to which all are of the mixed kind, which is the shortest code."""


class Relation(Enum):
    """What all links of a vector of columns are to those of the rows."""

    APART, BEYOND, BEFORE, MIXED = range(4)


class Kind(NamedTuple):
    """A relation; of links beyond, the group of the rows, and of links before, that of the columns."""

    relation: Relation
    group: int = 0


class Run(NamedTuple):
    """A vector of columns in rows side by side."""

    kind: Kind
    block: int
    row: int
    rows: int


class Relations:
    """Relations of links as bits of lanes: a number for each row and vector of columns.

    Attributes:
        bits: by name, links `beyond` that of a row, links of group 2 before it (`before2`), its `own`, and all `links`.
        group_at: the group of each row's link.
    """

    def __init__(self, form: LinkParallel, lanes: int) -> None:
        links, n = form.rolled.links, form.rolled.nv
        self.lanes, self.nv, self.blocks = lanes, n, -(-n // lanes)
        self.group_at = [link.group for link in sorted(links, key=lambda link: link.v)]
        self.before = [f"before{group}" for group in range(max(self.group_at) + 1)]
        self.bits = {name: [0] * (n * self.blocks) for name in ("beyond", *self.before, "own", "links")}
        for i, ancestors in enumerate(form.ancestors):
            own = links[i].v
            self._add("own", own, own)
            for other in (links[j] for j in ancestors):
                self._add(self.before[other.group], own, other.v)
                self._add("beyond", other.v, own)
            for other in links:
                self._add("links", own, other.v)

    def _add(self, name: str, row: int, column: int) -> None:
        self.bits[name][row * self.blocks + column // self.lanes] |= 1 << column % self.lanes

    def runs(self) -> list[Run]:
        """All vectors of columns from the last one on, so that what they load for the columns serves many rows.

        What a vector writes beyond the end of its row, at the beginning of the next matrix or row, is overwritten by the first
        vector of columns. Those of the mixed kind end with their row: what would reach beyond the end of all, too.
        """
        found = []
        for b in reversed(range(self.blocks)):
            for kind, rows in groupby(range(self.nv), partial(self.kind, b)):
                each = list(rows)
                found.append(Run(kind, b, each[0], len(each)))
        return found

    def kind(self, b: int, r: int) -> Kind:
        found = {name: bits[r * self.blocks + b] for name, bits in self.bits.items()}
        present = [name for name in ("beyond", *self.before) if found[name]]
        ends = b == self.blocks - 1 and (self.nv - 1 - r) * self.nv < self.blocks * self.lanes - self.nv
        if self.blocks <= FEW or ends or found["own"] or len(present) > 1:
            return Kind(Relation.MIXED)
        if not present:
            return Kind(Relation.APART)
        (name,) = present
        if found[name] != found["links"]:
            return Kind(Relation.MIXED)
        if name == "beyond":
            return Kind(Relation.BEYOND, self.group_at[r])
        return Kind(Relation.BEFORE, self.before.index(name))
