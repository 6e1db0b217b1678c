"""Distances of a robot to contact surfaces and to obstacles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_choice
from appell.errors import AppellError, ArgumentError
from appell.meshes import MeshError
from appell.model.body import Geometry
from appell.model.contact_points import mesh_vertices
from appell.model.point import Point
from appell.robot.default_points import default_points

if TYPE_CHECKING:
    from appell.robot.robot import Robot


@runtime_checkable
class SurfaceProtocol(Protocol):
    """A contact surface, such as those of `appell.surfaces`."""

    def distance_and_normal(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...


class Distances(NamedTuple):
    """Distances of bodies to surfaces and obstacles, and the closest points in the world.

    Attributes:
        bodies: names of the n bodies.
        distance: (..., surfaces, n), negative for bodies behind a surface or inside an obstacle. [m]
        on_robot, on_surface: closest points, (..., surfaces, n, 3). [m]
    """

    bodies: tuple[str, ...]
    distance: np.ndarray
    on_robot: np.ndarray
    on_surface: np.ndarray


Nearest = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Distances (N, n), and points on robot and surface, (N, n, 3)."""


def distances(robot: Robot, q: ArrayLike, surfaces: Any, points: Sequence[str | Point] | None = None) -> Distances:
    """Smallest distances of the bodies of a robot to contact surfaces and obstacles, with the closest points.

    Surfaces of `appell.surfaces` are met by points: those of `contact_points` with the errors given there, or joint origins and
    tips where the robot has no collision shapes, as in `appell.simulate`. Obstacles are shapes (`appell.model.body.Geometry`),
    with their pose in the world; to these the distances of the collision shapes themselves are computed by the library coal
    (`pip install 'appell[collision]'`), where meshes are their convex hulls. Distances of bodies to each other are not computed.

    Args:
        q: configurations (..., nq).
        surfaces: surfaces and obstacles, or one of them.
        points: points or bodies instead of the default ones, for surfaces.

    Example:
        >>> import appell
        >>> arm, floor = appell.load("planar2r"), appell.surfaces.Plane(point=(0, 0, -3), normal=(0, 0, 1))
        >>> found = arm.distances([0.3, 0.2], floor, points=[appell.Point("link2", (1.0, 0.0, 0.0))])
        >>> found.bodies, found.distance.tolist()
        (('link2',), [[3.0]])
    """
    listed = [surfaces] if isinstance(surfaces, (SurfaceProtocol, Geometry)) else list(surfaces)
    q = np.asarray(robot.vector("q", q), dtype=float)
    by_body = candidates(robot, points)
    rows = q.reshape(-1, q.shape[-1])
    poses = {name: robot.pose(rows, name) for name in by_body}
    found = []
    for surface in listed:
        if isinstance(surface, Geometry):
            found.append(_to_obstacle(robot, poses, by_body, surface))
        elif isinstance(surface, SurfaceProtocol):
            found.append(_to_surface(poses, by_body, surface))
        else:
            raise ArgumentError(
                f"surfaces has a {type(surface).__name__}, expected surfaces such as appell.surfaces.Plane(), or a Geometry."
            )
    lead, n = q.shape[:-1], len(by_body)
    shapes = ((n,), (n, 3), (n, 3))
    joined = (
        np.stack([each[k] for each in found], axis=1).reshape(*lead, len(found), *shape)
        if found else np.zeros((*lead, 0, *shape))
        for k, shape in enumerate(shapes)
    )  # fmt: skip
    return Distances(tuple(by_body), *joined)


def candidates(robot: Robot, points: Sequence[str | Point] | None) -> dict[str, list[Point]]:
    """Points of each body, in the order given."""
    points = default_points(robot) if points is None else points
    result: dict[str, list[Point]] = {}
    for point in points:
        own = point if isinstance(point, Point) else Point(point)
        result.setdefault(require_choice("body", own.body, robot.body_names), []).append(own)
    return result


def _to_surface(poses: dict[str, np.ndarray], by_body: dict[str, list[Point]], surface: SurfaceProtocol) -> Nearest:
    """The nearest of the points of each body."""
    found: list[Nearest] = []
    for body, points in by_body.items():
        pose, radius = poses[body], np.array([point.radius for point in points])
        centres = np.einsum("nij,kj->nki", pose[:, :3, :3], [point.offset for point in points]) + pose[:, None, :3, 3]
        gap, normal = surface.distance_and_normal(centres)
        nearest = np.argmin(gap - radius, axis=1)
        rows = np.arange(len(nearest))
        distance, n = (gap - radius)[rows, nearest], normal[rows, nearest]
        on_robot = centres[rows, nearest] - radius[nearest, None] * n
        found.append((distance, on_robot, on_robot - distance[:, None] * n))
    return _joined(found)


