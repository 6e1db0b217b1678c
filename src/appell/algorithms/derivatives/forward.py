"""Derivatives of forward dynamics from those of inverse dynamics.

τ = f(q, q̇, q̈) holds identically, so at q̈ of the forward dynamics (docs/theory/derivatives.md)
    (11)  ∂q̈/∂τ = M⁻¹        ∂q̈/∂q = -M⁻¹ ∂f/∂q        ∂q̈/∂q̇ = -M⁻¹ ∂f/∂q̇.
"""

from __future__ import annotations

from appell.algebra import Scalar, Scalars
from appell.algorithms.derivatives import analytic, automatic
from appell.algorithms.inverse_dynamics.mata2002 import bias
from appell.algorithms.linear import elimination_order, factorise, substitute
from appell.algorithms.mass_matrix.gibbs_hessian import mass_matrix
from appell.algorithms.registry import Algorithm, algorithm
from appell.algorithms.regressor import regressor
from appell.model.tree import Tree


@algorithm("forward_dynamics_derivatives", "analytic", lumpable=True)
def by_recursion(tree: Tree, q: Scalars, qd: Scalars, tau: Scalars) -> list[list[Scalar]]:
    """[∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau] side by side."""
    return solved(analytic.inverse_dynamics_derivatives, tree, q, qd, tau)


@algorithm("forward_dynamics_derivatives", "automatic", lumpable=True)
def by_differentiation(tree: Tree, q: Scalars, qd: Scalars, tau: Scalars) -> list[list[Scalar]]:
    """[∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau] side by side."""
    return solved(automatic.inverse_dynamics_derivatives, tree, q, qd, tau)


@algorithm("forward_dynamics_coordinate_derivatives", "automatic", lumpable=True)
def by_coordinates(tree: Tree, q: Scalars, qd: Scalars, tau: Scalars) -> list[list[Scalar]]:
    """[∂qdd/∂q, ∂qdd/∂qd, ∂qdd/∂tau] with a column for every coordinate, as integrators of q̇ = N(q) qd need it."""
    return solved(automatic.coordinate_derivatives, tree, q, qd, tau)


@algorithm("forward_dynamics_parameter_derivatives", "regressor")
def by_parameters(tree: Tree, q: Scalars, qd: Scalars, tau: Scalars) -> list[list[Scalar]]:
    """∂qdd/∂Φ = -M⁻¹ K(q, qd, qdd), from M(Φ) q̈ + b(Φ) = K Φ = τ."""
    factors = factorise(mass_matrix(tree, q), elimination_order(tree))
    qdd = substitute(factors, [force - own for force, own in zip(tau, bias(tree, q, qd), strict=True)])
    K = regressor(tree, q, qd, qdd)
    columns = [substitute(factors, [-row[k] for row in K]) for k in range(len(K[0]))]
    return [list(row) for row in zip(*columns, strict=True)]


def solved(derivatives: Algorithm, tree: Tree, q: Scalars, qd: Scalars, tau: Scalars) -> list[list[Scalar]]:
    """(11), with one factorisation of M."""
    n = tree.nv
    entries = tree.nq if derivatives is automatic.coordinate_derivatives else n
    factors = factorise(mass_matrix(tree, q), elimination_order(tree))
    qdd = substitute(factors, [force - own for force, own in zip(tau, bias(tree, q, qd), strict=True)])
    by_state = derivatives(tree, q, qd, qdd)
    columns = [substitute(factors, [-row[k] for row in by_state]) for k in range(entries + n)]
    columns += [substitute(factors, [1.0 if i == k else 0.0 for i in range(n)]) for k in range(n)]
    return [list(row) for row in zip(*columns, strict=True)]
