"""Bias and potential energy of a tree with springs at its joints, for integrators that take both from kernels.

M q̈ + b(q, q̇) - f(q) = τ,    V = U(q) + Σ k δ² / 2,    f = -∂(V - U)/∂q
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from appell.algebra import Scalar, Scalars
from appell.algorithms.registry import Quantity
from appell.algorithms.system import System, find_for, tree_sizes
from appell.model.joint_friction import Spring
from appell.model.tree import Tree


def bias(system: SprungSystem, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Forces at zero acceleration, those of springs included.  [N m, N]"""
    forces = list(find_for(system.tree, "bias")[2](system.tree, q, qd))
    for spring in system.springs:
        forces[spring.idx_v] = forces[spring.idx_v] - spring.force(q)
    return forces


def potential_energy(system: Any, q: Scalars) -> Scalar:
    """Of gravity and springs.  [J]"""
    energy = find_for(system.tree, "potential_energy")[2](system.tree, q)
    for spring in system.springs:
        deflection = spring.deflection(q)
        energy = energy + deflection * deflection * (0.5 * spring.stiffness)
    return energy


@dataclass(frozen=True)
class SprungSystem(System):
    """A tree with springs."""

    tree: Tree
    springs: tuple[Spring, ...]
    quantities: ClassVar[Mapping[str, Quantity]] = {
        "bias": Quantity("bias", ("q", "qd"), ("v",), "springs", methods={"springs": bias}),
        "potential_energy": Quantity("potential_energy", ("q",), (), "springs", methods={"springs": potential_energy}),
    }

    @property
    def sizes(self) -> Mapping[str, int]:
        return tree_sizes(self.tree.nq, self.tree.nv, 0)

    @property
    def fingerprint_data(self) -> object:
        tree = self.tree
        return tree.links, tree.gravity, tree.base, tree.nq, tree.nv, self.springs
