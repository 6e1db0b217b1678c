"""Contact points of collision shapes: they support the shapes in every direction, up to the stated error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell import Point, Pose
from appell.model.body import Geometry
from appell.model.contact_points import hull_points, shape_points

POSE = Pose((0.3, -0.2, 0.1), (0.4, 0.5, -0.6))
DIRECTIONS = np.random.default_rng(0).normal(size=(2000, 3))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)


def support(kind: str, size, n: np.ndarray) -> np.ndarray:
    """Largest n · x over a shape in its own frame, for unit vectors n (N, 3)."""
    z, side = np.abs(n[:, 2]), np.hypot(n[:, 0], n[:, 1])
    return {
        "sphere": lambda r: np.full(len(n), r),
        "capsule": lambda r, h: r + z * h / 2,
        "cylinder": lambda r, h: r * side + z * h / 2,
        "box": lambda *edges: np.abs(n) @ np.array(edges) / 2,
    }[kind](*size)


@pytest.mark.parametrize(
    ("kind", "size"), [("sphere", (0.2,)), ("capsule", (0.1, 0.5)), ("cylinder", (0.1, 0.5)), ("box", (0.1, 0.2, 0.3))]
)
def test_points_support_the_shape(kind: str, size) -> None:
    points, radius, error = shape_points(Geometry(kind, size, POSE))
    own = DIRECTIONS @ POSE.rotation  # along the shape's axes
    true = support(kind, size, own) + DIRECTIONS @ np.array(POSE.xyz)
    missing = true - (DIRECTIONS @ points.T).max(axis=1) - radius
    assert missing.min() > -1e-14
    assert missing.max() <= error + 1e-14
    if kind == "cylinder":
        assert missing.max() > 0.9 * error > 0.0
    else:
        assert error == 0.0


@pytest.mark.parametrize("count", [4, 8, 16, 40])
def test_vertices_of_a_mesh(count: int) -> None:
    """At most so many vertices of the hull; the error is the largest one over all directions."""
    cloud = np.random.default_rng(1).normal(size=(300, 3))
    cloud *= np.array([1.0, 0.5, 0.2]) / np.linalg.norm(cloud, axis=1, keepdims=True)
    points, radius, error = hull_points(cloud, count)
    assert len(points) == count
    assert radius == 0.0
    missing = (DIRECTIONS @ cloud.T).max(axis=1) - (DIRECTIONS @ points.T).max(axis=1)
    assert missing.min() > -1e-12
    assert 0.7 * error < missing.max() <= error + 1e-7
    if count == 40:
        assert error < 0.05


def test_flat_and_small_meshes() -> None:
    square = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0.5, 0.0]])
    assert len(hull_points(square[:3], 16).points) == 3
    points, _, error = hull_points(square, 16)
    assert {tuple(point) for point in points} >= {tuple(point) for point in square[:4]}
    assert error == 0.0
    ring = np.array([[np.cos(a), np.sin(a), 0.0] for a in 2 * np.pi * np.arange(40) / 40])
    points, _, error = hull_points(ring, 20)
    assert error < 0.03


def walker(**body) -> appell.Robot:
    builder = appell.RobotBuilder("walker").body("world", collisions=[Geometry("box", (9, 9, 1))])
    builder = builder.body("trunk", 3.0, inertia=(0.1, 0.1, 0.1), **body).body(
        "foot", collisions=[Geometry("sphere", (0.02,))]
    )
    return builder.floating("base", "world", "trunk").fixed("ankle", "trunk", "foot", xyz=(0, 0, -0.5)).build()


def test_points_of_a_robot() -> None:
    """Of bodies that move, without points inside the hull of others on the same link."""
    inside = Geometry("box", (0.1, 0.1, 0.1))
    outside = Geometry("box", (0.4, 0.4, 0.4))
    points = walker(collisions=[inside, outside]).contact_points()
    assert len(points) == 9
    assert points[-1] == Point("foot", radius=0.02)
    assert {point.offset for point in points[:-1]} == {
        (x, y, z) for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (-0.2, 0.2)
    }
    assert appell.load("puma560").contact_points() == ()


def test_meshes_are_read_beside_the_description_and_scaled(tmp_path) -> None:
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((1.0, 2.0, 3.0)).export(tmp_path / "brick.stl")
    robot = walker(collisions=[Geometry("mesh", (0.1, 0.1, 0.1), mesh="brick.stl")])
    path = tmp_path / "walker.urdf"
    robot.to_urdf(path)
    offsets = np.array([point.offset for point in appell.load(path).contact_points() if point.body == "trunk"])
    assert len(offsets) == 8
    assert_close(np.abs(offsets).max(axis=0), [0.05, 0.1, 0.15], tolerance=1e-7)


def test_missing_meshes_give_origins_and_one_warning() -> None:
    robot = walker(collisions=[Geometry("mesh", (1.0, 1.0, 1.0), mesh="nowhere.stl")])
    with pytest.warns(
        appell.ModelWarning, match=r"collision meshes of 1 bodies .*'trunk': mesh 'nowhere.stl' was not found"
    ):
        assert robot.contact_points() == (Point("trunk"), Point("foot", radius=0.02))
    bodies = tuple(replace(body, collisions=()) if body.name == "foot" else body for body in robot.bodies)
    with pytest.warns(appell.ModelWarning, match="cannot be used"):
        assert replace(robot, bodies=bodies).contact_points() == ()


def test_texts_of_points() -> None:
    """Names with numbers after a colon, or in brackets; everything else is a name."""
    for point in (Point("foot"), Point("a:b", (0.5, -1e-3, 3.0)), Point("a(1)", (1.0, 2.0, 3.0))):
        assert Point.from_text(str(point)) == point
    assert Point.from_text("foot:.1,2,-3e-1,0.02") == Point("foot", (0.1, 2.0, -0.3), 0.02)
    assert Point.from_text("foot:1,2") == Point("foot:1,2")
    assert Point.from_text("wheel:0,0,1,0.1,0,2,0") == Point("wheel", (0.0, 0.0, 1.0), 0.1, (0.0, 1.0, 0.0))
    assert Point.from_text("wheel:0,0,1,0.1,0,2") == Point("wheel:0,0,1,0.1,0,2")
    with pytest.raises(appell.ArgumentError, match="radius of 'foot' is -1"):
        Point.from_text("foot:0,0,0,-1")


def test_arguments() -> None:
    robot = walker()
    with pytest.raises(appell.ArgumentError, match="rim_points is 2, expected an integer >= 3"):
        robot.contact_points(rim_points=2)
    with pytest.raises(appell.ArgumentError, match="hull_vertices is 3, expected an integer >= 4"):
        robot.contact_points(hull_vertices=3)
