"""From where a subject is looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

FLAT = 0.02
"""A mechanism is flat if it is thinner than this part of its size."""


class Camera(NamedTuple):
    """Place of the eye, the point it looks at, and the direction that is up on the screen. [m]"""

    position: np.ndarray
    look_at: np.ndarray
    up: np.ndarray


def camera_for(places: np.ndarray, size: float) -> Camera:
    """A view of points (N, 3) that shows all of them; a flat mechanism is looked at from the side of its normal.

    Example:
        >>> camera_for(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]), 1.5).up.tolist()  # flat in z: y is up
        [0.0, 1.0, 0.0]
    """
    low, high = places.min(axis=0), places.max(axis=0)
    center = (low + high) / 2
    thin = (high - low) < FLAT * size
    if thin[2] and not thin[:2].all():
        return Camera(center + size * np.array([0.0, -0.2, 1.1]), center, np.array([0.0, 1.0, 0.0]))
    direction = np.array([0.3, -1.0, 0.15]) if thin[1] else np.array([1.0, -0.9, 0.6])
    return Camera(center + 1.25 * size * direction / np.linalg.norm(direction), center, np.array([0.0, 0.0, 1.0]))
