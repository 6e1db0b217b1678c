"""External wrenches act through the Jacobian of the frame that they are given in."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.methods import METHODS
from helpers.random_trees import MEDIUM_TREES, SMALL_TREES, over
from helpers.states import random_states

from appell.robot.robot import Robot

TOLERANCE = 1e-11
EVERY = SMALL_TREES + MEDIUM_TREES


def wrenches(robot: Robot, count: int) -> dict[str, np.ndarray]:
    """Random wrenches on the base, on one body in the middle and on the last two."""
    rng = np.random.default_rng(robot.nv)
    names = robot.body_names
    return {name: rng.uniform(-5, 5, (count, 6)) for name in (names[0], names[len(names) // 2], *names[-2:])}


def effect(robot: Robot, q: np.ndarray, forces: dict[str, np.ndarray]) -> np.ndarray:
    """Σ J^T wrench, with the Jacobian in the frame's own axes."""
    return sum(np.einsum("nij,ni->nj", robot.jacobian(q, name, "LOCAL"), wrench) for name, wrench in forces.items())


@over(EVERY)
@pytest.mark.parametrize("method", METHODS["inverse_dynamics"])
def test_tau_is_less_by_the_transposed_jacobian_times_wrench(robot: Robot, method: str) -> None:
    q, qd, qdd = random_states(robot)
    forces = wrenches(robot, len(q))
    free = robot.inverse_dynamics(q, qd, qdd)
    loaded = robot.inverse_dynamics(q, qd, qdd, external_forces=forces, method=method)
    assert_close(loaded, free - effect(robot, q, forces), tolerance=TOLERANCE)


@over(EVERY)
@pytest.mark.parametrize("method", METHODS["forward_dynamics"])
def test_wrench_accelerates_like_the_joint_forces_it_equals(robot: Robot, method: str) -> None:
    q, qd, tau = random_states(robot)
    forces = wrenches(robot, len(q))
    expected = robot.forward_dynamics(q, qd, tau + effect(robot, q, forces))
    loaded = robot.forward_dynamics(q, qd, tau, external_forces=forces, method=method)
    assert_close(loaded, expected, tolerance=TOLERANCE)


@over(SMALL_TREES)
def test_power_of_a_wrench_is_its_product_with_the_twist(robot: Robot) -> None:
    q, qd, _ = random_states(robot)
    forces = wrenches(robot, len(q))
    change = robot.bias(q, qd) - robot.bias(q, qd, external_forces=forces)
    power = sum(
        np.einsum("ni,nij,nj->n", wrench, robot.jacobian(q, name, "LOCAL"), qd) for name, wrench in forces.items()
    )
    assert_close(
        np.einsum("ni,ni->n", change, qd), power, tolerance=TOLERANCE, scale=float(np.abs(robot.bias(q, qd)).max())
    )


@over(SMALL_TREES)
def test_weight_can_be_given_as_external_forces(robot: Robot) -> None:
    """m g at each mass centre, in the body's own axes, does what the gravity vector does."""
    q, qd, qdd = random_states(robot)
    none = (0.0, 0.0, 0.0)
    forces = {}
    for body in robot.bodies:
        R = robot.pose(q, body.name)[:, :3, :3]
        weight = body.mass * np.einsum("nji,j->ni", R, np.array(robot.gravity_vector))
        forces[body.name] = np.concatenate([weight, np.cross(np.array(body.com), weight)], axis=-1)
    expected = robot.inverse_dynamics(q, qd, qdd)
    assert_close(
        robot.inverse_dynamics(q, qd, qdd, gravity=none, external_forces=forces), expected, tolerance=TOLERANCE
    )
