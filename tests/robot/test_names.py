"""States by name: the same results as with arrays."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell

Q, QD, TAU = {"joint2": 0.5, "joint5": -0.3}, {"joint1": 1.0}, {"joint3": 2.0}


def legged() -> appell.Robot:
    builder = (
        appell.RobotBuilder().floating("root_joint", "world", "trunk").body("trunk", mass=1.0, inertia=(1, 2, 2.5))
    )
    return builder.revolute("hip", "trunk", "leg", "x").body("leg", 0.5, (0, 0, -0.2), inertia=(0.1, 0.1, 0.1)).build()


@pytest.mark.parametrize("make", [lambda robot: robot, appell.compile], ids=["robot", "compiled"])
def test_functions_take_states_by_name(make):
    robot = appell.load("puma560")
    q, qd, tau = (robot.vector(name, given) for name, given in (("q", Q), ("qd", QD), ("tau", TAU)))
    assert q.tolist() == [0, 0.5, 0, 0, -0.3, 0]
    functions = make(robot)
    for _ in range(2):  # also when plain calls bypass Python
        assert_close(functions.forward_dynamics(Q, QD, TAU), functions.forward_dynamics(q, qd, tau), tolerance=0.0)
    assert_close(functions.pose(Q, "link6"), functions.pose(q, "link6"), tolerance=0.0)
    assert_close(functions.linearize(Q, QD, TAU).A, functions.linearize(q, qd, tau).A, tolerance=0.0)
    derivatives = functions.inverse_dynamics_derivatives(Q, QD, {})
    assert_close(derivatives.dq, functions.inverse_dynamics_derivatives(q, qd, 0 * qd).dq, tolerance=0.0)


def test_a_floating_base_by_name():
    robot = legged()
    q, qd = robot.state({"root_joint.z": 0.5, "hip": 0.1}, {"root_joint.vx": 2.0, "root_joint.wz": 3.0})
    assert q.tolist() == [0, 0, 0.5, 0, 0, 0, 1, 0.1]
    assert qd.tolist() == [2, 0, 0, 0, 0, 3, 0]
    assert robot.configuration({"root_joint": [1, 2, 3, 1, 0, 0, 0]}).tolist() == [1, 2, 3, 1, 0, 0, 0, 0]
    assert robot.potential_energy({"root_joint.z": 0.5}) == robot.potential_energy(
        robot.configuration({"root_joint.z": 0.5})
    )
    with pytest.raises(appell.ArgumentError, match=r"q: unknown name 'root_joint\.h'"):
        robot.pose({"root_joint.h": 1.0}, "leg")


def test_simulation_rollout_and_inverse_kinematics_start_by_name():
    robot = appell.load("puma560")
    q, qd, tau = (robot.vector(name, given) for name, given in (("q", Q), ("qd", QD), ("tau", TAU)))
    named = appell.simulate(robot, Q, QD, 0.02, tau=TAU)
    assert (named.q == appell.simulate(robot, q, qd, 0.02, tau=tau).q).all()
    dyn = appell.compile(robot)
    assert (appell.rollout(dyn, Q, QD, steps=3, dt=1e-3).q == appell.rollout(dyn, q, qd, steps=3, dt=1e-3).q).all()
    target = robot.pose(q, "link6")
    found = appell.inverse_kinematics(robot, target, "link6", Q)
    assert_close(found.q, q, tolerance=1e-9, scale=1.0)


def test_loops_follow_the_named_joints():
    robot = appell.load("four_bar")
    q = robot.configuration({"crank": 0.7})
    assert q[0] == 0.7
    assert robot.solve_loop_closure(q).error < 1e-9
    assert_close(appell.simulate(robot, {"crank": 0.7}, {"crank": 1.0}, 0.01).q[0], q, tolerance=1e-9)
    assert_close(robot.mass_matrix({"crank": 0.7}), robot.mass_matrix(q), tolerance=1e-14)


def test_robots_of_files_take_arrays(tmp_path):
    appell.compile(appell.load("planar2r")).save(tmp_path / "arm.appell", functions=["gravity"])
    with pytest.raises(appell.ArgumentError, match="q is a dictionary; robots of files take arrays"):
        appell.load_compiled(tmp_path / "arm.appell").gravity({"joint1": 0.5})
    assert np.isfinite(appell.load_compiled(tmp_path / "arm.appell").gravity([0.5, 0.0])).all()


def test_trajectories_and_pictures_take_names(tmp_path):
    robot = appell.load("puma560")
    line = appell.trajectories.joint_line(robot, Q, {"joint1": 1.0}, duration=1.0)
    assert line(0.0).q.tolist() == [0, 0.5, 0, 0, -0.3, 0]
    assert line(1.0).q.tolist() == [1, 0.5, 0, 0, -0.3, 0]
    pytest.importorskip("matplotlib")
    named, plain = (appell.draw(robot, q=q).axes[0].get_xlim() for q in (Q, robot.configuration(Q)))
    assert named == plain
