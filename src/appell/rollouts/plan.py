"""Validated arguments of a rollout, and its arrays as rows of states, for NumPy and CuPy: `xp` is the array module.

Arrays shared by all states stay one row, without copies where possible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from appell.algorithms.actuated_joints import ActuatedJoints
from appell.algorithms.coordinate_rates import QuasiVelocityJoint, quaternions
from appell.algorithms.laws import LAWS, Law
from appell.algorithms.runge_kutta import Tableau
from appell.checks import (
    require_bool,
    require_choice,
    require_finite,
    require_integer,
    require_positive,
    require_real_array,
)
from appell.compiler.operations import OperationList
from appell.errors import ArgumentError
from appell.model.joints import KINDS
from appell.robot.compiled import CompiledRobot
from appell.rollouts.integrators import INTEGRATORS


@dataclass(frozen=True)
class RolloutOptions:
    """Options of `appell.rollout` that are rarely changed.

    Attributes:
        integrator: `"rk4"` or `"semi_implicit_euler"`.
        passive_forces: add joint damping, friction and springs of the description.
        check: raise `ArgumentError` for non-finite inputs and quaternions that have not unit length, and
            `SimulationError` for non-finite states.

    Example:
        >>> import appell
        >>> dyn = appell.compile(appell.load("planar2r"))
        >>> options = appell.RolloutOptions("semi_implicit_euler", check=False)
        >>> appell.rollout(dyn, [0.0, 0.0], [0.0, 0.0], steps=10, dt=1e-3, options=options).q.shape
        (10, 2)
    """

    integrator: str = "rk4"
    passive_forces: bool = True
    check: bool = True

    def __post_init__(self) -> None:
        require_choice("integrator", self.integrator, INTEGRATORS)
        require_bool("passive_forces", self.passive_forces)
        require_bool("check", self.check)


class RolloutSteps(NamedTuple):
    """Number and length [s] of the steps, and the steps per control value and per saved state."""

    steps: int
    dt: float
    control_every: int | None = None
    save_every: int = 1


@dataclass(frozen=True)
class RolloutPlan:
    """A rollout."""

    start: tuple[Any, Any]  # q and qd
    law: Law
    signals: Mapping[str, Any]
    gains: Mapping[str, Any]
    steps: int
    dt: float
    integrator: str
    control_every: int | None
    save_every: int
    passive_forces: bool
    batch_shape: tuple[int, ...]  # batch dimensions
    nq: int
    nv: int
    quasi_velocity_joints: tuple[QuasiVelocityJoint, ...]  # joints whose q̇ is not qd
    parameters: Any | None  # inertial parameters, or None where those of the robot are constants of the code
    columns: bool  # whether entries come first in the arrays
    check: bool  # whether numbers are checked to be finite

    @property
    def joints(self) -> ActuatedJoints:
        """The joints that feedback laws act on."""
        return ActuatedJoints.of(self.nq, self.nv, self.quasi_velocity_joints)

    @property
    def tableau(self) -> Tableau:
        """The integrator as numbers."""
        return INTEGRATORS[self.integrator].tableau

    @property
    def saved(self) -> int:
        """Number of saved states."""
        return self.steps // self.save_every

    @property
    def last(self) -> int:
        """Steps up to the last saved state."""
        return self.saved * self.save_every

    @property
    def hold(self) -> int:
        """Steps between changes of the signals."""
        return self.control_every or self.steps

    @property
    def memory(self) -> int:
        """Size of the memory of the law."""
        return self.joints.size(self.law) * len(self.law.memory)

    @property
    def state_size(self) -> int:
        """Entries of q, qd and the memory of the law."""
        return self.nq + self.nv + self.memory

    @property
    def signal_count(self) -> int:
        """Entries of all signals of one robot."""
        return self.joints.size(self.law) * len(self.law.signals)

    @property
    def quaternions(self) -> tuple[int, ...]:
        """Where the unit quaternions begin in the state."""
        return tuple(first for _, first in quaternions(self.quasi_velocity_joints))

    @property
    def runtime_parameters(self) -> bool:
        """Whether inertial parameters are an input."""
        return self.parameters is not None

    @property
    def constants(self) -> tuple[Any, ...]:
        """Inputs that do not change with time: gains, then inertial parameters."""
        return (*self.gains.values(), *(() if self.parameters is None else (self.parameters,)))

    @property
    def constant_count(self) -> int:
        """Entries of the constants of one robot, once they are arrays."""
        return sum(array.shape[0 if self.columns else -1] for array in self.constants)

    def require_unit_quaternions(self, xp: Any, require: Callable[..., None]) -> None:
        """Raise for quaternions of q0 of other than unit length, by the check of the array module."""
        q0 = xp.moveaxis(self.start[0], 0, -1) if self.columns else self.start[0]
        require("q0", q0.reshape(-1, self.nq), q0.shape[:-1], quaternions(self.quasi_velocity_joints))

    def with_arrays(self, convert: Callable[[str, Any], Any]) -> RolloutPlan:
        """The same with every array converted by a function of its name and value."""
        return replace(
            self,
            start=(convert("q0", self.start[0]), convert("qd0", self.start[1])),
            signals={name: convert(name, value) for name, value in self.signals.items()},
            gains={name: convert(name, value) for name, value in self.gains.items()},
            parameters=None if self.parameters is None else convert("parameters", self.parameters),
        )


class RolloutWeights(NamedTuple):
    """Gradients in the first state (N, state), the signals (N, K, n) and the constants (N, m) of every robot."""

    state: Any
    signals: Any
    constants: Any


def rate_of(dyn: CompiledRobot, plan: RolloutPlan) -> tuple[str, Callable[[], OperationList]]:
    """The rate of the state as the integrator takes it: a digest of the robot's rate, and what gives its operations."""
    key, listed = dyn.state_rate(plan.law, plan.passive_forces, plan.runtime_parameters)
    count = plan.state_size + (plan.nq if plan.tableau.new_speeds else 0)

    def taken() -> OperationList:
        operations = listed()
        return replace(operations, outputs=operations.outputs[:count])

    return key, taken


