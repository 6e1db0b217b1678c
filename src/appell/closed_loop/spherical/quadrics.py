"""All common points of three quadrics x^T A_i x = 0 in projective 3-space, by the eigenvalues of one matrix.

Three quadrics meet in eight points (Bézout), counted in complex numbers. In affine coordinates x = (1, y) each is a
polynomial of degree 2; their multiples by all monomials of degree up to 2 are 30 rows over the 35 monomials of degree up to 4,
and the null space of these rows has dimension eight: it is spanned by the monomials taken at the solutions. On it, multiplication
by a linear form is an 8x8 matrix, and its eigenvectors are the solutions (Macaulay, Stetter). A fixed rotation of x puts the
plane at infinity in no special place.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

COUNT = 8
"""Solutions, real or complex."""


class Layout(NamedTuple):
    """Monomials of y up to degree 4, and where products of them are.

    Attributes:
        low: places of the monomials of degree up to 3.
        next: for each coordinate, places of the monomials of `low` times it.
        shifts: for each monomial of degree up to 2, places of all monomials of degree up to 2 times it.
        linear: places of 1, y1, y2, y3.
    """

    size: int
    low: np.ndarray
    next: np.ndarray
    shifts: np.ndarray
    linear: np.ndarray


@lru_cache(maxsize=1)
def layout() -> Layout:
    monomials = sorted((m for m in product(range(5), repeat=3) if sum(m) <= 4), key=lambda m: (sum(m), m))
    place = {m: k for k, m in enumerate(monomials)}

    def times(a: tuple[int, ...], b: tuple[int, ...]) -> int:
        return place[a[0] + b[0], a[1] + b[1], a[2] + b[2]]

    def up_to(degree: int) -> list[tuple[int, ...]]:
        return [m for m in monomials if sum(m) <= degree]

    units = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
    return Layout(
        len(monomials),
        np.array([place[m[0], m[1], m[2]] for m in up_to(3)]),
        np.array([[times(m, unit) for m in up_to(3)] for unit in units]),
        np.array([[times(m, other) for m in up_to(2)] for other in up_to(2)]),
        np.array([place[0, 0, 0], *(times((0, 0, 0), unit) for unit in units)]),
    )


def common_points(quadrics: np.ndarray) -> np.ndarray:
    """Solutions x (8, 4), complex, of length 1, of x^T A_i x = 0 for symmetric A (3, 4, 4)."""
    places = layout()
    turned = GENERIC @ quadrics @ GENERIC.T
    rows = np.zeros((3, len(places.shifts), places.size))
    pairs = quadratic_pairs()
    for i, A in enumerate(turned):
        coefficients = np.array([A[a, b] if a == b else 2.0 * A[a, b] for a, b in pairs])
        for row, shift in zip(rows[i], places.shifts, strict=True):
            row[shift] = coefficients
    matrix = rows.reshape(-1, places.size)
    matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    null = np.linalg.svd(matrix)[2][-COUNT:].T
    form = np.tensordot(FORM, null[places.next], axes=1)  # the null space times a linear form
    values = np.linalg.lstsq(null[places.low], form, rcond=None)[0]
    vectors = np.linalg.eig(values)[1]
    x = (null[places.linear] @ vectors).T
    x = x @ GENERIC  # back from the rotation
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@lru_cache(maxsize=1)
def quadratic_pairs() -> list[tuple[int, int]]:
    """Which two entries of (1, y) make each monomial of degree up to 2, in their order."""
    monomials = sorted((m for m in product(range(3), repeat=3) if sum(m) <= 2), key=lambda m: (sum(m), m))
    found = []
    for m in monomials:
        factors = [k + 1 for k, power in enumerate(m) for _ in range(power)]
        first, second = [0, 0, *factors][-2:]
        found.append((first, second))
    return found


def _generic() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2014)
    return np.linalg.qr(rng.normal(size=(4, 4)))[0], rng.normal(size=3)


GENERIC, FORM = _generic()
"""A rotation of space and a linear form without special directions; fixed, so that results repeat."""
