"""Exact polynomials in the number of joints, as the papers give operation counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

POWERS = ("", "n", "n²", "n³")
LARGEST_DEGREE = len(POWERS) - 1


@dataclass(frozen=True)
class Polynomial:
    """Coefficients from the constant upwards; exact, so that a fit either holds or does not.

    Attributes:
        start: the smallest n for which it is meant; 0 where nothing is said.

    Example:
        >>> polynomial = poly(96, -101)
        >>> str(polynomial), polynomial(6)
        ('96n - 101', 475)
        >>> str(poly("1/6", 13, "695/6", -157))
        'n³/6 + 13n² + 695n/6 - 157'
    """

    coefficients: tuple[Fraction, ...]
    start: int = 0

    def __call__(self, n: int) -> int | Fraction:
        value = sum(c * n**power for power, c in enumerate(self.coefficients))
        return int(value) if value == int(value) else value

    def __str__(self) -> str:
        terms = [
            ("-" if c < 0 else "+", _term(abs(c), power))
            for power, c in reversed(list(enumerate(self.coefficients)))
            if c
        ]
        if not terms:
            return "0"
        (sign, first), *rest = terms
        text = ("-" if sign == "-" else "") + first + "".join(f" {sign} {term}" for sign, term in rest)
        return f"{text}  (n >= {self.start})" if self.start else text


def poly(*coefficients: int | float | str) -> Polynomial:
    """A polynomial from its coefficients, highest power first; fractions as text."""
    return Polynomial(tuple(Fraction(c) for c in reversed(coefficients)))


def fit(counts: Mapping[int, int]) -> Polynomial | None:
    """The polynomial of lowest degree that gives every count exactly, but for the smallest n if need be.

    Counts of consecutive n. One more point than the coefficients is the least that is accepted as proof; None without it.

    Example:
        >>> str(fit({n: 96 * n - 101 for n in range(3, 8)}))
        '96n - 101'
        >>> str(fit({3: 7, 4: 16, 5: 25, 6: 36, 7: 49}))
        'n²  (n >= 4)'
    """
    sizes = sorted(counts)
    for first in range(len(sizes)):
        tail = sizes[first:]
        for degree in range(min(LARGEST_DEGREE, len(tail) - 2) + 1):
            candidate = _through({n: counts[n] for n in tail[: degree + 1]})
            if all(candidate(n) == counts[n] for n in tail):
                return Polynomial(candidate.coefficients, tail[0] if first else 0)
    return None


def _through(points: Mapping[int, int]) -> Polynomial:
    """Lagrange's interpolation."""
    total = [Fraction(0)] * len(points)
    for x, y in points.items():
        basis = [Fraction(y)]
        for other in points:
            if other != x:
                shifted = [Fraction(0), *basis]
                basis = [high - other * low for high, low in zip(shifted, [*basis, Fraction(0)], strict=True)]
                basis = [c / (x - other) for c in basis]
        total = [a + b for a, b in zip(total, basis, strict=True)]
    return Polynomial(tuple(total))


def _term(c: Fraction, power: int) -> str:
    name = POWERS[power]
    if c.denominator in (1, 2):
        number = str(c.numerator) if c.denominator == 1 else str(float(c))
        return name if name and number == "1" else number + name
    numerator = name if name and c.numerator == 1 else f"{c.numerator}{name}"
    return f"{numerator}/{c.denominator}"
