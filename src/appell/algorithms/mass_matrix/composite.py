"""Generalised inertia matrix by composite bodies.

Source: M.W. Walker, D.E. Orin, Efficient dynamic computer simulation of robotic mechanisms, J. Dyn. Syst. Meas. Control
104 (1982), method 3: the wrench that accelerates the composite body at joint j is carried to the base and meets every
joint on its way.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra import Scalar
from appell.algorithms.inverse_dynamics.inward import step_inward
from appell.algorithms.mass_matrix.assemble import JointSpaceMatrix
from appell.algorithms.mass_matrix.composite_body import composite_bodies
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Tree


@algorithm("mass_matrix", "composite", lumpable=True)
def mass_matrix(tree: Tree, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """M(q).  [kg m², kg m, kg]"""
    places = tree.placements(q)
    D = JointSpaceMatrix(tree)
    for j, body in enumerate(composite_bodies(tree, places)):
        for row, unit in enumerate(tree.links[j].kind.motion_subspace()):
            force = body.inertia_force(unit)
            for column, value in enumerate(tree.links[j].kind.project(force.moment, force.force)[: row + 1]):
                D.add(j, row, j, column, value)
            k = j
            while tree.links[k].parent != BASE:
                force = step_inward(places[k], force)
                k = tree.links[k].parent
                for column, value in enumerate(tree.links[k].kind.project(force.moment, force.force)):
                    D.add(j, row, k, column, value)
    return D.matrix()
