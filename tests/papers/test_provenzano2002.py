"""Provenzano and Mata 2002: the forward problem by the Hessian of the Gibbs function.

Only (1) survives in the available text of its equations; (2) and (3) follow from the words around them, the others are
those of Mata 2002 (tests/papers/test_mata2002_inertia_matrix.py).
"""

from __future__ import annotations

import pytest
from helpers.closeness import assert_close
from helpers.exact_derivatives import gradient, hessian
from helpers.states import random_states

import appell
from appell.robot.robot import Robot

TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def puma() -> Robot:
    return appell.load("puma560")


def test_eq_01_gibbs_function_in_generalised_coordinates(puma: Robot) -> None:
    """G = q̈^T D q̈/2 + φ^T q̈ + f(q, q̇) with φ the bias."""
    q, qd, qdd = (array[0] for array in random_states(puma, count=1))
    f = puma.gibbs_function(q, qd, 0 * qdd)
    expected = 0.5 * qdd @ puma.mass_matrix(q) @ qdd + puma.bias(q, qd) @ qdd + f
    assert_close(puma.gibbs_function(q, qd, qdd), expected, tolerance=TOLERANCE)


def test_eq_02_equations_of_motion(puma: Robot) -> None:
    """∂G/∂q̈ = D q̈ + φ = τ."""
    q, qd, qdd = state = random_states(puma, count=1)
    slope = gradient(puma, "gibbs_function", "qdd")(*state)[0]
    assert_close(slope, puma.mass_matrix(q[0]) @ qdd[0] + puma.bias(q[0], qd[0]), tolerance=TOLERANCE)
    assert_close(slope, puma.inverse_dynamics(*state)[0], tolerance=TOLERANCE)


def test_eq_03_inertia_matrix_is_the_hessian(puma: Robot) -> None:
    state = random_states(puma, count=1)
    assert_close(hessian(puma, "gibbs_function", "qdd")(*state)[0], puma.mass_matrix(state.q[0]), tolerance=TOLERANCE)


def test_table_1_sums_of_the_linear_system() -> None:
    """n³/6 + 1.5n² - 2n/3 is 86 for n = 6, printed as 66; the printed total of 905 needs 86."""
    n = 6
    linear = n**3 / 6 + 1.5 * n**2 - 2 * n / 3
    assert round(linear) == 86
    assert 426 + 393 + round(linear) == 905


def test_table_1_total_products() -> None:
    n = 6
    rows = (11.5 * n**2 + 19.5 * n - 49, 96 * n - 108, n**3 / 6 + 1.5 * n**2 + n / 3)
    assert sum(rows) == n**3 / 6 + 13 * n**2 + 695 * n / 6 - 157 == 1042


def test_table_2_this_works_row() -> None:
    """1042 products and 905 sums for a general arm of six joints; folded constants leave fewer, the PUMA far fewer."""
    found = appell.count_operations(appell.robots.random_chain(6, seed=6), "forward_dynamics", method="gibbs")
    assert found.mul + found.div <= 1042
    assert found.add <= 905
    puma = appell.count_operations(appell.load("puma560"), "forward_dynamics", method="gibbs")
    assert puma.mul + puma.div < 0.6 * 1042
    assert puma.add < 0.6 * 905
