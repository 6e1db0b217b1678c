"""Ridge regression: the least |A β - z|² + λ |β|², with λ by generalised cross-validation.

    GCV(λ) = n (|A β_λ - z|² + rest) / (n - trace of A G_λ)²      (Golub, Heath and Wahba, Technometrics 21 (1979))

λ is zero unless another one is better by more than the noise of the score itself, which is √(2/n) of it: a problem of full
rank is not biased for nothing.
"""

from __future__ import annotations

import numpy as np


def ridge(A: np.ndarray, z: np.ndarray, rest: float, count: int) -> np.ndarray:
    """G = V S / (S² + λ) U^T."""
    U, S, Vt = np.linalg.svd(A, full_matrices=False)
    projected = U.T @ z
    outside = float(z @ z - projected @ projected) + rest
    tried = S[0] ** 2 * np.logspace(-16, 1, 120)
    best, level = min((_score(S, projected, outside, each, count), each) for each in tried)
    plain = _score(S, projected, outside, 0.0, count) if S[-1] > 1e-10 * S[0] else np.inf
    if plain <= best * (1.0 + np.sqrt(2.0 / count)):
        level = 0.0
    return (Vt.T * (S / (S**2 + level))) @ U.T


def _score(S: np.ndarray, projected: np.ndarray, outside: float, level: float, count: int) -> float:
    passed = S**2 / (S**2 + level)
    residual = float(np.sum(((1.0 - passed) * projected) ** 2)) + max(outside, 0.0)
    return count * residual / (count - passed.sum()) ** 2
