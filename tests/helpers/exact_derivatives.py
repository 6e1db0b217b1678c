"""Exact derivatives of the functions of a robot, by differentiating their traced graphs.

Each function here gives a function from inputs of shape (N, size) to results (N, ...).
"""

from __future__ import annotations

from collections.abc import Callable

import casadi
import numpy as np

from appell.algorithms.function_spec import FunctionSpec
from appell.compiler.trace import trace
from appell.model.joints import KINDS
from appell.robot.robot import Robot

Derivative = Callable[..., np.ndarray]


def symbolic(robot: Robot, function: str, **options) -> tuple[dict[str, casadi.SX], casadi.SX, tuple[int, ...]]:
    """Symbols of a function's inputs, the column of its entries by rows, and its shape."""
    traced = trace(robot.system, FunctionSpec(function, **options))
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
    rates = {"q": coordinate_rates(robot, inputs["q"], inputs["qd"]), "qd": inputs.get("qdd")}
    total = sum(casadi.jtimes(value, inputs[x], rates[x]) for x in order[:-1])
    return on_batches(inputs, total, shape)


def second_rate(robot: Robot, function: str, **options) -> Derivative:
    """d²/dt² of a function of q, as a function of q, qd and qdd."""
    inputs, value, shape = symbolic(robot, function, **options)
    q, (qd, qdd) = inputs["q"], (casadi.SX.sym(name, robot.nv) for name in ("qd", "qdd"))
    qdot = coordinate_rates(robot, q, qd)
    first = casadi.jtimes(value, q, qdot)
    second = casadi.jtimes(first, q, qdot) + casadi.jtimes(first, qd, qdd)
    return on_batches({"q": q, "qd": qd, "qdd": qdd}, second, shape)


def slope(robot: Robot, function: str) -> Derivative:
    """Of a function of q alone, the change that a unit of each speed makes: the gradient in q times ∂q̇/∂qd."""
    inputs, value, shape = symbolic(robot, function)
    qd = casadi.SX.sym("qd", robot.nv)
    turned = casadi.jacobian(value, inputs["q"]) @ casadi.jacobian(coordinate_rates(robot, inputs["q"], qd), qd)
    return on_batches(inputs, turned, (*shape, robot.nv))


def coordinate_rates(robot: Robot, q: casadi.SX, qd: casadi.SX) -> casadi.SX:
    """q̇ of all joints: the speeds themselves, or what quasi-velocities along the axes of the moving body make of them."""
    rates = []
    for joint in robot.moving_joints:
        kind, (i, k) = KINDS[joint.kind], robot.first_coordinates[joint.name]
        rates.append(RATES.get(joint.kind, lambda x, v: v)(q[i : i + kind.nq], qd[k : k + kind.nv]))
    return casadi.vertcat(*rates)


def quaternion_rate(e: casadi.SX, w: casadi.SX) -> casadi.SX:
    """Half of the quaternion times the angular velocity in the turning frame."""
    x, y, z, s = e[0], e[1], e[2], e[3]
    E = casadi.vertcat(
        casadi.horzcat(s, -z, y), casadi.horzcat(z, s, -x), casadi.horzcat(-y, x, s), casadi.horzcat(-x, -y, -z)
    )
    return 0.5 * E @ w


def turned(e: casadi.SX, v: casadi.SX) -> casadi.SX:
    """v seen from the frame in which the quaternion turns."""
    t = 2 * casadi.cross(e[:3], v)
    return v + e[3] * t + casadi.cross(e[:3], t)


def planar_rate(q: casadi.SX, v: casadi.SX) -> casadi.SX:
    c, s = casadi.cos(q[2]), casadi.sin(q[2])
    return casadi.vertcat(c * v[0] - s * v[1], s * v[0] + c * v[1], v[2])


RATES = {
    "spherical": quaternion_rate,
    "floating": lambda q, v: casadi.vertcat(turned(q[3:], v[:3]), quaternion_rate(q[3:], v[3:])),
    "planar": planar_rate,
}


def on_batches(inputs: dict[str, casadi.SX], value: casadi.SX, shape: tuple[int, ...]) -> Derivative:
    """A graph as a function of batches; the graph's entries are by rows."""
    graph = casadi.Function("derivative", list(inputs.values()), [casadi.densify(casadi.vec(value.T))])

    def function(*arrays: np.ndarray) -> np.ndarray:
        columns = graph(*(np.asarray(array).T for array in arrays)).full()
        return np.ascontiguousarray(columns.T).reshape(columns.shape[1], *shape)

    return function
