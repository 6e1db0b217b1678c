"""Linear complementarity problems of unilateral contact.

With a positive semi-definite matrix G,

    f >= 0,   w = G f + b >= 0,   f · w = 0,

f are normal impulses (or forces), w the velocities (or accelerations) at which contacts separate faster than required. It is
the optimality condition of  min f^T G f / 2 + b · f  over f >= 0.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

REGULARIZATION = 1e-9
"""Relative weight of |f|² that selects one of several equivalent solutions."""
RELATIVE_ZERO = 1e-12
"""Relative size below which a number counts as zero."""


def solve_complementarity(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution f of smallest norm, (m,).

    First all contacts are assumed active, G f = -b (Shafei 2018, eq. 47); if that needs a negative impulse, or has no solution
    because rows are dependent, the complementarity problem is solved for the active contacts.

    Args:
        G: (m, m), symmetric and positive semi-definite. b: (m,), such that some f >= 0 has G f + b >= 0.
    """
    f = minimum_norm(G, -b)
    if f.min(initial=0.0) >= 0.0 and _is_small(G @ f + b, b):
        return f
    active = _active_contacts(G, b)
    while True:
        f = np.zeros_like(b)
        f[active] = minimum_norm(G[np.ix_(active, active)], -b[active])
        if f.min(initial=0.0) >= 0.0:
            return f
        active = active[f[active] > 0.0]


def minimum_norm(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The least-squares solution of A x = b of smallest norm: dependent rows share the load.

    NaN where A or b are not finite, as in a trial step of an integrator that is far too long.
    """
    if not len(b):
        return np.zeros(A.shape[1])
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        return np.full(A.shape[1], np.nan)
    return np.linalg.lstsq(A, b, rcond=RELATIVE_ZERO)[0]


def _active_contacts(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Contacts with a positive impulse: non-negative least squares on G + ε = R^T R."""
    weight = REGULARIZATION * max(float(np.trace(G)) / len(b), np.finfo(float).tiny)
    R = cholesky(G + weight * np.eye(len(b)))
    f, _ = nnls(R, -solve_triangular(R, b, trans=1))
    return np.flatnonzero(f > 0.0)


def _is_small(residual: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(residual).max(initial=0.0) <= 1e3 * RELATIVE_ZERO * np.abs(b).max(initial=0.0))
