"""A rollout's arguments, checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algorithms.laws import LAWS, Law
from appell.checks import as_real
from appell.errors import ArgumentError, unknown_name_message
from appell.rollouts.integrators import INTEGRATORS

if TYPE_CHECKING:
    from appell.algorithms.coordinate_rates import QuasiVelocityJoint
    from appell.robot.compiled import CompiledRobot


@dataclass(frozen=True)
class Plan:
    """What is rolled out.

    Attributes:
        start: coordinates and speeds.
        lead: batch dimensions.
        nq, nv: numbers of coordinates and speeds.
        free: joints whose coordinates do not change at their speeds.
        parameters: inertial parameters, or None where the robot's own are constants of the code.
        columns: whether entries come first in the arrays.
    """

    start: tuple[Any, Any]
    law: Law
    signals: Mapping[str, Any]
    gains: Mapping[str, Any]
    steps: int
    dt: float
    integrator: str
    hold: int | None
    every: int
    passive: bool
    lead: tuple[int, ...]
    nq: int
    nv: int
    free: tuple[QuasiVelocityJoint, ...]
    parameters: Any | None
    columns: bool

    @property
    def kept(self) -> int:
        """How many states are written."""
        return self.steps // self.every

    @property
    def memory(self) -> int:
        """Numbers that the law remembers."""
        return self.nv * len(self.law.memory)

    @property
    def runtime(self) -> bool:
        """Whether inertial parameters are an input."""
        return self.parameters is not None

    @property
    def constants(self) -> tuple[Any, ...]:
        """What stays while a robot moves, beside its signals: gains, then inertial parameters."""
        return (*self.gains.values(), *(() if self.parameters is None else (self.parameters,)))

    @property
    def constant_count(self) -> int:
        """Numbers in the constants of one robot, once they are arrays."""
        return sum(array.shape[0 if self.columns else -1] for array in self.constants)

    def with_arrays(self, convert: Callable[[str, Any], Any]) -> Plan:
        """The same plan with every array, called by its name, converted."""
        return replace(
            self,
            start=(convert("q0", self.start[0]), convert("qd0", self.start[1])),
            signals={name: convert(name, value) for name, value in self.signals.items()},
            gains={name: convert(name, value) for name, value in self.gains.items()},
            parameters=None if self.parameters is None else convert("parameters", self.parameters),
        )


def make_plan(
    dyn: CompiledRobot, q0, qd0, controls, law: str, gains, steps, dt, integrator, hold, every, passive, parameters=None
) -> Plan:
    """Refuse what does not fit, naming it."""
    robot, free, columns = dyn.robot, dyn.quasi_velocity_joints, dyn.options.layout == "columns"
    n = robot.nv
    if law not in LAWS:
        raise ArgumentError(unknown_name_message("control law", law, LAWS))
    if integrator not in INTEGRATORS:
        raise ArgumentError(unknown_name_message("integrator", integrator, INTEGRATORS))
    for name, value in (("steps", steps), ("every", every), ("hold", hold)):
        if value is not None and (not isinstance(value, (int, np.integer)) or value < 1):
            raise ArgumentError(f"{name} is {value!r}, expected a positive whole number.")
    if every > steps:
        raise ArgumentError(f"every is {every}, expected at most steps = {steps}: no state would be kept.")
    if not 0.0 < as_real(dt) < math.inf:
        raise ArgumentError(f"dt is {dt!r}, expected a positive number of seconds.")
    rule = LAWS[law]
    _refuse_free(law, rule, free)
    zero = np.zeros(n)
    named = controls if isinstance(controls, Mapping) else {rule.signals[0]: zero if controls is None else controls}
    _known("control signal", named, rule.signals)
    _known("gain", gains or {}, rule.gains)
    missing = [name for name in rule.gains if name not in (gains or {})]
    if missing:
        raise ArgumentError(f"law {law!r} needs the gains {', '.join(missing)}. Pass gains={{'{missing[0]}': ...}}.")
    times = 0 if hold is None else -(-steps // hold)
    leads = [_lead("q0", q0, robot.nq, columns, 0), _lead("qd0", qd0, n, columns, 0)]
    signals = {
        name: named.get(name, zero if hold is None else np.zeros(_shape(n, times, columns))) for name in rule.signals
    }
    given = {name: (gains or {})[name] for name in rule.gains}  # in the order that kernels read them
    spread = {name: value * np.ones(n) if np.ndim(value) == 0 else value for name, value in given.items()}
    leads += [_lead(name, value, n, columns, times) for name, value in signals.items()]
    leads += [_lead(name, value, n, columns, 0) for name, value in spread.items()]
    if parameters is None and dyn.options.parameters == "runtime":
        parameters = dyn.parameters
    if parameters is not None:
        leads.append(_lead("parameters", parameters, len(dyn.parameters), columns, 0))
    try:
        lead = np.broadcast_shapes(*leads)
    except ValueError:
        raise ArgumentError(f"batch dimensions do not fit together: {leads}. They must broadcast.") from None
    return Plan(
        (q0, qd0), rule, signals, spread, steps, as_real(dt), integrator, hold, every, passive, lead, robot.nq, n, free,
        parameters, columns,
    )  # fmt: skip


def _refuse_free(name: str, law: Law, free: Sequence[QuasiVelocityJoint]) -> None:
    """Differences of coordinates are no displacements where a joint turns freely."""
    if free and "q" in law.signals:
        joint = free[0]
        raise ArgumentError(
            f"law {name!r} subtracts coordinates, which joint {joint.name!r} ({joint.kind}) does not allow: its speeds are "
            "taken along the moving body. Use the law 'torque' with forces from robot.difference, step by step."
        )


def _shape(n: int, times: int, columns: bool) -> tuple[int, int]:
    return (n, times) if columns else (times, n)


def _lead(name: str, value: Any, n: int, columns: bool, times: int) -> tuple[int, ...]:
    """Batch dimensions of an array (..., n), or (..., times, n) of a signal that changes."""
    shape = tuple(np.shape(value)) if isinstance(value, (list, tuple, np.ndarray)) else tuple(value.shape)
    own = 2 if times else 1
    expected = _shape(n, times, columns) if times else (n,)
    found = shape[:own] if columns else shape[-own:]
    if found != expected:
        told = ", ".join(map(str, expected))
        raise ArgumentError(
            f"{name} has shape {shape}, expected {f'({told}, ...)' if columns else f'(..., {told})'}"
            f"{', a value for every hold' if times else ''}."
        )
    return shape[own:] if columns else shape[: len(shape) - own]


def _known(kind: str, given: Mapping[str, Any], valid: tuple[str, ...]) -> None:
    for name in given:
        if name not in valid:
            raise ArgumentError(unknown_name_message(kind, name, valid))
