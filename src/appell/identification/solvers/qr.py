"""QR decomposition: A = Q R, β = R⁻¹ Q^T z."""

from __future__ import annotations

import numpy as np


def qr(A: np.ndarray, z: np.ndarray, rest: float, count: int) -> np.ndarray:
    """G = R⁻¹ Q^T; A must have full column rank."""
    from scipy.linalg import solve_triangular

    Q, R = np.linalg.qr(A)
    return solve_triangular(R, Q.T)
