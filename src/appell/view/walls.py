"""Walls as shapes: a function for each kind of wall, registered with `drawn`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch

import numpy as np

from appell.simulation.contact.surfaces import Circle, Cylinder, Plane, Sphere, Surface
from appell.view.scene import WORLD, Rgb, Shape
from appell.view.solids import Mesh, box, frame_along, lathe, ring, sphere

COLOUR: Rgb = (0.80, 0.47, 0.65)
OPACITY = 0.3
RAYS = 96
FURTHEST = 1e3
"""How far out a wall is looked for. [m]"""


def wall_shapes(walls: Sequence[Surface], size: float) -> tuple[Shape, ...]:
    """Shapes of walls around a robot whose reach is about `size`. [m]

    Example:
        >>> import appell
        >>> [shape.name for shape in wall_shapes([appell.Circle(radius=2.5)], size=2.0)]
        ['wall0']
    """
    return tuple(
        Shape(f"wall{number}", WORLD, drawn(wall, size), COLOUR, OPACITY, "surfaces")
        for number, wall in enumerate(walls)
    )


@singledispatch
def drawn(wall: Surface, size: float) -> Mesh:
    """The mesh of a wall; of one without a rule of its own, where rays in its plane of motion meet it."""
    return _belt(_outline(wall.gap), 0.02 * size)


@drawn.register
def _(wall: Plane, size: float) -> Mesh:
    return _placed(box((4 * size, 4 * size, 0.004 * size)), wall.point, wall.normal)


@drawn.register
def _(wall: Circle, size: float) -> Mesh:
    return _placed(ring(wall.radius, 0.02 * size), wall.center, wall.axis)


@drawn.register
def _(wall: Cylinder, size: float) -> Mesh:
    half = 2.0 * size
    return _placed(lathe([(wall.radius, -half), (wall.radius, half)], segments=96), wall.center, wall.axis)


@drawn.register
def _(wall: Sphere, size: float) -> Mesh:
    return _placed(sphere(wall.radius), wall.center, (0.0, 0.0, 1.0))


def _placed(mesh: Mesh, center, axis) -> Mesh:
    """A mesh around the origin with its z along an axis, moved to a centre."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = frame_along(np.asarray(axis, dtype=float)), center
    return mesh.transformed(pose)


def _outline(gap: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Points (R, 3) where rays from the origin in the plane z = 0 first meet a wall; rays that never do are left out."""
    angles = np.linspace(0.0, 2 * np.pi, RAYS, endpoint=False)
    rays = np.stack([np.cos(angles), np.sin(angles), np.zeros(RAYS)], axis=-1)
    steps = np.concatenate([np.linspace(0.0, 10.0, 400), np.geomspace(10.1, FURTHEST, 100)])
    signs = np.sign(gap(rays[:, None] * steps[:, None]))
    changes = (signs[:, 1:] != signs[:, :-1]) & (signs[:, :-1] != 0)
    met = changes.any(axis=1)
    first = changes[met].argmax(axis=1)
    low, high, rays, sign = steps[first], steps[first + 1], rays[met], signs[met, first]
    for _ in range(40):
        middle = (low + high) / 2
        before = np.sign(gap(rays * middle[:, None])) == sign
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return rays * low[:, None]


def _belt(points: np.ndarray, half: float) -> Mesh:
    """A belt of height 2 half along a closed line of points (R, 3) in the plane z = 0."""
    count = len(points)
    offset = np.array([0.0, 0.0, half])
    this = np.arange(count)
    after = (this + 1) % max(count, 1)
    faces = np.concatenate(
        [np.stack(three, axis=-1) for three in ((this, after, after + count), (this, after + count, this + count))]
    )
    return Mesh(np.concatenate([points - offset, points + offset]), faces)
