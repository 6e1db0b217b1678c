"""Vectors and tensors over scalars against NumPy, and their identities."""

from __future__ import annotations

import numpy as np
from helpers.closeness import assert_close
from hypothesis import given
from hypothesis import strategies as st

from appell.algebra import (
    Mat3,
    Sym3,
    Vec3,
    acceleration_tensor,
    euler_tensor,
    moment_of_tensor,
    skew,
)

NUMBERS = st.floats(-5, 5)
VECTORS = st.tuples(NUMBERS, NUMBERS, NUMBERS)
TENSORS = st.tuples(*[NUMBERS] * 9)
SYMMETRIC = st.tuples(*[NUMBERS] * 6)
TOLERANCE = 1e-14
SCALE = 1000.0


def array(value) -> np.ndarray:
    entries = np.array([*value])
    return entries if entries.size == 3 else entries.reshape(3, 3)


def close(ours, theirs) -> None:
    assert_close(array(ours), np.asarray(theirs), tolerance=TOLERANCE, scale=SCALE)


@given(VECTORS, VECTORS, NUMBERS)
def test_vectors(a, b, factor) -> None:
    u, v, x, y = Vec3(*a), Vec3(*b), np.array(a), np.array(b)
    close(u + v, x + y)
    close(u - v, x - y)
    close(-u, -x)
    close(u * factor, x * factor)
    close(u.cross(v), np.cross(x, y))
    close(u.outer(v), np.outer(x, y))
    assert_close(u @ v, x @ y, tolerance=TOLERANCE, scale=SCALE)


@given(VECTORS, VECTORS, VECTORS)
def test_jacobi_identity(a, b, c) -> None:
    a, b, c = (Vec3(*x) for x in (a, b, c))
    close(a.cross(b.cross(c)) + b.cross(c.cross(a)) + c.cross(a.cross(b)), np.zeros(3))


@given(VECTORS, VECTORS)
def test_skew_tensor_is_the_vector_product(a, b) -> None:
    close(skew(Vec3(*a)) @ Vec3(*b), np.cross(a, b))


@given(TENSORS, TENSORS, VECTORS)
def test_tensors(a, b, v) -> None:
    A, B, x = Mat3(*a), Mat3(*b), np.array(v)
    P, Q = array(A), array(B)
    close(A + B, P + Q)
    close(A - B, P - Q)
    close(A * 3.0, P * 3.0)
    close(A @ Vec3(*v), P @ x)
    close(A.T, P.T)
    close(A.dot(B), P @ Q)
    close(skew(A.axial()), P - P.T)
    close(Mat3.from_columns(*A.columns), P)
    for row, expected in zip(A.rows, P, strict=True):
        close(row, expected)


@given(SYMMETRIC, SYMMETRIC, VECTORS)
def test_symmetric_tensors(a, b, v) -> None:
    A, B = Sym3(*a), Sym3(*b)
    P, Q = array(A.full()), array(B.full())
    assert np.array_equal(P, P.T)
    close((A + B).full(), P + Q)
    close((A - B).full(), P - Q)
    close((A * 2.0).full(), P * 2.0)
    close(A @ Vec3(*v), P @ np.array(v))
    assert_close(A.trace(), np.trace(P), tolerance=TOLERANCE, scale=SCALE)
    close(A.complement().full(), np.trace(P) * np.eye(3) - P)


@given(SYMMETRIC)
def test_euler_tensor_and_complement_are_inverse(a) -> None:
    inertia = Sym3(*a)
    close(euler_tensor(inertia).complement().full(), array(inertia.full()))


@given(VECTORS, VECTORS, VECTORS)
def test_acceleration_tensor(omega, omegad, r) -> None:
    expected = np.cross(omegad, r) + np.cross(omega, np.cross(omega, r))
    close(acceleration_tensor(Vec3(*omega), Vec3(*omegad)) @ Vec3(*r), expected)


@given(TENSORS, SYMMETRIC)
def test_moment_of_tensor(a, j) -> None:
    A, J = Mat3(*a), Sym3(*j)
    product = array(A) @ array(J.full())
    close(skew(moment_of_tensor(A, J)), product - product.T)