def _to_obstacle(
    robot: Robot, poses: dict[str, np.ndarray], by_body: dict[str, list[Point]], obstacle: Geometry
) -> Nearest:
    """The nearest of the shapes of each body, by coal; of its points where it has no shapes."""
    coal = import_coal()
    folder = Path(robot.folder) if robot.folder else None
    there = _obstacle_solid(coal, obstacle, folder)
    place = coal.Transform3s(obstacle.pose.rotation, np.array(obstacle.pose.xyz))
    request, found = coal.DistanceRequest(), []
    request.enable_signed_distance = True
    for body, points in by_body.items():
        solids = body_solids(coal, robot, body, points, folder)
        own = np.empty((len(poses[body]), 7))
        for k, pose in enumerate(poses[body]):
            nearest = np.full(7, np.inf)
            for solid, R, p in solids:
                result = coal.DistanceResult()
                here = coal.Transform3s(pose[:3, :3] @ R, pose[:3, :3] @ p + pose[:3, 3])
                distance = coal.distance(solid, here, there, place, request, result)
                if distance < nearest[0]:
                    nearest = np.array([distance, *result.getNearestPoint1(), *result.getNearestPoint2()])
            own[k] = nearest
        found.append((own[:, 0], own[:, 1:4], own[:, 4:]))
    return _joined(found)


def _joined(found: list[Nearest]) -> Nearest:
    distance, on_robot, on_surface = (np.stack(each, axis=1) for each in zip(*found, strict=True))
    return distance, on_robot, on_surface


def body_solids(coal: Any, robot: Robot, body: str, points: Sequence[Point], folder: Path | None) -> list[tuple]:
    """Solids of coal, with rotation and position in the body's frame."""
    shapes = ((_readable(coal, shape, folder), shape.pose) for shape in robot.body(body).collisions)
    solids = [(solid, pose.rotation, np.array(pose.xyz)) for solid, pose in shapes if solid is not None]
    return solids or [(coal.Sphere(point.radius), np.eye(3), np.array(point.offset)) for point in points]


def import_coal() -> Any:
    """The library coal, or an error that names the extra."""
    try:
        import coal
    except ImportError:
        raise AppellError("distances to obstacles need coal. Run: pip install 'appell[collision]'") from None
    return coal


def _obstacle_solid(coal: Any, obstacle: Geometry, folder: Path | None) -> Any:
    try:
        return _solid(coal, obstacle, folder)
    except MeshError as error:
        raise ArgumentError(
            f"an obstacle cannot be used: {error}. Give the path of its file, or another shape."
        ) from None


def _readable(coal: Any, shape: Geometry, folder: Path | None) -> Any:
    """The solid, or None for a mesh that cannot be read: `contact_points` warns of these."""
    try:
        return _solid(coal, shape, folder)
    except MeshError:
        return None


def _solid(coal: Any, shape: Geometry, folder: Path | None) -> Any:
    return _SOLIDS[shape.kind](coal, shape, folder)


def _convex(coal: Any, shape: Geometry, folder: Path | None) -> Any:
    return _convex_hull(coal, mesh_vertices(shape, folder).tobytes())


@lru_cache(maxsize=256)
def _convex_hull(coal: Any, data: bytes) -> Any:
    from scipy.spatial import ConvexHull

    hull = ConvexHull(np.frombuffer(data).reshape(-1, 3))
    new = {int(old): k for k, old in enumerate(hull.vertices)}
    points, faces = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    points.extend([hull.points[k] for k in hull.vertices])
    for face, normal in zip(hull.simplices, hull.equations[:, :3], strict=True):
        a, b, c = hull.points[face]
        order = face if np.cross(b - a, c - a) @ normal > 0.0 else face[::-1]
        faces.append(coal.Triangle(*(new[int(k)] for k in order)))
    return coal.Convex(points, faces)


_SOLIDS: dict[str, Callable[[Any, Geometry, Path | None], Any]] = {
    "sphere": lambda coal, shape, folder: coal.Sphere(*shape.size),
    "capsule": lambda coal, shape, folder: coal.Capsule(*shape.size),
    "cylinder": lambda coal, shape, folder: coal.Cylinder(*shape.size),
    "box": lambda coal, shape, folder: coal.Box(*shape.size),
    "mesh": _convex,
}
