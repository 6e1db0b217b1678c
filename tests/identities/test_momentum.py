"""Newton's second law for the robot as a whole, and momenta that nothing changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from helpers.closeness import assert_close
from helpers.exact_derivatives import gradient, rate, second_rate
from helpers.random_trees import MOVING, SMALL_TREES, general_tree, over
from helpers.states import random_states

from appell.model.body import Body
from appell.model.joint import Joint
from appell.robot.robot import Robot

TOLERANCE = 1e-11


def on_a_gantry(robot: Robot) -> Robot:
    """The robot with its base carried by three sliders without mass, along the world's x, y and z."""
    bodies = [Body(f"slider{i}") for i in range(3)]
    carriers = [bodies[1].name, bodies[2].name, robot.bodies[0].name]
    sliders = [
        Joint(f"slide{i}", "prismatic", bodies[i].name, carriers[i], axis=tuple(np.eye(3)[i].tolist()))
        for i in range(3)
    ]
    base = replace(robot.bodies[0], mass=2.0, com=(0.1, 0.2, -0.3), inertia=(1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
    return replace(robot, bodies=(*bodies, base, *robot.bodies[1:]), joints=(*sliders, *robot.joints))


def total_mass(robot: Robot) -> float:
    return sum(body.mass for body in robot.bodies)


@over(SMALL_TREES)
def test_force_on_the_whole_is_mass_times_acceleration_of_the_mass_centre(robot: Robot) -> None:
    robot = on_a_gantry(robot)
    state = random_states(robot)
    acceleration = second_rate(robot, "center_of_mass")(*state)
    expected = total_mass(robot) * (acceleration - np.array(robot.gravity_vector))
    assert_close(robot.inverse_dynamics(*state)[:, :3], expected, tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_momentum_of_the_whole_is_mass_times_velocity_of_the_mass_centre(robot: Robot) -> None:
    robot = on_a_gantry(robot)
    q, qd, _ = random_states(robot)
    momentum = np.einsum("nij,nj->ni", robot.mass_matrix(q), qd)[:, :3]
    assert_close(momentum, total_mass(robot) * rate(robot, "center_of_mass")(q, qd), tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_potential_energy_is_the_weight_of_the_mass_centre(robot: Robot) -> None:
    robot = on_a_gantry(robot)
    q = random_states(robot).q
    expected = -total_mass(robot) * robot.center_of_mass(q) @ np.array(robot.gravity_vector)
    assert_close(robot.potential_energy(q), expected, tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_mass_centre_is_the_mean_of_the_moving_bodies(robot: Robot) -> None:
    q = random_states(robot).q
    moving = [body for body in robot.bodies if robot.tree.frames[body.name].link >= 0]
    points = [robot.pose(q, body.name) @ np.array([*body.com, 1.0]) for body in moving]
    expected = sum(body.mass * point[:, :3] for body, point in zip(moving, points, strict=True))
    expected = expected / sum(body.mass for body in moving)
    assert_close(robot.center_of_mass(q), expected, tolerance=TOLERANCE)


def test_momentum_about_the_first_axis_is_conserved() -> None:
    """Without gravity and torque about it, the momentum of the joint at the base stays: d(M qd)_1/dt = tau_1."""
    robot = general_tree(6, 1, MOVING, branching=0.0)
    robot = replace(robot, joints=tuple(replace(joint, mimic=None) for joint in robot.joints)).with_gravity((0, 0, 0))
    q, qd, tau = random_states(robot)
    tau[:, 0] = 0.0
    qdd = robot.forward_dynamics(q, qd, tau)
    slope = gradient(robot, "mass_matrix", "q")(q)
    assert_close(slope[..., 0], np.zeros_like(slope[..., 0]), scale=float(np.abs(slope).max()))  # a cyclic coordinate
    Mdot = rate(robot, "mass_matrix")(q, qd)
    change = np.einsum("nij,nj->ni", robot.mass_matrix(q), qdd) + np.einsum("nij,nj->ni", Mdot, qd)
    assert_close(change[:, 0], np.zeros(len(q)), tolerance=TOLERANCE, scale=float(np.abs(change).max()))
