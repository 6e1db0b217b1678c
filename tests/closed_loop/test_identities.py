"""Laws that hold whatever the mechanism."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.loop_robots import BUILT_IN, built_in, spatial_loop, states

WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
"""Central differences of sixth order."""


def rate(robot, q, v, function, step: float = 5e-3):
    """d/dt of a function of the configuration while the joints move at v; the loops are closed at every point."""
    ends = [k * step * sign * v for k in WEIGHTS for sign in (1.0, -1.0)]
    found = function(robot.solve_loop_closure(robot.spanning_tree.integrate(q, np.array(ends))).q)
    weights = np.array([w * sign for w in WEIGHTS.values() for sign in (1.0, -1.0)])
    return np.tensordot(weights, found, axes=1) / step


@pytest.mark.parametrize("name", BUILT_IN)
def test_mass_matrix_rate_less_twice_coriolis_is_skew(name):
    robot = built_in(name)
    q, qd, _ = (array[0] for array in states(robot, 1, seed=1))
    Md = rate(robot, q, robot.joint_velocities(q, qd), robot.mass_matrix)
    C = robot.coriolis_matrix(q, qd)
    assert_close(C + C.T, Md, tolerance=1e-9, scale=np.abs(C).max())
    force = robot.bias(q, qd) - robot.gravity(q)
    assert_close(C @ qd, force, tolerance=1e-12, scale=np.abs(force).max())


@pytest.mark.parametrize("name", BUILT_IN)
def test_power_of_actuators_is_the_rate_of_energy(name):
    """dT/dt from M and its rate, dU/dt by differences, against J_a^T τ · u."""
    robot = built_in(name)
    q, qd, qdd = (array[0] for array in states(robot, 1, seed=2))
    torques = robot.inverse_dynamics(q, qd, qdd)
    v, M = robot.joint_velocities(q, qd), robot.mass_matrix(q)
    assert_close(robot.kinetic_energy(q, qd), np.float64(qd @ M @ qd / 2), tolerance=1e-12)
    Md = rate(robot, q, v, robot.mass_matrix)
    energy = qd @ M @ qdd + qd @ Md @ qd / 2 + rate(robot, q, v, robot.potential_energy)
    power = (robot.actuator_jacobian(q) @ qd) @ torques
    assert_close(power, energy, tolerance=1e-9, scale=max(1.0, abs(power), np.abs(torques).max()))
    assert_close(power, qd @ robot.generalized_forces(q, qd, qdd), tolerance=1e-11, scale=max(1.0, abs(power)))


@pytest.mark.parametrize("name", ["planar_3rrr", "delta"])
def test_equations_are_linear_in_the_acceleration(name):
    robot = built_in(name)
    q, qd, qdd = states(robot, 2, seed=3)
    forces = (robot.mass_matrix(q) @ qdd[..., None])[..., 0] + robot.bias(q, qd)
    assert_close(robot.generalized_forces(q, qd, qdd), forces, tolerance=1e-12, scale=np.abs(forces).max())
    assert_close(robot.bias(q, 0 * qd), robot.gravity(q), tolerance=1e-13, scale=np.abs(forces).max())


@pytest.mark.parametrize("name", ["four_bar", "delta"])
def test_gibbs_function_has_forces_as_gradient_and_mass_matrix_as_hessian(name):
    """Of second degree in the acceleration: differences of any step are exact."""
    robot = built_in(name)
    q, qd, qdd = (array[0] for array in states(robot, 1, seed=7))
    steps = np.eye(robot.nv)
    S = {sign: robot.gibbs_function(q, qd, qdd + sign * steps) for sign in (1.0, -1.0)}
    forces, scale = robot.generalized_forces(q, qd, qdd), np.abs(S[1.0]).max()
    assert_close((S[1.0] - S[-1.0]) / 2, forces, tolerance=1e-12, scale=scale)
    both = robot.gibbs_function(q, qd, qdd + steps[:, None] + steps)
    M = both - S[1.0][:, None] - S[1.0] + robot.gibbs_function(q, qd, qdd)
    assert_close(M, robot.mass_matrix(q), tolerance=1e-12, scale=scale)
    tree, v = robot.spanning_tree, robot.joint_velocities(q, qd)
    own = tree.gibbs_function(q, v, robot.joint_accelerations(q, qd, qdd))
    assert_close(robot.gibbs_function(q, qd, qdd), own, tolerance=1e-12)


def test_passive_forces_take_the_power_that_the_joints_lose():
    robot = built_in("five_bar")
    joints = tuple(
        replace(joint, damping=0.1 * k, friction=0.2 * k) for k, joint in enumerate(robot.spanning_tree.joints)
    )
    lossy = replace(robot, spanning_tree=replace(robot.spanning_tree, joints=joints))
    q, qd, _ = states(robot, 3, seed=8)
    v = robot.joint_velocities(q, qd)
    lost = (v * lossy.spanning_tree.passive_forces(v)).sum(axis=-1)
    assert_close((qd * lossy.passive_forces(q, qd)).sum(axis=-1), lost, tolerance=1e-12)
    assert (lost < 0).all()


@pytest.mark.parametrize("kind", ["universal", "prismatic"])
def test_speeds_keep_the_loops_closed(kind):
    """To first order loops stay closed along v = G u; to second order along v̇ = G u̇ + Ġ u."""
    robot = spatial_loop(kind)
    q, qd, qdd = (array[0] for array in states(robot, 1, seed=4))
    v, vd = robot.joint_velocities(q, qd), robot.joint_accelerations(q, qd, qdd)
    assert_close(robot.joint_velocity_jacobian(q) @ qd, v, tolerance=1e-12, scale=np.abs(v).max())
    size = np.linalg.norm([*v, *vd])
    errors = []
    for h in (1e-2 / size, 5e-3 / size):
        half = robot.spanning_tree.integrate(q, v * h + vd * (h * h / 2))
        errors.append(robot.closure_error(half))
    assert errors[1] < errors[0] / 5  # of third order


def test_energies_and_places_are_those_of_the_tree():
    robot = built_in("delta")
    q, qd, _ = states(robot, 2, seed=6)
    tree, v = robot.spanning_tree, robot.joint_velocities(q, qd)
    assert_close(robot.potential_energy(q), tree.potential_energy(q), tolerance=1e-13)
    assert_close(robot.kinetic_energy(q, qd), tree.kinetic_energy(q, v), tolerance=1e-12)
    assert_close(robot.center_of_mass(q), tree.center_of_mass(q), tolerance=1e-13)
    assert_close(robot.pose(q, "forearm2"), tree.pose(q, "forearm2"), tolerance=1e-13)
    J = tree.jacobian(q, "forearm2", "LOCAL") @ robot.joint_velocity_jacobian(q)
    assert_close(robot.jacobian(q, "forearm2", "LOCAL"), J, tolerance=1e-12)
