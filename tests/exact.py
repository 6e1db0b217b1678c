"""Exact derivatives of the functions of a robot, by differentiating their traced graphs.

Each function here gives a function from inputs of shape (N, size) to results (N, ...).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import casadi
import numpy as np

from appell.compiler.request import Request
from appell.compiler.trace import trace
from appell.model.robot import Robot

Derivative = Callable[..., np.ndarray]


def symbolic(robot: Robot, function: str, **options) -> tuple[dict[str, casadi.SX], casadi.SX, tuple[int, ...]]:
    """Symbols of a function's inputs, the column of its entries by rows, and its shape."""
    traced = trace(robot.tree, Request(function, **options))
    inputs = {name: casadi.SX.sym(name, size) for name, size in traced.inputs}
    return inputs, traced.graph(*inputs.values()), traced.shape


def gradient(robot: Robot, function: str, argument: str, **options) -> Derivative:
    """∂function/∂argument, with the argument's entries as the last dimension."""
    inputs, value, shape = symbolic(robot, function, **options)
    slope = casadi.jacobian(value, inputs[argument])
    return on_batches(inputs, slope, (*shape, inputs[argument].numel()))


def hessian(robot: Robot, function: str, argument: str, **options) -> Derivative:
    """∂²function/∂argument² of a scalar function."""
    inputs, value, _ = symbolic(robot, function, **options)
    curvature, _ = casadi.hessian(value, inputs[argument])
    return on_batches(inputs, curvature, curvature.shape)


def rate(robot: Robot, function: str, **options) -> Derivative:
    """d/dt of a function of q, as a function of q and qd; or of a function of q and qd, of q, qd and qdd."""
    inputs, value, shape = symbolic(robot, function, **options)
    order = ("q", "qd", "qdd")[: len(inputs) + 1]
    inputs = {name: inputs[name] if name in inputs else casadi.SX.sym(name, robot.nv) for name in order}
    total = sum(casadi.jtimes(value, inputs[x], inputs[xd]) for x, xd in pairwise(order))
    return on_batches(inputs, total, shape)


def second_rate(robot: Robot, function: str, **options) -> Derivative:
    """d²/dt² of a function of q, as a function of q, qd and qdd."""
    inputs, value, shape = symbolic(robot, function, **options)
    q, (qd, qdd) = inputs["q"], (casadi.SX.sym(name, robot.nv) for name in ("qd", "qdd"))
    first = casadi.jtimes(value, q, qd)
    second = casadi.jtimes(first, q, qd) + casadi.jtimes(first, qd, qdd)
    return on_batches({"q": q, "qd": qd, "qdd": qdd}, second, shape)


def on_batches(inputs: dict[str, casadi.SX], value: casadi.SX, shape: tuple[int, ...]) -> Derivative:
    """A graph as a function of batches; the graph's entries are by rows."""
    graph = casadi.Function("derivative", list(inputs.values()), [casadi.densify(casadi.vec(value.T))])

    def function(*arrays: np.ndarray) -> np.ndarray:
        columns = graph(*(np.asarray(array).T for array in arrays)).full()
        return np.ascontiguousarray(columns.T).reshape(columns.shape[1], *shape)

    return function
