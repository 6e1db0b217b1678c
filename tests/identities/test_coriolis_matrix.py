"""C(q, qd) of the Christoffel symbols."""

from __future__ import annotations

import numpy as np
from helpers.closeness import assert_close
from helpers.exact_derivatives import gradient, rate
from helpers.joint_trees import EVERY_TREE
from helpers.random_trees import LARGE_TREES, MEDIUM_TREES, SMALL_TREES, over
from helpers.states import random_states

from appell.robot.robot import Robot

TOLERANCE = 1e-11


def largest(M: np.ndarray) -> float:
    """The size of the terms that make up C; C itself is zero for a single joint."""
    return float(np.abs(M).max())


@over(SMALL_TREES + MEDIUM_TREES + LARGE_TREES + EVERY_TREE)
def test_Mdot_minus_2C_is_skew(robot: Robot) -> None:
    q, qd, _ = random_states(robot)
    N = rate(robot, "mass_matrix")(q, qd) - 2 * robot.coriolis_matrix(q, qd)
    assert_close(N, -N.swapaxes(-1, -2), tolerance=TOLERANCE, scale=largest(robot.mass_matrix(q)))


@over(SMALL_TREES)
def test_is_made_of_the_christoffel_symbols_of_M(robot: Robot) -> None:
    """C_ij = Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j - ∂M_jk/∂q_i) qd_k / 2."""
    q, qd, _ = random_states(robot)
    dM = gradient(robot, "mass_matrix", "q")(q)  # n, i, j, k
    symbols = 0.5 * (dM + dM.transpose(0, 1, 3, 2) - dM.transpose(0, 3, 1, 2))
    expected = np.einsum("nijk,nk->nij", symbols, qd)
    assert_close(robot.coriolis_matrix(q, qd), expected, tolerance=TOLERANCE, scale=largest(robot.mass_matrix(q)))


@over(SMALL_TREES + MEDIUM_TREES)
def test_is_symmetric_in_the_two_speeds(robot: Robot) -> None:
    """C(q, a) b = C(q, b) a."""
    q, a, b = random_states(robot)
    first = np.einsum("nij,nj->ni", robot.coriolis_matrix(q, a), b)
    second = np.einsum("nij,nj->ni", robot.coriolis_matrix(q, b), a)
    assert_close(first, second, tolerance=TOLERANCE, scale=largest(robot.mass_matrix(q)))


@over(SMALL_TREES)
def test_bias_less_gravity_is_quadratic_in_speed(robot: Robot) -> None:
    q, qd, _ = random_states(robot)
    none = (0.0, 0.0, 0.0)
    once, thrice = robot.bias(q, qd, gravity=none), robot.bias(q, -3 * qd, gravity=none)
    assert_close(thrice, 9 * once, tolerance=TOLERANCE, scale=largest(robot.mass_matrix(q)))
