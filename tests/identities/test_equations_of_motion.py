"""tau = M qdd + C qd + g, however it is computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.exact_derivatives import gradient
from helpers.methods import METHODS
from helpers.random_trees import LARGE_TREES, MEDIUM_TREES, SMALL_TREES, over
from helpers.states import random_states

from appell.robot.robot import Robot

TOLERANCE = 1e-11
UP_TO_MEDIUM = SMALL_TREES + MEDIUM_TREES
EVERY = UP_TO_MEDIUM + LARGE_TREES


@over(EVERY)
@pytest.mark.parametrize("function", METHODS)
def test_all_methods_agree(robot: Robot, function: str) -> None:
    state = random_states(robot)
    arguments = {"mass_matrix": state[:1], "bias": state[:2]}.get(function, state)
    first, *others = (getattr(robot, function)(*arguments, method=method) for method in METHODS[function])
    for other in others:
        assert_close(other, first, tolerance=TOLERANCE)


@over(EVERY)
@pytest.mark.parametrize("method", METHODS["forward_dynamics"])
def test_forward_of_inverse_is_the_identity(robot: Robot, method: str) -> None:
    q, qd, qdd = random_states(robot)
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert_close(robot.forward_dynamics(q, qd, tau, method=method), qdd, tolerance=TOLERANCE)


@over(UP_TO_MEDIUM)
@pytest.mark.parametrize("method", METHODS["forward_dynamics"])
def test_inverse_of_forward_is_the_identity(robot: Robot, method: str) -> None:
    q, qd, tau = random_states(robot)
    qdd = robot.forward_dynamics(q, qd, tau, method=method)
    scale = np.abs(robot.bias(q, qd)).max()
    assert_close(robot.inverse_dynamics(q, qd, qdd), tau, tolerance=TOLERANCE, scale=scale)


@over(EVERY)
def test_inverse_dynamics_is_mass_times_acceleration_plus_bias(robot: Robot) -> None:
    q, qd, qdd = random_states(robot)
    expected = np.einsum("nij,nj->ni", robot.mass_matrix(q), qdd) + robot.bias(q, qd)
    assert_close(robot.inverse_dynamics(q, qd, qdd), expected, tolerance=TOLERANCE)


@over(EVERY)
def test_bias_is_coriolis_plus_gravity(robot: Robot) -> None:
    q, qd, _ = random_states(robot)
    expected = np.einsum("nij,nj->ni", robot.coriolis_matrix(q, qd), qd) + robot.gravity(q)
    assert_close(robot.bias(q, qd), expected, tolerance=TOLERANCE)


@over(UP_TO_MEDIUM)
def test_gravity_is_bias_at_rest(robot: Robot) -> None:
    q, qd, _ = random_states(robot)
    assert_close(robot.gravity(q), robot.bias(q, 0 * qd))


@over(SMALL_TREES)
@pytest.mark.parametrize("method", METHODS["inverse_dynamics"])
def test_slope_of_tau_in_qdd_is_the_mass_matrix(robot: Robot, method: str) -> None:
    state = random_states(robot)
    slope = gradient(robot, "inverse_dynamics", "qdd", method=method)(*state)
    assert_close(robot.mass_matrix(state.q), slope, tolerance=TOLERANCE)


@over(UP_TO_MEDIUM)
@pytest.mark.parametrize("method", METHODS["mass_matrix"])
def test_mass_matrix_is_symmetric_positive_definite(robot: Robot, method: str) -> None:
    M = robot.mass_matrix(random_states(robot).q, method=method)
    assert np.array_equal(M, M.swapaxes(-1, -2))
    assert np.linalg.eigvalsh(M).min() > 0


@over(SMALL_TREES)
def test_gravity_of_a_call_replaces_the_robots_own(robot: Robot) -> None:
    q, qd, qdd = random_states(robot)
    g = np.array([[1.0, -2.0, 3.0], [0.0, 0.0, 0.0], [-9.0, 4.0, 0.5]])
    for method in METHODS["inverse_dynamics"]:
        tau = robot.inverse_dynamics(q, qd, qdd, gravity=g, method=method)
        expected = [robot.with_gravity(g[i]).inverse_dynamics(q[i], qd[i], qdd[i]) for i in range(3)]
        assert_close(tau, np.array(expected), tolerance=TOLERANCE)
    for method in METHODS["forward_dynamics"]:
        back = robot.forward_dynamics(q, qd, tau, gravity=g, method=method)
        assert_close(back, qdd, tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_rotor_inertia_adds_to_the_diagonal(robot: Robot) -> None:
    bare = replace(robot, joints=tuple(replace(joint, rotor_inertia=0.0) for joint in robot.joints))
    q = random_states(robot).q
    rotors = np.zeros(robot.nv)
    for link in robot.tree.links:
        rotors[link.idx_v] += link.multiplier**2 * robot.joint(link.name).armature
    expected = bare.mass_matrix(q) + np.diag(rotors)
    for method in METHODS["mass_matrix"]:
        assert_close(robot.mass_matrix(q, method=method), expected)
