"""Walls: gaps, normals and bends agree with each other and with differences."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.simulation.contact.surfaces import Surface


def torus_like() -> appell.surfaces.ImplicitSurface:
    """A wall that bends differently everywhere, without its second derivatives."""
    return appell.surfaces.ImplicitSurface(
        lambda p: p[0] ** 2 + 2 * p[1] ** 2 + 0.3 * p[2] ** 4 - 1.0 + 0.2 * np.sin(p[0] * p[2]),
        lambda p: np.array([
            2 * p[0] + 0.2 * p[2] * np.cos(p[0] * p[2]), 4 * p[1], 1.2 * p[2] ** 3 + 0.2 * p[0] * np.cos(p[0] * p[2]),
        ]),
    )  # fmt: skip


def quadric() -> appell.surfaces.ImplicitSurface:
    A = np.diag([1.0, 2.0, 0.5])
    return appell.surfaces.ImplicitSurface(
        lambda p: p @ A @ p - 1.0, lambda p: 2 * A @ p, "outside", hessian=lambda p: 2 * A
    )


WALLS = [
    appell.surfaces.Circle(2.5),
    appell.surfaces.Circle(1.0, center=(0.3, -0.2, 5.0), axis=(0, 1, 0), side="outside"),
    appell.surfaces.Cylinder(0.7, axis=(1, 2, 3)),
    appell.surfaces.Sphere(1.5, center=(0.1, 0.2, 0.3), side="outside"),
    appell.surfaces.Plane((1, -2, 0.5), point=(0, 1, 0)),
    appell.surfaces.Ellipse((2.0, 0.5), center=(0.1, 0, 0), major=(0, 1, 1), axis=(1, 0, 0)),
    torus_like(),
    quadric(),
]
walls = pytest.mark.parametrize("wall", WALLS, ids=[f"{i}-{type(wall).__name__}" for i, wall in enumerate(WALLS)])
POINTS = np.random.default_rng(0).uniform(-1.2, 1.2, (7, 3))
VELOCITIES = np.random.default_rng(1).uniform(-1.0, 1.0, (7, 3))


def on_the_wall(wall: Surface, p: np.ndarray) -> np.ndarray:
    for _ in range(60):
        gap, normal = wall.gap_and_normal(p)
        p = p - gap[..., None] * normal
    return p


@walls
def test_normals_have_length_one_and_show_to_larger_gaps(wall: Surface):
    p = on_the_wall(wall, POINTS)
    gap, normal = wall.gap_and_normal(p)
    assert_close(gap, np.zeros(7), scale=1.0, tolerance=1e-12)
    assert_close(np.linalg.norm(normal, axis=-1), np.ones(7))
    h = 1e-6
    for i in range(3):
        step = h * np.eye(3)[i]
        slope = (wall.gap(p + step) - wall.gap(p - step)) / (2 * h)
        assert_close(slope, normal[:, i], tolerance=1e-7, scale=1.0)


@walls
def test_bend_is_the_second_derivative_of_the_gap_on_the_wall(wall: Surface):
    """Along p + v t with v in the tangent, where the gap of first order is exact to second order."""
    p = on_the_wall(wall, POINTS)
    normal = wall.normal_at(p)
    v = VELOCITIES - np.sum(VELOCITIES * normal, axis=-1, keepdims=True) * normal
    h = 1e-3
    second = (wall.gap(p + h * v) - 2 * wall.gap(p) + wall.gap(p - h * v)) / h**2
    assert_close(second, wall.curvature_acceleration(p, v), tolerance=1e-4, scale=max(1.0, float(np.abs(second).max())))


@walls
def test_rates_of_spheres_are_derivatives_of_the_distance(wall: Surface):
    """Half a radius of curvature away at most, where the nearest point moves smoothly."""
    p = on_the_wall(wall, POINTS)
    p = p + 0.05 * wall.normal_at(p)
    h = 1e-4
    distance, normal, curvature, turn = wall.sphere_motion(p, VELOCITIES)
    ahead, behind = (wall.distance_and_normal(p + step * VELOCITIES) for step in (h, -h))
    assert_close(distance, np.full(7, 0.05), tolerance=1e-12, scale=1.0)
    rate = (ahead[0] - behind[0]) / (2 * h)
    assert_close(rate, np.sum(normal * VELOCITIES, axis=-1), tolerance=1e-6, scale=1.0)
    assert_close((ahead[0] - 2 * distance + behind[0]) / h**2, curvature, tolerance=1e-5, scale=10.0)
    assert_close((ahead[1] - behind[1]) / (2 * h), turn, tolerance=1e-5, scale=10.0)


def nearest_of(curve: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Distances of points (k, 2) to a curve, by search."""
    return np.array([np.sqrt(((curve - each) ** 2).sum(axis=1).min()) for each in p])


