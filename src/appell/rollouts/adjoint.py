"""The gradient of a weighted sum of the states of a rollout in all its arguments, on the CPU or a GPU."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from appell.algorithms.coordinate_rates import tangent_map
from appell.checks import require_finite, require_real_array
from appell.compiler.targets.cuda.arrays import any_bad, cupy, entered, kind_of, translate_gpu_errors
from appell.robot.compiled import CompiledRobot
from appell.rollouts import cuda_adjoint, native_derivatives, plain_derivatives
from appell.rollouts.native import builder_of
from appell.rollouts.plan import RolloutPlan, RolloutWeights, arguments, as_host, real_numbers, state_rows
from appell.rollouts.sensitivity import growth_error


class RolloutGradient(NamedTuple):
    """Gradient of a weighted sum of the states of a rollout, in arrays of the shapes of its arguments.

    Attributes:
        q0, qd0: in the initial state; that in q0 is in the tangent space, with nv entries.
        controls, gains: in each signal of the control law and each gain, by name.
        parameters: in the inertial parameters; None where these were not given.
    """

    q0: Any
    qd0: Any
    controls: Mapping[str, Any]
    gains: Mapping[str, Any]
    parameters: Any


def rollout_vjp(dyn: CompiledRobot, plan: RolloutPlan, q: Any, qd: Any) -> RolloutGradient:
    """Gradient of the sum of all saved states times their weights q and qd."""
    return TARGETS[dyn.options.target](dyn, plan, q, qd)


@np.errstate(over="ignore")
def on_cpu(dyn: CompiledRobot, plan: RolloutPlan, q: Any, qd: Any) -> RolloutGradient:
    plan, builder, dtype = plan.with_arrays(lambda name, value: as_host(value)), builder_of(dyn), dyn.options.dtype
    given = [
        (f"array of weights of {name}", as_host(value), saved_shape(plan, size))
        for name, value, size in given_weights(np, plan, q, qd, dtype)
    ]
    weights = [saved_rows(np, plan, require_real_array(*each, dtype=dtype, copy=False)) for each in given]
    if builder is None:
        found, failed = plain_derivatives.backward(dyn, plan, *weights)
    else:
        found, failed = native_derivatives.backward(dyn, plan, builder, *weights)
    if plan.check and failed is not None:
        for name, value, _ in given:
            require_finite(name, value)
        raise growth_error("gradient", failed, plan, dyn)
    return gradient(np, plan, found)


def on_gpu(dyn: CompiledRobot, plan: RolloutPlan, q: Any, qd: Any) -> RolloutGradient:
    """Arrays of the library of the first one on the GPU; NumPy arrays where all are on the host."""
    cp, dtype = cupy(), dyn.options.dtype
    kind = kind_of((q, qd, *plan.start, *plan.signals.values(), *plan.constants))
    with kind.stream() if kind else cp.cuda.Stream.null, translate_gpu_errors("rollout"):
        plan = plan.with_arrays(lambda name, value: entered(name, value, dtype))
        weights = []
        for name, value, size in given_weights(cp, plan, q, qd, dtype):
            weights.append(entered(f"array of weights of {name}", value, dtype))
            shape = saved_shape(plan, size)
            if weights[-1].shape != shape or (plan.check and any_bad(weights[-1])):
                real_numbers(f"array of weights of {name}", weights[-1].get(), plan.check, shape)
        rows = cp.concatenate([saved_rows(cp, plan, array) for array in weights], axis=-1)
        found = gradient(cp, plan, cuda_adjoint.run(dyn, plan, rows))
        leave = kind.leave if kind else lambda array: array.get()
        controls, gains = ({name: leave(x) for name, x in part.items()} for part in (found.controls, found.gains))
        last = None if found.parameters is None else leave(found.parameters)
        return RolloutGradient(leave(found.q0), leave(found.qd0), controls, gains, last)


TARGETS = {"cpu": on_cpu, "cuda": on_gpu}


def given_weights(xp: Any, plan: RolloutPlan, q: Any, qd: Any, dtype: str) -> list[tuple[str, Any, int]]:
    """Name, weights and entries of q and qd; zeros where they are None."""
    zero, given = xp.zeros((), dtype), (("q", q, plan.nq), ("qd", qd, plan.nv))
    return [
        (name, xp.broadcast_to(zero, saved_shape(plan, n)) if value is None else value, n) for name, value, n in given
    ]


def saved_shape(plan: RolloutPlan, size: int) -> tuple[int, ...]:
    """Of the saved states, with so many entries."""
    return (size, plan.saved, *plan.batch_shape) if plan.columns else (*plan.batch_shape, plan.saved, size)


def saved_rows(xp: Any, plan: RolloutPlan, array: Any) -> Any:
    """Weights of q or qd as (N, T, n)."""
    rows = xp.moveaxis(array, (0, 1), (-1, -2)) if plan.columns else array
    return rows.reshape(math.prod(plan.batch_shape), plan.saved, rows.shape[-1])


def gradient(xp: Any, plan: RolloutPlan, found: RolloutWeights) -> RolloutGradient:
    """Gradients of all robots in arrays of the shapes of the arguments."""
    state, signals, constants = found
    given = arguments(plan)

    def like(name: str, array: Any) -> Any:
        """Summed over robots that share an argument, in its shape."""
        array = array.reshape(*plan.batch_shape, *array.shape[1:])
        if plan.columns:
            own = range(len(plan.batch_shape), array.ndim)
            array = xp.moveaxis(array, tuple(reversed(own)), tuple(range(len(own))))
        return summed_to(array, np.shape(given[name]), len(plan.batch_shape), plan.columns)

    by_q0, by_qd0 = state[:, : plan.nq], state[:, plan.nq : plan.nq + plan.nv]
    if plan.quasi_velocity_joints:
        q0 = as_host(state_rows(xp, plan.start[0], plan))
        N = tangent_map(plan.quasi_velocity_joints, q0.astype(state.dtype, copy=False), plan.nv)
        by_q0 = (xp.asarray(N) * by_q0[:, :, None]).sum(axis=1)
    signals = signals if plan.control_every else signals[:, 0]
    size = plan.joints.size(plan.law)
    *by_gain, by_parameters = xp.split(constants, [size * (k + 1) for k in range(len(plan.gains))], axis=-1)
    return RolloutGradient(
        like("q0", by_q0),
        like("qd0", by_qd0),
        {name: like(name, signals[..., k * size : (k + 1) * size]) for k, name in enumerate(plan.signals)},
        {name: like(name, part) for name, part in zip(plan.gains, by_gain, strict=True)},
        like("parameters", by_parameters) if plan.runtime_parameters else None,
    )


def summed_to(array: Any, shape: tuple[int, ...], batch: int, columns: bool) -> Any:
    """The array summed over batch dimensions that an argument of this shape does not have or has once."""
    own = array.ndim - batch
    first = own if columns else 0
    missing = array.ndim - len(shape)
    array = array.sum(axis=tuple(range(first, first + missing))) if missing else array
    single = tuple(k for k in range(len(shape)) if shape[k] == 1 and array.shape[k] != 1)
    return array.sum(axis=single, keepdims=True) if single else array
