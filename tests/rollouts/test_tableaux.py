"""The integrators of rollouts are those of their names: conditions of their order."""

from __future__ import annotations

import numpy as np
import pytest

from appell.algorithms.runge_kutta import TABLEAUX


def test_rk4_meets_the_conditions_of_order_four():
    """Hairer, Nørsett and Wanner, section II.1: eight trees, with each stage built on the one before."""
    tableau = TABLEAUX["rk4"]
    b, c = np.array(tableau.weights), np.array([0.0, *tableau.ahead])
    A = np.diag(c[1:], -1)
    trees = [b.sum(), b @ c, b @ c**2, b @ A @ c, b @ c**3, (b * c) @ A @ c, b @ A @ c**2, b @ A @ A @ c]
    assert trees == pytest.approx([1.0, 1 / 2, 1 / 3, 1 / 6, 1 / 4, 1 / 8, 1 / 12, 1 / 24], rel=1e-14)
    assert not tableau.new_speeds


def test_semi_implicit_euler_moves_with_the_new_speeds():
    tableau = TABLEAUX["semi_implicit_euler"]
    assert (tableau.weights, tableau.ahead, tableau.new_speeds) == ((1.0,), (), True)
