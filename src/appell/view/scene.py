"""The elements of a scene: coloured meshes fixed to frames, and a camera. Plain data, without a viewer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from appell.view.solids import Mesh

Rgb = tuple[float, float, float]

WORLD = ""
"""The frame of shapes that do not move."""
LAYERS = {
    "meshes": "the shapes of the description",
    "links": "drawn from joint to joint",
    "inertia": "ellipsoids of uniform density with the bodies' mass and inertia",
    "surfaces": "contact surfaces",
}
"""Groups of shapes that are shown and hidden together."""
PANEL_OFFSET = 0.16
"""Distance between the middle of the screen and the centre of the scene, in distances of the eye."""
FLATNESS_TOL = 0.02
"""A mechanism thinner than this part of its size is planar."""


@dataclass(frozen=True)
class Shape:
    """A mesh fixed to a frame.

    Attributes:
        name: unique within its layer and frame.
        frame: name of the frame that carries it, WORLD for a fixed shape.
        mesh: in that frame. [m]
        colour: red, green, blue from 0 to 1.
        opacity: 1 for solid.
        layer: a name in LAYERS.
    """

    name: str
    frame: str
    mesh: Mesh = field(repr=False)
    colour: Rgb = (0.6, 0.6, 0.6)
    opacity: float = 1.0
    layer: str = "links"


class Camera(NamedTuple):
    """Position of the eye, the point it looks at, and the direction that is up on the screen. [m]"""

    position: np.ndarray
    look_at: np.ndarray
    up: np.ndarray


def fit_camera(points: np.ndarray, size: float) -> Camera:
    """A view that shows all points (N, 3); a planar mechanism is seen along its normal."""
    low, high = points.min(axis=0), points.max(axis=0)
    thin = (high - low) < FLATNESS_TOL * size
    if thin[2] and not thin[:2].all():
        away, up = size * np.array([0.0, -0.2, 1.2]), np.array([0.0, 1.0, 0.0])
    else:
        direction = np.array([0.5, -1.0, 0.35]) if thin[1] else np.array([1.0, -0.9, 0.6])
        away, up = 1.4 * size * direction / np.linalg.norm(direction), np.array([0.0, 0.0, 1.0])
    right = np.cross(up, away)  # the control panel covers the right part of the screen
    center = (low + high) / 2 + PANEL_OFFSET * float(np.linalg.norm(away)) * right / np.linalg.norm(right)
    return Camera(center + away, center, up)
