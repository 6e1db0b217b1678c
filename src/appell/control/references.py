"""References of controllers: the desired q, qd and qdd as functions of time.

`reference(t) -> (q, qd, qdd)`, arrays (n,) for a time and (N, n) for times (N,), with an end time `duration`. They come from
`appell.trajectories`; a constant one is here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from appell.checks import require_finite
from appell.errors import ArgumentError

ReferenceSample = tuple[np.ndarray, np.ndarray, np.ndarray]
"""q, qd and qdd."""


class ControlReference(Protocol):
    """The desired motion of a controller."""

    @property
    def duration(self) -> float: ...

    def __call__(self, t: Any, /) -> ReferenceSample: ...


@dataclass(frozen=True)
class Hold:
    """A constant configuration.

    Example:
        >>> Hold((0.1, 0.2))(3.0)[0].tolist()
        [0.1, 0.2]
    """

    q: tuple[float, ...]
    duration: float = math.inf

    def __call__(self, t: Any, /) -> ReferenceSample:
        shape = (*np.shape(t), len(self.q))
        return np.broadcast_to(np.array(self.q), shape).copy(), np.zeros(shape), np.zeros(shape)


def as_reference(value: ControlReference | Callable[[float], ReferenceSample] | ArrayLike, n: int) -> ControlReference:
    """A callable reference as it is, or a point as a constant one."""
    if callable(value):
        return cast("ControlReference", value)
    point = np.asarray(value, dtype=float)
    if point.shape != (n,):
        raise ArgumentError(
            f"reference has shape {point.shape}, expected a point ({n},) or a function of time that returns (q, qd, qdd)."
        )
    return Hold(tuple(require_finite("reference", point).tolist()))
