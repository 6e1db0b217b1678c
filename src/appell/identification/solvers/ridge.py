"""Ridge regression: the least |A β - z|² + λ |β|², with λ by generalised cross-validation.

    GCV(λ) = n (|A β_λ - z|² + rest) / (n - trace of A G_λ)²      (Golub, Heath and Wahba, Technometrics 21 (1979))

λ is zero where the condition number is below 1000: a problem of full rank is not biased for a gain that is lost in noise.
"""

from __future__ import annotations

import numpy as np

SOUND = 1e-3
"""Ratio of the singular values above which a problem needs no help."""


def ridge(A: np.ndarray, z: np.ndarray, rest: float, count: int) -> np.ndarray:
    """G = V S / (S² + λ) U^T."""
    U, S, Vt = np.linalg.svd(A, full_matrices=False)
    projected = U.T @ z
    outside = max(float(z @ z - projected @ projected), 0.0) + rest
    tried = S[0] ** 2 * np.logspace(-16, 1, 120)
    level = 0.0 if S[-1] > SOUND * S[0] else min(tried, key=lambda each: score(S, projected, outside, each, count))
    return (Vt.T * (S / (S**2 + level))) @ U.T


def score(S: np.ndarray, projected: np.ndarray, outside: float, level: float, count: int) -> float:
    """GCV(λ) for singular values S, with z projected on their directions and |z|² outside of them."""
    passed = S**2 / (S**2 + level)
    residual = float(np.sum(((1.0 - passed) * projected) ** 2)) + outside
    return count * residual / (count - passed.sum()) ** 2
