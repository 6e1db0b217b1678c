"""Links that share a step: same kind of joint, same structure of constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from appell.algebra import Scalar
from appell.compiler.rolled.sweep import pack, unpack
from appell.model.tree import Link, Tree

CONSTANTS = ("azimuth", "tilt", "offset", "origin", "inertia", "armature", "multiplier", "mimic_offset")
"""The fields of a link that hold numbers."""


@dataclass(frozen=True)
class Group:
    """Links whose numbers differ only where `varies` says so.

    Attributes:
        members: their indices.
        like: one of them.
        varies: for each number of a link, whether it is read from the table (True) or the same in all members.
    """

    members: tuple[int, ...]
    like: Link
    varies: tuple[bool, ...]

    def symbolic(self, symbols: Sequence[Scalar]) -> Link:
        """The link of the group with symbols for the numbers that vary. It stands at the front of its inputs."""
        own = [
            symbol if varies else number
            for symbol, number, varies in zip(symbols, numbers(self.like), self.varies, strict=True)
        ]
        parts = unpack(tuple(getattr(self.like, name) for name in CONSTANTS), own)
        return replace(self.like, idx_q=0, idx_v=0, **dict(zip(CONSTANTS, parts, strict=True)))


def groups(tree: Tree) -> list[Group]:
    """All links in few groups: by joint kind, by which of its rotations are trivial, by rotor, by mimicry."""
    found: dict[tuple[Any, ...], list[int]] = {}
    for i, link in enumerate(tree.links):
        shape = (
            link.kind,
            link.azimuth.sin == 0,
            link.tilt.sin == 0,
            link.tilt.cos == 0,
            link.armature == 0,
            link.is_independent,
        )
        found.setdefault(shape, []).append(i)
    return [_group(tree, members) for members in found.values()]


def numbers(link: Link) -> list[float]:
    """All numbers of a link in the order of the table."""
    return pack(tuple(getattr(link, name) for name in CONSTANTS))


def _group(tree: Tree, members: list[int]) -> Group:
    columns = zip(*(numbers(tree.links[i]) for i in members), strict=True)
    varies = tuple(len(set(column)) > 1 or column[0] not in (0.0, 1.0, -1.0) for column in columns)
    return Group(tuple(members), tree.links[members[0]], varies)
