"""Rotation matrices (..., 3, 3), rotation vectors (..., 3) and Euler angles, over arrays."""

from __future__ import annotations

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
