"""Forces of the actuators during one run: constant, a function of the state, or those of a controller.

A controller is any object with
    period                              time between its samples, None if it acts continuously    [s]
    initial_memory(t, q, qd) -> memory  its state at the start
    step(t, q, qd, memory) -> (tau, memory)
A sampled controller is evaluated at multiples of its period, and its forces are held in between (zero-order hold).
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_positive, require_real_array
from appell.deprecation import warn_renamed
from appell.errors import ArgumentError

TauFunction = Callable[[float, np.ndarray, np.ndarray], "ArrayLike"]
"""Forces of the actuators as a function of (t, q, qd)."""


@runtime_checkable
class ControllerProtocol(Protocol):
    """A controller for `appell.simulate(..., controller=...)`."""

    @property
    def period(self) -> float | None: ...
    def initial_memory(self, t: float, q: np.ndarray, qd: np.ndarray) -> Any: ...
    def step(self, t: float, q: np.ndarray, qd: np.ndarray, memory: Any) -> tuple[Any, Any]: ...


class Actuation:
    """Forces of the actuators of one run: a function of time and state, without samples.

    Attributes:
        desired_tau: forces before any effort limit, (nu,). [N m, N]
        next_sample: time of the next sample, infinite if there is none. [s]
        period: time between samples, None without them. [s]
        constant: whether the forces never change.
    """

    next_sample, period, constant = math.inf, None, False

    def __init__(self, desired_tau: Callable[[float, np.ndarray, np.ndarray], np.ndarray]) -> None:
        self.desired_tau = desired_tau

    @property
    def held(self) -> bool:
        """Whether the forces are constant between samples."""
        return self.constant or self.period is not None

    def sample(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        """Take the sample that is due at time t."""

    def continuous_tau(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Forces of the law in a state, without hold, as at the first sample."""
        return self.desired_tau(t, q, qd)


class SampledActuation(Actuation):
    """A controller with zero-order hold; its first sample is at t = 0."""

    def __init__(self, controller: ControllerProtocol, period: float, size: int) -> None:
        super().__init__(lambda t, q, qd: self.tau)
        self.controller, self.period, self.size = controller, period, size
        self.count, self.memory, self.tau, self.next_sample = 0, None, np.zeros(size), 0.0

    def sample(self, t: float, q: np.ndarray, qd: np.ndarray) -> None:
        if not self.count:
            self.memory = self.controller.initial_memory(t, q, qd)
        self.tau, self.memory = _controller_step(self.controller, t, q, qd, self.memory, self.size)
        self.count += 1
        self.next_sample = self.count * self.period

    def continuous_tau(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        memory = self.controller.initial_memory(t, q, qd)
        return _controller_step(self.controller, t, q, qd, memory, self.size)[0]


class _FormerController:
    """A controller whose `initial_memory` has its former name `start`."""

    def __init__(self, controller: Any) -> None:
        warn_renamed(f"{type(controller).__name__}.start", "initial_memory")
        self.period, self.initial_memory, self.step = controller.period, controller.start, controller.step


def actuation_of(
    size: int, tau: ArrayLike | TauFunction | None, controller: ControllerProtocol | None, q: np.ndarray, qd: np.ndarray
) -> Actuation:
    """The actuation for arguments of `appell.simulate` and an initial state."""
    if controller is not None:
        if tau is not None:
            raise ArgumentError("both tau and controller are given. Give one of them.")
        return _controlled(size, controller, q, qd)
    if callable(tau):
        require_state_function("tau", tau)
        return Actuation(lambda t, q, qd: require_real_array("the result of tau", tau(t, q, qd), (size,)))
    constant = np.zeros(size) if tau is None else require_real_array("tau", tau, (size,))
    actuation = Actuation(lambda t, q, qd: constant)
    actuation.constant = True
    return actuation


def _controlled(size: int, controller: Any, q: np.ndarray, qd: np.ndarray) -> Actuation:
    if not hasattr(controller, "initial_memory") and hasattr(controller, "start") and hasattr(controller, "step"):
        controller = _FormerController(controller)
    if not isinstance(controller, ControllerProtocol):
        raise ArgumentError(
            f"controller is a {type(controller).__name__}, expected an object with period, initial_memory(t, q, qd) and "
            "step(t, q, qd, memory). Give a function of (t, q, qd) as tau."
        )
    if controller.period is not None:
        period = require_positive("the controller's period", controller.period, "s", note=" or None")
        return SampledActuation(controller, period, size)
    memory = controller.initial_memory(0.0, q, qd)
    if memory is not None and not (hasattr(memory, "__len__") and not len(memory)):
        raise ArgumentError("the controller has memory and no period. Give it the period of its samples.")
    return Actuation(lambda t, q, qd: _controller_step(controller, t, q, qd, memory, size)[0])


def _controller_step(
    controller: ControllerProtocol, t: float, q: np.ndarray, qd: np.ndarray, memory: Any, size: int
) -> tuple[np.ndarray, Any]:
    result = controller.step(t, q, qd, memory)
    if not isinstance(result, tuple) or len(result) != 2:
        raise ArgumentError("the controller's step must return the pair (tau, memory).")
    return require_real_array("tau of the controller", result[0], (size,)), result[1]


def require_state_function(name: str, function: Callable) -> None:
    """A function that can be called with (t, q, qd), as far as its signature can be inspected."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(0.0, None, None)
    except TypeError:
        raise ArgumentError(f"{name} is a function of {signature}, expected one of (t, q, qd).") from None
