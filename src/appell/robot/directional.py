"""`appell.jvp` and `appell.vjp`: derivatives of the functions of robots along directions, without matrices of derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from appell.algorithms.coordinate_rates import QuasiVelocityJoint, coordinate_rates, tangent_map
from appell.algorithms.function_spec import FunctionSpec, as_function_spec
from appell.arrays import as_batch, wrenches_by_frame
from appell.checks import require_real_array
from appell.compiler.directional import DirectionalCalls, DirectionalSystem, tangent_of
from appell.compiler.evaluate import Evaluator
from appell.compiler.provider import TracedProvider
from appell.compiler.targets.cuda import arrays as gpu
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
    out: Any = None,
    check: bool = True,
) -> np.ndarray:
    """Derivative of a function along directions of its inputs, J δ: the result's shape. Forward differentiation.

    Args:
        function: a name as `appell.export` takes it: `"inverse_dynamics"`, `"jacobian:tool0"`, `"mass_matrix@composite"`.
        inputs: its arguments, such as (q, qd, qdd).
        tangents: a direction for each input, None for zero. The one of q is a generalized velocity (..., nv).
        gravity, external_forces, parameters, out, check: as in the functions themselves (`Dynamics`).

    Example:
        >>> import appell
        >>> robot = appell.load("planar2r")
        >>> q, qd = [0.3, 0.2], [1.0, 2.0]
        >>> rate = appell.jvp(robot, "jacobian:link2", [q], [qd])
        >>> bool(abs(rate - robot.jacobian_rate(q, qd, "link2")).max() < 1e-14)
        True
    """
    options = _given(gravity=gravity, external_forces=wrenches_by_frame(external_forces) or None, parameters=parameters)
    own = _directional(robot, function, options)
    inputs = _vectors("inputs", inputs, own.inputs, robot.functions.owner.vector)
    tangents = _vectors(
        "tangents", tangents, own.inputs, lambda name, one: robot.functions.owner.vector(_tangent_name(name), one)
    )
    columns, dtype = own.columns, own.evaluator.options.dtype
    xp, batch, _ = _array_module(own.evaluator, [*inputs, *tangents])
    directions = [
        xp.zeros((size, 1) if columns else size, dtype) if one is None else one
        for one, size in zip(tangents, own.inputs.values(), strict=True)
    ]
    if own.joints:
        (q, dq), lead = batch([("q", own.nq), ("tangent of q", own.inputs["q"])], [inputs[0], directions[0]], check)
        rates = xp.stack(xp.broadcast_arrays(*coordinate_rates(own.joints, [*q.T], [*dq.T])), axis=0)
        directions[0] = rates.reshape(-1, *lead) if columns else rates.T.reshape(*lead, -1)
    if own.parameters:
        directions.append(xp.zeros((own.parameters, 1) if columns else own.parameters, dtype))
    if out is not None and not hasattr(out, "shape"):
        raise ArgumentError(f"out is {type(out).__name__}, expected an array of the function's result.")
    flat = None if out is None else own.flat("out", out)
    if out is not None and len(own.shape) != 1 and not out.flags.c_contiguous:
        raise ArgumentError("out is not contiguous; pass an array such as np.empty makes.")
    values, options = own.arguments(inputs, options)
    result = own.calls.jvp(*values, *directions, **options, **_given(out=flat), check=check)
    return own.shaped(result) if out is None else out


def vjp(
    robot: Dynamics,
    function: str | FunctionSpec,
    inputs: Sequence[Any],
    cotangents: Any,
    *,
    gravity: Any = None,
    external_forces: Mapping[str, Any] | None = None,
    parameters: Any = None,
    out: Any = None,
    check: bool = True,
) -> tuple[np.ndarray, ...]:
    """Gradient of λ · f(inputs) in each input, J^T λ: one array per input. Reverse differentiation.

    Args:
        function, inputs, gravity, external_forces, parameters, check: as in `jvp`.
        cotangents: λ, weights of the result, of its shape. The gradient in q has nv entries, for generalized velocities.
        out: array for the gradients in all inputs side by side; those returned are views of it.

    Example:
        >>> import appell
        >>> robot = appell.load("planar2r")
        >>> (force,) = appell.vjp(robot, "potential_energy", [[0.3, 0.2]], 1.0)
        >>> bool(abs(force - robot.gravity([0.3, 0.2])).max() < 1e-14)
        True
    """
    options = _given(gravity=gravity, external_forces=wrenches_by_frame(external_forces) or None, parameters=parameters)
    own = _directional(robot, function, options)
    inputs = _vectors("inputs", inputs, own.inputs, robot.functions.owner.vector)
    xp, _, enter = _array_module(own.evaluator, [*inputs, cotangents])
    weights, columns = own.flat("cotangents", enter("cotangents", cotangents)), own.columns
    if out is not None and own.joints:
        raise ArgumentError(
            "gradients of functions of files with free joints cannot be written into `out`. Leave it out."
        )
    values, options = own.arguments(inputs, options)
    result = own.calls.vjp(*values, weights, **options, **_given(out=out), check=check)
    if own.joints:
        result = enter("the result", result)
        result, q = (xp.moveaxis(x, 0, -1) if columns else x for x in (result, enter("q", inputs[0])))
        q = xp.broadcast_to(q, (*result.shape[:-1], own.nq)).reshape(-1, own.nq).astype(result.dtype, copy=False)
        N = tangent_map(own.joints, q if xp is np else q.get(), own.inputs["q"]).reshape(*result.shape[:-1], own.nq, -1)
        by_q = (xp.asarray(N) * result[..., : own.nq, None]).sum(axis=-2)
        result = xp.concatenate([by_q, result[..., own.nq :]], axis=-1)
        result = xp.moveaxis(result, -1, 0) if columns else result
    ends = accumulate(own.inputs.values(), initial=0)
    return tuple(result[a:b] if columns else result[..., a:b] for a, b in pairwise(ends))


def _array_module(evaluator: Evaluator, values: Sequence[Any]) -> tuple[Any, Callable[..., Any], Callable[..., Any]]:
    """NumPy or CuPy, wherever the values are; how they become arrays (N, size), and one of them an array."""
    dtype, columns = evaluator.options.dtype, evaluator.options.layout == "columns"
    if evaluator.options.target == "cuda" and gpu.kind_of(values):
        return (
            gpu.cupy(),
            lambda named, given, _: gpu.as_batch(named, given, dtype, columns),
            partial(gpu.entered, dtype=dtype),
        )
    return np, lambda named, given, check: as_batch(named, given, dtype, check, columns), _as_array


@dataclass(frozen=True)
class DirectionalFunction:
    """The derivatives of one function along directions.

    Attributes:
        inputs: entries of a direction of each input, by name.
        shape: of the function's result.
        nq, joints: coordinates, and the joints whose q̇ = N(q) qd is not part of the kernels.
        parameters: inertial parameters that are an input of the kernels.
    """

    calls: DirectionalCalls
    inputs: Mapping[str, int]
    shape: tuple[int, ...]
    nq: int = 0
    joints: tuple[QuasiVelocityJoint, ...] = ()
    parameters: int = 0

    @property
    def evaluator(self) -> Evaluator:
        return self.calls.functions

    def arguments(self, inputs: Sequence[Any], options: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Inputs and options of the kernels: inertial parameters may be an input."""
        if not self.parameters:
            return inputs, options
        others = {name: value for name, value in options.items() if name != "parameters"}
        return (*inputs, options.get("parameters", self.evaluator.parameters)), others

    @property
    def columns(self) -> bool:
        return self.evaluator.options.layout == "columns"

    def flat(self, name: str, array: Any) -> Any:
        """An array of results with the entries of each along one axis."""
        first = 0 if self.columns else max(array.ndim - len(self.shape), 0)
        last = first + len(self.shape)
        if array.shape[first:last] != self.shape:
            raise ArgumentError(
                f"{name} has shape {array.shape}, expected that of the function's result: (..., {self.shape})."
            )
        return array.reshape(*array.shape[:first], math.prod(self.shape), *array.shape[last:])

    def shaped(self, array: Any) -> Any:
        """The entries of a result in its shape; a number where that has no dimensions."""
        return array.reshape((*self.shape, *array.shape[1:]) if self.columns else (*array.shape[:-1], *self.shape))[()]


