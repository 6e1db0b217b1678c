"""Distances of robots to surfaces and obstacles, against closed forms."""

from __future__ import annotations

import builtins

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell import Point, Pose
from appell.model.body import Geometry
from appell.robot.default_points import default_contact_points

FLOOR = appell.surfaces.Plane()


def free_body(*shapes: Geometry) -> appell.Robot:
    builder = appell.RobotBuilder("free").body("world").body("body", 1.0, inertia=(0.1, 0.1, 0.1), collisions=shapes)
    return builder.floating("base", "world", "body").build()


def placed(xyz, quaternion=(0.0, 0.0, 0.0, 1.0)) -> np.ndarray:
    return np.array([*xyz, *quaternion])


def test_sphere_above_a_floor() -> None:
    robot = free_body(Geometry("sphere", (0.2,), Pose((0.1, 0.0, 0.0))))
    found = robot.distances(placed((1.0, 2.0, 0.5)), FLOOR)
    assert found.bodies == ("body",)
    assert_close(found.distance, [[0.3]], tolerance=1e-15)
    assert_close(found.on_robot, [[[1.1, 2.0, 0.3]]], tolerance=1e-15)
    assert_close(found.on_surface, [[[1.1, 2.0, 0.0]]], tolerance=1e-15, scale=1.0)


def test_batches_and_several_surfaces() -> None:
    """Boxes by their corners, points by name; inside a sphere of 2 m."""
    robot = free_body(Geometry("box", (0.2, 0.4, 0.6)))
    q = np.array([[placed((0.0, 0.0, z)) for z in (0.5, 0.2)]])
    bowl = appell.surfaces.Sphere(radius=2.0)
    found = robot.distances(q, [FLOOR, bowl])
    assert found.distance.shape == (1, 2, 2, 1)
    assert found.on_robot.shape == (1, 2, 2, 1, 3)
    assert_close(found.distance[0, :, 0, 0], [0.2, -0.1], tolerance=1e-13)
    corner = np.linalg.norm([0.1, 0.2, 0.8])
    assert_close(found.distance[0, 0, 1, 0], np.array(2.0 - corner), tolerance=1e-14)
    gaps = np.linalg.norm(found.on_robot - found.on_surface, axis=-1)
    assert_close(gaps, np.abs(found.distance), tolerance=1e-13)
    named = robot.distances(q, FLOOR, points=["body", Point("body", (0.0, 0.0, 0.1), 0.05)])
    assert_close(named.distance[0, :, 0, 0], [0.5, 0.2], tolerance=1e-14)


@pytest.mark.parametrize(
    "wall",
    [
        appell.surfaces.Ellipse((1.5, 1.0)),
        appell.surfaces.ImplicitSurface(
            lambda p: (p[0] / 1.5) ** 2 + p[1] ** 2 - 1.0, lambda p: np.array([2.0 * p[0] / 2.25, 2.0 * p[1], 0.0])
        ),
    ],
)
def test_distances_to_curved_surfaces_are_not_of_first_order(wall) -> None:
    turns = np.linspace(0.0, 2.0 * np.pi, 200001)
    nearest = np.hypot(1.5 * np.cos(turns) - 0.9, np.sin(turns) + 0.5).min()
    for radius in (0.0, 0.1):
        found = free_body().distances(placed((0.9, -0.5, 0.0)), wall, points=[Point("body", radius=radius)])
        assert_close(found.distance[0], [nearest - radius], tolerance=1e-9, scale=1.0)
        foot = found.on_surface[0, 0]
        assert_close((foot[0] / 1.5) ** 2 + foot[1] ** 2, np.array(1.0), tolerance=1e-12)


