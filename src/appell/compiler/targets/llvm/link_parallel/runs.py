"""The order in which matrices with links side by side are written: runs of vectors in some rows that are computed alike."""

from __future__ import annotations

from enum import Enum
from functools import partial
from itertools import groupby
from typing import NamedTuple

from appell.compiler.rolled.link_parallel import LinkParallel

ROWS = 2
"""Rows of a run: what is loaded for columns serves them all, and their own numbers fit into the registers."""
FEW = 2
"""Vectors of a row up to which rows are written one by one, all of the mixed kind, which is the shortest code."""


class Relation(Enum):
    """What all links of a vector of columns are to those of some rows."""

    APART, BEYOND, BEFORE, MIXED = range(4)


class Kind(NamedTuple):
    """A relation; of links beyond the group of the rows, of links before that of the columns."""

    relation: Relation
    group: int = 0

    @property
    def side(self) -> tuple[int, int]:
        """The group whose step makes the elements, and whether they are across."""
        return self.group, int(self.relation is Relation.BEFORE)


class Run(NamedTuple):
    """Vectors of the same kind side by side in some rows, from the last one on."""

    kind: Kind
    row: int
    last: int
    blocks: int


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

    def runs(self, rows: int) -> list[Run]:
        """All rows, so many at a time, from the first one on; the last runs may repeat a row.

        Vectors are written from the last one to the first, so that what reaches beyond the end of a row, into the next
        matrix or row, is overwritten. Those of the mixed kind end with their row: what reaches beyond the end of all, too.
        """
        found = []
        for row in (*range(0, self.nv - rows, rows), self.nv - rows):
            kinds = partial(self.kind, range(row, row + rows))
            for kind, blocks in groupby(reversed(range(self.blocks)), kinds):
                each = list(blocks)
                found.append(Run(kind, row, each[0], len(each)))
        return found

    def kind(self, rows: range, b: int) -> Kind:
        found = {name: {bits[r * self.blocks + b] for r in rows} for name, bits in self.bits.items()}
        present = [name for name in ("beyond", *self.before) if found[name] != {0}]
        groups = {self.group_at[r] for r in rows}
        ends = b == self.blocks - 1 and (self.nv - rows.stop) * self.nv < self.blocks * self.lanes - self.nv
        if len(rows) == 1 or ends or found["own"] != {0} or len(present) > 1:
            return Kind(Relation.MIXED)
        if not present:
            return Kind(Relation.APART)
        (name,) = present
        if found[name] != found["links"] or (name == "beyond" and len(groups) > 1):
            return Kind(Relation.MIXED)
        return (
            Kind(Relation.BEYOND, groups.pop()) if name == "beyond" else Kind(Relation.BEFORE, self.before.index(name))
        )
