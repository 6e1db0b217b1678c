"""Curves made of polynomials, one after the other: what every reference is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from appell.errors import ArgumentError


class Motion(NamedTuple):
    """A value and its first two derivatives in time, of the same shape."""

    x: np.ndarray
    xd: np.ndarray
    xdd: np.ndarray


@dataclass(frozen=True, eq=False)
class Piecewise:
    """x(t) = Σ_j coefficients[k, j] (t - breaks[k])^j between breaks[k] and breaks[k + 1].

    Before the first and after the last of its times the curve stays where it is, at rest.

    Attributes:
        breaks: increasing times from 0, (m + 1,). [s]
        coefficients: (m, degree + 1, ...); what follows the second dimension is the shape of x.

    Example:
        >>> import numpy as np
        >>> ramp = Piecewise(np.array([0.0, 2.0]), np.array([[0.0, 0.5]]))
        >>> ramp(1.0).x.item(), ramp(1.0).xd.item(), ramp(3.0).x.item(), ramp(3.0).xd.item()
        (0.5, 0.5, 1.0, 0.0)
    """

    breaks: np.ndarray
    coefficients: np.ndarray

    @property
    def duration(self) -> float:
        """When the curve ends. [s]"""
        return float(self.breaks[-1])

    def __call__(self, t: float | np.ndarray) -> Motion:
        """Value, speed and acceleration at times (...): each (..., shape of x)."""
        time = np.asarray(t, dtype=float)
        if not np.isfinite(time).all():
            raise ArgumentError(f"t is {time[~np.isfinite(time)][0]}, expected finite times.")
        flat = time.reshape(-1)
        inside = np.clip(flat, 0.0, self.duration)
        piece = np.clip(np.searchsorted(self.breaks, inside, side="right") - 1, 0, len(self.breaks) - 2)
        rows = np.moveaxis(self.coefficients[piece], 1, 0)  # (degree + 1, N, ...)
        s, moving = (_column(each, rows.ndim - 1) for each in (inside - self.breaks[piece], inside == flat))
        x, xd, xdd = _horner(rows, s)
        return Motion(*(each.reshape(time.shape + x.shape[1:]) for each in (x, moving * xd, moving * xdd)))


class Timed(Protocol):
    """What lasts for a time, with moments at which its acceleration may jump."""

    @property
    def duration(self) -> float: ...
    @property
    def breaks(self) -> np.ndarray: ...


class AlongCurve:
    """Lasts as long as its curve."""

    curve: Piecewise

    @property
    def duration(self) -> float:
        return self.curve.duration

    @property
    def breaks(self) -> np.ndarray:
        return self.curve.breaks


def _horner(rows: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A polynomial and its first two derivatives; `rows` are its coefficients from the lowest power."""
    x = xd = half = np.zeros(rows.shape[1:])  # half the second derivative
    for row in rows[::-1]:
        x, xd, half = x * s + row, xd * s + x, half * s + xd
    return x, xd, 2.0 * half


def _column(values: np.ndarray, dimensions: int) -> np.ndarray:
    """(N,) as (N, 1, ...), to go with arrays of so many dimensions."""
    return values.reshape((-1,) + (1,) * (dimensions - 1))
