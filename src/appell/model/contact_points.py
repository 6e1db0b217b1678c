"""Contact points of a robot from the collision shapes of its bodies.

| shape | points | error against a plane |
|---|---|---|
| sphere | its centre, with its radius | none |
| capsule | the centres of both ends, with its radius | none |
| box | its 8 corners | none |
| cylinder | n points on each rim; or with `rims` also both rims as circles | r (1 - cos(π / n)); with rims 2e-4 r |
| mesh | vertices of its convex hull, at most m | the largest distance of a vertex left out from the hull of those kept |

The error is how much deeper than its points a shape can be. The same holds inside other convex surfaces; obstacles that are
convex themselves can touch a shape between its points. Points inside the convex hull of others on the same link are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from appell.algebra import Vec3
from appell.checks import require_integer
from appell.errors import ModelWarning, warn_at_caller
from appell.meshes import MeshError, find_mesh, load_mesh
from appell.model.body import Geometry
from appell.model.point import Point
from appell.model.pose import triple
from appell.model.tree import BASE

if TYPE_CHECKING:
    from appell.model.description import Description

RIM_POINTS, HULL_VERTICES = 8, 16
"""Default numbers of points on a rim of a cylinder, and of vertices of a mesh."""
RIM_INSET = 1e-4
"""Part of the radius by which points of a cylinder are within it where its rims touch as circles."""


class ShapePoints(NamedTuple):
    """Points of a shape in the body's frame (k, 3), the radius around them and the error. [m]"""

    points: np.ndarray
    radius: float = 0.0
    error: float = 0.0


def contact_points(
    robot: Description, *, rim_points: int = RIM_POINTS, hull_vertices: int = HULL_VERTICES, rims: bool = False
) -> tuple[Point, ...]:
    """Contact points of the collision shapes of all moving bodies; none if the description has no shapes.

    Spheres and capsules are exact: their centres have a radius. Boxes have their corners, cylinders points on both rims, meshes
    vertices of their convex hull (`appell.model.contact_points` lists the errors). Bodies whose meshes cannot be read get
    their origin instead, with one warning; if no shape can be read, there are no points. They are the default points of
    `appell.simulate`.

    Args:
        rim_points: on each rim of a cylinder.
        hull_vertices: most vertices of a mesh.
        rims: whether cylinders have their rims as circles as well, so that wheels roll on planes without bumps.

    Example:
        >>> import appell
        >>> from appell.model.body import Geometry
        >>> builder = appell.RobotBuilder("ball").body("world")
        >>> builder = builder.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1), collisions=[Geometry("sphere", (0.2,))])
        >>> builder.floating("base", "world", "ball").build().contact_points()
        (Point(body='ball', offset=(0.0, 0.0, 0.0), radius=0.2, axis=None),)
    """
    require_integer("rim_points", rim_points, 3)
    require_integer("hull_vertices", hull_vertices, 4)
    folder = Path(robot.folder) if robot.folder else None
    found: list[Point] = []
    readable = 0
    missing: dict[str, str] = {}
    for body in robot.bodies:
        if robot.tree.frames[body.name].link == BASE:
            continue
        own = []
        for shape in body.collisions:
            try:
                points, radius, _ = shape_points(shape, folder, rim_points, hull_vertices)
            except MeshError as problem:
                missing[body.name] = str(problem)
                continue
            if rims and shape.kind == "cylinder":
                circles = rims_of(body.name, shape)
                centers = np.repeat([circle.offset for circle in circles], rim_points, axis=0)
                points, own = points + RIM_INSET * (centers - points), own + circles
            own += [Point(body.name, triple(point), radius) for point in points]
        found += own or ([Point(body.name)] if body.name in missing else [])
        readable += len(own)
    if missing:
        name, problem = next(iter(missing.items()))
        warn_at_caller(
            f"{robot.name}: collision meshes of {len(missing)} bodies cannot be used ({name!r}: {problem}). Bodies without other "
            "shapes touch surfaces with their origins; name other contact points, or put the meshes where they are searched.",
            ModelWarning,
        )
    return outermost(robot, tuple(dict.fromkeys(found))) if readable else ()


def outermost(robot: Description, points: Sequence[Point]) -> tuple[Point, ...]:
    """Points without those inside the convex hull of the others on the same link, which cannot touch a plane."""
    frames, by_link = robot.tree.frames, defaultdict(list)
    for point in points:
        by_link[frames[point.body].link].append(point)
    kept: set[Point] = set()
    for own in by_link.values():
        plain = [point for point in own if not point.radius]
        places = [frames[point.body].p + frames[point.body].R @ Vec3(*point.offset) for point in plain]
        indices = hull_indices(np.array([[float(x) for x in place] for place in places]).reshape(-1, 3))
        kept.update(point for point in own if point.radius)
        kept.update(plain[k] for k in indices)
    return tuple(point for point in points if point in kept)


def rims_of(body: str, shape: Geometry) -> list[Point]:
    """Both rims of a cylinder as circles."""
    (radius, length), R = shape.size, shape.pose.rotation
    ends = [np.array(shape.pose.xyz) + side * length / 2 * R[:, 2] for side in (-1.0, 1.0)]
    return [Point(body, triple(end), radius, triple(R[:, 2])) for end in ends]


