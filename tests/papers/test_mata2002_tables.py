"""Mata et al. 2002, tables 1 to 4, and Provenzano 2002, tables 1 and 2: operation counts of general revolute chains."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import appell

SIZES = range(3, 13)
Polynomial = Callable[[int], float]


def counts(function: str, method: str, n: int) -> tuple[int, int]:
    """Products and sums for a general chain of n revolute joints."""
    found = appell.count_operations(appell.robots.random_chain(n, seed=n), function, method=method)
    return found.mul, found.add


def assert_counts(
    function: str, method: str, *, limit: tuple[Polynomial, Polynomial], ours: tuple[Polynomial, Polynomial]
):
    """At most the limit, and exactly our own polynomials, for every n."""
    for n in SIZES:
        found = counts(function, method, n)
        assert found == (ours[0](n), ours[1](n)), f"n = {n}"
        assert found[0] <= limit[0](n), f"n = {n}: {found[0]} products"
        assert found[1] <= limit[1](n), f"n = {n}: {found[1]} sums"


def test_table_1_inverse_dynamics() -> None:
    """Published 96n - 101 and 84n - 100; moments at the origin and folded constants leave 96n - 114 and 84n - 106."""
    assert_counts(
        "inverse_dynamics",
        "mata2002",
        limit=(lambda n: 96 * n - 101, lambda n: 84 * n - 100),
        ours=(lambda n: 96 * n - 114, lambda n: 84 * n - 106),
    )


def test_table_2_inertia_matrix() -> None:
    """Published 11.5n² + 19.5n - 49 and 8.5n² + 31.5n - 69; its steps need 11.5n² + 15.5n - 45 and 8.5n² + 28.5n - 68."""
    assert_counts(
        "mass_matrix",
        "gibbs_hessian",
        limit=(lambda n: 11.5 * n**2 + 15.5 * n - 45, lambda n: 8.5 * n**2 + 28.5 * n - 68),
        ours=(lambda n: 11.5 * n**2 + 9.5 * n - 42, lambda n: 8.5 * n**2 + 24.5 * n - 66),
    )


def test_table_2_composite_body_method() -> None:
    """Walker and Orin are listed with 12n² + 56n - 27 and 7n² + 67n - 56; the same rules leave much less."""
    assert_counts(
        "mass_matrix",
        "composite",
        limit=(lambda n: 12 * n**2 + 56 * n - 27, lambda n: 7 * n**2 + 67 * n - 56),
        ours=(lambda n: 11 * n**2 + 11 * n - 44, lambda n: 7 * n**2 + 27 * n - 65),
    )


def test_table_2_natural_orthogonal_complement() -> None:
    """Angeles and Ma are listed with n³ + 17n² - 21n + 8 and n³ + 14n² - 16n + 5."""
    assert_counts(
        "mass_matrix",
        "noc",
        limit=(lambda n: n**3 + 17 * n**2 - 21 * n + 8, lambda n: n**3 + 14 * n**2 - 16 * n + 5),
        ours=(lambda n: n**3 + 18 * n**2 - 36 * n + 21, lambda n: n**3 + 12.5 * n**2 - 24.5 * n + 12),
    )


def test_table_3_bias() -> None:
    """Published 96n - 108 and 83n - 105; 96n - 110 and 83n - 108 with the same rules."""
    assert_counts(
        "bias",
        "mata2002",
        limit=(lambda n: 96 * n - 110, lambda n: 83 * n - 108),
        ours=(lambda n: 96 * n - 124, lambda n: 83 * n - 115),
    )


def test_table_3_cholesky_sums() -> None:
    """A Cholesky factorisation has (n³ - n)/6 sums, 35 for n = 6; printed n³/6 + n²/2 + n/3, which is 56."""
    n = 6
    sums = sum(1 for j in range(n) for i in range(j, n) for k in range(j))
    assert sums == (n**3 - n) // 6 == 35
    assert n**3 / 6 + n**2 / 2 + n / 3 == 56


def test_table_3_total_is_the_sum_of_its_rows() -> None:
    """Published 1042 products and 905 sums for n = 6."""
    n = 6
    products = (11.5 * n**2 + 19.5 * n - 49) + (96 * n - 108) + (n**3 / 6 + n**2 / 2 + n / 3) + n**2
    sums = (8.5 * n**2 + 31.5 * n - 69) + (83 * n - 105) + (n**3 / 6 + n**2 / 2 + n / 3) + (n**2 - n)
    assert (products, sums) == (1042, 905)


@pytest.mark.parametrize(
    ("method", "products", "sums"), [("gibbs", 1042, 905), ("articulated", 1533, 1415), ("noc", 1353, 1165)]
)
def test_table_4_forward_dynamics_of_six_joints(method: str, products: int, sums: int) -> None:
    """No more than the paper lists for each method, divisions counted as products."""
    found = appell.count_operations(appell.robots.random_chain(6, seed=6), "forward_dynamics", method=method)
    assert found.mul + found.div <= products
    assert found.add <= sums


def test_table_4_gibbs_needs_the_fewest_operations_for_six_joints() -> None:
    chain = appell.robots.random_chain(6, seed=6)
    found = {
        method: appell.count_operations(chain, "forward_dynamics", method=method)
        for method in ("gibbs", "articulated", "noc")
    }
    assert min(found, key=lambda method: found[method].mul + found[method].add) == "gibbs"
