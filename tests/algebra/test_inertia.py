"""Mass properties: they belong to the body, not to the frame that describes it."""

from __future__ import annotations

import math

import numpy as np
from helpers.closeness import assert_close
from hypothesis import given
from hypothesis import strategies as st

from appell.algebra import NO_MASS, AxisRotation, Inertia, Rotation, Sym3, Vec3

NUMBERS = st.floats(-2, 2)
VECTORS = st.tuples(NUMBERS, NUMBERS, NUMBERS)
POINTS = st.lists(st.tuples(st.floats(0.1, 2.0), VECTORS), min_size=1, max_size=6)
TURNS = st.lists(st.tuples(st.integers(0, 2), st.floats(-4, 4)), max_size=4)
TOLERANCE = 1e-13
SCALE = 100.0


def of_points(points) -> Inertia:
    """A body of point masses: m, Σ m ρ and Σ m ρρ^T."""
    m = np.array([mass for mass, _ in points])
    rho = np.array([place for _, place in points])
    J = (m[:, None] * rho).T @ rho
    return Inertia(float(m.sum()), Vec3(*(m @ rho).tolist()), Sym3(*J[np.triu_indices(3)].tolist()))


def entries(body: Inertia) -> np.ndarray:
    return np.array([body.mass, *body.gamma, *body.J])


def rotation_of(turns) -> Rotation:
    return Rotation(*(AxisRotation(axis, math.cos(angle), math.sin(angle)) for axis, angle in turns))


@given(POINTS, TURNS, VECTORS)
def test_moved_body_is_the_body_of_moved_points(points, turns, p) -> None:
    R, p = rotation_of(turns), Vec3(*p)
    moved = [(mass, tuple(R @ Vec3(*place) + p)) for mass, place in points]
    assert_close(
        entries(of_points(points).transformed(R, p)), entries(of_points(moved)), tolerance=TOLERANCE, scale=SCALE
    )


@given(POINTS, TURNS, VECTORS, TURNS, VECTORS)
def test_moving_twice_is_moving_by_the_product(points, first, p, second, s) -> None:
    body, R, Q = of_points(points), rotation_of(first), rotation_of(second)
    p, s = Vec3(*p), Vec3(*s)
    expected = body.transformed(Q * R, Q @ p + s)
    assert_close(entries(body.transformed(R, p).transformed(Q, s)), entries(expected), tolerance=TOLERANCE, scale=SCALE)


@given(POINTS, POINTS)
def test_bodies_add_up(first, second) -> None:
    assert_close(
        entries(of_points(first) + of_points(second)),
        entries(of_points(first + second)),
        tolerance=TOLERANCE,
        scale=SCALE,
    )
    assert np.array_equal(entries(of_points(first) + NO_MASS), entries(of_points(first)))


@given(POINTS)
def test_inertia_tensors_about_origin_and_mass_centre(points) -> None:
    body = of_points(points)
    at_origin = sum(m * (np.dot(r, r) * np.eye(3) - np.outer(r, r)) for m, r in points)
    com = sum(m * np.array(r) for m, r in points) / body.mass
    at_center = sum(m * (np.dot(r - com, r - com) * np.eye(3) - np.outer(r - com, r - com)) for m, r in points)
    assert_close(np.array([*body.at_origin.full()]).reshape(3, 3), at_origin, tolerance=TOLERANCE, scale=SCALE)
    assert_close(np.array([*body.com]), com, tolerance=TOLERANCE, scale=SCALE)
    assert_close(np.array([*body.inertia.full()]).reshape(3, 3), at_center, tolerance=TOLERANCE, scale=SCALE)
    again = Inertia.at_center(body.mass, body.com, body.inertia)
    assert_close(entries(again), entries(body), tolerance=TOLERANCE, scale=SCALE)


def test_a_body_without_mass_has_its_centre_at_the_origin() -> None:
    assert tuple(NO_MASS.com) == (0.0, 0.0, 0.0)
