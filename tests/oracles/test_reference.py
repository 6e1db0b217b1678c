"""Reference values made without any Gibbs-Appell code (`shared/reference`), to 1e-12."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.methods import METHODS
from helpers.shared_data import reference

import appell
from appell.robot.robot import Robot

TOLERANCE = 1e-12


def batch(states: list[dict], *names: str) -> list[np.ndarray]:
    return [np.array([state[name] for state in states]) for name in names]


def assert_dynamics(robot: Robot, states: list[dict]) -> None:
    """tau, M, bias and gravity by every method, and the accelerations back from tau."""
    q, qd, qdd, tau, M, bias, gravity = batch(states, "q", "qd", "qdd", "tau", "M", "bias", "gravity")
    for method in METHODS["inverse_dynamics"]:
        assert_close(robot.inverse_dynamics(q, qd, qdd, method=method), tau, tolerance=TOLERANCE, what=method)
        assert_close(robot.bias(q, qd, method=method), bias, tolerance=TOLERANCE, what=method)
    for method in METHODS["mass_matrix"]:
        assert_close(robot.mass_matrix(q, method=method), M, tolerance=TOLERANCE, what=method)
    assert_close(robot.gravity(q), gravity, tolerance=TOLERANCE)
    for method in METHODS["forward_dynamics"]:
        assert_close(robot.forward_dynamics(q, qd, tau, method=method), qdd, tolerance=1e-11, what=method)


def test_puma_states() -> None:
    assert_dynamics(appell.load("puma560"), reference("puma_states")["states"])


def test_puma_line() -> None:
    """Torques along the straight line of Valera 2003, figure 4, and that the motion is that line."""
    robot = appell.load("puma560")
    data = reference("puma_line")
    for branch in data["branches"].values():
        t, q, qd, qdd, tau = batch(branch["samples"], "t", "q", "qd", "qdd", "tau")
        for method in METHODS["inverse_dynamics"]:
            assert_close(robot.inverse_dynamics(q, qd, qdd, method=method), tau, tolerance=TOLERANCE)
        start, end = np.array([0.6, 0.175, 0.25]), np.array([0.018, 0.757, 0.0])
        direction = (end - start) / np.linalg.norm(end - start)
        line = start + 0.1 * t[:, None] * direction
        T = robot.pose(q, "link6")
        assert_close(T[:, :3, 3], line, tolerance=1e-11)
        assert_close(T[:, :3, :3], np.broadcast_to(data["R"], (len(t), 3, 3)).copy(), tolerance=1e-11)
        J, Jd = robot.jacobian(q, "link6"), robot.jacobian_rate(q, qd, "link6")
        twist = np.einsum("nij,nj->ni", J, qd)
        still = np.zeros(3)
        assert_close(twist, np.tile([*(0.1 * direction), *still], (len(t), 1)), tolerance=1e-11)
        change = np.einsum("nij,nj->ni", J, qdd) + np.einsum("nij,nj->ni", Jd, qd)
        assert_close(change, np.zeros_like(change), tolerance=1e-11, scale=1.0)


@pytest.mark.parametrize("index", range(5))
def test_random_chains(index: int) -> None:
    """General chains, some with prismatic joints; theta and d of the papers' sign, q along +z."""
    chains = reference("random_chains")["chains"]
    data = chains[index]
    table = data["chain"]
    robot = appell.Robot.from_dh(
        alpha=table["alpha"], a=table["a"], d=table["d"], theta=table["theta"], mass=table["m"], com=table["r"],
        inertia=table["I"], joints="".join(table["type"]), convention="valera2003",
    )  # fmt: skip
    assert robot.nv == data["n"]
    assert_dynamics(robot, data["states"])


def test_random_chains_have_prismatic_joints() -> None:
    chains = reference("random_chains")["chains"]
    assert len(chains) == 5
    assert {"R", "P"} == {letter for data in chains for letter in data["chain"]["type"]}
