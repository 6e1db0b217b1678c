"""Inertial parameters of a robot as one vector.

Per link, in the order of the tree, ten numbers at the origin and along the axes of the body that the link's joint carries,
with everything that is fixed to that body:

    [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]        [kg, kg m, kg m²]

then the reflected inertia of each rotor, for the links that have one.        [kg m², kg]

`lumped` gives an equivalent robot with fewer numbers. Mass on the axis of a revolute joint is fixed in the parent, so a
revolute link can pass its mass, and the first and second moment along its axis, to its parent; what reaches the base does
no work and is dropped. The equations of motion stay the same, three of ten parameters per revolute link become zero, and
the kernels need about a tenth fewer operations (docs/decisions/0003). Energies measured from the base and the Gibbs
function change.
"""

from __future__ import annotations

from dataclasses import replace

from appell.algebra import (
    ZERO,
    AxisRotation,
    Inertia,
    Mat3,
    Rotation,
    Scalar,
    Scalars,
    Sym3,
    Vec3,
    euler_tensor,
    is_zero,
)
from appell.model.tree import BASE, Link, Tree

PER_LINK = 10
"""Parameters per link."""


def parameters(tree: Tree) -> list[Scalar]:
    """The parameters of all links, then those of the rotors."""
    entries: list[Scalar] = []
    for link in tree.links:
        frame = tree.frames[link.body]
        R, (mass, gamma, J) = frame.R.T, link.inertia.shifted(frame.p * -1.0)
        tensor = _conjugate(R, J).complement()
        entries += [mass, *(R @ gamma), tensor.xx, tensor.xy, tensor.yy, tensor.xz, tensor.yz, tensor.zz]
    return entries + [link.armature for _, link in rotors(tree)]


def rotors(tree: Tree) -> list[tuple[int, Link]]:
    """Links with a rotor, with their indices."""
    return [(i, link) for i, link in enumerate(tree.links) if not is_zero(link.armature)]


def parameter_count(tree: Tree) -> int:
    """Number of parameters of a robot."""
    return PER_LINK * len(tree.links) + len(rotors(tree))


def with_parameters(tree: Tree, entries: Scalars) -> Tree:
    """The tree with these parameters, which may be symbols."""
    links = []
    for i, link in enumerate(tree.links):
        own, frame = entries[PER_LINK * i : PER_LINK * (i + 1)], tree.frames[link.body]
        links.append(replace(link, inertia=inertia_of(own, frame.R, frame.p)))
    for (i, _), armature in zip(rotors(tree), entries[PER_LINK * len(links) :], strict=True):
        links[i] = replace(links[i], armature=armature)
    return replace(tree, links=tuple(links), mass_defects={})


def inertia_of(entries: Scalars, R: Mat3, p: Vec3 = ZERO) -> Inertia:
    """Mass properties in a link's frame from the ten parameters of its body, with origin p and the columns of R as axes there."""
    mass, mcx, mcy, mcz, xx, xy, yy, xz, yz, zz = entries
    J = _conjugate(R, euler_tensor(Sym3(xx, xy, xz, yy, yz, zz)))
    return Inertia(mass, R @ Vec3(mcx, mcy, mcz), J).shifted(p)


def _conjugate(R: Mat3, A: Sym3) -> Sym3:
    """R A R^T."""
    B = R.dot(A.full()).dot(R.T)
    return Sym3(B.xx, B.xy, B.xz, B.yy, B.yz, B.zz)


def lumped(tree: Tree) -> Tree:
    """The tree with all lumpable inertia moved to the parents."""
    links = list(tree.links)
    for i in reversed(range(len(links))):
        link = links[i]
        part = link.kind.lumpable_inertia(link.inertia)
        links[i] = replace(link, inertia=link.inertia - part)
        if link.parent != BASE:
            parent, R = links[link.parent], link.before_joint * Rotation(AxisRotation.by(2, link.offset))  # at q = 0
            links[link.parent] = replace(parent, inertia=parent.inertia + part.transformed(R, link.origin))
    return replace(tree, links=tuple(links))
