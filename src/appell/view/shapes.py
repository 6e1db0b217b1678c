"""Shapes of robots (of the description, rods, joints, ellipsoids for inertia) and of contact surfaces (`surface_mesh`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, singledispatch
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from appell.meshes import MeshError, Rgba, find_mesh, load_parts
from appell.model.body import Body, Visual
from appell.model.joints import KINDS
from appell.model.pose import Triple, triple
from appell.robot.robot import Robot
from appell.simulation.contact.surfaces import Circle, Cylinder, Ellipse, Plane, Sphere, Surface
from appell.simulation.contact.surfaces.surface import require_surfaces
from appell.simulation.trajectory import Trajectory
from appell.view.scene import (
    SOLIDS,
    WORLD,
    Mesh,
    Rgb,
    Shape,
    box,
    cylinder,
    frame_along,
    joined,
    lathe,
    pose_matrix,
    ring,
    rod,
    sphere,
)

LINK_COLOUR: Rgb = (0.35, 0.42, 0.50)
JOINT_COLOUR: Rgb = (0.84, 0.37, 0.0)
INERTIA_COLOUR: Rgb = (0.0, 0.45, 0.70)
MIN_ROD_LENGTH = 1e-6
"""Rods shorter than this are not drawn. [m]"""
DEFAULT_COLOUR: Rgb = (0.72, 0.74, 0.77)
COLOUR: Rgb = (0.80, 0.47, 0.65)
OPACITY = 0.3
WIRE = 0.03
"""Thickness of curves, in sizes of the robot."""
RAYS, MAX_DISTANCE = 48, 100.0
"""Rays all around a point to surfaces without a mesh of their own, and their length in sizes of the robot."""


def link_shapes(robot: Robot, size: float, points: Mapping[str, Sequence[Triple]] | None = None) -> tuple[Shape, ...]:
    """Rods and joints of a robot of approximate extent `size`. [m]

    Rods connect the origin of a body with the joints on it and with its additional `points`; without any, with its centre
    of mass.
    """
    radius = 0.012 * size
    shapes = []
    for body in robot.bodies:
        attached = [joint for joint in robot.joints if joint.parent == body.name]
        ends = [joint.origin.xyz for joint in attached] + list((points or {}).get(body.name, ()))
        ends = ends or ([body.com] if body.mass else [])
        for number, end in enumerate(ends):
            if np.linalg.norm(end) > MIN_ROD_LENGTH:
                shapes.append(Shape(f"rod{number}", body.name, rod((0, 0, 0), end, radius), LINK_COLOUR))
    for joint in robot.joints:
        kind = KINDS[joint.kind]
        if kind.nv:
            mesh = cylinder(2.0 * radius, 5.0 * radius) if kind.axial else sphere(2.5 * radius)
            pose = pose_matrix(frame_along(np.array(joint.axis)), (0.0, 0.0, 0.0))
            shapes.append(Shape(f"joint {joint.name}", joint.child, mesh.transformed(pose), JOINT_COLOUR))
    return tuple(shapes)


def inertia_shapes(bodies: Sequence[Body], size: float) -> tuple[Shape, ...]:
    """An ellipsoid per body with mass and inertia; ellipsoids larger than half the `size` of the robot are omitted."""
    shapes = []
    for body in bodies:
        axes, rotation = inertia_ellipsoid(body)
        if 0.0 < axes.max() < size / 2:
            ellipsoid = sphere(1.0).scaled(np.maximum(axes, 0.02 * axes.max()))
            mesh = ellipsoid.transformed(pose_matrix(rotation, body.com))
            shapes.append(Shape("inertia", body.name, mesh, INERTIA_COLOUR, 0.25, "inertia"))
    return tuple(shapes)


def inertia_ellipsoid(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Semi-axes [m] and axes (3, 3) of the ellipsoid of uniform density with a body's mass and inertia.

    Its moments are I_x = m (b² + c²)/5 and so on, so a² = 5 (I_y + I_z - I_x)/(2 m).
    """
    if body.mass <= 0.0:
        return np.zeros(3), np.eye(3)
    xx, xy, xz, yy, yz, zz = body.inertia
    moments, rotation = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    squares = 2.5 * (moments.sum() - 2.0 * moments) / body.mass
    if np.linalg.det(rotation) < 0:
        rotation = rotation * np.array([1.0, 1.0, -1.0])
    return np.sqrt(squares.clip(0.0)), rotation


