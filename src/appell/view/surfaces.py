"""Contact surfaces as meshes: one function per type of surface, registered with `surface_mesh`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch

import numpy as np

from appell.simulation.contact.surfaces import Circle, Cylinder, Plane, Sphere, Surface
from appell.view.scene import WORLD, Mesh, Rgb, Shape, box, frame_along, lathe, ring, sphere

COLOUR: Rgb = (0.80, 0.47, 0.65)
OPACITY = 0.3
RAYS = 96
MAX_DISTANCE = 1e3
"""Largest distance of an outline from the origin. [m]"""


def surface_shapes(surfaces: Sequence[Surface], size: float) -> tuple[Shape, ...]:
    """Shapes of surfaces around a robot whose reach is about `size`. [m]

    Example:
        >>> import appell
        >>> [shape.name for shape in surface_shapes([appell.surfaces.Circle(radius=2.5)], size=2.0)]
        ['surface0']
    """
    return tuple(
        Shape(f"surface{number}", WORLD, surface_mesh(surface, size), COLOUR, OPACITY, "surfaces")
        for number, surface in enumerate(surfaces)
    )


@singledispatch
def surface_mesh(surface: Surface, size: float) -> Mesh:
    """The mesh of a surface; by default a belt along its outline in the plane z = 0."""
    return _belt(_outline(surface.gap), 0.02 * size)


@surface_mesh.register
def _(surface: Plane, size: float) -> Mesh:
    return _placed(box((4 * size, 4 * size, 0.004 * size)), surface.point, surface.normal)


@surface_mesh.register
def _(surface: Circle, size: float) -> Mesh:
    return _placed(ring(surface.radius, 0.02 * size), surface.center, surface.axis)


@surface_mesh.register
def _(surface: Cylinder, size: float) -> Mesh:
    half = 2.0 * size
    return _placed(lathe([(surface.radius, -half), (surface.radius, half)], segments=96), surface.center, surface.axis)


@surface_mesh.register
def _(surface: Sphere, size: float) -> Mesh:
    return _placed(sphere(surface.radius), surface.center, (0.0, 0.0, 1.0))


def _placed(mesh: Mesh, center, axis) -> Mesh:
    """A mesh around the origin with its z along an axis, moved to a centre."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = frame_along(np.asarray(axis, dtype=float)), center
    return mesh.transformed(pose)


def _outline(gap: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Points (R, 3) where rays from the origin in the plane z = 0 first meet the surface; rays that never do are left out."""
    angles = np.linspace(0.0, 2 * np.pi, RAYS, endpoint=False)
    rays = np.stack([np.cos(angles), np.sin(angles), np.zeros(RAYS)], axis=-1)
    steps = np.concatenate([np.linspace(0.0, 10.0, 400), np.geomspace(10.1, MAX_DISTANCE, 100)])
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
