"""Matrices over scalars for the formulations that use 4x4 transformations.

A point of a link is the column [x, y, z, 1], a direction has a last entry of 0. Products with the number 0 are
skipped: most entries of these matrices are zeros, and tracing takes half the time without them.
"""

from __future__ import annotations

from collections.abc import Iterable

from appell.algebra import Mat3, Rotation, Scalar, Scalars, Twist, Vec3, skew
from appell.algorithms.linear import dot


class Matrix:
    """A matrix of any shape by rows; `A @ B` is the product. Immutable."""

    __slots__ = ("rows",)

    def __init__(self, rows: Iterable[Scalars]) -> None:
        self.rows = tuple(tuple(row) for row in rows)

    @property
    def T(self) -> Matrix:
        return Matrix(zip(*self.rows, strict=True))

    def __add__(self, other: Matrix) -> Matrix:
        pairs = zip(self.rows, other.rows, strict=True)
        return Matrix([a + b for a, b in zip(row, own, strict=True)] for row, own in pairs)

    def __sub__(self, other: Matrix) -> Matrix:
        return self + other * -1.0

    def __mul__(self, factor: Scalar) -> Matrix:
        return Matrix([a * factor for a in row] for row in self.rows)

    def __matmul__(self, other: Matrix) -> Matrix:
        columns = other.T.rows
        return Matrix([dot(row, column) for column in columns] for row in self.rows)

    def trace(self, other: Matrix) -> Scalar:
        """Tr{self other}, without forming the product."""
        total: Scalar = 0.0
        for row, column in zip(self.rows, other.T.rows, strict=True):
            total = total + dot(row, column)
        return total


IDENTITY = Matrix([float(i == j) for j in range(4)] for i in range(4))
NULL = Matrix([0.0] * 4 for _ in range(4))


def column(v: Vec3, last: Scalar) -> Matrix:
    """[v; last]: a point for last = 1, a direction for 0, a first moment for the mass."""
    return Matrix([entry] for entry in (*v, last))


def blocks(A: Mat3, right: Vec3, below: Vec3, corner: Scalar) -> Matrix:
    """[[A, right], [below^T, corner]]."""
    rows = [[*row, x] for row, x in zip(A.rows, right, strict=True)]
    return Matrix([*rows, [*below, corner]])


def transformation(R: Rotation, p: Vec3) -> Matrix:
    """[[R, p], [0, 1]]: from a frame to the one in which it has rotation R and origin p."""
    return blocks(R.matrix(), p, Vec3(0.0, 0.0, 0.0), 1.0)


def screw(twist: Twist) -> Matrix:
    """[[ω~, v], [0, 0]]: the transformation A of a frame that has this twist, along its own axes, has the rate A screw."""
    return blocks(skew(twist.angular), twist.linear, Vec3(0.0, 0.0, 0.0), 0.0)
