"""Linear models: of the rate, and of one step of each integrator of rollouts, on the manifold."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import tree_of
from helpers.states import random_states

import appell

INTEGRATORS = ("rk4", "semi_implicit_euler")
ROBOTS = [appell.load("puma560"), tree_of("spherical"), tree_of("planar"), tree_of("floating")]
by_robot = pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.name)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@by_robot
def test_one_step_of_a_rollout(robot: appell.Robot, integrator: str) -> None:
    q, qd, tau = (x[0] for x in random_states(robot, 1))
    n, h, dt, dyn = robot.nv, 1e-4, 0.01, appell.compile(robot)
    options = appell.RolloutOptions(integrator)

    def end(steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States after one step from perturbed starts."""
        given = robot.integrate(q, steps[:, :n]), qd + steps[:, n : 2 * n], tau + steps[:, 2 * n :]
        done = appell.rollout(dyn, *given, steps=1, dt=dt, options=options)
        return done.q[:, 0], done.qd[:, 0]

    middle = end(np.zeros((1, 3 * n)))[0]

    def change(size: float) -> np.ndarray:
        """Central differences of the state after the step."""
        (q1, v1), (q0, v0) = (end(sign * size * np.eye(3 * n)) for sign in (1, -1))
        there = robot.difference(middle, q1) - robot.difference(middle, q0)
        return np.concatenate([there, v1 - v0], axis=1).T / (2 * size)

    expected = (4 * change(h) - change(2 * h)) / 3
    for each in (robot, dyn):
        A, B = each.linearize(q, qd, tau, dt, integrator, passive_forces=True)
        # beyond 8 velocities rollouts use articulated bodies, another function of quaternions of length 1 + O(dt²)
        tolerance = 1e-9 if robot.nv <= 8 else 1e-7
        assert_close(np.concatenate([A, B], axis=1), expected, tolerance=tolerance)


@by_robot
def test_the_rate_is_the_limit_of_short_steps(robot: appell.Robot) -> None:
    q, qd, tau = random_states(robot, 3)
    dt = 1e-6
    A, B = robot.linearize(q, qd, tau)
    for integrator in INTEGRATORS:
        Ad, Bd = robot.linearize(q, qd, tau, dt, integrator)
        scale = float(np.abs(A).max())
        assert_close((Ad - np.eye(2 * robot.nv)) / dt, A, tolerance=1e-4, scale=scale)
        assert_close(Bd / dt, B, tolerance=1e-4, scale=scale)


def test_batches_columns_and_loops() -> None:
    robot = appell.load("puma560")
    q, qd, tau = random_states(robot, 4)
    d = robot.forward_dynamics_derivatives(q, qd, tau, gravity=(0, 1, 2))
    A, B = robot.linearize(q, qd, tau, gravity=(0, 1, 2))
    assert_close(A[:, 6:], np.concatenate([d.dq, d.dqd], axis=-1))
    assert_close(B[:, 6:], d.dtau)
    columns = appell.compile(robot, layout="columns").linearize(q.T, qd.T, tau.T, gravity=(0, 1, 2))
    assert_close(np.moveaxis(columns.A, -1, 0), A, tolerance=1e-12)
    bar = appell.load("four_bar")
    state = np.array(bar.initial_state[0]), [0.3], [0.1]
    assert_close(bar.linearize(*state).A[1:, 1:], bar.forward_dynamics_derivatives(*state).dqd)
    with pytest.raises(appell.ArgumentError, match="closed loops"):
        bar.linearize(*state, dt=0.01)
    with pytest.raises(appell.ArgumentError, match="passive_forces"):
        bar.linearize(*state, passive_forces=True)
    with pytest.raises(appell.AppellError, match="integrator"):
        robot.linearize(q, qd, tau, 0.01, "euler")


def test_saved_robots(tmp_path) -> None:
    robot = tree_of("planar")
    state = random_states(robot, 3)
    names = ["forward_dynamics", "forward_dynamics_derivatives", "forward_dynamics_coordinate_derivatives"]
    appell.compile(robot).save(tmp_path / "robot.appell", functions=names)
    loaded = appell.load_compiled(tmp_path / "robot.appell")
    for dt in (None, 0.01):
        for found, expected in zip(loaded.linearize(*state, dt), robot.linearize(*state, dt), strict=True):
            assert_close(found, expected, tolerance=1e-9)