def visual_shapes(robot: Robot, folder: Path | None = None) -> tuple[tuple[Shape, ...], tuple[str, ...]]:
    """Shapes of all bodies, and one note for all meshes that are missing for the same reason.

    A mesh keeps the colours of its file unless the description gives the shape a colour. `folder` is that of the description.
    """
    shapes: list[Shape] = []
    missing: dict[str, list[str]] = {}
    for body in robot.bodies:
        for number, visual in enumerate(body.visuals):
            try:
                parts = visual_parts(visual, folder)
            except MeshError as problem:
                missing.setdefault(problem.reason, []).append(problem.mesh)
                continue
            pose = pose_matrix(visual.pose.rotation, visual.pose.xyz)
            for part, (mesh, own) in enumerate(parts):
                *rgb, opacity = visual.rgba or own or (*DEFAULT_COLOUR, 1.0)
                name = f"visual{number}.{part}" if len(parts) > 1 else f"visual{number}"
                shapes.append(Shape(name, body.name, mesh.transformed(pose), triple(rgb), opacity, "meshes"))
    return tuple(shapes), tuple(_note(list(dict.fromkeys(meshes)), reason) for reason, meshes in missing.items())


def _note(meshes: list[str], reason: str) -> str:
    if len(meshes) == 1:
        return f"mesh {meshes[0]!r} {reason}"
    return f"{len(meshes)} meshes, {meshes[0]!r} and others: each {reason}"


def visual_parts(visual: Visual, folder: Path | None) -> list[tuple[Mesh, Rgba | None]]:
    """The meshes of one shape in its own frame, with the colours of its file."""
    if visual.kind != "mesh":
        return [(SOLIDS[visual.kind](visual.size), None)]
    found = find_mesh(visual.mesh, folder)
    return [(mesh.scaled(visual.size), colour) for mesh, colour in read_parts(found, found.stat().st_mtime_ns)]


@lru_cache(maxsize=64)
def read_parts(path: Path, modified: int) -> tuple[tuple[Mesh, Rgba | None], ...]:
    """The parts of a mesh file, read once until it is `modified`; legs of a robot share meshes."""
    return tuple(
        (Mesh(np.asarray(part.vertices, dtype=float), np.asarray(part.faces)), colour)
        for part, colour in load_parts(path)
    )


def shown_surfaces(
    surfaces: Surface | Sequence[Surface] | None, motion: Trajectory | None
) -> tuple[Surface | None, ...]:
    """The surfaces given, by default those of the motion."""
    return motion.surfaces if surfaces is None and motion is not None else require_surfaces(surfaces)


def surface_shapes(surfaces: Sequence[Surface | None], size: float, middle: ArrayLike = (0, 0, 0)) -> tuple[Shape, ...]:
    """Shapes of surfaces for a robot at `middle` whose reach is about `size`, four times which planes are wide. [m]

    Example:
        >>> import appell
        >>> [shape.name for shape in surface_shapes([appell.surfaces.Circle(radius=2.5)], size=2.0)]
        ['surface0']
    """
    return tuple(
        Shape(
            f"surface{number}",
            WORLD,
            surface_mesh(surface, size, np.asarray(middle, dtype=float)),
            COLOUR,
            OPACITY,
            "surfaces",
        )
        for number, surface in enumerate(surfaces)
        if surface is not None
    )


@singledispatch
def surface_mesh(surface: Surface, size: float, middle: np.ndarray) -> Mesh:
    """The mesh of a surface, near `middle` if it is infinite; by default of what can be seen of it from there."""
    return _visible(lambda p: surface.gap_and_normal(p)[0], size, middle)


@surface_mesh.register
def _(surface: Plane, size: float, middle: np.ndarray) -> Mesh:
    nearest = middle - surface.gap(middle) * np.array(surface.normal)
    return _placed(box((4 * size, 4 * size, 0.004 * size)), nearest, surface.normal)


@surface_mesh.register
def _(surface: Circle, size: float, middle: np.ndarray) -> Mesh:
    return _placed(ring(surface.radius, WIRE * size), surface.center, surface.axis)


