"""The Gibbs function G holds everything: its gradient in qdd is tau and its Hessian is M."""

from __future__ import annotations

import numpy as np
from helpers.closeness import assert_close
from helpers.exact_derivatives import gradient, hessian
from helpers.random_trees import SMALL_TREES, over
from helpers.states import random_states

from appell.robot.robot import Robot

TOLERANCE = 1e-11


@over(SMALL_TREES)
def test_gradient_in_qdd_is_tau(robot: Robot) -> None:
    state = random_states(robot)
    assert_close(gradient(robot, "gibbs_function", "qdd")(*state), robot.inverse_dynamics(*state), tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_hessian_in_qdd_is_the_mass_matrix(robot: Robot) -> None:
    state = random_states(robot)
    assert_close(hessian(robot, "gibbs_function", "qdd")(*state), robot.mass_matrix(state.q), tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_is_quadratic_in_qdd(robot: Robot) -> None:
    """G(qdd) = G(0) + bias · qdd + qdd M qdd / 2, Provenzano 2002 eq. (1)."""
    q, qd, qdd = random_states(robot)
    linear = np.einsum("ni,ni->n", robot.bias(q, qd), qdd)
    quadratic = 0.5 * np.einsum("ni,nij,nj->n", qdd, robot.mass_matrix(q), qdd)
    expected = robot.gibbs_function(q, qd, 0 * qdd) + linear + quadratic
    assert_close(robot.gibbs_function(q, qd, qdd), expected, tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_is_least_for_the_free_motion(robot: Robot) -> None:
    """Gauss's principle: without applied forces the true accelerations make G smallest."""
    q, qd, other = random_states(robot)
    qdd = robot.forward_dynamics(q, qd, 0 * qd)
    assert (robot.gibbs_function(q, qd, qdd) < robot.gibbs_function(q, qd, qdd + 0.1 * other)).all()