def shape_points(
    shape: Geometry, folder: Path | None = None, rim_points: int = RIM_POINTS, hull_vertices: int = HULL_VERTICES
) -> ShapePoints:
    """The points of one shape. Raises `appell.meshes.MeshError` for meshes that cannot be read.

    Example:
        >>> shape_points(Geometry("cylinder", (0.1, 0.4)), rim_points=6).error  # doctest: +ELLIPSIS
        0.0133...
    """
    own = _POINTS[shape.kind](shape, folder, rim_points if shape.kind == "cylinder" else hull_vertices)
    return own._replace(points=own.points @ shape.pose.rotation.T + np.array(shape.pose.xyz))


def _sphere(shape: Geometry, folder: Path | None, count: int) -> ShapePoints:
    return ShapePoints(np.zeros((1, 3)), shape.size[0])


def _capsule(shape: Geometry, folder: Path | None, count: int) -> ShapePoints:
    radius, length = shape.size
    return ShapePoints(np.array([[0.0, 0.0, -length / 2], [0.0, 0.0, length / 2]]), radius)


def _box(shape: Geometry, folder: Path | None, count: int) -> ShapePoints:
    signs = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    return ShapePoints(signs * shape.size)


def _cylinder(shape: Geometry, folder: Path | None, count: int) -> ShapePoints:
    radius, length = shape.size
    angles = 2 * np.pi * np.arange(count) / count
    rim = np.stack([radius * np.cos(angles), radius * np.sin(angles), np.full(count, length / 2)], axis=-1)
    return ShapePoints(np.concatenate([rim * (1, 1, -1), rim]), 0.0, radius * (1.0 - float(np.cos(np.pi / count))))


def _mesh(shape: Geometry, folder: Path | None, count: int) -> ShapePoints:
    return hull_points(mesh_vertices(shape, folder), count)


def mesh_vertices(shape: Geometry, folder: Path | None) -> np.ndarray:
    """Vertices (n, 3) of a mesh in its own frame, each once."""
    path = find_mesh(shape.mesh, folder)
    return _vertices(path, path.stat().st_mtime_ns) * shape.size


_POINTS: dict[str, Callable[[Geometry, Path | None, int], ShapePoints]] = {
    "sphere": _sphere, "capsule": _capsule, "box": _box, "cylinder": _cylinder, "mesh": _mesh,
}  # fmt: skip


@lru_cache(maxsize=256)
def _vertices(path: Path, changed: int) -> np.ndarray:
    vertices = np.unique(np.asarray(load_mesh(path).vertices, dtype=float), axis=0)
    return vertices[hull_indices(vertices)]


def hull_points(vertices: np.ndarray, count: int) -> ShapePoints:
    """At most `count` vertices of the convex hull of points (n, 3).

    After the extreme ones along the axes, the vertex farthest outside the hull of the others is added.
    """
    corners = vertices[hull_indices(vertices)]
    if len(corners) <= count:
        return ShapePoints(corners)
    chosen = list(dict.fromkeys([*corners.argmin(axis=0).tolist(), *corners.argmax(axis=0).tolist()]))[:count]
    while len(chosen) < count:
        outside = distances_outside(corners, corners[chosen])
        outside[chosen] = -np.inf
        chosen.append(int(outside.argmax()))
    left = np.delete(corners, chosen, axis=0)
    return ShapePoints(corners[chosen], error=max(distance_to_hull(point, corners[chosen]) for point in left))


def hull_indices(points: np.ndarray) -> np.ndarray:
    """Indices of the vertices of the convex hull of points (n, 3); all of up to 4 points."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) <= 4:
        return np.arange(len(points))
    try:
        return np.sort(ConvexHull(points).vertices)
    except QhullError:  # in a plane: joggled by rounding errors, so that they span a volume
        return np.sort(ConvexHull(points, qhull_options="QJ").vertices)


def distances_outside(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Distances of points (n, 3) from the planes of the convex hull of corners; from the hull itself if it is flat."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        planes = ConvexHull(corners).equations
    except QhullError:
        return np.array([distance_to_hull(point, corners) for point in points])
    return (points @ planes[:, :3].T + planes[:, 3]).max(axis=1)


def distance_to_hull(point: np.ndarray, corners: np.ndarray) -> float:
    """Distance of a point to the convex hull of others, (n, 3). [m]

    Example:
        >>> round(distance_to_hull(np.array([0.0, 0.0, 2.0]), np.array([[0, 0, 1.0], [1, 0, 1], [0, 1, 1]])), 6)
        1.0
    """
    from scipy.optimize import nnls

    arms = (corners - point).T
    weight = 1e4 * float(np.abs(arms).max())  # of the condition that the shares of the corners add up to 1
    shares, _ = nnls(np.concatenate([arms, np.full((1, len(corners)), weight)]), np.array([0.0, 0.0, 0.0, weight]))
    return float(np.linalg.norm(arms @ (shares / shares.sum())))