@surface_mesh.register
def _(surface: Cylinder, size: float, middle: np.ndarray) -> Mesh:
    half, axis, center = 2.0 * size, np.array(surface.axis), np.array(surface.center)
    tube = lathe([(surface.radius, -half), (surface.radius, half)], segments=96)
    return _placed(tube, center + (middle - center) @ axis * axis, axis)


@surface_mesh.register
def _(surface: Ellipse, size: float, middle: np.ndarray) -> Mesh:
    (a, b), axis, major = surface.semi_axes, np.array(surface.axis), np.array(surface.major)
    wire = ring(size, WIRE * size)  # along the ellipse in place of a circle
    x, y, z = wire.vertices.T
    cos, sin, aside = *(np.stack([x, y]) / np.hypot(x, y)), np.hypot(x, y) - size
    aside = aside / np.hypot(b * cos, a * sin)
    along = np.stack([(a + aside * b) * cos, (b + aside * a) * sin, z], axis=-1)
    return Mesh(surface.center + along @ np.stack([major, np.cross(axis, major), axis]), wire.faces)


@surface_mesh.register
def _(surface: Sphere, size: float, middle: np.ndarray) -> Mesh:
    return _placed(sphere(surface.radius), surface.center, (0.0, 0.0, 1.0))


def _placed(mesh: Mesh, center, axis) -> Mesh:
    """A mesh around the origin with its z along an axis, moved to a centre."""
    return mesh.transformed(pose_matrix(frame_along(np.asarray(axis, dtype=float)), center))


def _visible(gap: Callable[[np.ndarray], np.ndarray], size: float, middle: np.ndarray) -> Mesh:
    """Where rays from `middle` first meet a surface, up to two sizes away, or twice as far as its nearest point.

    What is at the height of `middle` is a wire as well, which is seen from above, too.
    """
    tilts, turns = np.linspace(-np.pi / 2, np.pi / 2, RAYS // 2 + 1), np.linspace(0.0, 2 * np.pi, RAYS + 1)
    tilt, turn = np.meshgrid(tilts, turns, indexing="ij")
    rays = np.stack([np.cos(tilt) * np.cos(turn), np.cos(tilt) * np.sin(turn), np.sin(tilt)], axis=-1)
    distance = _first_zeros(lambda d: gap(middle + rays * d[..., None]), tilt.shape, size)
    near = np.isfinite(distance) & (distance <= 2.0 * max(size, float(distance.min())))
    points = middle + rays * np.where(near, distance, 0.0)[..., None]
    whole = near[:-1, :-1] & near[:-1, 1:] & near[1:, 1:] & near[1:, :-1]
    number = np.arange(near.size).reshape(near.shape)
    a, b, c, d = (part[whole] for part in (number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]))
    used, faces = np.unique(
        np.concatenate([np.stack(three, axis=-1) for three in ((a, b, c), (a, c, d))]), return_inverse=True
    )
    level, seen = points[RAYS // 4], near[RAYS // 4]
    wire = [rod(level[k], level[k + 1], 0.5 * WIRE * size) for k in np.flatnonzero(seen[:-1] & seen[1:])]
    return joined([Mesh(points.reshape(-1, 3)[used], faces.reshape(-1, 3)), *wire])


def _first_zeros(values: Callable[[np.ndarray], np.ndarray], shape: tuple[int, ...], size: float) -> np.ndarray:
    """The first distances at which functions of distance change sign, infinite where they do not up to MAX_DISTANCE."""
    low, high, found = np.zeros(shape), np.full(shape, np.inf), np.sign(values(np.zeros(shape)))
    before = 0.0
    for d in size * np.concatenate([np.linspace(0.0, 2.0, 33)[1:], np.geomspace(2.1, MAX_DISTANCE, 16)]):
        changed = np.isinf(high) & (np.sign(values(np.full(shape, d))) != found)
        low, high, before = np.where(changed, before, low), np.where(changed, d, high), d
    for _ in range(25):
        between = np.where(np.isinf(high), 0.0, 0.5 * (low + high))
        same = np.sign(values(between)) == found
        low, high = np.where(same, between, low), np.where(same, high, between)
    return high
