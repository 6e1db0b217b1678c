"""What `appell.simulate` is given, looked at and made ready: wrong arguments are refused here, by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from appell.checks import as_real, require_positive, require_real_array
from appell.errors import ArgumentError
from appell.simulation.contact.surfaces import Surface
from appell.simulation.drive import vector
from appell.simulation.loop import DRIFT
from appell.simulation.methods import DT, METHODS, Method, Options

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.simulation_model import SimulationModel

ATOL = 1e-20
"""Least absolute tolerance: what is given as 0 is this, so that zeros are no trouble."""
CLOSED = 1e-6
"""How far an initial state may be from the model's constraints; it is brought onto them."""


def start_of(model: SimulationModel, q0: ArrayLike, qd0: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The initial state, on the model's constraints; one that is far from them is refused."""
    q, qd = _state("q0", q0, model.nq), _state("qd0", qd0, model.nv)
    drift = model.constraint_error(q, qd)
    if drift > CLOSED:
        raise ArgumentError(
            f"q0, qd0 miss the constraints of {model.name!r} (unit quaternions, closed loops) by {drift:.3g}, "
            f"expected at most {CLOSED:g}."
        )
    return model.project_to_constraints(q, qd) if drift > DRIFT else (q, qd)


def options_of(method: Method, rtol: float, atol: float | None, max_step: float, dt: float | None) -> Options:
    """What the integrator is told."""
    if dt is not None and not method.fixed:
        fixed = ", ".join(name for name, each in METHODS.items() if each.fixed)
        raise ArgumentError(
            f"dt is given, but {method.name} chooses its steps itself. Give max_step or sample, or one of the methods {fixed}."
        )
    rtol = require_positive("rtol", rtol)
    if atol is not None and not 0.0 <= as_real(atol) < math.inf:
        raise ArgumentError(f"atol is {atol!r}, expected a number from 0 up.")
    return Options(
        rtol, rtol if atol is None else max(as_real(atol), ATOL), require_positive("max_step", max_step, infinite=True),
        DT if dt is None else require_positive("dt", dt),
    )  # fmt: skip


def effort_of(model: SimulationModel, limits: ArrayLike | str | None) -> np.ndarray | None:
    """Greatest forces of the drives, or None where no drive has a limit."""
    if limits is None:
        return None
    if isinstance(limits, str):
        if limits != "robot":
            raise ArgumentError(
                f"limits is {limits!r}, expected numbers, or 'robot' for the joints' own effort limits."
            )
        effort = model.limits.effort
    else:
        drives = len(model.actuator_names)
        every = np.full(drives, limits) if np.ndim(limits) == 0 else limits
        effort = vector(every, drives, "limits")
    if not (effort >= 0.0).all():
        raise ArgumentError(f"limits are {effort.tolist()}, expected numbers from 0 up.")
    return effort if np.isfinite(effort).any() else None


def surfaces_of(walls: Surface | Sequence[Surface] | None) -> tuple[Surface, ...]:
    """The walls, if all of them are."""
    if walls is None or isinstance(walls, Surface):
        return () if walls is None else (walls,)
    if not isinstance(walls, Iterable):
        raise ArgumentError(f"walls is a {type(walls).__name__}, expected surfaces such as appell.Circle(radius=2.5).")
    for wall in walls:
        if not isinstance(wall, Surface):
            raise ArgumentError(
                f"walls has a {type(wall).__name__}, expected surfaces such as appell.Circle(radius=2.5)."
            )
    return tuple(walls)


def sample_times(sample: float | ArrayLike | None, end: float) -> np.ndarray | None:
    """Times of the samples; a period gives 0, period, 2 period, ... and the end if it is a multiple of it."""
    if sample is None:
        return None
    if np.ndim(sample) == 0:
        period = require_positive("sample", sample)
        if period > end * (1.0 + 1e-12):
            raise ArgumentError(f"sample is {period:g} s, expected at most the duration of {end:g} s.")
        count = math.floor(end / period * (1.0 + 1e-12))
        return np.minimum(period * np.arange(count + 1), end)
    times = require_real_array("sample", sample)
    if times.ndim != 1 or not len(times) or not (np.diff(times) > 0.0).all() or not 0.0 <= times[0] <= times[-1] <= end:
        raise ArgumentError(f"sample must be a period or increasing times from 0 to the duration of {end:g} s.")
    return times


def _state(name: str, values: ArrayLike, size: int) -> np.ndarray:
    array = require_real_array(name, values)
    if array.shape != (size,):
        raise ArgumentError(f"{name} has shape {array.shape}, expected ({size},).")
    if not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ArgumentError(f"{name}[{bad}] is {array[bad]}, expected a finite number.")
    return array
