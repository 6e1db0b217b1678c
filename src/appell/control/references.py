"""Where a robot shall be: references of time, with their speeds and accelerations.

A reference is callable: `reference(t) -> (q, qd, qdd)`, for a time arrays (n,), for times (N,) arrays (N, n); `duration` says
when it ends. `appell.trajectories` makes them; here is the one for a point that is held.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from appell.errors import ArgumentError

Motion = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Coordinates, speeds and accelerations."""


@runtime_checkable
class Reference(Protocol):
    """What a controller follows."""

    @property
    def duration(self) -> float: ...

    def __call__(self, t: Any, /) -> Motion: ...


@dataclass(frozen=True)
class Hold:
    """One point for all times.

    Example:
        >>> Hold((0.1, 0.2))(3.0)[0].tolist()
        [0.1, 0.2]
    """

    q: tuple[float, ...]
    duration: float = math.inf

    def __call__(self, t: Any, /) -> Motion:
        shape = (*np.shape(t), len(self.q))
        return np.broadcast_to(np.array(self.q), shape).copy(), np.zeros(shape), np.zeros(shape)


def as_reference(value: Reference | Callable[[float], Motion] | ArrayLike, n: int) -> Reference:
    """A reference as it is, or a point as a reference that holds it."""
    if callable(value):
        return cast("Reference", value)
    point = np.asarray(value, dtype=float)
    if point.shape != (n,):
        raise ArgumentError(
            f"reference has shape {point.shape}, expected a point ({n},) or a function of time that gives (q, qd, qdd)."
        )
    if not np.isfinite(point).all():
        raise ArgumentError(f"reference[{int(np.flatnonzero(~np.isfinite(point))[0])}] is not finite.")
    return Hold(tuple(point.tolist()))
