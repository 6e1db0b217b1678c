"""Points that may touch walls."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import particle, rod, stacked_rod
from helpers.random_trees import SMALL_TREES, over

import appell
from appell import Point, Pose
from appell.model.body import Geometry
from appell.robot.default_points import default_contact_points
from appell.simulation.contact.pairs import ContactPoints, contact_points_of


@over([*SMALL_TREES, appell.load("shafei_tree"), rod(3)])
def test_motion_agrees_with_pose_and_jacobians(robot):
    names = robot.body_names
    points = ContactPoints(robot, [Point(name) for name in names])
    rng = np.random.default_rng(0)
    q, qd = robot.random_configuration(3), rng.uniform(-1, 1, robot.nv)
    motion = points.kinematics(q, qd)
    for i, name in enumerate(names):
        J = robot.jacobian(q, name)[:3]
        assert_close(motion.p[i], robot.pose(q, name)[:3, 3], tolerance=1e-13, scale=5.0)
        assert_close(motion.J[i], J, tolerance=1e-13, scale=5.0)
        assert_close(motion.v[i], J @ qd, tolerance=1e-13, scale=20.0)
        assert_close(motion.a[i], robot.jacobian_rate(q, qd, name)[:3] @ qd, tolerance=1e-12, scale=100.0)


def test_paths_are_motions_of_many_states():
    robot = appell.load("shafei_tree")
    points = ContactPoints(robot, (Point("O1"), Point("O8")))
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 5, 12))
    p, v = points.positions_and_velocities(q, qd)
    assert p.shape == v.shape == (5, 2, 3)
    for i in range(5):
        one = points.kinematics(q[i], qd[i])
        assert_close(p[i], one.p, scale=1.0)
        assert_close(v[i], one.v, scale=1.0)
        assert_close(points.positions_and_velocities(q[i : i + 1], qd[i : i + 1])[0][0], p[i], tolerance=0.0)


def test_default_points_are_joint_origins_and_tips():
    assert default_contact_points(appell.load("planar2r")) == ("link2",)
    assert default_contact_points(particle()) == ("p",)
    assert default_contact_points(rod(2)) == ("rod", "P0", "P1")
    assert default_contact_points(stacked_rod()) == ("rod", "P0", "P1")
    assert default_contact_points(appell.load("shafei_tree")) == tuple(f"O{i}" for i in range(1, 12))


def test_unknown_points_are_refused_by_name():
    robot = appell.load("shafei_tree")
    with pytest.raises(appell.ArgumentError, match=r"unknown body 'O12'.*Did you mean 'O"):
        contact_points_of(robot, ["O1", "O12"])
    assert contact_points_of(robot, ["O3", Point("O1"), "O3"]) == (Point("O3"), Point("O1"))


@pytest.mark.parametrize("method", ["DOP853", "moreau"])
@pytest.mark.parametrize("limits", ["report", "stop"])
def test_points_that_cannot_touch_are_an_error(method, limits):
    """They were passed over in silence."""
    robot, floor = appell.load("planar2r"), appell.surfaces.Plane(point=(0, 0, -3))
    for points, text in (([], "has no moving points for contact"), (["link2", "base"], "'base' is fixed to the world")):
        with pytest.raises(appell.ArgumentError, match=text):
            appell.simulate(
                robot, [0.0, 0.0], [0.0, 0.0], 0.1, surfaces=floor, contact=appell.ContactOptions(points), method=method,
                limits=limits,
            )  # fmt: skip


def ball(radius: float = 0.1, mass: float = 2.0) -> appell.Robot:
    """A homogeneous ball, touched where its shape is, besides its centre."""
    inertia = (0.4 * mass * radius**2,) * 3
    shape = Geometry("sphere", (radius,), Pose((0.0, 0.0, 0.0)))
    builder = appell.RobotBuilder("ball").body("world").body("ball", mass, inertia=inertia, collisions=[shape])
    return builder.floating("base", "world", "ball").build()


def test_default_points_are_those_of_the_shapes():
    assert contact_points_of(ball(), None) == (Point("ball", radius=0.1),)
    assert contact_points_of(ball(), [Point("ball", radius=0.0), Point("ball", radius=0.3)]) == (
        Point("ball", radius=0.3),
    )


def test_offsets_and_radii_are_those_of_a_point_on_the_body():
    """A rod falls on its end, given as an offset; a ball bounces at its radius."""
    floor = appell.surfaces.Plane(restitution=0.5)
    robot = particle()
    motion = appell.simulate(
        ball(),
        [0, 0, 0.6, 0, 0, 0, 1],
        np.zeros(6),
        0.5,
        surfaces=floor,
        contact=appell.ContactOptions(restitution=0.5),
    )
    assert_close(motion.impacts[0].time, np.array(np.sqrt(2 * 0.5 / 9.81)), tolerance=1e-9)
    assert motion.impacts[0].points == ("ball",)
    offset = appell.ContactOptions([Point("ball", (0.0, 0.0, -0.2))], restitution=0.5)
    motion = appell.simulate(ball(), [0, 0, 0.6, 0, 0, 0, 1], np.zeros(6), 0.5, surfaces=floor, contact=offset)
    assert_close(motion.impacts[0].time, np.array(np.sqrt(2 * 0.4 / 9.81)), tolerance=1e-9)
    assert motion.impacts[0].points == ("ball(0, 0, -0.2)",)
    assert robot.contact_points() == ()


def test_names_of_points_do_not_show_rounding():
    assert str(Point("l", (0.1 * np.cos(np.pi / 2), 0.02, -0.1))) == "l(0, 0.02, -0.1)"
    assert str(Point("l", (0.0, -1e-17, 0.0))) == "l"
    assert str(Point("l", (0.0, -1e-9, 0.0))) == "l(0, -1e-09, 0)"


def test_a_sliding_ball_begins_to_roll():
    """After t = 2 v / (7 μ g) it rolls at 5/7 of its velocity, and friction does no more work."""
    speed, mu = 1.0, 0.2
    floor = appell.surfaces.Plane(friction=mu, restitution=0.0)
    start = [0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0], [speed, 0, 0, 0, 0, 0]
    motion = appell.simulate(ball(), *start, 0.4, surfaces=floor, t_eval=0.2)
    rolling = 2 * speed / (7 * mu * 9.81)
    assert 0.1 < rolling < 0.2
    v = np.array([ball().jacobian(q, "ball") @ qd for q, qd in zip(motion.q, motion.qd, strict=True)])
    assert_close(v[-1], [5 / 7 * speed, 0, 0, 0, 5 / 7 * speed / 0.1, 0], tolerance=1e-8)
    assert_close(v[1], v[-1], tolerance=1e-8)
    lost = 0.5 * 2.0 * speed**2 * 2 / 7
    assert_close(motion.work.contact[-1], np.array(-lost), tolerance=1e-7)


def test_a_ball_rolls_in_a_bowl():
    """It keeps its energy, stays on the surface, and its small oscillations have ω² = 5 g / (7 (R - r))."""
    R, r, angle = 1.0, 0.1, 0.02
    bowl = appell.surfaces.Sphere(radius=R, center=(0.0, 0.0, R), friction=5.0, restitution=0.0)
    start = [(R - r) * np.sin(angle), 0.0, R - (R - r) * np.cos(angle), 0.0, 0.0, 0.0, 1.0]
    omega = np.sqrt(5 * 9.81 / (7 * (R - r)))
    motion = appell.simulate(ball(r), start, np.zeros(6), np.pi / omega, surfaces=bowl, method="RK45")
    assert_close(motion.q[-1, 0], np.array(-start[0]), tolerance=1e-3)
    assert np.abs(motion.balance).max() < 1e-6
    depth = np.linalg.norm(motion.q[:, :3] - [0, 0, R], axis=1) - (R - r)
    assert np.abs(depth).max() < 1e-8


def valley(**options) -> list[appell.surfaces.Surface]:
    """An ellipse about the y axis, twice."""
    return [
        appell.surfaces.Ellipse((1.5, 1.0), axis=(0, 1, 0), **options),
        appell.surfaces.ImplicitSurface(
            lambda p: (p[0] / 1.5) ** 2 + p[2] ** 2 - 1.0,
            lambda p: np.array([2 * p[0] / 2.25, 0.0, 2 * p[2]]),
            **options,
        ),
    ]


@pytest.mark.parametrize("method", ["DOP853", "moreau"])
@pytest.mark.parametrize("kind", [0, 1])
def test_a_ball_touches_curved_surfaces_with_its_nearest_point(method, kind):
    """It rolls: its centre stays a radius away from the ellipse, and its energy changes by the work of contact."""
    bowl = valley(friction=2.0, restitution=0.0)[kind]
    start = [0.5, 0.0, -0.5, 0.0, 0.0, 0.0, 1.0]
    motion = appell.simulate(ball(), start, np.zeros(6), 0.6, surfaces=bowl, method=method, t_eval=0.01)
    turns = np.linspace(0.0, 2.0 * np.pi, 100001)
    x, z = 1.5 * np.cos(turns), np.sin(turns)
    distance = np.array([np.hypot(x - p[0], z - p[2]).min() for p in motion.q])
    assert distance.min() > 0.1 - 1e-6
    assert motion.contacts
    assert distance[-1] < 0.1 + 1e-6
    assert np.abs(motion.balance).max() < 1e-6
    assert not motion.problems


def test_oscillations_in_a_valley_have_its_radius_of_curvature():
    """ω² = 5 g / (7 (a²/b - r)) at the bottom of an ellipse."""
    omega = np.sqrt(5 * 9.81 / (7 * (1.5**2 - 0.1)))
    start, bowl = [0.01, 0.0, -0.89998, 0.0, 0.0, 0.0, 1.0], valley(friction=5.0, restitution=0.0)[0]
    start[2] += 0.1 - bowl.gap(start[:3]).item() + 1e-13
    motion = appell.simulate(ball(), start, np.zeros(6), np.pi / omega, surfaces=bowl)
    assert_close(motion.q[-1, 0], np.array(-0.01), tolerance=1e-3)


def test_a_sphere_that_an_ellipse_would_touch_twice_is_refused():
    tight = appell.surfaces.Ellipse((1.0, 0.3), axis=(0, 1, 0))
    with pytest.raises(
        appell.ArgumentError, match=r"radius 0.1, expected less than 0.09, .* it would touch on two sides"
    ):
        appell.simulate(ball(), [0, 0, 0, 0, 0, 0, 1], np.zeros(6), 0.1, surfaces=tight)
    outside = appell.surfaces.Ellipse((1.0, 0.3), axis=(0, 1, 0), side="outside")
    appell.simulate(ball(), [0, 0, 1, 0, 0, 0, 1], np.zeros(6), 0.1, surfaces=outside)
