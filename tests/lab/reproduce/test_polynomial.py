"""Exact polynomials through operation counts."""

from __future__ import annotations

from fractions import Fraction

import pytest

from appell_lab.reproduce.cost import fit, poly


@pytest.mark.parametrize(
    "polynomial", [poly(7), poly(96, -101), poly(11.5, 19.5, -49), poly("1/6", 13, "695/6", -157)], ids=str
)
def test_fit_finds_what_made_the_counts(polynomial):
    assert fit({n: polynomial(n) for n in range(3, 13)}) == polynomial


def test_fit_says_from_where_it_holds():
    counts = {n: 256 * n - 365 for n in range(3, 13)}
    counts[3] += 1
    found = fit(counts)
    assert found is not None
    assert (str(found), found(12)) == ("256n - 365  (n >= 4)", counts[12])


def test_fit_refuses_what_no_cubic_gives():
    assert fit({n: 2**n for n in range(3, 13)}) is None


def test_fit_needs_a_point_more_than_coefficients():
    assert fit({3: 5}) is None
    assert fit({3: 5, 4: 9}) is None
    assert fit({3: 5, 4: 9, 5: 13}) == poly(4, -7)


@pytest.mark.parametrize(
    ("polynomial", "text"),
    [
        (poly(0), "0"),
        (poly(-1, 0), "-n"),
        (poly(1, 0, -1), "n² - 1"),
        (poly(0.5, 0, 0), "0.5n²"),
        (poly("1/6", 0, "-1/6", 0), "n³/6 - n/6"),
    ],
)
def test_text(polynomial, text):
    assert str(polynomial) == text


def test_values_are_exact():
    assert poly("1/3", 0)(2) == Fraction(2, 3)
    assert poly("1/6", "1/2", "1/3", 0)(6) == 56
