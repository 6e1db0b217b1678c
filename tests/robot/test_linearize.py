"""Linear models: of the rate, and of one step of each integrator of rollouts, on the manifold."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import tree_of
from helpers.states import random_states

import appell
from appell.errors import LoopClosureError

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
        assert_close(np.concatenate([A, B], axis=1), expected, tolerance=1e-9)


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


@pytest.mark.parametrize("kind", ["planar", "spherical"])
def test_saved_robots(kind: str, tmp_path) -> None:
    robot = tree_of(kind)
    state = random_states(robot, 3)
    names = ["forward_dynamics", "forward_dynamics_derivatives"]
    appell.compile(robot).save(tmp_path / "robot.appell", functions=names)
    loaded = appell.load_compiled(tmp_path / "robot.appell")
    for dt in (None, 0.01):
        for found, expected in zip(loaded.linearize(*state, dt), robot.linearize(*state, dt), strict=True):
            assert_close(found, expected, tolerance=1e-9)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_long_steps_are_those_of_rollouts(integrator: str) -> None:
    """Quaternions of later stages are far from unit length, where methods of forward dynamics differ."""
    robot = appell.robots.random_chain(2, seed=1, kinds=("spherical",))
    q, qd, tau = (x[0] for x in random_states(robot, 1))
    n, dt, dyn = robot.nv, 0.05, appell.compile(robot)
    A, B = dyn.linearize(q, qd, tau, dt, integrator)
    options, many = appell.RolloutOptions(integrator, passive_forces=False), np.zeros((3 * n, 1))
    motion = appell.rollout(dyn, q + many, qd + many, tau + many, steps=1, dt=dt, options=options)
    along = motion.jvp(*np.split(np.eye(3 * n), 3, axis=1))
    assert_close(np.concatenate([A, B], axis=1)[n:], along.qd[:, -1].T, tolerance=1e-11)


def four_bar_on_a_planar_joint() -> appell.ClosedLoopRobot:
    rod = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.001, 0.084, 0.084)}
    builder = appell.RobotBuilder("linkage", gravity=(0, -9.81, 0)).body("frame", 2.0, (0.1, 0, 0), (0.1, 0.2, 0.3))
    for name in ("crank", "coupler", "rocker"):
        builder = builder.body(name, **rod)
    builder = builder.planar("root", "base", "frame").continuous("crank_joint", "frame", "crank")
    builder = builder.continuous("elbow", "crank", "coupler", xyz=(1, 0, 0))
    builder = builder.continuous("rocker_joint", "frame", "rocker", xyz=(1.5, 0, 0))
    end = appell.Pose((1.0, 0.0, 0.0))
    knee = appell.LoopClosure("knee", "revolute", "coupler", "rocker", pose1=end, pose2=end)
    return appell.close_loops(builder.build(), [knee], actuated=["crank_joint"], q=[0, 0, 0, 1.0, -0.5, 1.5])


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_moving_loops_whose_velocities_are_a_twist(layout: str) -> None:
    """The rate of a change in the frame of a body that turns has -qd x δq."""
    robot = four_bar_on_a_planar_joint()
    assert robot.qd_names[:3] == ("root.vx", "root.vy", "root.wz")
    q, (vx, vy, w) = np.array(robot.initial_state[0]), (0.1, 0.2, 0.3)
    expected = [[0.0, w, -vy], [-w, 0.0, vx], [0.0, 0.0, 0.0]]
    dyn = appell.compile(robot, layout=layout)
    A = dyn.linearize(q, [vx, vy, w, 0.4], [1.0]).A
    assert_close(A[:3, :3], np.array(expected), tolerance=1e-12)
    assert not A[3, :4].any()
    assert not dyn.linearize(q, [0.0] * 4, [1.0]).A[:4, :4].any()


def test_moving_loops_of_a_file_whose_velocities_are_a_twist(tmp_path) -> None:
    """The file does not say which velocities are independent."""
    robot = four_bar_on_a_planar_joint()
    q, rest, tau = robot.initial_state[0], [0.0] * 4, [1.0]
    appell.compile(robot).save(tmp_path / "linkage.appell", functions=["forward_dynamics_derivatives"])
    loaded = appell.load_compiled(tmp_path / "linkage.appell")
    assert_close(loaded.linearize(q, rest, tau).A, robot.linearize(q, rest, tau).A, tolerance=1e-12)
    with pytest.raises(appell.ArgumentError, match=r"Use the robot it was made of, or qd = 0\."):
        loaded.linearize(q, [0.1, 0.2, 0.3, 0.4], tau)


def test_wrong_arguments_are_named() -> None:
    robot = tree_of("floating")
    q, qd, tau = (x[0] for x in random_states(robot, 1))
    for name in ("check", "passive_forces"):
        with pytest.raises(appell.ArgumentError, match=f"{name} is 'no', expected True or False"):
            robot.linearize(q, qd, tau, **{name: "no"})
        with pytest.raises(appell.ArgumentError, match=f"{name} is 'no', expected True or False"):
            appell.RolloutOptions(**{name: "no"})
    with pytest.raises(appell.ArgumentError, match=r"quaternion of joint 'joint1', has length 1\.2"):
        robot.linearize(np.where(np.arange(robot.nq) < 7, 1.2, 1.0) * q, qd, tau)
    with pytest.raises(appell.ArgumentError, match=r"gravity has shape \(2,\)"):
        robot.linearize(q, qd, tau, gravity=(0, 1))


@pytest.mark.parametrize("dt", [None, 0.01])
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_options_are_broadcast_with_the_state(layout: str, dt: float | None) -> None:
    robot = appell.compile(tree_of("spherical"), layout=layout)
    q, qd, tau = random_states(robot.robot, 6)
    rng = np.random.default_rng(0)
    options = {
        "gravity": rng.normal(size=(6, 3)), "external_forces": {"link4": rng.normal(size=(6, 6))},
        "parameters": robot.parameters * rng.uniform(0.9, 1.1, size=(6, len(robot.parameters))),
    }  # fmt: skip

    def arranged(x: np.ndarray) -> np.ndarray:
        return np.moveaxis(x, -1, 0) if layout == "columns" else x

    def shaped(given: dict, shape) -> dict:
        forces = {name: arranged(shape(x)) for name, x in given["external_forces"].items()}
        return {**{name: arranged(shape(given[name])) for name in ("gravity", "parameters")}, "external_forces": forces}

    def rows(found) -> np.ndarray:
        blocks = [np.moveaxis(x, (0, 1), (-2, -1)) if layout == "columns" else x for x in found]
        return np.concatenate(blocks, axis=-1).reshape(-1, 2 * robot.robot.nv, 3 * robot.robot.nv)

    one = np.concatenate(
        [rows(robot.linearize(q[0], qd[0], tau[0], dt, **shaped(options, lambda x, k=k: x[k]))) for k in range(6)]
    )
    found = robot.linearize(q[0], qd[0], tau[0], dt, **shaped(options, lambda x: x))
    assert_close(rows(found), one, tolerance=1e-12)
    grid = [arranged(np.broadcast_to(x[0], (2, 3, x.shape[1]))) for x in (q, qd, tau)]
    found = robot.linearize(*grid, dt, **shaped(options, lambda x: x.reshape(2, 3, -1)))
    assert_close(rows(found), one, tolerance=1e-12)


def test_precision_is_that_of_the_robot() -> None:
    robot = appell.compile(appell.load("planar2r"), dtype="float32")
    for dt in (None, 0.01):
        assert {x.dtype.name for x in robot.linearize([0.1, 0.2], [0.0, 0.0], [1.0, 2.0], dt)} == {"float32"}


@pytest.mark.parametrize("dt", [None, 0.01])
def test_causes_of_results_that_are_not_finite(dt: float | None) -> None:
    robot, rest = appell.load("planar2r"), np.zeros(2)
    with pytest.raises(appell.ArgumentError, match=r"q\[1\] is 1e\+09, expected angles of at most"):
        robot.linearize([0.0, 1e9], rest, rest, dt)
    with pytest.raises(appell.AppellError, match="The mass matrix is singular there"):
        robot.linearize(rest, rest, rest, dt, parameters=np.zeros(20))


def test_a_loop_that_is_open_is_named() -> None:
    with pytest.raises(LoopClosureError, match="closure 'knee' is open by"):
        appell.load("four_bar").linearize([0.1, 0.2, 0.3], [0.0], [0.0])
