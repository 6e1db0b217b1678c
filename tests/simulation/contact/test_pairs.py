"""Surfaces as numbers of compiled code, their derivatives against formulas, and the pairs of points with them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import ball, pairs_of, particle, rod

import appell
from appell.model.point import Point
from appell.robot.default_points import default_contact_points
from appell.simulation.contact import stepper
from appell.simulation.contact.compiled import CompiledPairs
from appell.simulation.contact.pairs import (
    BufferedFunction,
    ContactOptions,
    ContactPoints,
    ContactState,
    InterpretedPairs,
    contact_candidates,
    contact_points_of,
    moved_frame,
    restitution_of,
)
from appell.simulation.contact.surfaces import Circle, Cylinder, Ellipse, ImplicitSurface, Plane, Sphere
from appell.simulation.contact.surfaces.surface import norm_curvature, norm_gradient, norm_or_one

ROUND = ImplicitSurface(lambda p: p @ p - 4.0, lambda p: 2.0 * p, hessian=lambda p: 2.0 * np.eye(3))
BARE = ImplicitSurface(lambda p: p @ p - 4.0, lambda p: 2.0 * p)


def test_surfaces_in_compiled_code():
    """Kind, sign, R, c, S by rows, friction and restitution."""
    identity, zero = [1, 0, 0, 0, 1, 0, 0, 0, 1], [0] * 9
    for surface, expected in (
        (Plane((0, 0, 2), (1, 2, 3), friction=0.5), [0, 1, 0, 1, 2, 3, 0, 0, 1, *zero[:6], 0.5, 0.25]),
        (Sphere(2.0, (1, 2, 3)), [1, -1, 2, 1, 2, 3, *identity, 0, 0.25]),
        (Sphere(2.0, side="outside"), [1, 1, 2, 0, 0, 0, *identity, 0, 0.25]),
        (Cylinder(3.0, axis=(0, 0, 2)), [1, -1, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0.25]),
        (Circle(3.0, axis=(1, 0, 0)), [1, -1, 3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0.25]),
        (Ellipse((4.0, 2.0), (1, 2, 3)), [3, -1, 0, 1, 2, 3, 0.25, 0, 0, 0, 0.5, 0, 0, 0, 0, 0, 0.25]),
        (Ellipse((4.0, 2.0), axis=(0, 1, 0)), [3, -1, 0, 0, 0, 0, 0.25, 0, 0, 0, 0, -0.5, 0, 0, 0, 0, 0.25]),
        (ROUND, [2, -1, 0, 0, 0, 0, *zero, 0, 0.25]),
    ):
        assert_close(surface.native_numbers(0.25), np.array(expected, dtype=float), tolerance=1e-15)


def test_defaults_of_surfaces():
    assert Plane() == Plane((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), restitution=None, friction=0.0)
    assert Cylinder(1.0) == Cylinder(1.0, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), "inside")
    assert Sphere(1.0) == Sphere(1.0, (0.0, 0.0, 0.0), "inside")
    assert Ellipse((2.0, 1.0)) == Ellipse((2.0, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0), "inside")


def test_distances_and_their_derivatives():
    r, v = np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]]), np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
    value, gradient = norm_gradient(r, 2.0)
    assert_close(value, np.array([3.0, -2.0]))
    assert_close(gradient, np.array([[0.6, 0.0, 0.8], [0.0, 0.0, 0.0]]))
    assert norm_or_one(r).tolist() == [5.0, 1.0]
    assert_close(norm_curvature(r, v), np.array([4.0 / 5.0, 1.0]))
    assert_close(norm_curvature(r[:1], np.array([[3.0, 1.0, 4.0]])), np.array([1.0 / 5.0]), tolerance=1e-14)


@pytest.mark.parametrize("surface", [Sphere(2.0), BARE, ROUND, Sphere(2.0, side="outside")])
def test_curvature_and_rates_of_normals_of_a_sphere(surface):
    """n = ∓ p/|p|: its rate is ∓ (v - (v·p/|p|) p/|p|)/|p|, the curvature acceleration ∓ v_t²/|p| at the surface."""
    sign = 1.0 if surface.sign > 0.0 else -1.0
    p, v = np.array([[0.0, 0.0, 2.0], [2.0, 0.0, 0.0]]), np.array([[3.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    bent = 4.5 if isinstance(surface, Sphere) else 5.0  # of F = p² - 4 with the velocity along the normal
    assert_close(surface.curvature_acceleration(p, v), sign * np.array([bent, 0.0]), tolerance=1e-6)
    assert_close(surface.normal_rate(p, v), sign * np.array([[1.5, 0.0, 0.0], [0.0, 0.0, 0.0]]), tolerance=1e-8)
    assert_close(surface.normal_rate(p, 1e-3 * v), 1e-3 * sign * np.array([[1.5, 0, 0], [0, 0, 0]]), tolerance=1e-8)
    gap, normal = surface.gap_and_normal(np.array([0.0, 0.0, 3.0]))
    assert gap == pytest.approx(sign * (1.0 if isinstance(surface, Sphere) else 5.0 / 6.0))
    assert_close(normal, sign * np.array([0.0, 0.0, 1.0]))


def test_gradients_are_compared_with_differences():
    """To 1e-4 of the largest difference, or of 1."""
    points = np.array([[1.0, 2.0, -1.0]])
    for factor, size, allowed in ((0.9e-4, 4.0, True), (1.2e-4, 4.0, False), (0.9e-4, 0.1, True), (1.2e-4, 0.1, False)):
        slope = size / 4.0

        def value(p, slope=slope):
            return slope * (p @ p)

        def gradient(p, slope=slope, factor=factor, size=size):
            return 2.0 * slope * p + np.array([0.0, 0.0, factor * max(1.0, size)])

        surface = ImplicitSurface(value, gradient)
        if allowed:
            surface.require_consistent(points)
        else:
            with pytest.raises(appell.ArgumentError, match=r"gradient of ImplicitSurface at \[1.0, 2.0, -1.0\]"):
                surface.require_consistent(points)
    with pytest.raises(appell.ArgumentError, match="gradient"):
        ImplicitSurface(lambda p: 0.0, lambda p: np.zeros(2)).require_consistent(points)


def test_axes_of_an_ellipse_are_at_right_angles():
    Ellipse((2.0, 1.0), major=(1.0, 0.0, 0.9e-12))
    for major in ((1.0, 0.0, 1e-9), (1.0, 0.0, -1e-9)):
        with pytest.raises(appell.ArgumentError, match="at right angles"):
            Ellipse((2.0, 1.0), major=major)
    for axes in ((2.0,), (2.0, 1.0, 1.0)):
        with pytest.raises(appell.ArgumentError, match="expected two lengths"):
            Ellipse(axes)


# --- points and pairs ---------------------------------------------------------------------------------------------------------


def test_numbers_of_contacts():
    planes = (Plane(), Plane((0, 0, -1), (0, 0, 5)))
    pairs = InterpretedPairs(("P0", "P1"), planes, (0.0, 0.5), ContactPoints(rod(), ["P0", "P1"]))
    assert (len(pairs), pairs.count) == (4, 4)
    assert [(pairs.point_name(k), pairs.surface_index(k)) for k in range(4)] == [
        ("P0", 0),
        ("P1", 0),
        ("P0", 1),
        ("P1", 1),
    ]
    assert pairs.per_contact([3.0, 4.0]).tolist() == [3.0, 3.0, 4.0, 4.0]


def test_parts_of_contact_states():
    state = ContactState(
        np.arange(2), np.zeros(2), np.array([[0.0, 0.0, 1.0], [0.6, 0.0, 0.8]]), np.array([[1.0, 2.0, 3.0], [5.0, 0.0, 0.0]]),
        np.arange(12.0).reshape(2, 3, 2), np.array([[0.0, 0.0, 7.0], [1.0, 0.0, 2.0]]), np.array([10.0, 20.0]),
    )  # fmt: skip
    assert_close(state.J_n, np.array([[4.0, 5.0], [0.6 * 6.0 + 0.8 * 10.0, 0.6 * 7.0 + 0.8 * 11.0]]))
    assert_close(state.gap_rate, np.array([3.0, 3.0]))
    assert_close(state.gap_acceleration_bias, np.array([17.0, 22.2]))
    assert_close(state.slip_velocity, np.array([[1.0, 2.0, 0.0], [3.2, 0.0, -2.4]]))
    assert state.select(np.array([False, True])).index.tolist() == [1]


def test_options_of_contact():
    assert restitution_of((Plane(), Plane(restitution=0.25)), ContactOptions(restitution=0.5)) == [0.5, 0.25]
    assert (
        restitution_of((Plane(),), ContactOptions())
        == restitution_of((Plane(),), ContactOptions(restitution=None))
        == [1.0]
    )
    assert ContactOptions().max_impacts == 100_000
    for gap in (0.0, -1.0):
        with pytest.raises(appell.ArgumentError, match="simultaneity_gap"):
            ContactOptions(simultaneity_gap=gap)
    assert ContactOptions(simultaneity_gap=1e-9).simultaneity_gap == 1e-9


def test_candidates_of_a_model():
    model = rod().simulation_model()
    q = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    points, e = contact_candidates(model, q, (Plane(restitution=0.5), Plane()), ContactOptions())
    assert ([str(point) for point in points], e) == (["rod", "P0", "P1"], [0.5, 1.0])
    assert contact_candidates(model, q, (), ContactOptions()) == ([], [])
    seen = []
    surface = ImplicitSurface(lambda p: (seen.append(p), p[2])[1], lambda p: np.array([0.0, 0.0, 1.0]), "outside")
    contact_candidates(model, q, (surface,), ContactOptions([Point("P1", (0.1, 0.2, 0.3))]))
    assert_close(np.mean(seen, axis=0), np.array([0.6, 0.2, 1.3]), tolerance=1e-12)


def test_points_are_listed_once_and_told_apart():
    assert contact_points_of(rod(), ["P0", "P1", "P0"]) == (Point("P0"), Point("P1"))
    assert default_contact_points(ball()) == ("ball",)
    still = ((0.0, 0.0), (0.0, 0.0))
    assert default_contact_points(particle(), still) == ()
    for moved, points in ((0.9e-9, ()), (1.1e-9, ("p",))):
        assert default_contact_points(particle(), ((0.0, 0.0), (0.0, moved))) == points
    frame = moved_frame(rod().tree, Point("P1", (0.1, 0.2, 0.3)))
    assert_close([*map(float, frame.p)], np.array([0.6, 0.2, 0.3]), tolerance=1e-15)


def test_functions_with_their_own_buffers():
    import casadi

    x, y = casadi.SX.sym("x", 2), casadi.SX.sym("y", 1)
    function = BufferedFunction(casadi.Function("f", [x, y], [x * y, y + 1.0]))
    first = function(np.array([1.0, 2.0]), np.array([3.0]))
    second = function(np.array([5.0, 5.0]), np.array([1.0]))
    assert [each.tolist() for each in first] == [[3.0, 6.0], [4.0]]
    assert [each.tolist() for each in second] == [[5.0, 5.0], [2.0]]


def test_points_links_and_stops_of_the_compiled_stepper():
    tree = rod().tree
    assert_close(
        stepper._point(tree, Point("P1", (0.1, 0.2, 0.3), 0.05)), np.array([0.0, 0.6, 0.2, 0.3, 0.05, 0.0, 0.0, 0.0])
    )
    assert stepper._point(tree, Point("P1", radius=0.1, axis=(0, 2, 0)))[-3:] == [0.0, 1.0, 0.0]
    base = stepper._point(particle().tree, Point("base", (1.0, 2.0, 3.0)))
    assert base[:4] == [-1.0, 1.0, 2.0, 3.0]
    assert stepper._coordinates(particle().tree) == [(0, 0), (1, 1)]
    assert stepper._coordinates(tree) == []
    builder = (
        appell.RobotBuilder("lift").body("base").body("a", 1.0, inertia=(1, 1, 1)).body("b", 1.0, inertia=(1, 1, 1))
    )
    builder.body("c", 1.0, inertia=(1, 1, 1)).floating("free", "base", "a")
    builder.prismatic("x", "a", "b", axis="x", limits=(-1.0, 2.0)).continuous("turn", "b", "c", axis="z")
    robot = builder.build()
    assert stepper._coordinates(robot.tree) == [(7, 6), (8, 7)]
    assert stepper._stops(robot.tree, robot.simulation_model()) == [(7, 6, -1.0, 2.0)]
    assert stepper._integers([], 3).shape == (0, 3)
    assert stepper._integers([(1, 2), (3, 4)], 2).dtype == np.int32
    assert stepper._numbers([], 8).shape == (0, 8)


def test_pairs_of_a_model():
    lift = ball().simulation_model()
    q = np.array([1.0])
    pairs = pairs_of(lift, q, (Plane(friction=0.5, restitution=0.25),), ContactOptions())
    assert isinstance(pairs, CompiledPairs)
    assert (pairs.names, pairs.restitution, len(pairs)) == (("ball",), (0.25,), 1)
    gap, rate = pairs.gaps(np.array([[1.0], [2.0]]), np.array([[3.0], [4.0]]))
    assert (gap.tolist(), rate.tolist()) == ([[1.0], [2.0]], [[3.0], [4.0]])
    state = pairs.state(q, np.array([3.0]))
    assert (state.gap.tolist(), state.velocity.tolist(), state.J.tolist()) == ([1.0], [[0, 0, 3]], [[[0], [0], [1]]])
    assert np.isnan(pairs.state(np.array([np.nan]), np.zeros(1)).gap).all()
    assert np.isnan(pairs.gaps(np.array([[np.nan]]), np.zeros((1, 1)))[0]).all()
    with pytest.raises(appell.ArgumentError, match="no moving points"):
        pairs_of(lift, q, (Plane(),), ContactOptions(points=[]))
