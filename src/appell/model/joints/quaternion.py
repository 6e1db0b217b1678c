"""Unit quaternions (x, y, z, w) over arrays (..., 4), and rotation vectors (..., 3)."""

from __future__ import annotations

import numpy as np

IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """R(a b) = R(a) R(b)."""
    va, wa, vb, wb = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = wa * vb + wb * va + np.cross(va, vb)
    return np.concatenate([vector, wa * wb - np.sum(va * vb, axis=-1, keepdims=True)], axis=-1)


def conjugate(a: np.ndarray) -> np.ndarray:
    """The inverse rotation."""
    return a * np.array([-1.0, -1.0, -1.0, 1.0])


def rotate(a: np.ndarray, v: np.ndarray) -> np.ndarray:
    """R(a) v."""
    t = 2.0 * np.cross(a[..., :3], v)
    return v + a[..., 3:] * t + np.cross(a[..., :3], t)


def exponential(r: np.ndarray) -> np.ndarray:
    """The rotation by |r| about r."""
    half = 0.5 * np.linalg.norm(r, axis=-1, keepdims=True)
    return np.concatenate([0.5 * np.sinc(half / np.pi) * r, np.cos(half)], axis=-1)


def logarithm(a: np.ndarray) -> np.ndarray:
    """The shortest rotation vector, |r| <= π."""
    a = np.where(a[..., 3:] < 0, -a, a)
    sine = np.linalg.norm(a[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, a[..., 3:])
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = np.where(sine > 1e-9, angle / sine, 2.0 / a[..., 3:])
    return factor * a[..., :3]


def normalised(a: np.ndarray) -> np.ndarray:
    """The unit quaternion nearest to a."""
    return a / np.linalg.norm(a, axis=-1, keepdims=True)


def of_roll_pitch_yaw(angles: np.ndarray) -> np.ndarray:
    """The rotation Rz(yaw) Ry(pitch) Rx(roll), angles (..., 3)."""
    roll, pitch, yaw = (exponential(angles[..., [i]] * np.eye(3)[i]) for i in range(3))
    return product(yaw, product(pitch, roll))


def roll_pitch_yaw(a: np.ndarray) -> np.ndarray:
    """Angles (..., 3) of the rotation, |pitch| <= π/2. At |pitch| = π/2 the yaw is 0."""
    x, y, z, w = np.moveaxis(a, -1, 0)
    front, left = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z)  # the rotated x axis, along x and y
    level = np.hypot(front, left)
    yaw = np.where(level > 1e-12, np.arctan2(left, front), 0.0)
    pitch = np.arctan2(2.0 * (w * y - x * z), level)
    c, s = np.cos(yaw), np.sin(yaw)  # the rotated y axis after undoing the yaw: errors of yaw and roll cancel
    across = c * (1.0 - 2.0 * (x * x + z * z)) - s * 2.0 * (x * y - w * z)
    roll = np.arctan2(s * 2.0 * (x * z + w * y) - c * 2.0 * (y * z - w * x), across)
    return np.stack([roll, pitch, yaw], axis=-1)


def random(rng: np.random.Generator) -> np.ndarray:
    """A uniformly distributed random rotation."""
    return normalised(rng.normal(size=4))
