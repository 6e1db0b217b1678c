"""Symbols in place of a robot's numbers.

Link i has mass `m{i}`, centre of mass `lc{i}` and inertia `I{i}` about it, and rotor inertia `Ir{i}`; `l{i}` is the vector from
its joint to the next one, and gravity is `g`. Components get a suffix, `lc1x`, `I1zz`, which is dropped where only one of them is
used. Only nonzero numbers become symbols. Angles stay numbers: multiples of a right angle are exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from appell.algebra import Inertia, Scalar, Sym3, Vec3
from appell.model.tree import Link, Tree
from appell.symbolic.harmonic import HarmonicRing

AXES = ("x", "y", "z")
PRODUCTS = ("xx", "xy", "xz", "yy", "yz", "zz")
ROUNDING_TOL = 1e-12
"""Components smaller than this, relative to the largest of their vector or tensor, are rounding errors."""


@dataclass(frozen=True)
class SymbolGroup:
    """The nonzero components of one vector, tensor or number, by suffix."""

    name: str
    components: dict[str, float]

    @classmethod
    def of(cls, name: str, suffixes: Iterable[str], values: Iterable[float]) -> SymbolGroup:
        numbers = dict(zip(suffixes, values, strict=True))
        size = max(abs(value) for value in numbers.values())
        return cls(name, {suffix: value for suffix, value in numbers.items() if abs(value) > ROUNDING_TOL * size})

    @property
    def values(self) -> dict[str, float]:
        """The number of each symbol."""
        return {self.name + suffix: value for suffix, value in self.components.items()}

    def scalar(self, ring: HarmonicRing, suffix: str = "") -> Scalar:
        """A component as a variable of the ring, or zero."""
        return ring.variable(self.name + suffix) if suffix in self.components else 0.0

    def vector(self, ring: HarmonicRing) -> Vec3:
        return Vec3(*(self.scalar(ring, suffix) for suffix in AXES))


@dataclass(frozen=True)
class TreeSymbols:
    """The symbols of every link by kind, and those of gravity: magnitudes, with a sign for each component."""

    links: tuple[dict[str, SymbolGroup], ...]
    gravity: SymbolGroup
    gravity_signs: tuple[float, ...]

    @classmethod
    def of(cls, tree: Tree) -> TreeSymbols:
        gravity = SymbolGroup.of("g", AXES, (abs(value) for value in tree.gravity))
        signs = tuple(-1.0 if value < 0 else 1.0 for value in tree.gravity)
        return cls(tuple(_link_symbols(tree, i) for i in range(len(tree.links))), gravity, signs)

    @property
    def groups(self) -> list[SymbolGroup]:
        return [self.gravity, *(group for link in self.links for group in link.values())]

    @property
    def values(self) -> dict[str, float]:
        """The number of each symbol."""
        return {name: value for group in self.groups for name, value in group.values.items()}

    def substitute(self, tree: Tree, ring: HarmonicRing) -> Tree:
        """The tree with variables for its numbers."""
        links = tuple(_substituted(link, symbols, ring) for link, symbols in zip(tree.links, self.links, strict=True))
        components = zip(self.gravity.vector(ring), self.gravity_signs, strict=True)
        return replace(tree, links=links, gravity=Vec3(*(size * sign for size, sign in components)))

    def short_names(self, used: set[str]) -> dict[str, str]:
        """Names without a suffix for the symbols that are the only ones of their group in use."""
        used_names = {group.name: [name for name in group.values if name in used] for group in self.groups}
        return {names[0]: short for short, names in used_names.items() if len(names) == 1}


def _link_symbols(tree: Tree, i: int) -> dict[str, SymbolGroup]:
    link, number = tree.links[i], i + 1
    siblings = sum(other.parent == link.parent for other in tree.links)
    return {
        "mass": SymbolGroup.of(f"m{number}", ("",), (link.inertia.mass,)),
        "com": SymbolGroup.of(f"lc{number}", AXES, link.inertia.com),
        "inertia": SymbolGroup.of(f"I{number}", PRODUCTS, link.inertia.inertia),
        "rotor": SymbolGroup.of(f"Ir{number}", ("",), (link.armature,)),
        "origin": SymbolGroup.of(f"l{link.parent + 1}{f'_{number}' * (siblings > 1)}", AXES, link.origin),
    }


def _substituted(link: Link, symbols: dict[str, SymbolGroup], ring: HarmonicRing) -> Link:
    mass, com = symbols["mass"].scalar(ring), symbols["com"].vector(ring)
    inertia = Inertia.at_center(mass, com, Sym3(*(symbols["inertia"].scalar(ring, suffix) for suffix in PRODUCTS)))
    armature, origin = symbols["rotor"].scalar(ring), symbols["origin"].vector(ring)
    return replace(link, inertia=inertia, armature=armature, origin=origin)
