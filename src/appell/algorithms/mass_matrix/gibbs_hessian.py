"""Mass matrix as the Hessian of the Gibbs function.

Source: Mata et al. 2002, sections 3 and 4.2 (the same as Provenzano 2002, section 3), for trees and for every joint type,
with the corrections of docs/theory/mata2002.md. Symbols: docs/notation.md.
    (19)  D_jk = ∂²G / ∂q̈_j ∂q̈_k
    (22)  for every ancestor k of j, everything in frame j:
          D_jk = w_k · (N_j + s_kj x F_j) + v_k · F_j
where (w_k, v_k) is the unit twist of joint k, s_kj the vector from O_k to O_j, and (F_j, N_j) the wrench at O_j that gives
the composite body j the unit acceleration of joint j.
"""

from __future__ import annotations

from typing import NamedTuple

from appell.algebra import ZERO, Scalar, Scalars, Twist, Vec3
from appell.algorithms.mass_matrix.composite import JointSpaceMatrix, composite_bodies
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Placement, Tree


class Ancestor(NamedTuple):
    """An ancestor k of link j: its unit twists and the vector s_kj, in frame j."""

    link: int
    units: tuple[Twist, ...]
    s: Vec3


@algorithm("mass_matrix", "gibbs_hessian", lumpable=True)
def mass_matrix(tree: Tree, q: Scalars) -> list[list[Scalar]]:
    """M(q).  [kg m², kg m, kg]"""
    placements = tree.placements(q)
    composites = composite_bodies(tree, placements)  # steps 1, 4, 5
    ancestors = partial_velocities(tree, placements)  # steps 2 and 3
    D = JointSpaceMatrix(tree)
    for j, body in enumerate(composites):  # steps 6 and 7
        for row, unit in enumerate(tree.links[j].kind.motion_subspace()):
            F, N = body.inertia_force(unit)
            for column, other in enumerate(tree.links[j].kind.motion_subspace()[: row + 1]):
                D.add(j, row, j, column, other.angular @ N + other.linear @ F)
            for k, units, s in ancestors[j]:
                moment = N + s.cross(F)
                for column, other in enumerate(units):
                    D.add(j, row, k, column, other.angular @ moment + other.linear @ F)
    return D.M


def partial_velocities(tree: Tree, placements: list[Placement]) -> list[list[Ancestor]]:
    """∂ω_j/∂q̈_k, ∂s̈_j/∂q̈_k and s_kj for every j and all its ancestors k, rotated outwards one link at a time."""
    seen: list[list[Ancestor]] = []
    for link, (R, s) in zip(tree.links, placements, strict=True):
        before: list[Ancestor] = []
        if link.parent != BASE:
            parent = Ancestor(link.parent, tree.links[link.parent].kind.motion_subspace(), ZERO)
            before = [parent, *seen[link.parent]]
        seen.append(
            [Ancestor(k, tuple(unit.rotated(R.T) for unit in units), R.T @ (far + s)) for k, units, far in before]
        )
    return seen
