"""Operation counts of a serial robot with n revolute joints, printed and counted, as exact polynomials in n.

Counted on chains without any zero parameter, with the papers' rules (`appell.count_operations`), for n = 3 to 12; a
polynomial is shown only if it gives every one of these counts exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from appell.compiler.count import Counts, count_operations
from appell.loading.catalogue.random import random_chain

SIZES = range(3, 13)
LARGEST = 100
"""Number of joints up to which polynomials are compared."""
SIX = 6
"""The number of joints for which the papers give numbers."""
COLUMNS = ("products", "n = 6", "sums", "n = 6")


@dataclass(frozen=True)
class Cost:
    """Products and sums: as polynomials in n where they are known, and for six joints."""

    products: Polynomial | None
    products_six: int
    sums: Polynomial | None
    sums_six: int

    @property
    def cells(self) -> tuple[Any, ...]:
        """The columns `COLUMNS`."""
        return self.products, self.products_six, self.sums, self.sums_six


def printed(products: tuple[Any, ...], products_six: int, sums: tuple[Any, ...], sums_six: int) -> Cost:
    """A row of a paper: coefficients of both polynomials, highest power first, and the values it prints for n = 6."""
    return Cost(poly(*products), products_six, poly(*sums), sums_six)


def counted(*parts: tuple[str, str | None], without: tuple[tuple[str, str | None], ...] = ()) -> Cost:
    """Sum of the counts of functions given as (function, method), less those of `without`."""

    def total(kind: str, n: int) -> int:
        plus = sum(getattr(operations(*part, n), kind) for part in parts)
        return plus - sum(getattr(operations(*part, n), kind) for part in without)

    products, sums = ({n: total(kind, n) for n in SIZES} for kind in ("mul", "add"))
    return Cost(fit(products), products[SIX], fit(sums), sums[SIX])


@cache
def operations(function: str, method: str | None, n: int) -> Counts:
    """Operations of one function of the general chain of n joints."""
    return count_operations(random_chain(n), function, method)


def compared(ours: Cost, other: Cost, name: str) -> str:
    """In words, how a count differs from another one at n = 6."""
    products, sums = ours.products_six - other.products_six, ours.sums_six - other.sums_six
    if products == sums == 0:
        return f"as many products and sums as {name}"
    return f"{_more(products, 'products')} and {_more(sums, 'sums')} than {name}"


def exceptions(ours: Cost, paper: Cost, name: str) -> list[str]:
    """In words, from which n on a counted polynomial exceeds the printed one; nothing where it does not."""
    found = []
    for what, mine, theirs in (("products", ours.products, paper.products), ("sums", ours.sums, paper.sums)):
        n = None if mine is None or theirs is None else first_above(mine, theirs)
        if n is not None and mine is not None and theirs is not None:
            found.append(f"{name}, more {what} than printed from n = {n} ({mine(n)} against {theirs(n)})")
    return found


def first_above(a: Polynomial, b: Polynomial) -> int | None:
    """The first number of joints, from 3 to 100, for which a exceeds b.

    Example:
        >>> first_above(poly(1, 18, -36, 21), poly(1, 17, -21, 8))
        15
    """
    return next((n for n in range(SIZES[0], LARGEST + 1) if a(n) > b(n)), None)


def _more(difference: int, what: str) -> str:
    return f"{abs(difference) or 'no'} {'fewer' if difference < 0 else 'more'} {what}"


# --- polynomials ---------------------------------------------------------------------------------------------------------

POWERS = ("", "n", "n²", "n³")
MAX_DEGREE = len(POWERS) - 1


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
        for degree in range(min(MAX_DEGREE, len(tail) - 2) + 1):
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
