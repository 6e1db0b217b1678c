"""What drives the joints: constant forces, a function of the state, or a controller.

A controller is any object with
    period                          time between its samples, None if it acts continuously    [s]
    start(t, q, qd) -> memory       its memory at the beginning
    step(t, q, qd, memory) -> (tau, memory)
A sampled one is asked at the multiples of its period, k · period, and its forces are held in between.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from appell.checks import as_real
from appell.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Torque = Callable[[float, np.ndarray, np.ndarray], "ArrayLike"]
"""Forces of the drives from time, coordinates and speeds."""


@runtime_checkable
class Controller(Protocol):
    """What `appell.simulate(..., control=...)` takes."""

    @property
    def period(self) -> float | None: ...
    def start(self, t: float, q: np.ndarray, qd: np.ndarray) -> Any: ...
    def step(self, t: float, q: np.ndarray, qd: np.ndarray, memory: Any) -> tuple[Any, Any]: ...


class Drive(Protocol):
    """The drives of one run."""

    @property
    def next_sample(self) -> float:
        """When it must be asked again, infinite if never. [s]"""
        ...

    def sample(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """The time of a sample has come."""
        ...

    def demand(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Forces that are asked for, before any limit, (nv,). [N m, N]"""
        ...


class Continuous:
    """Forces that follow a function of time and state."""

    next_sample = math.inf

    def __init__(self, function: Callable[[float, np.ndarray, np.ndarray], np.ndarray]) -> None:
        self.function = function

    def sample(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """It has no samples."""

    def demand(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.function(t, q, qd)


class Sampled:
    """A controller whose forces are held between its samples; the first one is at t = 0."""

    def __init__(self, controller: Controller, period: float, size: int) -> None:
        self.controller, self.period, self.size = controller, period, size
        self.count, self.memory, self.tau = 0, None, np.zeros(size)

    @property
    def next_sample(self) -> float:
        return self.count * self.period

    def sample(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        if not self.count:
            self.memory = self.controller.start(t, q, qd)
        tau, self.memory = _answer(self.controller, t, q, qd, self.memory)
        self.tau = vector(tau, self.size, "what the controller returns")
        self.count += 1

    def demand(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.tau


def drive_of(
    size: int, tau: ArrayLike | Torque | None, control: Controller | None, q: np.ndarray, qd: np.ndarray
) -> Drive:
    """The drives that `appell.simulate` was given, for a motion that begins in this state."""
    if control is not None:
        if tau is not None:
            raise ArgumentError("both tau and control are given. Give one of them.")
        return _controlled(size, control, q, qd)
    if callable(tau):
        takes_state(tau, "tau")
        return Continuous(lambda t, q, qd: vector(tau(t, q, qd), size, "what tau returns"))
    constant = np.zeros(size) if tau is None else vector(tau, size, "tau")
    return Continuous(lambda t, q, qd: constant)


def _controlled(size: int, control: Controller, q: np.ndarray, qd: np.ndarray) -> Drive:
    if not isinstance(control, Controller):
        raise ArgumentError(
            f"control is a {type(control).__name__}, expected an object with period, start(t, q, qd) and "
            "step(t, q, qd, memory). Give a function of (t, q, qd) as tau."
        )
    if control.period is not None:
        if not 0.0 < as_real(control.period) < math.inf:
            raise ArgumentError(f"the controller's period is {control.period!r}, expected a positive time or None.")
        return Sampled(control, float(control.period), size)
    memory = control.start(0.0, q, qd)
    if memory is not None and not (hasattr(memory, "__len__") and not len(memory)):
        raise ArgumentError("the controller remembers something and has no period. Give it the period of its samples.")

    def demand(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return vector(_answer(control, t, q, qd, memory)[0], size, "what the controller returns")

    return Continuous(demand)


def _answer(control: Controller, t: float, q: np.ndarray, qd: np.ndarray, memory: Any) -> tuple[Any, Any]:
    answer = control.step(t, q, qd, memory)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise ArgumentError("the controller's step returns something else than the pair (tau, memory).")
    return answer


def takes_state(function: Callable, label: str) -> None:
    """Refuse a function that cannot be called with (t, q, qd); one that hides what it takes is let through."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(0.0, None, None)
    except TypeError:
        raise ArgumentError(f"{label} is a function of {signature}, expected one of (t, q, qd).") from None


def vector(value: ArrayLike, size: int, label: str) -> np.ndarray:
    """An array of this size, or an error with its label."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{label} must be {size} numbers, got {type(value).__name__}.") from None
    if array.shape != (size,):
        raise ArgumentError(f"{label} has shape {array.shape}, expected ({size},).")
    return array
