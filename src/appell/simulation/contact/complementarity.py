"""Impulses that push and never pull.

A linear complementarity problem with a positive semi-definite matrix,

    f >= 0,   w = G f + b >= 0,   f · w = 0,

is what several unilateral contacts ask for: f are impulses (or forces), w the speeds (or accelerations) at which the
contacts open beyond what is wanted. It is the optimality condition of  min f^T G f / 2 + b · f  over f >= 0.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

REGULAR = 1e-9
"""Relative weight of |f|² that decides between impulses that do the same."""
ROUNDING = 1e-12
"""Relative size of a number that is zero."""


def solve_complementarity(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution f of smallest norm, (m,).

    First all contacts are taken to push, G f = -b (Shafei 2018, eq. 47); if that would need a negative impulse, or has no
    solution because rows depend on each other, the complementarity problem is solved for the contacts that do push.

    Args:
        G: (m, m), symmetric and positive semi-definite. b: (m,), such that some f >= 0 has G f + b >= 0.
    """
    f = minimum_norm(G, -b)
    if f.min(initial=0.0) >= 0.0 and _small(G @ f + b, b):
        return f
    pushing = _pushing(G, b)
    while True:
        f = np.zeros_like(b)
        f[pushing] = minimum_norm(G[np.ix_(pushing, pushing)], -b[pushing])
        if f.min(initial=0.0) >= 0.0:
            return f
        pushing = pushing[f[pushing] > 0.0]


def minimum_norm(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The x of smallest norm that comes nearest to A x = b: dependent rows share what one of them would carry.

    NaN where A or b are not finite, as in a step of an integrator that is far too long.
    """
    if not len(b):
        return np.zeros(A.shape[1])
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        return np.full(A.shape[1], np.nan)
    return np.linalg.lstsq(A, b, rcond=ROUNDING)[0]


def _pushing(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Contacts with a positive impulse: non-negative least squares on G + ε = R^T R."""
    weight = REGULAR * max(float(np.trace(G)) / len(b), np.finfo(float).tiny)
    R = cholesky(G + weight * np.eye(len(b)))
    f, _ = nnls(R, -solve_triangular(R, b, trans=1))
    return np.flatnonzero(f > 0.0)


def _small(residual: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(residual).max(initial=0.0) <= 1e3 * ROUNDING * np.abs(b).max(initial=0.0))
