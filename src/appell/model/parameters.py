"""Inertial parameters of a robot as one vector.

Per link, in the order of the tree, ten numbers at the origin and along the axes of the body that the link's joint carries,
with everything that is fixed to that body:

    [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]        [kg, kg m, kg m²]

then the inertia of each rotor, felt at its joint, for the links that have one.        [kg m², kg]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from appell.algebra import Inertia, Mat3, Scalar, Sym3, Vec3, euler_tensor
from appell.algebra.scalar import is_zero
from appell.model.tree import Link, Tree

PER_LINK = 10
"""Numbers a link."""


def parameters(tree: Tree) -> list[Scalar]:
    """The parameters of all links, then those of the rotors."""
    entries: list[Scalar] = []
    for link in tree.links:
        R = tree.frames[link.body].R.T  # the frames of a link and of the body that its joint carries share their origin
        mass, gamma, J = link.inertia
        tensor = _conjugate(R, J).complement()
        entries += [mass, *(R @ gamma), tensor.xx, tensor.xy, tensor.yy, tensor.xz, tensor.yz, tensor.zz]
    return entries + [link.armature for _, link in rotors(tree)]


def rotors(tree: Tree) -> list[tuple[int, Link]]:
    """Links with a rotor, and their places in the tree."""
    return [(i, link) for i, link in enumerate(tree.links) if not is_zero(link.armature)]


def parameter_count(tree: Tree) -> int:
    """How many parameters a robot has."""
    return PER_LINK * len(tree.links) + len(rotors(tree))


def with_parameters(tree: Tree, entries: Sequence[Scalar]) -> Tree:
    """The same robot with these parameters, which may be symbols."""
    links = []
    for i, link in enumerate(tree.links):
        own = entries[PER_LINK * i : PER_LINK * (i + 1)]
        links.append(replace(link, inertia=inertia_of(own, tree.frames[link.body].R)))
    for (i, _), armature in zip(rotors(tree), entries[PER_LINK * len(links) :], strict=True):
        links[i] = replace(links[i], armature=armature)
    return replace(tree, links=tuple(links))


def inertia_of(entries: Sequence[Scalar], R: Mat3) -> Inertia:
    """Mass properties in a link's frame from the ten parameters of its body, whose axes are the columns of R there."""
    mass, mcx, mcy, mcz, xx, xy, yy, xz, yz, zz = entries
    J = _conjugate(R, euler_tensor(Sym3(xx, xy, xz, yy, yz, zz)))
    return Inertia(mass, R @ Vec3(mcx, mcy, mcz), J)


def _conjugate(R: Mat3, A: Sym3) -> Sym3:
    """R A R^T."""
    B = R.dot(A.full()).dot(R.T)
    return Sym3(B.xx, B.xy, B.xz, B.yy, B.yz, B.zz)
