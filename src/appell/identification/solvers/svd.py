"""Singular value decomposition: A = U S V^T, β = V S⁻¹ U^T z without directions that carry only rounding."""

from __future__ import annotations

import numpy as np

ROUNDING = 1e-10
"""Singular values this much smaller than the largest count as zero."""


def svd(A: np.ndarray, z: np.ndarray, rest: float, count: int) -> np.ndarray:
    """G = V S⁺ U^T."""
    U, S, Vt = np.linalg.svd(A, full_matrices=False)
    kept = ROUNDING * S[0] < S
    return (Vt[kept].T / S[kept]) @ U[:, kept].T
