"""Forward dynamics: Hessian of the Gibbs function, bias, Cholesky factorisation.

Source: Mata et al. 2002, section 3, eq. (17), with the sign of the bias corrected: D q̈ = τ - bias.
"""

from __future__ import annotations

from appell.algebra import Scalar, Scalars
from appell.algorithms.inverse_dynamics.mata2002 import bias
from appell.algorithms.linear import elimination_order, solve
from appell.algorithms.mass_matrix.gibbs_hessian import mass_matrix
from appell.algorithms.registry import algorithm
from appell.model.tree import Tree


@algorithm("forward_dynamics", "gibbs", lumpable=True)
def forward_dynamics(tree: Tree, q: Scalars, qd: Scalars, tau: Scalars) -> list[Scalar]:
    """Accelerations qdd that tau gives at (q, qd).  [rad/s², m/s²]"""
    right = [force - own for force, own in zip(tau, bias(tree, q, qd), strict=True)]
    return solve(mass_matrix(tree, q), right, elimination_order(tree))
