"""Functions of robots as functions of CasADi."""

from __future__ import annotations

import casadi
import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import mixed_tree
from helpers.loop_robots import built_in, states
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec


def test_results_have_the_shapes_and_numbers_of_the_library() -> None:
    robot = mixed_tree(5, 4)
    q, qd, qdd = (x[0] for x in random_states(robot, 1))
    frame, n = robot.body_names[-1], robot.nv
    expected = {
        "inverse_dynamics": robot.inverse_dynamics(q, qd, qdd)[:, None],
        "coriolis_matrix": robot.coriolis_matrix(q, qd),
        "potential_energy": np.array([[robot.potential_energy(q)]]),
        f"pose:{frame}": robot.pose(q, frame),
        f"jacobian_derivatives:{frame}": robot.jacobian_derivatives(q, frame).reshape(6, n * n),
    }
    for name, right in expected.items():
        f = appell.casadi_function(robot, name)
        found = f(*(q, qd, qdd)[: f.n_in()])
        assert_close(np.array(found), right, tolerance=1e-12, what=name)


def test_derivatives_of_casadi_are_those_of_the_library() -> None:
    robot = appell.load("puma560")
    f = appell.casadi_function(appell.compile(robot), "forward_dynamics")
    state = [casadi.MX.sym(name, 6) for name in f.name_in()]
    J = casadi.Function("J", state, [casadi.jacobian(f(*state), x) for x in state])
    numbers = [x[0] for x in random_states(robot, 1)]
    for found, right in zip(J(*numbers), robot.forward_dynamics_derivatives(*numbers), strict=True):
        assert_close(np.array(found), right, tolerance=1e-11)


def test_further_inputs_and_closed_loops() -> None:
    robot = built_in("delta")
    q, qd, qdd = (x[0] for x in states(robot, 1))
    gravity, parameters = np.array([1.0, 2.0, -3.0]), 1.1 * robot.parameters
    f = appell.casadi_function(robot, FunctionSpec("inverse_dynamics", gravity_input=True, parameter_input=True))
    assert f.name_in() == ["q", "qd", "qdd", "gravity", "parameters"]
    right = robot.inverse_dynamics(q, qd, qdd, gravity=gravity, parameters=parameters)
    assert_close(np.array(f(q, qd, qdd, gravity, parameters))[:, 0], right, tolerance=1e-10)


def test_what_has_no_graph_is_named(tmp_path) -> None:
    robot = appell.load("planar2r")
    appell.compile(robot).save(tmp_path / "arm.appell", functions=["gravity"])
    with pytest.raises(appell.ArgumentError, match="functions of a file have no CasADi graph"):
        appell.casadi_function(appell.load_compiled(tmp_path / "arm.appell"), "gravity")
    with pytest.raises(appell.ArgumentError, match="unknown function 'inverse_dynamic'"):
        appell.casadi_function(robot, "inverse_dynamic")
