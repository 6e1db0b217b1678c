"""A rollout's arguments, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.errors import ArgumentError, choices
from appell.rollouts.integrators import INTEGRATORS
from appell.control.laws import LAWS, Law


@dataclass(frozen=True)
class Plan:
    """What is rolled out.

    Attributes:
        lead: batch dimensions.
        n: degrees of freedom.
        kept: how many states are written.
        columns: whether entries come first in the arrays.
    """

    q0: Any
    qd0: Any
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
    n: int
    columns: bool

    @property
    def kept(self) -> int:
        return self.steps // self.every


def make_plan(
    n: int, columns: bool, q0, qd0, controls, law: str, gains, steps, dt, integrator, hold, every, passive
) -> Plan:
    """Refuse what does not fit, naming it."""
    if law not in LAWS:
        raise ArgumentError(choices("control law", law, LAWS))
    if integrator not in INTEGRATORS:
        raise ArgumentError(choices("integrator", integrator, INTEGRATORS))
    for name, value in (("steps", steps), ("every", every), ("hold", hold)):
        if value is not None and (not isinstance(value, (int, np.integer)) or value < 1):
            raise ArgumentError(f"{name} is {value!r}, expected a positive whole number.")
    if every > steps:
        raise ArgumentError(f"every is {every}, expected at most steps = {steps}: no state would be kept.")
    if not (isinstance(dt, (int, float)) and math.isfinite(dt) and dt > 0):
        raise ArgumentError(f"dt is {dt!r}, expected a positive number of seconds.")
    rule = LAWS[law]
    if rule.memory:
        raise ArgumentError(f"law {law!r} carries a memory, which rollouts do not; use appell.simulate with a controller.")
    zero = np.zeros(n)
    named = controls if isinstance(controls, Mapping) else {rule.signals[0]: zero if controls is None else controls}
    _known("control signal", named, rule.signals)
    _known("gain", gains or {}, rule.gains)
    missing = [name for name in rule.gains if name not in (gains or {})]
    if missing:
        raise ArgumentError(f"law {law!r} needs the gains {', '.join(missing)}. Pass gains={{'{missing[0]}': ...}}.")
    times = 0 if hold is None else -(-steps // hold)
    leads = [_lead("q0", q0, n, columns, 0), _lead("qd0", qd0, n, columns, 0)]
    signals = {
        name: named.get(name, zero if hold is None else np.zeros(_shape(n, times, columns))) for name in rule.signals
    }
    spread = {name: value * np.ones(n) if np.ndim(value) == 0 else value for name, value in (gains or {}).items()}
    leads += [_lead(name, value, n, columns, times) for name, value in signals.items()]
    leads += [_lead(name, value, n, columns, 0) for name, value in spread.items()]
    try:
        lead = np.broadcast_shapes(*leads)
    except ValueError:
        raise ArgumentError(f"batch dimensions do not fit together: {leads}. They must broadcast.") from None
    return Plan(q0, qd0, rule, signals, spread, steps, dt, integrator, hold, every, passive, lead, n, columns)


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
            raise ArgumentError(choices(kind, name, valid))
