"""Least-squares elimination over scalars without pivoting: modified Gram-Schmidt orthogonalization.

A = Q R with orthogonal columns q_j (not normalised) and R upper triangular with ones on the diagonal. The only divisors are
|q_j|², which are small only where column j depends on the columns before it. Unlike the pivots of Gaussian elimination they
do not vanish at regular states, so one column order serves all of them (docs/decisions/0012). Redundant rows are allowed,
and structural zeros between loops are kept.

Source: A. Björck, Solving linear least squares problems by Gram-Schmidt orthogonalization, BIT 7 (1967).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from appell.algebra import Scalar, is_zero
from appell.algorithms.linear import dot

SINE_TOL = 1e-5
"""A column is dependent if the sine of its angle to the span of the columns before it is below this."""
LENGTH_TOL = 1e-8
"""Columns of about this length count as zero: their direction is rounding error. [m, rad]"""

Column = Sequence[Scalar]


def subtract_multiple(a: Column, factor: Scalar, b: Column) -> list[Scalar]:
    """a - factor b."""
    if is_zero(factor):
        return list(a)
    return [x if is_zero(y) else x - factor * y for x, y in zip(a, b, strict=True)]


def unit_step(x: Scalar) -> Scalar:
    """1 where x > 0, else 0, also for NaN: sign (sign + 1) / 2."""
    if isinstance(x, (float, int)):
        return float(x > 0.0)
    sign = x.sign() if hasattr(x, "sign") else np.sign(np.nan_to_num(x))
    return sign * (sign + 1.0) * 0.5


def guarded_inverse(square: Scalar, whole: Scalar, valid: Scalar = 1.0) -> Scalar:
    """1 / |q|², infinite where |q|² is below SINE_TOL² times the square of the whole column, or where `valid` is 0."""
    guarded = square * (unit_step(square - SINE_TOL**2 * (whole + LENGTH_TOL**2)) * valid)
    if isinstance(guarded, (float, int)):
        return 1.0 / guarded if guarded else float("inf")
    return 1.0 / guarded


@dataclass(frozen=True)
class Elimination:
    """Factors of a matrix given by its columns."""

    q: list[list[Scalar]]
    inverses: list[Scalar]
    R: list[list[Scalar]]
    """R[j][k] for k > j; zero elsewhere."""

    @classmethod
    def of(cls, columns: Sequence[Column], valid: Scalar = 1.0) -> Elimination:
        """Orthogonalise the columns in their order. Where `valid` is 0 instead of 1, solutions are not finite."""
        rest = [list(column) for column in columns]
        wholes = [dot(column, column) for column in columns]
        inverses: list[Scalar] = []
        R: list[list[Scalar]] = [[0.0] * len(rest) for _ in rest]
        for j, own in enumerate(rest):
            inverses.append(guarded_inverse(dot(own, own), wholes[j], valid))
            for k in range(j + 1, len(rest)):
                share = dot(own, rest[k])
                if not is_zero(share):
                    R[j][k] = share * inverses[j]
                    rest[k] = subtract_multiple(rest[k], R[j][k], own)
        return cls(rest, inverses, R)

    def solve(self, b: Column) -> list[Scalar]:
        """Least-squares solution x of A x = b."""
        x: list[Scalar] = []
        for own, inverse in zip(self.q, self.inverses, strict=True):
            share = dot(own, b)
            x.append(0.0 if is_zero(share) else share * inverse)
            b = subtract_multiple(b, x[-1], own)
        for j in reversed(range(len(x))):
            x[j] = x[j] - dot(self.R[j][j + 1 :], x[j + 1 :])
        return x

    def solve_transposed(self, t: Column) -> list[Scalar]:
        """Minimum-norm solution y of A^T y = t."""
        shares: list[Scalar] = []
        for j, entry in enumerate(t):
            shares.append(entry - dot([row[j] for row in self.R[:j]], shares))
        y: list[Scalar] = [0.0] * (len(self.q[0]) if self.q else 0)
        for own, inverse, share in zip(self.q, self.inverses, shares, strict=True):
            if not is_zero(share):
                y = subtract_multiple(y, -(share * inverse), own)
        return y
