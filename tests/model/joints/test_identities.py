"""Laws of mechanics on trees of every kind of joint, with speeds that are not the rates of the coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.exact_derivatives import gradient, hessian, rate, second_rate, slope
from helpers.joint_trees import EVERY_TREE, MIXED_TREES, mixed_tree
from helpers.methods import REFERENCE_FRAMES
from helpers.random_trees import over
from helpers.states import random_states

import appell
from appell.loading.load import with_floating_base
from appell.model.joints import KINDS
from appell.robot.robot import Robot

TOLERANCE = 1e-11


def largest(array: np.ndarray) -> float:
    return float(np.abs(array).max())


@over(EVERY_TREE)
def test_forces_and_inertia_are_derivatives_of_the_gibbs_function(robot: Robot) -> None:
    state = random_states(robot)
    tau = gradient(robot, "gibbs_function", "qdd")(*state)
    assert_close(robot.inverse_dynamics(*state), tau, tolerance=TOLERANCE)
    M = hessian(robot, "gibbs_function", "qdd")(*state)
    assert_close(robot.mass_matrix(state.q), M, tolerance=TOLERANCE)


@over(EVERY_TREE)
def test_Mdot_minus_2C_is_skew_along_a_step(robot: Robot) -> None:
    """The same with M at both ends of a short step, without derivatives: to the square of the step."""
    q, qd, _ = random_states(robot)
    h = 1e-4
    ahead, behind = robot.integrate(q, h * qd), robot.integrate(q, -h * qd)
    N = (robot.mass_matrix(ahead) - robot.mass_matrix(behind)) / (2 * h) - 2 * robot.coriolis_matrix(q, qd)
    assert_close(N, -N.swapaxes(-1, -2), tolerance=1e-5, scale=largest(robot.mass_matrix(q)))


@over(EVERY_TREE)
def test_power_flow(robot: Robot) -> None:
    """dE/dt = tau · qd for any motion."""
    q, qd, qdd = random_states(robot)
    power = np.einsum("ni,ni->n", robot.inverse_dynamics(q, qd, qdd), qd)
    change = rate(robot, "kinetic_energy")(q, qd, qdd) + rate(robot, "potential_energy")(q, qd)
    assert_close(change, power, tolerance=TOLERANCE, scale=largest(power))


@over(EVERY_TREE)
def test_gravity_is_the_slope_of_potential_energy(robot: Robot) -> None:
    q = random_states(robot).q
    assert_close(robot.gravity(q), slope(robot, "potential_energy")(q), tolerance=TOLERANCE)


@over(EVERY_TREE)
def test_jacobians_are_derivatives_of_poses(robot: Robot) -> None:
    q, qd, _ = random_states(robot)
    frame = robot.body_names[-1]
    T, Td = robot.pose(q, frame), rate(robot, "pose", frame=frame)(q, qd)
    spin = Td[:, :3, :3] @ T[:, :3, :3].swapaxes(-1, -2)
    twist = np.concatenate([Td[:, :3, 3], np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)], axis=-1)
    assert_close(np.einsum("nij,nj->ni", robot.jacobian(q, frame), qd), twist, tolerance=TOLERANCE)
    for reference in REFERENCE_FRAMES:
        expected = rate(robot, "jacobian", frame=frame, reference=reference)(q, qd)
        scale = largest(robot.jacobian(q, frame, reference)) * largest(qd)
        assert_close(robot.jacobian_rate(q, qd, frame, reference), expected, tolerance=TOLERANCE, scale=scale)


@over(EVERY_TREE)
def test_momentum_of_the_mass_centre(robot: Robot) -> None:
    """A qd is the momentum; its linear part is mass times velocity of the mass centre, which is J qd."""
    q, qd, _ = random_states(robot)
    momentum = robot.centroidal_momentum(q, qd)
    A = robot.centroidal_momentum_matrix(q)
    assert_close(np.einsum("nij,nj->ni", A, qd), momentum, tolerance=TOLERANCE)
    mass = sum(body.mass for body in robot.bodies if robot.tree.frames[body.name].link >= 0)
    velocity = rate(robot, "center_of_mass")(q, qd)
    assert_close(momentum[:, :3], mass * velocity, tolerance=TOLERANCE)
    assert_close(np.einsum("nij,nj->ni", robot.center_of_mass_jacobian(q), qd), velocity, tolerance=TOLERANCE)


@over([with_floating_base(robot) for robot in MIXED_TREES])
def test_momentum_of_what_flies_changes_by_weight_alone(robot: Robot) -> None:
    """Joint forces are internal: with none on the base, Ṗ = m g and the moment about the mass centre stays."""
    q, qd, tau = random_states(robot)
    tau[:, :6] = 0.0
    qdd = robot.forward_dynamics(q, qd, tau)
    change = rate(robot, "centroidal_momentum")(q, qd, qdd)
    mass = sum(body.mass for body in robot.bodies)
    expected = np.concatenate([mass * np.array(robot.gravity_vector), np.zeros(3)])
    scale = largest(robot.centroidal_momentum_matrix(q)) * largest(qdd)
    assert_close(change, np.broadcast_to(expected, change.shape), tolerance=TOLERANCE, scale=scale)


@over([with_floating_base(robot) for robot in MIXED_TREES])
def test_force_on_a_free_base_is_mass_times_acceleration(robot: Robot) -> None:
    """The first three forces, turned to the world, are m (c̈ - g)."""
    q, qd, qdd = random_states(robot)
    force = robot.inverse_dynamics(q, qd, qdd)[:, :3]
    R = robot.pose(q, robot.joints[0].child)[:, :3, :3]
    mass = sum(body.mass for body in robot.bodies)
    expected = mass * (second_rate(robot, "center_of_mass")(q, qd, qdd) - np.array(robot.gravity_vector))
    assert_close(np.einsum("nij,nj->ni", R, force), expected, tolerance=TOLERANCE)


def test_momentum_needs_mass() -> None:
    robot = appell.RobotBuilder().revolute("joint", parent="base", child="arm").build()
    for function in ("center_of_mass_jacobian", "centroidal_momentum_matrix"):
        with pytest.raises(appell.ModelError, match="no mass"):
            getattr(robot, function)([0.0])
    with pytest.raises(appell.ModelError, match="no mass"):
        robot.centroidal_momentum([0.0], [0.0])


def test_the_order_of_joints_only_permutes() -> None:
    """Coordinates of joints in another order of the file, for joints of several coordinates."""
    robot = mixed_tree(9, 3)
    shuffled = replace(robot, joints=tuple(robot.joints[i] for i in np.random.default_rng(0).permutation(9)))
    q, qd, qdd = random_states(robot)
    first, kinds = robot.first_coordinates, {joint.name: KINDS[joint.kind] for joint in robot.joints}
    iq = [first[name][0] + k for name in shuffled.joint_names for k in range(kinds[name].nq)]
    iv = [first[name][1] + k for name in shuffled.joint_names for k in range(kinds[name].nv)]
    expected = robot.inverse_dynamics(q, qd, qdd)[:, iv]
    assert_close(shuffled.inverse_dynamics(q[:, iq], qd[:, iv], qdd[:, iv]), expected, tolerance=TOLERANCE)


@over(MIXED_TREES)
def test_parameters_of_a_call(robot: Robot) -> None:
    """The robot's own parameters change nothing, twice as heavy bodies need twice the force (rotors left out)."""
    light = replace(robot, joints=tuple(replace(joint, rotor_inertia=0.0) for joint in robot.joints))
    state = random_states(light)
    tau = light.inverse_dynamics(*state)
    assert_close(light.inverse_dynamics(*state, parameters=light.parameters), tau, tolerance=TOLERANCE)
    assert_close(light.inverse_dynamics(*state, parameters=2 * light.parameters), 2 * tau, tolerance=TOLERANCE)
    momentum = light.centroidal_momentum(*state[:2])
    heavier = light.centroidal_momentum(*state[:2], parameters=2 * light.parameters)
    assert_close(heavier, 2 * momentum, tolerance=TOLERANCE)
