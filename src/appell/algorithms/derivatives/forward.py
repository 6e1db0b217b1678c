"""Derivatives of forward dynamics from those of inverse dynamics.

τ = f(q, q̇, q̈) holds identically, so at q̈ of the forward dynamics (docs/theory/derivatives.md)
    (11)  ∂q̈/∂τ = M⁻¹        ∂q̈/∂q = -M⁻¹ ∂f/∂q        ∂q̈/∂q̇ = -M⁻¹ ∂f/∂q̇.
"""

from __future__ import annotations

from appell.algebra import Scalar, Scalars
from appell.algorithms.common_frame import link_states, own_bodies
from appell.algorithms.derivatives import automatic
from appell.algorithms.derivatives.analytic import derivatives_of, mass_matrix_of, subtree_motions
from appell.algorithms.inverse_dynamics.mata2002 import bias
from appell.algorithms.linear import EliminationStep, elimination_order, factorise, substitute
from appell.algorithms.mass_matrix.gibbs_hessian import mass_matrix
from appell.algorithms.registry import algorithm
from appell.model.tree import Tree


@algorithm("forward_dynamics_derivatives", "analytic", lumpable=True)
def by_recursion(tree: Tree, q: Scalars, qd: Scalars, tau: Scalars) -> list[list[Scalar]]:
    """[∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau] side by side; M comes from the momenta that the recursion has."""
    states = link_states(tree, q, qd)
    bodies = own_bodies(tree, states)
    factors = factorise(mass_matrix_of(tree, states, bodies), elimination_order(tree))
    qdd = substitute(factors, [force - own for force, own in zip(tau, bias(tree, q, qd), strict=True)])
    return solved(factors, derivatives_of(tree, subtree_motions(tree, q, qd, qdd, states, bodies)), 2 * tree.nv)


@algorithm("forward_dynamics_derivatives", "automatic", lumpable=True)
def by_differentiation(tree: Tree, q: Scalars, qd: Scalars, tau: Scalars) -> list[list[Scalar]]:
    """[∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau] side by side."""
    factors, qdd = forward_dynamics(tree, q, qd, tau)
    return solved(factors, automatic.inverse_dynamics_derivatives(tree, q, qd, qdd), 2 * tree.nv)


def forward_dynamics(tree: Tree, q: Scalars, qd: Scalars, tau: Scalars) -> tuple[list[EliminationStep], list[Scalar]]:
    """The factors of M and qdd."""
    factors = factorise(mass_matrix(tree, q), elimination_order(tree))
    return factors, substitute(factors, [force - own for force, own in zip(tau, bias(tree, q, qd), strict=True)])


def solved(factors: list[EliminationStep], by_state: list[list[Scalar]], columns: int) -> list[list[Scalar]]:
    """(11), from the derivatives of inverse dynamics by q and qd, which are its first columns."""
    n = len(by_state)
    right = [[-row[k] for row in by_state] for k in range(columns)]
    right += [[1.0 if i == k else 0.0 for i in range(n)] for k in range(n)]
    solutions = [substitute(factors, column) for column in right]
    return [list(row) for row in zip(*solutions, strict=True)]