def _directional(robot: Dynamics, function: str | FunctionSpec, options: Mapping[str, Any]) -> DirectionalFunction:
    """The derivatives of a function of a robot, for calls with these options."""
    if not isinstance(robot, Dynamics):
        raise ArgumentError(
            f"robot is {type(robot).__name__}, expected one that appell.load or appell.compile returned."
        )
    spec, functions = as_function_spec(function), robot.functions
    traced = isinstance(functions.provider, TracedProvider)
    if not traced:
        _require_differentiable(robot, options)
    return functions.program(("directional", spec), lambda: (_of_robot if traced else _of_file)(robot, spec))


def _of_robot(robot: Dynamics, spec: FunctionSpec) -> DirectionalFunction:
    """A function that is traced, and differentiated as a graph."""
    provider: Any = robot.functions.provider
    system = DirectionalSystem(provider.system, spec)
    shape = system.base.signature(spec).shape
    evaluator = Evaluator(TracedProvider(system), replace(robot.functions.options, parameters="baked"))
    sizes = {name: system.tangent_size(name) for name in system.inputs}
    return DirectionalFunction(DirectionalCalls(evaluator), sizes, shape)


def _require_differentiable(robot: Any, options: Mapping[str, Any]) -> None:
    """Raise for calls that functions of a file cannot answer."""
    if not options.keys().isdisjoint(("gravity", "external_forces")):
        raise ArgumentError(
            "functions of a file have no derivatives with `gravity` or `external_forces`. Use the robot it was made of."
        )
    if robot.robot.kind:
        raise ArgumentError(
            "a closed loop that was loaded from a file cannot be differentiated. Use the robot it was made of."
        )


