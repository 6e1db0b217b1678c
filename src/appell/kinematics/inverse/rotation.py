"""Rotation matrices (..., 3, 3), rotation vectors (..., 3) and Euler angles, over arrays of any batch shape."""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation


def rotation_matrix(r: np.ndarray) -> np.ndarray:
    """The rotation by |r| about r, (..., 3, 3)."""
    if not r.size:
        return np.empty((*r.shape, 3))
    return Rotation.from_rotvec(r.reshape(-1, 3)).as_matrix().reshape(*r.shape, 3)


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """The shortest rotation vector of R, |r| <= π; NaN where R is not finite. (..., 3)"""
    flat = R.reshape(-1, 3, 3)
    finite = np.isfinite(flat).all(axis=(1, 2))
    r = np.full((len(flat), 3), np.nan)
    if finite.any():
        r[finite] = Rotation.from_matrix(flat[finite]).as_rotvec()
    return r.reshape(R.shape[:-1])


def euler_zyz(angles: ArrayLike) -> np.ndarray:
    """Rz(a) Ry(b) Rz(c) of the intrinsic Euler angles (a, b, c). [rad] -> (3, 3)

    Example:
        >>> import numpy as np
        >>> euler_zyz([0.0, np.pi / 2, 0.0]).round(12).tolist()
        [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    """
    a, b, c = np.asarray(angles, dtype=float)
    return Rotation.from_euler("ZYZ", [a, b, c]).as_matrix()


def angular_motion(r: np.ndarray, rd: np.ndarray, rdd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angular velocity and acceleration of exp(r~) from the rotation vector r and its derivatives. (..., 3)

    With θ = |r|, b = (1 - cos θ)/θ², c = (θ - sin θ)/θ³ and A = 1 + b r~ + c r~²:  ω = A ṙ,  ω̇ = A r̈ + Ȧ ṙ.
    """
    if not (r.any() or rd.any()):  # constant orientation
        return rd, rdd
    square = np.sum(r * r, axis=-1, keepdims=True)
    b, c, b_rate, c_rate = _coefficients(square)  # the last two are db/dθ / θ and dc/dθ / θ
    inner = np.sum(r * rd, axis=-1, keepdims=True)  # θ dθ/dt
    across = np.cross(r, rd)
    omega = rd + b * across + c * np.cross(r, across)
    omegad = rdd + b * np.cross(r, rdd) + c * np.cross(r, np.cross(r, rdd))
    A_rate = b_rate * inner * across + c_rate * inner * np.cross(r, across) + c * np.cross(rd, across)
    return omega, omegad + A_rate


ORDER = np.arange(11)
"""Powers of -θ² in the series below: exact to rounding for θ < 1."""
SERIES = np.array([
    (1 / factorial(2 * k + 2), 1 / factorial(2 * k + 3), -2 * (k + 1) / factorial(2 * k + 4), -2 * (k + 1) / factorial(2 * k + 5))
    for k in ORDER.tolist()
])  # fmt: skip
"""Coefficients of b, c, b'/θ and c'/θ."""


def _coefficients(square: np.ndarray) -> tuple[np.ndarray, ...]:
    """b, c, b'/θ and c'/θ from θ² (..., 1): power series for small angles, closed forms for others."""
    series = np.split((-np.minimum(square, 1.0)) ** ORDER @ SERIES, 4, axis=-1)
    angle = np.sqrt(np.maximum(square, 1.0))
    cos, sin = np.cos(angle), np.sin(angle)
    closed = (
        (1.0 - cos) / angle**2,
        (angle - sin) / angle**3,
        (angle * sin - 2.0 * (1.0 - cos)) / angle**4,
        (angle * (1.0 - cos) - 3.0 * (angle - sin)) / angle**5,
    )
    return tuple(np.where(square < 1.0, a, z) for a, z in zip(series, closed, strict=True))
