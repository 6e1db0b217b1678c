"""`appell.jvp` and `appell.vjp`: derivatives of the functions of robots along directions, without matrices of derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from appell.algorithms.function_spec import FunctionSpec, as_function_spec
from appell.arrays import as_batch
from appell.compiler.directional import DirectionalSystem
from appell.compiler.evaluate import Evaluator
from appell.compiler.provider import TracedProvider
from appell.errors import ArgumentError
from appell.robot.functions import Dynamics


def jvp(
    robot: Dynamics,
    function: str | FunctionSpec,
    inputs: Sequence[Any],
    tangents: Sequence[Any],
    *,
    gravity: Any = None,
    external_forces: Mapping[str, Any] | None = None,
    parameters: Any = None,
    check: bool = True,
) -> np.ndarray:
    """Derivative of a function along directions of its inputs, J δ: the result's shape. Forward differentiation.

    Args:
        function: a name as `appell.export` takes it: `"inverse_dynamics"`, `"jacobian:tool0"`, `"mass_matrix@composite"`.
        inputs: its arguments, such as (q, qd, qdd).
        tangents: a direction for each input, None for zero. The one of q is a generalized velocity (..., nv).

    Example:
        >>> import appell
        >>> robot = appell.load("planar2r")
        >>> q, qd = [0.3, 0.2], [1.0, 2.0]
        >>> rate = appell.jvp(robot, "jacobian:link2", [q], [qd])
        >>> bool(abs(rate - robot.jacobian_rate(q, qd, "link2")).max() < 1e-14)
        True
    """
    evaluator, system = _evaluator(robot, function)
    _require_count("inputs", inputs, system.inputs)
    _require_count("tangents", tangents, system.inputs)
    columns = evaluator.options.layout == "columns"
    named = [(f"tangent of {name}", system.tangent_size(name)) for name in system.inputs]
    given = [np.zeros(size) if one is None else one for one, (_, size) in zip(tangents, named, strict=True)]
    if columns:
        given = [np.expand_dims(x, -1) if one is None else x for one, x in zip(tangents, given, strict=True)]
    rows, lead = as_batch(named, given, evaluator.options.dtype, check, columns)
    directions = np.concatenate(rows, axis=1).reshape(*lead, -1)
    directions = np.moveaxis(directions, -1, 0) if columns else directions
    result = evaluator["jvp", None]((*inputs, directions), gravity, external_forces, parameters, None, check)
    shape = system.base.signature(system.spec).shape
    return result.reshape((*shape, *result.shape[1:]) if columns else (*result.shape[:-1], *shape))


def vjp(
    robot: Dynamics,
    function: str | FunctionSpec,
    inputs: Sequence[Any],
    cotangents: Any,
    *,
    gravity: Any = None,
    external_forces: Mapping[str, Any] | None = None,
    parameters: Any = None,
    check: bool = True,
) -> tuple[np.ndarray, ...]:
    """Gradient of λ · f(inputs) in each input, J^T λ: one array per input. Reverse differentiation.

    Args:
        function, inputs: as in `jvp`.
        cotangents: λ, weights of the result, of its shape. The gradient in q has nv entries, for generalized velocities.

    Example:
        >>> import appell
        >>> robot = appell.load("planar2r")
        >>> (force,) = appell.vjp(robot, "potential_energy", [[0.3, 0.2]], 1.0)
        >>> bool(abs(force - robot.gravity([0.3, 0.2])).max() < 1e-14)
        True
    """
    evaluator, system = _evaluator(robot, function)
    _require_count("inputs", inputs, system.inputs)
    shape, columns = system.base.signature(system.spec).shape, evaluator.options.layout == "columns"
    weights = np.asarray(cotangents)
    place = slice(0, len(shape)) if columns else slice(weights.ndim - len(shape), weights.ndim)
    if weights.ndim < len(shape) or weights.shape[place] != shape:
        raise ArgumentError(
            f"cotangents have shape {weights.shape}, expected that of {system.spec.function}: (..., {shape})."
        )
    lead = weights.shape[len(shape) :] if columns else weights.shape[: weights.ndim - len(shape)]
    weights = weights.reshape((-1, *lead) if columns else (*lead, -1))
    result = evaluator["vjp", None]((*inputs, weights), gravity, external_forces, parameters, None, check)
    sizes = np.cumsum([0, *(system.tangent_size(name) for name in system.inputs)])
    return tuple(result[a:b] if columns else result[..., a:b] for a, b in pairwise(sizes))


def _evaluator(robot: Dynamics, function: str | FunctionSpec) -> tuple[Evaluator, DirectionalSystem]:
    spec, own = as_function_spec(function), robot.functions
    if not isinstance(own.provider, TracedProvider):
        raise ArgumentError(
            "a robot that was loaded from a file cannot be differentiated. Use the robot it was made of."
        )
    system = DirectionalSystem(own.provider.system, spec)
    system.base.signature(spec)
    options = replace(own.options, parameters="baked")
    return own.program(("directional", spec), lambda: Evaluator(TracedProvider(system), options)), system


def _require_count(name: str, values: Sequence[Any], expected: Sequence[str]) -> None:
    if len(values) != len(expected):
        raise ArgumentError(f"{name} has {len(values)} entries, expected {len(expected)}: {', '.join(expected)}.")