def test_robots_without_shapes_have_joint_origins_and_tips() -> None:
    """The points that `appell.simulate` takes."""
    tree = appell.load("shafei_tree")
    q, wall = tree.initial_state[0], appell.surfaces.Circle(radius=2.5)
    found = tree.distances(q, wall)
    assert found.bodies == default_contact_points(tree)
    nearest = found.bodies[int(found.distance[0].argmin())]
    radius = np.linalg.norm(tree.pose(q, nearest)[:3, 3])
    assert_close(found.distance.min(), np.array(2.5 - radius), tolerance=1e-13)


def test_closed_loops_have_distances() -> None:
    """Those of their spanning tree, with the default points of `appell.simulate`."""
    robot, floor = appell.load("four_bar"), appell.surfaces.Plane(normal=(0, 1, 0), point=(0, -2, 0))
    q = robot.neutral_configuration()
    found = robot.distances(q, floor)
    heights = [robot.spanning_tree.pose(q, name)[1, 3] + 2.0 for name in found.bodies]
    assert_close(found.distance[0], np.array(heights), tolerance=1e-13)
    assert robot.contact_points() == ()
    named = robot.distances(np.stack([q, q]), floor, points=["rocker_link"])
    assert named.distance.shape == (2, 1, 1)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (Geometry("sphere", (0.2,)), 0.3),
        (Geometry("capsule", (0.1, 0.6)), 0.4),
        (Geometry("cylinder", (0.1, 0.6)), 0.4),
        (Geometry("box", (0.2, 0.2, 0.2)), 0.4),
        (Geometry("box", (0.2, 0.2, 0.2), Pose(rpy=(0.0, 0.0, np.pi / 4))), 0.5 - 0.1 * np.sqrt(2)),
    ],
)
def test_obstacles(shape: Geometry, expected: float) -> None:
    """A wall whose face is 0.5 m in front of the body along x."""
    pytest.importorskip("coal")
    wall = Geometry("box", (1.0, 10.0, 10.0), Pose((1.0, 0.0, 0.0)))
    q = np.stack([placed((0.0, 0.0, 0.0)), placed((0.8, 0.0, 0.0))])
    found = free_body(shape).distances(q, wall)
    assert_close(found.distance[:, 0, 0], [expected, expected - 0.8], tolerance=1e-6, scale=1.0)
    assert_close(found.on_surface[0, 0, 0, 0], np.array(0.5), tolerance=1e-6)


def test_meshes_are_their_convex_hulls(tmp_path) -> None:
    pytest.importorskip("coal")
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.icosphere(subdivisions=4, radius=1.0).export(tmp_path / "ball.stl")
    robot = free_body(Geometry("mesh", (0.2, 0.2, 0.2), mesh="ball.stl"))
    path = tmp_path / "free.urdf"
    robot.to_urdf(path)
    found = appell.load(path).distances(placed((0.0, 0.0, 0.0)), Geometry("sphere", (0.3,), Pose((0.0, 1.0, 0.0))))
    assert_close(found.distance, [[0.5]], tolerance=2e-3)


def test_errors(monkeypatch) -> None:
    robot, q = free_body(Geometry("sphere", (0.2,))), placed((0.0, 0.0, 1.0))
    with pytest.raises(appell.ArgumentError, match="surfaces has a str, expected surfaces such as"):
        robot.distances(q, ["floor"])
    with pytest.raises(appell.ArgumentError, match="body 'leg'"):
        robot.distances(q, FLOOR, points=["leg"])
    real = builtins.__import__

    def without_coal(name, *rest):
        if name == "coal":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_coal)
    with pytest.raises(appell.AppellError, match=r"appell\[collision\]"):
        robot.distances(q, Geometry("sphere", (0.3,)))


def test_an_obstacle_without_its_mesh_is_an_argument_error() -> None:
    pytest.importorskip("coal")
    with pytest.raises(appell.ArgumentError, match=r"an obstacle cannot be used: mesh 'missing\.stl' was not found"):
        free_body(Geometry("sphere", (0.1,))).distances(
            placed((0.0, 0.0, 1.0)), Geometry("mesh", (1, 1, 1), mesh="missing.stl")
        )