def _of_file(robot: Any, spec: FunctionSpec) -> DirectionalFunction:
    """A function of a file, differentiated operation by operation."""
    store, runtime = robot.functions.provider, robot.options.parameters == "runtime"
    stored = store[replace(spec, parameter_input=runtime and spec.frame is None)]
    sizes, evaluator = dict(stored.signature.inputs), robot.functions.along_coordinates(stored.spec)
    joints = robot.quasi_velocity_joints if "q" in sizes else ()
    inputs = {name: robot.robot.nv if name == "q" else size for name, size in sizes.items() if name != "parameters"}
    return DirectionalFunction(
        DirectionalCalls(evaluator), inputs, stored.signature.shape, robot.robot.nq, joints, sizes.get("parameters", 0)
    )


def _given(**options: Any) -> dict[str, Any]:
    """The options that are not None; calls without options are fastest."""
    return {name: value for name, value in options.items() if value is not None}


def _vectors(name: str, values: Any, expected: Collection[str], vector: Callable[[str, Any], Any]) -> list[Any]:
    """Values of these names; those by name of entries become arrays."""
    if isinstance(values, dict) or not hasattr(values, "__len__") or len(values) != len(expected):
        got = f"has {len(values)} entries" if isinstance(values, (list, tuple)) else f"is {type(values).__name__}"
        raise ArgumentError(f"{name} {got}, expected {len(expected)}: {', '.join(expected)}.")
    return [vector(k, x) if isinstance(x, dict) else x for k, x in zip(expected, values, strict=True)]


def _as_array(name: str, value: Any) -> np.ndarray:
    return value if isinstance(value, np.ndarray) else require_real_array(name, value)


def _tangent_name(name: str) -> str:
    """Forces keep their name, as the robot names their entries after actuators."""
    return name if name == "tau" else tangent_of(name)
