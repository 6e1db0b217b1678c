"""What must not change the numbers: the order of a file, how a body is put together, where the world's axes point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.methods import METHODS
from helpers.random_trees import SMALL_TREES, general_tree, over, triple
from helpers.states import random_states
from scipy.spatial.transform import Rotation

from appell.model.body import Body
from appell.model.joint import Joint
from appell.model.pose import Pose
from appell.robot.robot import Robot

TOLERANCE = 1e-11


@over(SMALL_TREES)
def test_order_of_the_description_only_permutes_results(robot: Robot) -> None:
    rng = np.random.default_rng(1)
    joints = tuple(robot.joints[i] for i in rng.permutation(len(robot.joints)))
    bodies = tuple(robot.bodies[i] for i in rng.permutation(len(robot.bodies)))
    shuffled = replace(robot, joints=joints, bodies=bodies)
    assert shuffled.joint_names == tuple(joint.name for joint in joints if joint.name in robot.joint_names)
    order = [robot.joint_names.index(name) for name in shuffled.joint_names]
    q, qd, qdd = random_states(robot)
    expected = robot.inverse_dynamics(q, qd, qdd)[:, order]
    again = (q[:, order], qd[:, order], qdd[:, order])
    for method in METHODS["inverse_dynamics"]:
        assert_close(shuffled.inverse_dynamics(*again, method=method), expected, tolerance=TOLERANCE)
    M = robot.mass_matrix(q)[:, order][:, :, order]
    for method in METHODS["mass_matrix"]:
        assert_close(shuffled.mass_matrix(again[0], method=method), M, tolerance=TOLERANCE)
    qdd = robot.forward_dynamics(q, qd, qdd)[:, order]
    for method in METHODS["forward_dynamics"]:
        assert_close(shuffled.forward_dynamics(*again, method=method), qdd, tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_turning_world_and_gravity_together_changes_nothing(robot: Robot) -> None:
    turn = Rotation.from_rotvec([0.4, -1.1, 0.7])
    root = robot.bodies[0].name
    carried = Joint("turned", "fixed", "world", root, Pose.from_matrix((0.3, 0.2, -0.1), turn.as_matrix()))
    turned = replace(robot, bodies=(Body("world"), *robot.bodies), joints=(carried, *robot.joints))
    turned = turned.with_gravity(triple(turn.apply(robot.gravity_vector)))
    state = random_states(robot)
    assert_close(turned.inverse_dynamics(*state), robot.inverse_dynamics(*state), tolerance=TOLERANCE)
    last = robot.body_names[-1]
    assert_close(turned.jacobian(state.q, last, "LOCAL"), robot.jacobian(state.q, last, "LOCAL"), tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_a_body_and_its_two_halves_are_the_same(robot: Robot) -> None:
    """Every body with mass is cut into two that a fixed joint holds together."""
    bodies, joints = list(robot.bodies), list(robot.joints)
    origin = Pose((0.2, -0.1, 0.3), (0.5, -0.4, 1.2))
    R, p = origin.rotation, np.array(origin.xyz)
    for i, body in enumerate(robot.bodies):
        half = tuple(entry / 2 for entry in body.inertia)
        Ixx, Ixy, Ixz, Iyy, Iyz, Izz = half
        inertia = R.T @ np.array([[Ixx, Ixy, Ixz], [Ixy, Iyy, Iyz], [Ixz, Iyz, Izz]]) @ R
        entries = tuple(inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]].tolist())
        bodies[i] = replace(body, mass=body.mass / 2, inertia=half)
        bodies.append(Body(f"{body.name}_half", body.mass / 2, triple(R.T @ (np.array(body.com) - p)), entries))
        joints.append(Joint(f"{body.name}_weld", "fixed", body.name, f"{body.name}_half", origin))
    cut = replace(robot, bodies=tuple(bodies), joints=tuple(joints))
    state = random_states(robot)
    for method in METHODS["inverse_dynamics"]:
        assert_close(cut.inverse_dynamics(*state, method=method), robot.inverse_dynamics(*state), tolerance=TOLERANCE)
    assert_close(cut.forward_dynamics(*state), robot.forward_dynamics(*state), tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_coupling_is_a_projection_of_the_free_joints(robot: Robot) -> None:
    """With q_free = G q + h: tau = G^T tau_free, M = G^T M_free G."""
    free = replace(robot, coupled=False)
    G, h = couplings(robot)
    q, qd, qdd = random_states(robot)
    states = (q @ G.T + h, qd @ G.T, qdd @ G.T)
    assert_close(robot.inverse_dynamics(q, qd, qdd), free.inverse_dynamics(*states) @ G, tolerance=TOLERANCE)
    assert_close(robot.mass_matrix(q), G.T @ free.mass_matrix(states[0]) @ G, tolerance=TOLERANCE)
    C = G.T @ free.coriolis_matrix(*states[:2]) @ G
    assert_close(robot.coriolis_matrix(q, qd), C, tolerance=TOLERANCE, scale=float(np.abs(robot.mass_matrix(q)).max()))
    last = robot.body_names[-1]
    assert_close(robot.jacobian(q, last), free.jacobian(states[0], last) @ G, tolerance=TOLERANCE)


def couplings(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """G and h of q_free = G q + h, read off the description."""
    free = replace(robot, coupled=False)
    G, h = np.zeros((free.nv, robot.nv)), np.zeros(free.nv)
    for row, name in enumerate(free.joint_names):
        factor, joint = 1.0, robot.joint(name)
        while joint.mimic is not None:
            h[row] += factor * joint.mimic.offset
            factor *= joint.mimic.multiplier
            joint = robot.joint(joint.mimic.joint)
        G[row, robot.joint_names.index(joint.name)] = factor
    return G, h


@pytest.mark.parametrize("factor", [0.25, 8.0])
def test_forces_grow_with_mass(factor: float) -> None:
    robot = general_tree(9, 3)
    bodies = tuple(
        replace(body, mass=body.mass * factor, inertia=tuple(factor * x for x in body.inertia)) for body in robot.bodies
    )
    joints = tuple(replace(joint, rotor_inertia=joint.rotor_inertia * factor) for joint in robot.joints)
    state = random_states(robot)
    heavy = replace(robot, bodies=bodies, joints=joints)
    assert_close(heavy.inverse_dynamics(*state), factor * robot.inverse_dynamics(*state))


def test_one_state_and_a_batch_give_the_same_numbers() -> None:
    robot = general_tree(9, 3)
    state = random_states(robot, count=5)
    together = robot.inverse_dynamics(*state)
    for i in range(5):
        assert_close(robot.inverse_dynamics(*(array[i] for array in state)), together[i])
