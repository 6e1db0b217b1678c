"""Forward sensitivities: changes of the states of a rollout from changes of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from appell.algorithms.coordinate_rates import coordinate_rates
from appell.checks import require_choice
from appell.errors import ArgumentError, SimulationError
from appell.robot.compiled import CompiledRobot
from appell.rollouts import native_derivatives, plain_derivatives
from appell.rollouts.native import builder_of
from appell.rollouts.plan import RolloutPlan, arguments, as_host, real_numbers, split_states


@np.errstate(over="ignore")
def rollout_jvp(dyn: CompiledRobot, plan: RolloutPlan, tangents: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Changes of the saved q and qd, of their shapes, from changes of arguments, of theirs."""
    plan, builder = plan.with_arrays(lambda name, value: as_host(value)), builder_of(dyn)
    for name in tangents:
        require_choice("argument of the rollout", name, arguments(plan))
    along = plan.with_arrays(lambda name, value: direction(plan, name, value, tangents.get(name, 0.0)))
    if builder is None:
        changes = plain_derivatives.forward(dyn, plan, along)
    else:
        changes = native_derivatives.forward(dyn, plan, builder, along)
    if plan.check and not np.isfinite(changes).all():
        finite = np.isfinite(changes).all(axis=(0, 2))
        raise growth_error("forward sensitivity", (int(np.argmin(finite)) + 1) * plan.save_every, plan, dyn)
    return split_states(changes, plan)


def direction(plan: RolloutPlan, name: str, value: np.ndarray, tangent: Any) -> np.ndarray:
    """The direction of an argument, of its shape, from one that broadcasts to it; that of q0 is a generalized velocity."""
    change = real_numbers(f"tangent of {name}", as_host(tangent), plan.check)
    axis = 0 if plan.columns else -1
    shape = list(value.shape)
    shape[axis] = plan.nv if name == "q0" else shape[axis]
    if plan.columns and change.ndim:  # entries come first: one direction for all robots
        change = change.reshape(*change.shape, *[1] * (len(shape) - change.ndim))
    try:
        change = np.broadcast_to(change, shape)
    except ValueError:
        raise ArgumentError(
            f"tangent of {name} has shape {change.shape}, expected {tuple(shape)} as the argument of the rollout, or a shape "
            "that broadcasts to it."
        ) from None
    if name != "q0" or not plan.quasi_velocity_joints:
        return change
    q, velocity = (np.moveaxis(array, axis, 0) for array in (value, change))
    return np.stack(np.broadcast_arrays(*coordinate_rates(plan.quasi_velocity_joints, [*q], [*velocity])), axis)


def growth_error(name: str, k: int, plan: RolloutPlan, dyn: CompiledRobot) -> SimulationError:
    """The error for derivatives that have grown beyond the range of numbers by step k."""
    dtype = dyn.options.dtype
    wider = "" if dtype == "float64" else ", or dtype='float64'"
    return SimulationError(
        f"the {name} of the rollout is not finite at t = {k * plan.dt:g} s: the motion is unstable, and derivatives "
        f"grow beyond the range of {dtype}. Take fewer steps, or controls that stabilize the motion{wider}."
    )
