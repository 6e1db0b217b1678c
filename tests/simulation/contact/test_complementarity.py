"""The linear complementarity problem of contacts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from helpers.closeness import assert_close
from hypothesis import given
from hypothesis import strategies as st

from appell.simulation.contact.solver import ContactBlocks, solve_contacts


def solve_complementarity(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    tolerance = 1e-13 * float(np.abs(b).max(initial=1e-300))
    return solve_contacts(G, b, ContactBlocks.unilateral(len(b)), tolerance=tolerance).impulses


def by_enumeration(G: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution found by trying every set of pushing contacts (plain twin)."""
    for chosen in product((False, True), repeat=len(b)):
        P = np.array(chosen)
        f = np.zeros(len(b))
        if P.any():
            f[P] = np.linalg.solve(G[np.ix_(P, P)], -b[P])
        if (f >= -1e-12).all() and (G @ f + b >= -1e-12 * np.abs(b).max()).all():
            return f
    raise AssertionError("no solution")


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_agrees_with_enumeration(m, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m + 2, m))
    G, b = A.T @ A, rng.normal(size=m)
    assert_close(
        solve_complementarity(G, b), by_enumeration(G, b), tolerance=1e-9, scale=1.0 + np.linalg.cond(G) * 1e-6
    )


@given(st.integers(2, 8), st.integers(1, 3), st.integers(0, 10**6))
def test_dependent_rows_push_and_never_pull(m, rank, seed):
    """More contacts than the motion has freedom. b is what approaching contacts of one rigid motion have."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(m, rank))
    motion = rng.normal(size=rank)
    J[J @ motion > 0] *= -1.0  # all approach
    G, b = J @ J.T, 1.5 * (J @ motion)
    f = solve_complementarity(G, b)
    w = G @ f + b
    scale = float(np.abs(b).max())
    assert f.min() >= 0.0
    assert w.min() >= -1e-9 * scale
    assert abs(f @ w) <= 1e-9 * scale * max(1.0, float(f.max()))


def test_equal_contacts_share_equally():
    G = np.full((3, 3), 2.0)
    assert_close(solve_complementarity(G, np.full(3, -6.0)), np.ones(3), tolerance=1e-8)


def test_of_contacts_that_ask_for_different_speeds_the_faster_one_pushes():
    assert_close(solve_complementarity(np.ones((2, 2)), np.array([-1.0, -2.0])), np.array([0.0, 2.0]))


def test_a_contact_that_would_have_to_pull_is_left_out():
    G = np.array([[1.0, 0.9], [0.9, 1.0]])
    b = np.array([-1.0, -0.5])  # solved together the second one would pull
    assert np.linalg.solve(G, -b)[1] < 0.0
    assert_close(solve_complementarity(G, b), np.array([1.0, 0.0]))


def test_nothing_to_do():
    assert_close(solve_complementarity(np.eye(2), np.array([1.0, 2.0])), np.zeros(2))
    assert solve_complementarity(np.zeros((0, 0)), np.zeros(0)).shape == (0,)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_scale_does_not_matter(scale):
    G = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert_close(solve_complementarity(G * scale, np.array([-1.0, 4.0])), np.array([0.5, 0.0]) / scale)
