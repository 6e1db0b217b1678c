"""Kinds of closures, one file each. To add one: write its class, list it in KINDS."""

from appell.closed_loop.closures.kind import ClosureKind
from appell.closed_loop.closures.point import Point
from appell.closed_loop.closures.prismatic import Prismatic
from appell.closed_loop.closures.revolute import Revolute
from appell.closed_loop.closures.spherical import Spherical
from appell.closed_loop.closures.universal import Universal
from appell.closed_loop.closures.weld import Weld

KINDS: dict[str, ClosureKind] = {
    kind.name: kind for kind in (Point(), Spherical(), Revolute(), Universal(), Prismatic(), Weld())
}

__all__ = ["KINDS", "ClosureKind"]
