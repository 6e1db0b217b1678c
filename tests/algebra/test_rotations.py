"""Rotations as sequences of turns: group axioms, and the same numbers as matrices."""

from __future__ import annotations

import math

import numpy as np
from helpers.closeness import assert_close
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation as Reference

from appell.algebra import Angle, AxisRotation, Mat3, Rotation, Sym3, Vec3, skew
from appell.model.pose import Pose

ANGLES = st.floats(-10, 10)
NUMBERS = st.floats(-5, 5)
TURNS = st.lists(st.tuples(st.integers(0, 2), ANGLES), max_size=5)
VECTORS = st.tuples(NUMBERS, NUMBERS, NUMBERS)
TOLERANCE = 1e-14
SCALE = 50.0  # of sums of products of the numbers above


def rotation_of(turns: list[tuple[int, float]]) -> Rotation:
    return Rotation(*(AxisRotation(axis, math.cos(angle), math.sin(angle)) for axis, angle in turns))


def matrix_of(turns: list[tuple[int, float]]) -> np.ndarray:
    product = np.eye(3)
    for axis, angle in turns:
        product = product @ Reference.from_rotvec(np.eye(3)[axis] * angle).as_matrix()
    return product


def array(value) -> np.ndarray:
    entries = np.array([*value])
    return entries if entries.size == 3 else entries.reshape(3, 3)


@given(TURNS, VECTORS)
def test_turns_a_vector_as_the_matrix_does(turns, v) -> None:
    R = rotation_of(turns)
    assert_close(array(R @ Vec3(*v)), matrix_of(turns) @ np.array(v), tolerance=TOLERANCE, scale=SCALE)
    assert_close(array(R.matrix()), matrix_of(turns), tolerance=TOLERANCE, scale=1.0)


@given(TURNS, TURNS, TURNS, VECTORS)
def test_product_is_associative_and_applies_the_right_one_first(a, b, c, v) -> None:
    A, B, C, v = rotation_of(a), rotation_of(b), rotation_of(c), Vec3(*v)
    expected = array(A @ (B @ (C @ v)))
    assert_close(array(((A * B) * C) @ v), expected, tolerance=TOLERANCE, scale=SCALE)
    assert_close(array((A * (B * C)) @ v), expected, tolerance=TOLERANCE, scale=SCALE)


@given(TURNS, VECTORS)
def test_inverse_and_identity(turns, v) -> None:
    R = rotation_of(turns)
    assert_close(array((R.T * R) @ Vec3(*v)), np.array(v), tolerance=TOLERANCE, scale=SCALE)
    assert_close(array((R * R.T) @ Vec3(*v)), np.array(v), tolerance=TOLERANCE, scale=SCALE)
    assert np.array_equal(array(Rotation() @ Vec3(*v)), np.array(v))


@given(TURNS, VECTORS, VECTORS)
def test_keeps_scalar_and_vector_products(turns, a, b) -> None:
    R, a, b = rotation_of(turns), Vec3(*a), Vec3(*b)
    assert_close((R @ a) @ (R @ b), a @ b, tolerance=TOLERANCE, scale=5 * SCALE)
    assert_close(array((R @ a).cross(R @ b)), array(R @ a.cross(b)), tolerance=TOLERANCE, scale=5 * SCALE)


@given(TURNS, st.tuples(*[NUMBERS] * 6))
def test_turns_a_symmetric_tensor_as_the_matrix_does(turns, entries) -> None:
    R, A = rotation_of(turns), Sym3(*entries)
    expected = matrix_of(turns) @ array(A.full()) @ matrix_of(turns).T
    assert_close(array(R.conjugate(A).full()), expected, tolerance=TOLERANCE, scale=SCALE)


@given(TURNS, st.tuples(*[NUMBERS] * 9))
def test_turns_a_general_tensor_as_the_matrix_does(turns, entries) -> None:
    R, A = rotation_of(turns), Mat3(*entries)
    matrix = matrix_of(turns)
    assert_close(array(R.conjugate_general(A)), matrix @ array(A) @ matrix.T, tolerance=TOLERANCE, scale=SCALE)
    assert_close(array(R.rotate_columns(A)), matrix @ array(A), tolerance=TOLERANCE, scale=SCALE)


@given(TURNS, VECTORS)
def test_turning_a_skew_tensor_turns_its_vector(turns, v) -> None:
    R, v = rotation_of(turns), Vec3(*v)
    assert_close(array(R.conjugate_general(skew(v))), array(skew(R @ v)), tolerance=TOLERANCE, scale=SCALE)


@given(st.integers(-8, 8), st.floats(-1e-16, 1e-16))
def test_right_angles_are_exact(quarters, rounding) -> None:
    angle = Angle.of(quarters * math.pi / 2 + rounding)
    assert {abs(angle.cos), abs(angle.sin)} == {0.0, 1.0}
    assert_close(
        np.array([angle.cos, angle.sin]),
        np.array([math.cos(quarters * math.pi / 2), math.sin(quarters * math.pi / 2)]),
        tolerance=1e-14,
    )


@given(ANGLES)
def test_other_angles_are_kept(radians) -> None:
    angle = Angle.of(radians)
    assert_close(np.array([angle.cos, angle.sin]), np.array([math.cos(radians), math.sin(radians)]), tolerance=4e-15)


@given(st.tuples(*[st.floats(-math.pi, math.pi)] * 3), VECTORS)
def test_pose_and_its_matrix_are_the_same(rpy, xyz) -> None:
    """Roll, pitch, yaw to a matrix as everyone has it, and back to the same attitude, at gimbal lock too."""
    for angles in (rpy, (rpy[0], math.pi / 2, rpy[2]), (rpy[0], -math.pi / 2, rpy[2])):
        R = Pose(xyz, angles).rotation
        assert_close(R, Reference.from_euler("xyz", angles).as_matrix(), tolerance=1e-14)
        again = Pose.from_matrix(xyz, R)
        assert again.xyz == xyz
        assert_close(again.rotation, R, tolerance=1e-14)
