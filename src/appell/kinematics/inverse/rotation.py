"""Rotation matrices (..., 3, 3), rotation vectors (..., 3) and Euler angles, over arrays."""

from __future__ import annotations

from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from appell.model.joints import quaternion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def cross_matrix(v: np.ndarray) -> np.ndarray:
    """v~ with v~ a = v x a, (..., 3, 3)."""
    x, y, z = np.moveaxis(v, -1, 0)
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*v.shape, 3)


def rotation_matrix(r: np.ndarray) -> np.ndarray:
    """The rotation by |r| about r, (..., 3, 3): 1 + sin|r|/|r| r~ + (1 - cos|r|)/|r|² r~²."""
    angle = np.linalg.norm(r, axis=-1)[..., None, None]
    K = cross_matrix(r)
    return np.eye(3) + np.sinc(angle / np.pi) * K + 0.5 * np.sinc(0.5 * angle / np.pi) ** 2 * (K @ K)


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """The shortest rotation vector of R, |r| <= π, accurate at every angle. (..., 3)

    R gives the products of the quaternion's components; the largest component is taken first, so nothing is divided by a
    small number.
    """
    trace = np.trace(R, axis1=-2, axis2=-1)[..., None]
    off = R - np.swapaxes(R, -1, -2)
    vector = np.stack([off[..., 2, 1], off[..., 0, 2], off[..., 1, 0]], axis=-1)  # 4 w (x, y, z)
    outer = R + np.swapaxes(R, -1, -2) + (1.0 - trace[..., None]) * np.eye(3)  # 4 (x, y, z)^T (x, y, z)
    rows = np.concatenate(
        [
            np.concatenate([outer, vector[..., None]], axis=-1),
            np.concatenate([vector, 1.0 + trace], axis=-1)[..., None, :],
        ],
        axis=-2,
    )  # 4 (x, y, z, w)^T (x, y, z, w)
    largest = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    row = np.take_along_axis(rows, largest[..., None, None], axis=-2)[..., 0, :]
    return quaternion.logarithm(quaternion.normalised(row))


def euler_zyz(angles: ArrayLike) -> np.ndarray:
    """Rz(a) Ry(b) Rz(c) of the angles (a, b, c) [rad], each about the axis that the one before has turned. (3, 3)

    Example:
        >>> import numpy as np
        >>> euler_zyz([0.0, np.pi / 2, 0.0]).round(12).tolist()
        [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    """
    a, b, c = np.asarray(angles, dtype=float)
    z, y = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    return rotation_matrix(a * z) @ rotation_matrix(b * y) @ rotation_matrix(c * z)


def angular_motion(r: np.ndarray, rd: np.ndarray, rdd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Angular velocity and acceleration of exp(r~) whose rotation vector r moves with rates rd and rdd. (..., 3)

    With θ = |r|, b = (1 - cos θ)/θ², c = (θ - sin θ)/θ³ and A = 1 + b r~ + c r~²:  ω = A ṙ,  ω̇ = A r̈ + Ȧ ṙ.
    """
    if not (r.any() or rd.any()):  # a constant attitude is common, and costs nothing
        return rd, rdd
    square = np.sum(r * r, axis=-1, keepdims=True)
    b, c, b_rate, c_rate = _series(square)  # the last two are db/dθ / θ and dc/dθ / θ
    inner = np.sum(r * rd, axis=-1, keepdims=True)  # θ dθ/dt
    across = np.cross(r, rd)
    omega = rd + b * across + c * np.cross(r, across)
    omegad = rdd + b * np.cross(r, rdd) + c * np.cross(r, np.cross(r, rdd))
    turning = b_rate * inner * across + c_rate * inner * np.cross(r, across) + c * np.cross(rd, across)
    return omega, omegad + turning


ORDER = np.arange(11)
"""Powers of -θ² in the series below: enough for θ < 1 to the last digit."""
SERIES = np.array([
    (1 / factorial(2 * k + 2), 1 / factorial(2 * k + 3), -2 * (k + 1) / factorial(2 * k + 4), -2 * (k + 1) / factorial(2 * k + 5))
    for k in ORDER.tolist()
])  # fmt: skip
"""Their coefficients in b, c, b'/θ and c'/θ."""


def _series(square: np.ndarray) -> tuple[np.ndarray, ...]:
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
