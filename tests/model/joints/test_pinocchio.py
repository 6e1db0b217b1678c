"""Pinocchio computes the same for joints of every kind: free-flyers, planar, spherical, universal, helical and the rest."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import EVERY_TREE, MOVING_KINDS
from helpers.methods import METHODS, REFERENCE_FRAMES
from helpers.pinocchio_peer import MODELS, Peer, model_of_robot
from helpers.random_trees import over
from helpers.states import random_states

from appell.robot.robot import Robot

TOLERANCE = 1e-11
STATES = 2


@cache
def peer_of(name: str) -> Peer:
    (robot,) = (robot for robot in EVERY_TREE if robot.name == name)
    return Peer(robot, model_of_robot(robot))


def there(robot: Robot, function: str, arguments, *rest) -> np.ndarray:
    """Pinocchio's result for every state of a batch."""
    peer = peer_of(robot.name)
    return np.array([getattr(peer, function)(*row, *rest) for row in zip(*arguments, strict=True)])


def test_every_kind_is_compared() -> None:
    assert set(MODELS) == set(MOVING_KINDS) == {joint.kind for robot in EVERY_TREE for joint in robot.joints}


@over(EVERY_TREE)
@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix", "bias", "gravity"])
def test_dynamics(robot: Robot, function: str) -> None:
    inputs = {"inverse_dynamics": 3, "bias": 2}.get(function, 1)
    state = random_states(robot, STATES)[:inputs]
    expected = there(robot, function, state)
    for method in METHODS.get(function, (None,)):
        found = getattr(robot, function)(*state, method=method)
        assert_close(found, expected, tolerance=TOLERANCE, what=method)


@over(EVERY_TREE)
def test_forward_dynamics(robot: Robot) -> None:
    q, qd, qdd = random_states(robot, STATES)
    tau = robot.inverse_dynamics(q, qd, qdd)
    expected = there(robot, "forward_dynamics", (q, qd, tau))
    assert_close(expected, qdd, tolerance=TOLERANCE)
    for method in METHODS["forward_dynamics"]:
        assert_close(robot.forward_dynamics(q, qd, tau, method=method), expected, tolerance=TOLERANCE, what=method)


@over(EVERY_TREE)
def test_coriolis_forces(robot: Robot) -> None:
    """C qd is what Pinocchio's bias has beyond gravity (its own C lacks the rate of a universal joint's unit twists)."""
    q, qd, _ = random_states(robot, STATES)
    found = np.einsum("nij,nj->ni", robot.coriolis_matrix(q, qd), qd)
    expected = there(robot, "bias", (q, qd)) - there(robot, "gravity", (q,))
    assert_close(found, expected, tolerance=TOLERANCE, scale=float(np.abs(robot.bias(q, qd)).max()))


@over(EVERY_TREE)
@pytest.mark.parametrize(
    "function",
    [
        "kinetic_energy", "potential_energy", "center_of_mass", "center_of_mass_jacobian", "centroidal_momentum",
        "centroidal_momentum_matrix",
    ],
)  # fmt: skip
def test_energies_and_momenta(robot: Robot, function: str) -> None:
    q, qd, _ = random_states(robot, STATES)
    state = (q, qd) if function in ("kinetic_energy", "centroidal_momentum") else (q,)
    assert_close(getattr(robot, function)(*state), there(robot, function, state), tolerance=TOLERANCE)


@over(EVERY_TREE)
def test_kinematics(robot: Robot) -> None:
    q, qd, _ = random_states(robot, STATES)
    frame = robot.body_names[-1]
    assert_close(robot.pose(q, frame), there(robot, "pose", (q,), frame), tolerance=TOLERANCE)
    scale = float(np.abs(robot.jacobian(q, frame)).max() * np.abs(qd).max())
    for reference in REFERENCE_FRAMES:
        J = there(robot, "jacobian", (q,), frame, reference)
        assert_close(robot.jacobian(q, frame, reference), J, tolerance=TOLERANCE, what=reference)
        if any(joint.kind == "universal" for joint in robot.joints):
            continue  # Pinocchio 4.1 takes its unit twists as constant here
        rate = there(robot, "jacobian_rate", (q, qd), frame, reference)
        found = robot.jacobian_rate(q, qd, frame, reference)
        assert_close(found, rate, tolerance=TOLERANCE, scale=scale, what=reference)
    drift = np.einsum("nij,nj->ni", robot.jacobian_rate(q, qd, frame), qd)
    assert_close(drift, there(robot, "drift", (q, qd), frame), tolerance=TOLERANCE, scale=scale)


@over([robot for robot in EVERY_TREE if all(joint.mimic is None for joint in robot.joints)])
def test_steps_between_configurations(robot: Robot) -> None:
    """The same pose of every body after a step, and the same step back, turns of less than half a circle."""
    q, qd, _ = random_states(robot, STATES)
    step = 0.6 * qd
    end = there(robot, "integrate", (q, step))
    found = robot.integrate(q, step)
    for frame in robot.body_names:
        assert_close(robot.pose(found, frame), robot.pose(end, frame), tolerance=TOLERANCE, what=frame)
    assert_close(robot.difference(q, found), there(robot, "difference", (q, found)), tolerance=TOLERANCE)
    assert_close(robot.difference(q, found), step, tolerance=TOLERANCE)