def arguments(plan: RolloutPlan) -> dict[str, Any]:
    """Arguments of the rollout that can be changed, by name."""
    parameters = {} if plan.parameters is None else {"parameters": plan.parameters}
    return {"q0": plan.start[0], "qd0": plan.start[1], **plan.signals, **plan.gains, **parameters}


def as_host(array: Any) -> np.ndarray:
    """An array of NumPy, CuPy, PyTorch or JAX in the memory of the CPU."""
    return np.asarray(array.cpu() if hasattr(array, "cpu") else array.get() if is_of_cupy(array) else array)


def is_of_cupy(array: Any) -> bool:
    """Whether an array is of CuPy; a mapping has `get`, too."""
    return hasattr(array, "get") and hasattr(array, "__cuda_array_interface__")


def real_numbers(name: str, values: Any, check: bool, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """An array of real numbers, of this shape if one is given, finite where that is checked."""
    array = require_real_array(name, values, shape)
    return require_finite(name, array) if check else array


def make_plan(
    dyn: CompiledRobot,
    start: tuple[Any, Any],
    controls: Any,
    law: str,
    gains: Mapping[str, Any] | None,
    schedule: RolloutSteps,
    parameters: Any,
    options: RolloutOptions,
) -> RolloutPlan:
    """The plan for arguments of `appell.rollout`."""
    robot, joints, columns = dyn.robot, dyn.quasi_velocity_joints, dyn.options.layout == "columns"
    (steps, dt, control_every, save_every), gains = schedule, gains or {}
    rule = LAWS[require_choice("control law", law, LAWS)]
    require_integer("steps", steps, 1)
    require_integer("save_every", save_every, 1)
    if control_every is not None:
        require_integer("control_every", control_every, 1)
    if save_every > steps:
        raise ArgumentError(f"save_every is {save_every}, expected at most steps = {steps}: no state would be saved.")
    dt = require_positive("dt", dt, "s")
    _require_subtractable_coordinates(law, rule, joints)
    n = ActuatedJoints.of(robot.nq, robot.nv, joints).size(rule)
    zero = np.zeros(n)
    named = controls if isinstance(controls, Mapping) else {rule.signals[0]: zero if controls is None else controls}
    for name in named:
        require_choice("control signal", name, rule.signals)
    for name in gains:
        require_choice("gain", name, rule.gains)
    missing = [name for name in rule.gains if name not in gains]
    if missing:
        raise ArgumentError(f"law {law!r} needs the gains {', '.join(missing)}. Pass gains={{'{missing[0]}': ...}}.")
    count = 0 if control_every is None else -(-steps // control_every)
    default = np.zeros(_shape(n, count, columns)) if count else zero
    signals = {name: named.get(name, default) for name in rule.signals}
    ordered = {name: gains[name] for name in rule.gains}  # in the order that kernels read them
    vectors = {name: value * np.ones(n) if np.ndim(value) == 0 else value for name, value in ordered.items()}
    shapes = [_batch_shape("q0", start[0], robot.nq, columns, 0), _batch_shape("qd0", start[1], robot.nv, columns, 0)]
    shapes += [_batch_shape(name, value, n, columns, count) for name, value in signals.items()]
    shapes += [_batch_shape(name, value, n, columns, 0) for name, value in vectors.items()]
    if parameters is None and dyn.options.parameters == "runtime":
        dyn.functions.provider.require_mass("forward_dynamics")
        parameters = dyn.parameters
    if parameters is not None:
        shapes.append(_batch_shape("parameters", parameters, len(dyn.parameters), columns, 0))
    try:
        batch_shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ArgumentError(f"batch dimensions do not fit together: {shapes}. They must broadcast.") from None
    return RolloutPlan(
        start, rule, signals, vectors, steps, dt, options.integrator, control_every, save_every, options.passive_forces,
        batch_shape, robot.nq, robot.nv, joints, parameters, columns, options.check,
    )  # fmt: skip


def _require_subtractable_coordinates(name: str, law: Law, joints: Sequence[QuasiVelocityJoint]) -> None:
    """Differences of coordinates are not displacements where a joint with an actuator has quasi-velocities."""
    joint = next((joint for joint in joints if KINDS[joint.kind].actuated), None)
    if joint is not None and law.is_feedback:
        raise ArgumentError(
            f"law {name!r} subtracts coordinates, which joint {joint.name!r} ({joint.kind}) does not allow: its velocities are "
            "those of the moving body. Use the law 'torque' with forces from robot.difference, step by step."
        )


def _shape(n: int, times: int, columns: bool) -> tuple[int, int]:
    return (n, times) if columns else (times, n)


def _batch_shape(name: str, value: Any, n: int, columns: bool, times: int) -> tuple[int, ...]:
    """Batch dimensions of an array (..., n), or (..., times, n) of a signal that changes."""
    shape = tuple(value.shape) if hasattr(value, "shape") else require_real_array(name, value).shape
    dimensions = 2 if times else 1
    expected = _shape(n, times, columns) if times else (n,)
    if (shape[:dimensions] if columns else shape[-dimensions:]) != expected:
        text = ", ".join(map(str, expected))
        raise ArgumentError(
            f"{name} has shape {shape}, expected {f'({text}, ...)' if columns else f'(..., {text})'}"
            f"{', one value per control_every steps' if times else ''}."
        )
    return shape[dimensions:] if columns else shape[: len(shape) - dimensions]


def state_rows(xp: Any, array: Any, plan: RolloutPlan) -> Any:
    """An array (..., n) as (N, n), or (1, n) if all states share it."""
    array = xp.moveaxis(array, 0, -1) if plan.columns else array
    size = array.shape[-1]
    if math.prod(array.shape[:-1]) == 1:
        return array.reshape(1, size)
    return xp.broadcast_to(array, (*plan.batch_shape, size)).reshape(math.prod(plan.batch_shape), size)


def signal_rows(xp: Any, array: Any, plan: RolloutPlan) -> Any:
    """A signal as (N, K, n); K is 1 if it is constant, N is 1 if all states share it."""
    if plan.control_every is None:
        return state_rows(xp, array, plan)[:, None, :]
    if plan.columns:
        array = xp.moveaxis(array, (0, 1), (-1, -2))
    times, size = array.shape[-2:]
    if math.prod(array.shape[:-2]) == 1:
        return array.reshape(1, times, size)
    return xp.broadcast_to(array, (*plan.batch_shape, times, size)).reshape(math.prod(plan.batch_shape), times, size)


def join_columns(xp: Any, parts: Sequence[Any], dimensions: int, dtype: Any) -> Any:
    """Vectors concatenated along the last axis; a single one is not copied, none give a row without entries."""
    if not parts:
        return xp.empty((*[1] * (dimensions - 1), 0), dtype)
    if len(parts) == 1:
        return parts[0]
    shape = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return xp.concatenate([xp.broadcast_to(part, (*shape, part.shape[-1])) for part in parts], axis=-1)


def empty_states(xp: Any, plan: RolloutPlan, dtype: Any) -> tuple[Any, Any]:
    """An empty array for the saved states (q, qd), and its view as (N, T, nq + nv)."""
    count, size = math.prod(plan.batch_shape), plan.nq + plan.nv
    shape = (size, plan.saved, count) if plan.columns else (count, plan.saved, size)
    array = xp.empty(shape, dtype)
    return array, (array.transpose(2, 1, 0) if plan.columns else array)


def split_states(array: Any, plan: RolloutPlan) -> tuple[Any, Any]:
    """q and qd of the saved states in the caller's layout, as views."""
    size = plan.nq + plan.nv
    if plan.columns:
        array = array.reshape(size, plan.saved, *plan.batch_shape)
        return array[: plan.nq], array[plan.nq :]
    array = array.reshape(*plan.batch_shape, plan.saved, size)
    return array[..., : plan.nq], array[..., plan.nq :]
