"""From where a subject is looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

ASIDE = 0.16
"""How far the middle of the screen lies beside what is looked at, in distances of the eye."""
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
        return _aside(center, size * np.array([0.0, -0.2, 1.2]), np.array([0.0, 1.0, 0.0]))
    direction = np.array([0.5, -1.0, 0.35]) if thin[1] else np.array([1.0, -0.9, 0.6])
    return _aside(center, 1.4 * size * direction / np.linalg.norm(direction), np.array([0.0, 0.0, 1.0]))


def _aside(center: np.ndarray, away: np.ndarray, up: np.ndarray) -> Camera:
    """A view with the centre a little left of the middle, since a panel stands on the right."""
    right = np.cross(up, away)
    shift = ASIDE * float(np.linalg.norm(away)) * right / np.linalg.norm(right)
    return Camera(center + shift + away, center + shift, up)
