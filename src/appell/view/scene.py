"""The elements of a scene: triangle meshes of simple bodies, coloured shapes fixed to frames, a camera. Plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

SEGMENTS = 24
"""Sides of round bodies."""
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


class Mesh(NamedTuple):
    """Vertices (V, 3) [m] and triangles (F, 3) as indices, counter-clockwise from outside."""

    vertices: np.ndarray
    faces: np.ndarray

    def transformed(self, pose: np.ndarray) -> Mesh:
        """The mesh under a homogeneous transformation (4, 4); normals stay outward under reflections."""
        faces = self.faces if np.linalg.det(pose[:3, :3]) > 0 else self.faces[:, ::-1]
        return Mesh(self.vertices @ pose[:3, :3].T + pose[:3, 3], faces)

    def scaled(self, factors) -> Mesh:
        """The mesh with its x, y and z multiplied."""
        return self.transformed(np.diag([*np.broadcast_to(np.asarray(factors, dtype=float), 3), 1.0]))

    def simplified(self, cell: float) -> Mesh:
        """The mesh with all vertices within a cell of a grid of this size [m] merged into their mean.

        Example:
            >>> fine = sphere(1.0)
            >>> coarse = fine.simplified(0.5)
            >>> len(coarse.faces) < 0.3 * len(fine.faces), abs(coarse.volume / fine.volume - 1.0) < 0.2
            (True, True)
        """
        _, cluster, counts = np.unique(
            np.floor(self.vertices / cell), axis=0, return_inverse=True, return_counts=True
        )  # fmt: skip
        cluster = cluster.ravel()
        means = np.stack([np.bincount(cluster, self.vertices[:, k]) for k in range(3)], axis=-1) / counts[:, None]
        faces = cluster[self.faces]
        different = (faces != np.roll(faces, 1, axis=1)).all(axis=1)
        return Mesh(means, np.unique(faces[different], axis=0))

    def divided(self, length: float) -> Mesh:
        """The mesh with its faces quartered until none has an edge longer than this. [m]

        Example:
            >>> fine = box((1.0, 1.0, 1.0)).divided(0.8)
            >>> len(fine.faces), fine.volume
            (48, 1.0)
        """
        corners = self.vertices[self.faces]
        long = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1) > length
        if not long.any():
            return self
        a, b, c = np.moveaxis(corners[long], 1, 0)
        ab, bc, ca = 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)
        quarters = [np.stack(three, axis=1) for three in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        corners = np.concatenate([corners[~long], *quarters])
        return Mesh(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3)).divided(length)

    @property
    def volume(self) -> float:
        """Volume inside a closed mesh, positive when its faces look outward. [m³]"""
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def lathe(profile, segments: int = SEGMENTS, closed: bool = False) -> Mesh:
    """Surface of revolution of a profile [(radius, z), ...] about z; the profile runs upwards on the outside.

    Args:
        closed: whether the end of the profile joins its start, as for a ring.

    Example:
        >>> import numpy as np
        >>> cone = lathe([(0, 0), (1, 0), (0, 3)], segments=720)
        >>> round(cone.volume / np.pi, 3)
        1.0
    """
    profile = np.asarray(profile, dtype=float)
    angles = np.linspace(0.0, 2 * np.pi, segments, endpoint=False)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    vertices = np.concatenate(
        [profile[:, None, :1] * around, np.broadcast_to(profile[:, None, 1:], (len(profile), segments, 1))], axis=-1
    ).reshape(-1, 3)
    rows = len(profile) if closed else len(profile) - 1
    i, j = np.meshgrid(np.arange(rows), np.arange(segments), indexing="ij")
    next_row, next_column = (i + 1) % len(profile), (j + 1) % segments
    corners = [
        (row * segments + column).ravel()
        for row, column in ((i, j), (i, next_column), (next_row, next_column), (next_row, j))
    ]
    faces = np.concatenate([np.stack([corners[k] for k in three], axis=-1) for three in ((0, 1, 2), (0, 2, 3))])
    return Mesh(vertices, faces)


def box(edges) -> Mesh:
    """A block around the origin with edges along x, y, z. [m]"""
    corners = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    squares = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [triangle for a, b, c, d in squares for triangle in ((a, b, c), (a, c, d))]
    return Mesh(corners * np.asarray(edges, dtype=float), np.array(faces))


def cylinder(radius: float, length: float) -> Mesh:
    """A cylinder along z around the origin. [m]"""
    half = length / 2
    return lathe([(0.0, -half), (radius, -half), (radius, half), (0.0, half)])


def capsule(radius: float, length: float) -> Mesh:
    """A cylinder along z with half balls on its ends; the length is that of the cylinder. [m]"""
    angles = np.linspace(-np.pi / 2, np.pi / 2, 2 * (SEGMENTS // 4) + 2)
    ends = np.where(angles < 0, -length / 2, length / 2)
    return lathe(np.stack([radius * np.cos(angles).clip(0.0), ends + radius * np.sin(angles)], axis=-1))


def sphere(radius: float) -> Mesh:
    """A ball around the origin. [m]"""
    return capsule(radius, 0.0)


def ring(radius: float, thickness: float) -> Mesh:
    """A torus in the plane z = 0 around the origin: radius to the middle of a wire of this thickness. [m]"""
    angles = np.linspace(0.0, 2 * np.pi, 12, endpoint=False)
    wire = np.stack([radius + thickness / 2 * np.cos(angles), thickness / 2 * np.sin(angles)], axis=-1)
    return lathe(wire, segments=96, closed=True)


def rod(start, end, radius: float) -> Mesh:
    """A cylinder from one point to another. [m]"""
    start, end = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    pose = pose_matrix(frame_along(end - start), (start + end) / 2)
    return cylinder(radius, float(np.linalg.norm(end - start))).transformed(pose)


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def pose_matrix(rotation, position) -> np.ndarray:
    """The homogeneous transformation (4, 4) of a rotation (3, 3) and a position (3,)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, position
    return pose


def frame_along(direction: np.ndarray) -> np.ndarray:
    """A rotation (3, 3) with its z axis along a direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[int(np.abs(z).argmin())], z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=-1)


SOLIDS = {
    "box": lambda size: box(size),
    "cylinder": lambda size: cylinder(*size),
    "capsule": lambda size: capsule(*size),
    "sphere": lambda size: sphere(*size),
}
"""Bodies by the names and sizes of `appell.model.body.Visual`."""


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
