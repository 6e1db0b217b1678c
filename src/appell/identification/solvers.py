"""Solvers of A β = z in the sense of least squares (Valera 2003, section 4). New solvers are added to `SOLVERS`.

A solver is a function of A (r, b) with columns of unit length, z (r,), the squared residual `rest` that no β removes, and the
number of samples `count` behind A. It returns the matrix G of the solution β = G z, which also maps the noise of z to β.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Solver = Callable[[np.ndarray, np.ndarray, float, int], np.ndarray]

RANK_TOL = 1e-7
"""Singular values smaller than this, relative to the largest, count as zero."""
WELL_CONDITIONED = 1e-3
"""Ratio of the singular values above which ridge regression uses λ = 0."""


def qr(A: np.ndarray, z: np.ndarray, rest: float, count: int) -> np.ndarray:
    """QR decomposition, G = R⁻¹ Q^T; A must have full column rank."""
    from scipy.linalg import solve_triangular

    Q, R = np.linalg.qr(A)
    return solve_triangular(R, Q.T)


def svd(A: np.ndarray, z: np.ndarray, rest: float, count: int) -> np.ndarray:
    """Singular value decomposition, G = V S⁺ U^T."""
    U, S, Vt = np.linalg.svd(A, full_matrices=False)
    kept = RANK_TOL * S[0] < S
    return (Vt[kept].T / S[kept]) @ U[:, kept].T


def pinv(A: np.ndarray, z: np.ndarray, rest: float, count: int) -> np.ndarray:
    """Moore-Penrose pseudo-inverse by the normal equations, X = (A^T A)⁺ A^T, refined by one Newton step X (2 - A X)."""
    X = np.linalg.pinv(A.T @ A, hermitian=True) @ A.T
    return 2.0 * X - X @ (A @ X)


def ridge(A: np.ndarray, z: np.ndarray, rest: float, count: int) -> np.ndarray:
    """Ridge regression, the least |A β - z|² + λ |β|²: G = V S / (S² + λ) U^T, λ by generalized cross-validation.

        GCV(λ) = n (|A β_λ - z|² + rest) / (n - trace of A G_λ)²      (Golub, Heath and Wahba, Technometrics 21 (1979))

    λ is zero where the condition number is below 1000, so that well-conditioned problems are not biased.
    """
    U, S, Vt = np.linalg.svd(A, full_matrices=False)
    projected = U.T @ z
    outside = max(float(z @ z - projected @ projected), 0.0) + rest

    def gcv(level: float) -> float:
        shrinkage = S**2 / (S**2 + level)
        residual = float(np.sum(((1.0 - shrinkage) * projected) ** 2)) + outside
        return count * residual / (count - shrinkage.sum()) ** 2

    level = 0.0 if S[-1] > WELL_CONDITIONED * S[0] else min(S[0] ** 2 * np.logspace(-16, 1, 120), key=gcv)
    return (Vt.T * (S / (S**2 + level))) @ U.T


SOLVERS: dict[str, Solver] = {"qr": qr, "svd": svd, "pinv": pinv, "ridge": ridge}
