"""Unit quaternions (x, y, z, w) over arrays (..., 4), and rotation vectors (..., 3)."""

from __future__ import annotations

import numpy as np

IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The rotation b followed by a, seen from the fixed frame: R(a b) = R(a) R(b)."""
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


def random(rng: np.random.Generator) -> np.ndarray:
    """A rotation drawn evenly from all rotations."""
    return normalised(rng.normal(size=4))
