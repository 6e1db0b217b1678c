"""An equivalent robot with fewer numbers: mass that a joint does not move is given to the parent.

Mass on the axis of a revolute joint stays where the parent puts it, so a revolute link can hand its mass, the first and
the second moment along its axis to its parent; what reaches the base does no work and is dropped. The equations of motion
stay the same, three of ten mass parameters of every revolute link become zero, and the kernels need about a tenth fewer
operations (docs/decisions/0003). Energies measured from the base and the Gibbs function are not the same any more.
"""

from __future__ import annotations

from dataclasses import replace

from appell.algebra import AxisRotation, Inertia, Rotation
from appell.model.tree import BASE, Link, Tree


def lumped(tree: Tree) -> Tree:
    """The tree with all mass moved towards the base as far as the joints allow."""
    links = list(tree.links)
    for i in reversed(range(len(links))):
        link = links[i]
        given = link.kind.lumpable_inertia(link.inertia)
        links[i] = replace(link, inertia=_difference(link.inertia, given))
        if link.parent != BASE:
            parent = links[link.parent]
            links[link.parent] = replace(parent, inertia=parent.inertia + _at_rest(link, given))
    return replace(tree, links=tuple(links))


def _at_rest(link: Link, part: Inertia) -> Inertia:
    """What does not feel the joint, seen from the parent: it stands there as at q = 0."""
    R = Rotation(AxisRotation(2, link.azimuth.cos, link.azimuth.sin), AxisRotation(0, link.tilt.cos, link.tilt.sin))
    R = R * Rotation(AxisRotation(2, link.offset.cos, link.offset.sin))
    return part.transformed(R, link.origin)


def _difference(a: Inertia, b: Inertia) -> Inertia:
    return Inertia(a.mass - b.mass, a.gamma - b.gamma, a.J - b.J)
