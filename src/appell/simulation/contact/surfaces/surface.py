"""Interface of contact surfaces.

A surface is the set F(p) = 0 of a function that is negative inside and positive outside. Points must stay on one side of it;
seen from that side,

    gap                     g(p) = ± F / |∇F|    distance to first order, exact where |∇F| = 1    [m]
    normal                  n(p) = ± ∇F / |∇F|   unit vector towards the allowed side
    curvature acceleration  ± v^T ∇²F v / |∇F|   g̈ of a point of velocity v without acceleration   [m/s²]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.checks import require_choice, require_in_range, require_vector
from appell.model.pose import Triple

SIDES = {"inside": -1.0, "outside": 1.0}
"""Sign of F on the allowed side."""
NORMAL_STEP = 1e-6
"""Step of the central difference of normals along a motion. [m]"""
NATIVE_NUMBERS = 17
"""Numbers of a surface in compiled code: kind, sign, radius R, centre c (3), matrix S (9), friction, restitution."""
PLANE, NORM, GENERAL = 0, 1, 2
"""Kinds in compiled code: F = S_1 · (p - c) with the first row of S, F = |S (p - c)| - R, and any other F, called back."""


@dataclass(frozen=True, kw_only=True)
class Surface(ABC):
    """A contact surface, fixed in the world. Positions (..., 3) may have batch dimensions.

    Attributes:
        restitution: Newton's coefficient e in [0, 1]; None for that of `appell.ContactOptions`.
        friction: Coulomb's coefficient, 0 without friction.
    """

    restitution: float | None = None
    friction: float = 0.0

    def __post_init__(self) -> None:
        if self.restitution is not None:
            self._check(restitution=require_restitution)
        self._check(friction=require_in_range)

    def _check(self, **checks: Callable[[str, Any], Any]) -> None:
        """Replace fields by the results of their checks, during construction."""
        for name, check in checks.items():
            object.__setattr__(self, name, check(f"{name} of {type(self).__name__}", getattr(self, name)))

    @property
    @abstractmethod
    def sign(self) -> float:
        """Sign of F on the allowed side."""

    @abstractmethod
    def value_and_gradient(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F (...) and ∇F (..., 3)."""

    @abstractmethod
    def second_derivative(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """v^T ∇²F v, (...)."""

    def native_form(self) -> tuple[int, float, Sequence[float], np.ndarray]:
        """Kind, R, c and rows of S in compiled code; by default `value_and_gradient` is called back."""
        return GENERAL, 0.0, (0.0, 0.0, 0.0), np.zeros((0, 3))

    def native_numbers(self, restitution: float) -> np.ndarray:
        """The surface as `NATIVE_NUMBERS` numbers."""
        kind, radius, center, S = self.native_form()
        rows = np.zeros((3, 3))
        rows[: len(S)] = S
        return np.array([kind, self.sign, radius, *center, *rows.ravel(), self.friction, restitution])

    def require_consistent(self, p: np.ndarray) -> None:  # noqa: B027
        """Raise where F and its derivatives disagree at positions (k, 3); nothing to check by default."""

    def gap_and_normal(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gaps g (...), negative behind the surface [m], and normals n (..., 3); n = 0 where ∇F = 0."""
        value, gradient = self.value_and_gradient(p)
        length = norm_or_one(gradient)
        return self.sign * value / length, self.sign * gradient / length[..., None]

    def normal_rate(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Rate of the normal at points (..., 3) that move with velocities v, by central differences. [1/s]"""
        speed = np.maximum(np.linalg.norm(v, axis=-1, keepdims=True), 1e-9)
        step = NORMAL_STEP * v / speed
        return (self.gap_and_normal(p + step)[1] - self.gap_and_normal(p - step)[1]) * speed / (2.0 * NORMAL_STEP)

    def curvature_acceleration(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """± v^T ∇²F v / |∇F|, (...). [m/s²]"""
        return self.sign * self.second_derivative(p, v) / norm_or_one(self.value_and_gradient(p)[1])

    def gap(self, p) -> np.ndarray:
        """Distances (...) of positions (..., 3) to the surface, negative behind it. [m]

        Example:
            >>> import appell
            >>> appell.surfaces.Circle(radius=2.5).gap([1.5, 0.0, 0.0]).item()
            1.0
        """
        return self.gap_and_normal(np.asarray(p, dtype=float))[0]

    def normal_at(self, p) -> np.ndarray:
        """Unit vectors (..., 3) towards the allowed side.

        Example:
            >>> import appell
            >>> appell.surfaces.Circle(radius=2.5).normal_at([2.5, 0.0, 0.0]).tolist()
            [-1.0, -0.0, -0.0]
        """
        return self.gap_and_normal(np.asarray(p, dtype=float))[1]


class SidedSurface(Surface):
    """A surface whose allowed side is chosen by name."""

    side: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("side", self.side, SIDES)

    @property
    def sign(self) -> float:
        return SIDES[self.side]


def require_restitution(name: str, value: float) -> float:
    """Newton's coefficient of restitution."""
    return require_in_range(name, value, 0.0, 1.0, note=" (0: no rebound, 1: no loss)")


def triple(name: str, values: Sequence[float]) -> Triple:
    """Three finite numbers."""
    x, y, z = require_vector(name, values, 3).tolist()
    return x, y, z


def norm_or_one(v: np.ndarray) -> np.ndarray:
    """|v| of vectors (..., 3), 1 where they are zero, for divisions."""
    length = np.sqrt(np.einsum("...i,...i->...", v, v))
    return np.where(length > 0.0, length, 1.0)


def norm_gradient(r: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """|r| - R and its gradient r/|r|, zero where r is."""
    length = np.sqrt(np.einsum("...i,...i->...", r, r))
    return length - radius, r / np.where(length > 0.0, length, 1.0)[..., None]


def norm_curvature(r: np.ndarray, v: np.ndarray) -> np.ndarray:
    """v^T ∇²|r| v = (v² - (v · r/|r|)²) / |r|."""
    length = norm_or_one(r)
    radial = np.einsum("...i,...i->...", v, r) / length
    return (np.einsum("...i,...i->...", v, v) - radial**2) / length
