"""What an algorithm costs for a serial robot of n revolute joints: as printed, or as counted here.

Counted on chains without any zero parameter, with the papers' rules (`appell.count_operations`), for n = 3 to 12; a
polynomial is shown only if it gives every one of these counts exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from appell.compiler.count import Counts, count_operations
from appell.loading.catalogue.random import random_chain
from appell_lab.reproduce.polynomial import Polynomial, fit, poly

SIZES = range(3, 13)
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


def _more(difference: int, what: str) -> str:
    return f"{abs(difference) or 'no'} {'fewer' if difference < 0 else 'more'} {what}"
