"""Mass matrix from the 4x4 matrices of the recursive Lagrangian formulation.

Source: J.M. Hollerbach 1980 (`appell.algorithms.inverse_dynamics.hollerbach`); the coefficients of q̈ in its equations are
    M_jk = Σ_i Tr{∂W_i/∂q_j J_i (∂W_i/∂q_k)^T} = Tr{∂W_j/∂q_j K_j ^kW_j^T (∂W_k/∂q_k)^T}
for every ancestor k of j, with K_j = J_j + Σ A_i K_i A_i^T the pseudo-inertia of j and all it carries.
"""

from __future__ import annotations

from appell.algebra import Scalar, Scalars
from appell.algorithms.homogeneous import Matrix, screw, transformation
from appell.algorithms.inverse_dynamics.hollerbach import pseudo_inertia
from appell.algorithms.mass_matrix.composite import JointSpaceMatrix
from appell.algorithms.registry import algorithm
from appell.model.tree import BASE, Tree


@algorithm("mass_matrix", "hollerbach", lumpable=True)
def mass_matrix(tree: Tree, q: Scalars) -> list[list[Scalar]]:
    """M(q).  [kg m², kg m, kg]"""
    A = [transformation(*placement) for placement in tree.placements(q)]
    K = composite_inertias(tree, A)
    dW = unit_motions(tree, A)
    M = JointSpaceMatrix(tree)
    for j in range(len(tree.links)):
        F = K[j]  # ^kW_j K_j, propagated to the base
        for k in tree.ancestors(j):
            for row, own in enumerate(dW[j]):
                momentum = own @ F.T
                for degree, other in enumerate(dW[k][: row + 1] if k == j else dW[k]):
                    M.add(j, row, k, degree, momentum.trace(other.T))
            F = A[k] @ F
    return M.M


def composite_inertias(tree: Tree, A: list[Matrix]) -> list[Matrix]:
    """K of every link."""
    K = [pseudo_inertia(link) for link in tree.links]
    for i in reversed(range(len(K))):
        parent = tree.links[i].parent
        if parent != BASE:
            K[parent] = K[parent] + A[i] @ K[i] @ A[i].T
    return K


def unit_motions(tree: Tree, A: list[Matrix]) -> list[list[Matrix]]:
    """∂W_j/∂q_j = W_j S_j for every degree of freedom of every joint."""
    W: list[Matrix] = []
    for i, link in enumerate(tree.links):
        W.append(A[i] if link.parent == BASE else W[link.parent] @ A[i])
    return [[W[i] @ screw(unit) for unit in link.kind.motion_subspace()] for i, link in enumerate(tree.links)]
