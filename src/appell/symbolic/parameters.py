"""Symbols in place of a robot's numbers.

Link i has mass `m{i}`, mass centre `lc{i}` and inertia `I{i}` about it, rotor inertia `Ir{i}`, and `l{i}` leads from its
joint to the next one; gravity is `g`. Components get a suffix, `lc1x`, `I1zz`, which is dropped where only one of them
matters. Only what is not zero becomes a symbol. Angles stay numbers: multiples of a right angle are exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from appell.algebra import Inertia, Scalar, Sym3, Vec3
from appell.model.tree import Link, Tree
from appell.symbolic.harmonic import Space

AXES = ("x", "y", "z")
PRODUCTS = ("xx", "xy", "xz", "yy", "yz", "zz")
ROUNDING = 1e-12
"""Components this much smaller than the largest of their vector or tensor are rounding errors."""


@dataclass(frozen=True)
class Group:
    """The components of one vector, tensor or number: name and value of each that is not zero."""

    name: str
    values: dict[str, float]

    @classmethod
    def of(cls, name: str, suffixes: Iterable[str], values: Iterable[float]) -> Group:
        numbers = dict(zip(suffixes, values, strict=True))
        size = max(abs(value) for value in numbers.values())
        return cls(name, {suffix: value for suffix, value in numbers.items() if abs(value) > ROUNDING * size})

    @property
    def symbols(self) -> dict[str, float]:
        """Name and value of each symbol."""
        return {self.name + suffix: value for suffix, value in self.values.items()}

    def scalar(self, space: Space, suffix: str = "") -> Scalar:
        """A component as a variable of the space, or zero."""
        return space.variable(self.name + suffix) if suffix in self.values else 0.0

    def vector(self, space: Space) -> Vec3:
        return Vec3(*(self.scalar(space, suffix) for suffix in AXES))


@dataclass(frozen=True)
class LinkGroups:
    """The parameters of one link."""

    mass: Group
    com: Group
    inertia: Group
    rotor: Group
    place: Group

    def __iter__(self):
        return iter((self.mass, self.com, self.inertia, self.rotor, self.place))

    def link(self, link: Link, space: Space) -> Link:
        """The link with variables for its numbers."""
        inertia = Sym3(*(self.inertia.scalar(space, suffix) for suffix in PRODUCTS))
        return replace(
            link,
            inertia=Inertia.at_center(self.mass.scalar(space), self.com.vector(space), inertia),
            armature=self.rotor.scalar(space),
            origin=self.place.vector(space),
        )


@dataclass(frozen=True)
class Parameters:
    """All parameters of a tree that are not zero."""

    links: tuple[LinkGroups, ...]
    gravity: Group
    down: tuple[float, ...]
    """Sign of each component of the gravity vector; the symbols are its magnitudes."""

    @classmethod
    def of(cls, tree: Tree) -> Parameters:
        gravity = Group.of("g", AXES, (abs(value) for value in tree.gravity))
        down = tuple(-1.0 if value < 0 else 1.0 for value in tree.gravity)
        return cls(tuple(_link_groups(tree, i) for i in range(len(tree.links))), gravity, down)

    @property
    def groups(self) -> list[Group]:
        return [self.gravity, *(group for link in self.links for group in link)]

    @property
    def symbols(self) -> dict[str, float]:
        """Name and value of each symbol."""
        return {name: value for group in self.groups for name, value in group.symbols.items()}

    def tree(self, tree: Tree, space: Space) -> Tree:
        """The tree with variables for its numbers."""
        links = (groups.link(link, space) for groups, link in zip(self.links, tree.links, strict=True))
        components = zip(self.gravity.vector(space), self.down, strict=True)
        return replace(tree, links=tuple(links), gravity=Vec3(*(size * sign for size, sign in components)))

    def short_names(self, used: set[str]) -> dict[str, str]:
        """Names without a suffix for the symbols that are the only ones of their group in use."""
        short = {}
        for group in self.groups:
            names = [name for name in group.symbols if name in used]
            if len(names) == 1:
                short[names[0]] = group.name
        return short


def _link_groups(tree: Tree, i: int) -> LinkGroups:
    link, number = tree.links[i], i + 1
    siblings = sum(other.parent == link.parent for other in tree.links)
    place = f"l{link.parent + 1}" + (f"_{number}" if siblings > 1 else "")
    return LinkGroups(
        mass=Group.of(f"m{number}", ("",), (link.inertia.mass,)),
        com=Group.of(f"lc{number}", AXES, link.inertia.com),
        inertia=Group.of(f"I{number}", PRODUCTS, link.inertia.inertia),
        rotor=Group.of(f"Ir{number}", ("",), (link.armature,)),
        place=Group.of(place, AXES, link.origin),
    )
