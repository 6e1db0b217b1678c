"""Between what is recorded at the motors and what the joints do."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from appell.errors import ArgumentError


@dataclass(frozen=True)
class Transmission:
    """Gears between motors and joints: motor angles = N (q - offset), and so tau = N^T motor torques.

    Attributes:
        ratio: gear ratios (nv,), or the matrix N (nv, nv) where motors drive several joints.
        offset: joint coordinates at motor angle zero, (nv,). [rad, m]

    Example:
        >>> wrist = Transmission([[45.0, 0.0], [32.0, 32.0]])
        >>> wrist.torques([[1.0, 1.0]]).tolist()
        [[77.0, 32.0]]
    """

    ratio: ArrayLike
    offset: ArrayLike = 0.0

    @property
    def matrix(self) -> np.ndarray:
        """N."""
        N = np.asarray(self.ratio, dtype=float)
        N = np.diag(N) if N.ndim == 1 else N
        if N.ndim != 2 or N.shape[0] != N.shape[1] or not np.isfinite(N).all() or np.linalg.matrix_rank(N) < len(N):
            raise ArgumentError(
                f"ratio has shape {N.shape}, expected gear ratios (nv,) or an invertible matrix (nv, nv)."
            )
        return N

    def coordinates(self, motor: ArrayLike) -> np.ndarray:
        """Joint coordinates of motor angles (N, nv)."""
        return np.linalg.solve(self.matrix, np.asarray(motor, dtype=float).T).T + self.offset

    def torques(self, motor: ArrayLike) -> np.ndarray:
        """Generalised forces of motor torques (N, nv): what does the same work."""
        return np.asarray(motor, dtype=float) @ self.matrix
