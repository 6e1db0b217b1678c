"""The point of a surface F = 0 that is nearest to a position p.

At the nearest point x, with the unit vector n = ∇F/|∇F| and the matrix of curvatures K = P ∇²F P / |∇F|, P = I - n n^T,

    p = x + d n,      ∇d = n,      ∇²d = (I + d K)⁻¹ K

with the distance d, negative where F is. Newton's method on |x - p|² with F(x) = 0 steps by (I + d K)⁻¹ P (p - x) along the
surface and by -F/|∇F| along n; where I + d K is not positive, its eigenvalues are replaced by positive ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

STEP_TOL = 1e-8
"""Largest last step, as part of 1 m and of |p|: what Newton's method leaves is its square."""
MAX_STEPS = 100
LEAST_FACTOR = 0.1
"""Smallest eigenvalue of I + d K that is used."""
NUDGE = 1e-3
"""Where ∇F = 0, the search starts so far away along each axis. [m]"""


class Nearest(NamedTuple):
    """The nearest point of a surface."""

    point: np.ndarray  # x, (3,). [m]
    normal: np.ndarray  # n, (3,)
    curvature: np.ndarray  # K, (3, 3). [1/m]

    def distance(self, p: np.ndarray) -> float:
        """d of p. [m]"""
        return float(self.normal @ (p - self.point))

    def normal_derivative(self, p: np.ndarray) -> np.ndarray:
        """∇²d at p, (3, 3). [1/m]"""
        return np.linalg.solve(np.eye(3) + self.distance(p) * self.curvature, self.curvature)


def nearest_point(
    value_and_gradient: Callable[[np.ndarray], tuple[np.ndarray | float, np.ndarray]],
    hessian: Callable[[np.ndarray], np.ndarray],
    p: np.ndarray,
) -> Nearest | None:
    """The nearest point that Newton's method finds from p; None where it finds none."""
    x = p if value_and_gradient(p)[1].any() else p + NUDGE
    scale = 1.0 + float(np.linalg.norm(p))
    change = np.inf
    for _ in range(MAX_STEPS):
        value, gradient = value_and_gradient(x)
        slope = float(np.linalg.norm(gradient))
        if not 0.0 < slope < np.inf:
            return None
        n = gradient / slope
        P = np.eye(3) - np.outer(n, n)
        found = Nearest(x, n, P @ hessian(x) @ P / slope)
        if change <= STEP_TOL * scale:
            return found
        curvatures, axes = np.linalg.eigh(found.curvature)
        bent = found.distance(p) * curvatures
        factors = np.where(1.0 + bent > LEAST_FACTOR, 1.0 + bent, 1.0 + np.abs(bent))
        step = axes @ ((axes.T @ (P @ (p - x))) / factors) - value / slope * n
        x, change = x + step, float(np.linalg.norm(step))
    return None
