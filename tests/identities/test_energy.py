"""Energies, and the power that changes them."""

from __future__ import annotations

import numpy as np
from helpers.closeness import assert_close
from helpers.exact_derivatives import gradient, rate
from helpers.joint_trees import EVERY_TREE
from helpers.random_trees import MEDIUM_TREES, SMALL_TREES, over
from helpers.states import random_states

from appell.robot.robot import Robot

TOLERANCE = 1e-11
EVERY = SMALL_TREES + MEDIUM_TREES


@over(EVERY + EVERY_TREE)
def test_kinetic_energy_is_half_qd_M_qd(robot: Robot) -> None:
    q, qd, _ = random_states(robot)
    expected = 0.5 * np.einsum("ni,nij,nj->n", qd, robot.mass_matrix(q), qd)
    assert_close(robot.kinetic_energy(q, qd), expected, tolerance=TOLERANCE)


@over(EVERY)
def test_gravity_is_the_slope_of_potential_energy(robot: Robot) -> None:
    q, _, _ = random_states(robot)
    assert_close(robot.gravity(q), gradient(robot, "potential_energy", "q")(q), tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_generalised_momentum_is_the_slope_of_kinetic_energy(robot: Robot) -> None:
    q, qd, _ = random_states(robot)
    expected = np.einsum("nij,nj->ni", robot.mass_matrix(q), qd)
    assert_close(gradient(robot, "kinetic_energy", "qd")(q, qd), expected, tolerance=TOLERANCE)


@over(EVERY)
def test_power_flow(robot: Robot) -> None:
    """dE/dt = tau · qd for any motion."""
    q, qd, qdd = random_states(robot)
    power = np.einsum("ni,ni->n", robot.inverse_dynamics(q, qd, qdd), qd)
    change = rate(robot, "kinetic_energy")(q, qd, qdd) + rate(robot, "potential_energy")(q, qd)
    assert_close(change, power, tolerance=TOLERANCE, scale=float(np.abs(power).max()))


@over(SMALL_TREES)
def test_energy_is_conserved_without_applied_forces(robot: Robot) -> None:
    q, qd, _ = random_states(robot)
    qdd = robot.forward_dynamics(q, qd, 0 * qd)
    kinetic, potential = rate(robot, "kinetic_energy")(q, qd, qdd), rate(robot, "potential_energy")(q, qd)
    assert_close(kinetic, -potential, tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_lagrange_equations(robot: Robot) -> None:
    """d/dt ∂T/∂qd - ∂T/∂q + ∂U/∂q = tau: another principle, the same forces."""
    import casadi
    from helpers.exact_derivatives import on_batches, symbolic

    inputs, T, _ = symbolic(robot, "kinetic_energy")
    q, qd, qdd = inputs["q"], inputs["qd"], casadi.SX.sym("qdd", robot.nv)
    momentum = casadi.gradient(T, qd)
    inertia = casadi.jtimes(momentum, q, qd) + casadi.jtimes(momentum, qd, qdd) - casadi.gradient(T, q)
    state = random_states(robot)
    expected = on_batches({"q": q, "qd": qd, "qdd": qdd}, inertia, (robot.nv,))(*state)
    expected = expected + gradient(robot, "potential_energy", "q")(state.q)
    assert_close(robot.inverse_dynamics(*state), expected, tolerance=TOLERANCE)


@over(EVERY)
def test_passive_forces_only_take_energy(robot: Robot) -> None:
    _, qd, _ = random_states(robot)
    assert (np.einsum("ni,ni->n", robot.passive_forces(qd), qd) < 0).all()
    assert not robot.passive_forces(0 * qd).any()


@over(SMALL_TREES)
def test_passive_forces_follow_each_joints_own_speed(robot: Robot) -> None:
    """Every joint, followers too, resists with damping and friction of its own speed; powers add up."""
    _, qd, _ = random_states(robot)
    power = np.zeros(len(qd))
    for link in robot.tree.links:
        joint = robot.joint(link.name)
        own = link.multiplier * qd[:, link.idx_v]
        power -= (joint.damping * own + joint.friction * np.sign(own)) * own
    assert_close(np.einsum("ni,ni->n", robot.passive_forces(qd), qd), power)
