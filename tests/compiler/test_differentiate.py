"""Derivatives of operation lists: every operation by differences, whole functions by CasADi's differentiation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import mixed_tree
from helpers.states import random_states

import appell
from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.differentiate import PARTIALS, forward, reverse
from appell.compiler.interpret import InterpretedKernel
from appell.compiler.lowering import StraightLine
from appell.compiler.operations import OPERATIONS, Operation, OperationList, list_operations
from appell.compiler.simplify import simplify
from appell.compiler.trace import trace


def evaluate(listed: OperationList, *inputs: np.ndarray) -> np.ndarray:
    out = np.full(len(listed.outputs), np.nan)
    InterpretedKernel(StraightLine(listed), "float64").run(inputs, out)
    return out


def test_every_operation_has_as_many_derivatives_as_arguments():
    assert {name: len(partials) for name, partials in PARTIALS.items()} == {
        name: kind.arity for name, kind in OPERATIONS.items()
    }


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("x", [(0.3, 0.7), (0.7, 0.3)])
def test_derivatives_of_operations_are_those_of_differences(name, x):
    arity, h = OPERATIONS[name].arity, 3e-4
    inputs = [Operation("input", (), k) for k in range(arity)]
    listed = OperationList((arity,), (*inputs, Operation(name, tuple(range(arity)))), (arity,))
    point = np.array(x[:arity])
    expected = []
    for unit in np.eye(arity):
        near, far = (evaluate(listed, point + k * h * unit) - evaluate(listed, point - k * h * unit) for k in (1, 2))
        expected.append((8 * near - far)[0] / (12 * h))
    found = [evaluate(forward(listed), point, unit)[0] for unit in np.eye(arity)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(evaluate(reverse(listed), point, np.ones(1)), expected, rtol=0, atol=1e-9)


def test_a_negative_argument_of_a_function_keeps_its_sign():
    """|x| and sign at negative x, and the minimum of equal values, whose weight is halved."""
    listed = OperationList(
        (2,),
        (
            Operation("input", (), 0), Operation("input", (), 1), Operation("fabs", (0,)), Operation("fmin", (0, 1)),
            Operation("sub", (2, 3)),
        ),
        (4,),
    )  # fmt: skip
    assert evaluate(reverse(listed), np.array([-2.0, -2.0]), np.ones(1)).tolist() == [-1.5, -0.5]


@pytest.mark.parametrize("function", ["inverse_dynamics", "forward_dynamics", "mass_matrix"])
def test_functions_of_a_robot_have_the_derivatives_of_casadi(function):
    robot = mixed_tree(3, 11)
    q, qd, u = (x[0] for x in random_states(robot, 1))
    inputs = (q,) if function == "mass_matrix" else (q, qd, u)
    listed = simplify(list_operations(trace(robot.system, FunctionSpec(function)).graph))
    rng = np.random.default_rng(2)
    weights = rng.normal(size=len(listed.outputs))
    found = evaluate(reverse(listed), *inputs, weights)
    gradients = appell.vjp(
        robot, function, inputs, weights.reshape(robot.system.signature(FunctionSpec(function)).shape)
    )
    for first, size, expected in zip((robot.nq, robot.nq + robot.nv), (robot.nv,) * 2, gradients[1:], strict=False):
        assert_close(found[first : first + size], expected, tolerance=1e-12)
    direction = robot.integrate(q, 1e-7 * rng.normal(size=robot.nv)) - q  # across no unit quaternion
    full = np.concatenate([direction, np.zeros(listed.size_in - robot.nq)])
    along = evaluate(forward(listed), *inputs, full)
    assert_close(
        weights @ along, found[: robot.nq] @ direction, tolerance=1e-12, scale=float(np.abs(weights * along).sum())
    )


def test_inputs_without_effect_have_no_derivative():
    constant = OperationList((2,), (Operation("const", (), 3.0), Operation("input", (), 1)), (0, 1))
    assert evaluate(reverse(constant), np.ones(2), np.array([5.0, 7.0])).tolist() == [0.0, 7.0]
    assert evaluate(forward(constant), np.ones(2), np.array([5.0, 7.0])).tolist() == [0.0, 7.0]
    assert len(forward(replace(constant, outputs=(0,))).operations) == 1