@pytest.mark.parametrize("semi_axes", [(1.5, 1.0), (0.5, 2.0), (1.0, 1.0)])
def test_distances_to_an_ellipse_are_those_of_the_nearest_point(semi_axes):
    """Everywhere: also at the centre, on the axes, and far away."""
    turns, (a, b) = np.linspace(0.0, 2.0 * np.pi, 100001), semi_axes
    places = np.vstack([1.5 * POINTS[:, :2], [[0, 0], [0.1, 0], [0, 0.1], [a, 0], [0, b], [-a + 0.01, 0], [20, 1]]])
    expected = nearest_of(np.stack([a * np.cos(turns), b * np.sin(turns)], axis=1), places)
    expected *= np.where((places / semi_axes) ** 2 @ np.ones(2) <= 1.0, 1.0, -1.0)
    spatial = np.column_stack([places, POINTS[:1, 0].repeat(len(places))])
    assert_close(appell.surfaces.Ellipse(semi_axes).gap(spatial), expected, tolerance=1e-7, scale=1.0)


def test_distances_to_implicit_surfaces_are_those_of_the_nearest_point():
    ball = appell.surfaces.ImplicitSurface(lambda p: p @ p - 1.0, lambda p: 2.0 * p)
    places = np.vstack([POINTS, np.zeros((1, 3))])
    assert_close(ball.gap(places), 1.0 - np.linalg.norm(places, axis=1), tolerance=1e-12, scale=1.0)
    x = np.linspace(-3.0, 3.0, 100001)
    wave = appell.surfaces.ImplicitSurface(
        lambda p: p[2] - 0.1 * np.sin(3 * p[0]), lambda p: np.array([-0.3 * np.cos(3 * p[0]), 0.0, 1.0]), "outside"
    )
    above = POINTS * [1.0, 1.0, 0.0] + [0.0, 0.0, 0.4]
    expected = nearest_of(np.stack([x, 0.1 * np.sin(3 * x)], axis=1), above[:, [0, 2]])
    assert_close(wave.gap(above), expected, tolerance=1e-7, scale=1.0)


def test_where_no_nearest_point_is_found_the_gap_is_that_of_first_order():
    bounded = appell.surfaces.ImplicitSurface(lambda p: np.exp(-p @ p) + 1.0, lambda p: -2.0 * p * np.exp(-p @ p))
    assert bounded.nearest(np.array([0.3, 0.0, 0.0])) is None
    assert bounded.gap([0.3, 0.0, 0.0]) == bounded.gap_and_normal(np.array([0.3, 0.0, 0.0]))[0]


@walls
def test_leading_dimensions_are_kept(wall: Surface):
    p = POINTS[:6].reshape(2, 3, 3)
    assert wall.gap(p).shape == (2, 3)
    assert_close(wall.gap(p).ravel(), wall.gap(POINTS[:6]), tolerance=0.0)
    assert_close(wall.normal_at(p[0, 0]), wall.normal_at(POINTS[0]), tolerance=0.0)


def test_sides_are_opposite():
    inside, outside = appell.surfaces.Sphere(2.0), appell.surfaces.Sphere(2.0, side="outside")
    assert_close(inside.gap(POINTS), -outside.gap(POINTS), tolerance=0.0)


def test_gap_of_round_walls_and_planes_is_the_distance():
    assert appell.surfaces.Circle(2.5).gap([0.0, -2.0, 100.0]).item() == 0.5
    assert appell.surfaces.Plane((0, 0, 2), point=(0, 0, 1)).gap([7.0, 7.0, 3.0]).item() == 2.0
    assert appell.surfaces.Sphere(1.0, side="outside").gap([0.0, 3.0, 4.0]).item() == 4.0


def test_surfaces_compare_by_value():
    assert appell.surfaces.Plane((0, 0, 3)) == appell.surfaces.Plane((0, 0, 1))
    assert hash(appell.surfaces.Circle(2.5)) == hash(appell.surfaces.Circle(2.5))
    assert appell.surfaces.Circle(2.5) != appell.surfaces.Cylinder(2.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: appell.surfaces.Circle(0.0), "radius of Circle is 0.0, expected a positive number"),
        (lambda: appell.surfaces.Sphere(float("nan")), "radius of Sphere is nan"),
        (lambda: appell.surfaces.Circle(1.0, side="within"), "unknown side 'within'.*inside, outside"),
        (lambda: appell.surfaces.Cylinder(1.0, axis=(0, 0, 0)), "axis of Cylinder has length 0"),
        (lambda: appell.surfaces.Plane((0, 1)), "normal of Plane has shape \\(2,\\), expected \\(3,\\)"),
        (lambda: appell.surfaces.Plane(restitution=1.2), "restitution of Plane is 1.2, expected a number from 0"),
        (lambda: appell.surfaces.Plane(restitution=-0.1), "restitution of Plane is -0.1"),
        (lambda: appell.surfaces.Plane(friction=-1.0), "friction of Plane is -1.0"),
        (lambda: appell.surfaces.Ellipse((1.0, -2.0)), "a semi-axis of Ellipse is -2.0"),
        (lambda: appell.surfaces.Ellipse((1.0, 2.0), major=(0, 0, 1)), "at right angles to its axis"),
    ],
)
def test_wrong_walls_are_refused(make, message):
    with pytest.raises(appell.ArgumentError, match=message):
        make()


def test_a_gradient_of_another_function_is_refused():
    wrong = appell.surfaces.ImplicitSurface(lambda p: p @ p - 4.0, lambda p: p)
    robot = appell.load("planar2r")
    with pytest.raises(
        appell.ArgumentError, match=r"gradient of ImplicitSurface at .* differences of its function give"
    ):
        appell.simulate(robot, [0.0, 0.0], [0.0, 0.0], 0.1, surfaces=[wrong])
