"""What every wall answers.

A wall is the set F(p) = 0 of a function that is negative inside and positive outside. Points must stay on one side of
it; seen from that side,

    gap     g(p) = ± F / |∇F|    distance to the wall, to first order, and exactly where |∇F| = 1    [m]
    normal  n(p) = ± ∇F / |∇F|   unit vector towards the allowed side
    bend    ± v^T ∇²F v / |∇F|   part of g̈ that a point of velocity v has without any acceleration   [m/s²]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from appell.checks import as_real
from appell.errors import ArgumentError, unknown_name_message
from appell.model.pose import Triple

SIDES = {"inside": -1.0, "outside": 1.0}
"""Sign of F on the side where points may be."""


@dataclass(frozen=True, kw_only=True)
class Surface(ABC):
    """A wall, fixed in the world.

    All functions take positions (..., 3) and are evaluated for each of them.

    Attributes:
        restitution: Newton's coefficient e in [0, 1]; None leaves it to `appell.simulate`.
        friction: Coulomb's coefficient of the wall, 0 for a smooth one.
    """

    restitution: float | None = None
    friction: float = 0.0

    def __post_init__(self) -> None:
        if self.restitution is not None:
            adopt(self, restitution=check_restitution(self.restitution, f"restitution of {type(self).__name__}"))
        if not 0.0 <= as_real(self.friction) < np.inf:
            raise ArgumentError(f"friction of {type(self).__name__} is {self.friction!r}, expected a number from 0 up.")
        adopt(self, friction=as_real(self.friction))

    @property
    @abstractmethod
    def sign(self) -> float:
        """Sign of F on the allowed side."""

    @abstractmethod
    def level(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F (...) and ∇F (..., 3)."""

    @abstractmethod
    def curvature(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """v^T ∇²F v, (...)."""

    def gap_and_normal(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distances g (...), negative behind the wall [m], and normals n (..., 3); n = 0 where ∇F = 0."""
        level, slope = self.level(p)
        length = length_or_one(slope)
        return self.sign * level / length, self.sign * slope / length[..., None]

    def bend(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        """± v^T ∇²F v / |∇F|, (...). [m/s²]"""
        return self.sign * self.curvature(p, v) / length_or_one(self.level(p)[1])

    def gap(self, p) -> np.ndarray:
        """Distances (...) of positions (..., 3) to the wall, negative behind it. [m]

        Example:
            >>> import appell
            >>> appell.Circle(radius=2.5).gap([1.5, 0.0, 0.0]).item()
            1.0
        """
        return self.gap_and_normal(np.asarray(p, dtype=float))[0]

    def normal_at(self, p) -> np.ndarray:
        """Unit vectors (..., 3) towards the allowed side.

        Example:
            >>> import appell
            >>> appell.Circle(radius=2.5).normal_at([2.5, 0.0, 0.0]).tolist()
            [-1.0, -0.0, -0.0]
        """
        return self.gap_and_normal(np.asarray(p, dtype=float))[1]


def length_or_one(v: np.ndarray) -> np.ndarray:
    """|v| of vectors (..., 3), 1 where they are zero: what to divide by."""
    length = np.sqrt(np.einsum("...i,...i->...", v, v))
    return np.where(length > 0.0, length, 1.0)


def check_restitution(value: float, label: str) -> float:
    """The coefficient, if it is one."""
    if not 0.0 <= as_real(value) <= 1.0:
        raise ArgumentError(f"{label} is {value!r}, expected a number from 0 (no rebound) to 1 (no loss).")
    return as_real(value)


def side_sign(side: str) -> float:
    """Sign of F on a side given by name."""
    if side not in SIDES:
        raise ArgumentError(unknown_name_message("side", side, SIDES))
    return SIDES[side]


def positive(value: float, label: str) -> float:
    """A finite number above 0."""
    if not 0.0 < as_real(value) < np.inf:
        raise ArgumentError(f"{label} is {value!r}, expected a positive number.")
    return as_real(value)


def vector(values: Sequence[float], label: str) -> Triple:
    """Three finite numbers."""
    array = np.asarray(values, dtype=float)
    if array.shape != (3,) or not np.isfinite(array).all():
        raise ArgumentError(f"{label} is {values!r}, expected three finite numbers.")
    x, y, z = array.tolist()
    return x, y, z


def direction(values: Sequence[float], label: str) -> Triple:
    """A vector brought to length 1."""
    array = np.array(vector(values, label))
    length = float(np.linalg.norm(array))
    if length == 0.0:
        raise ArgumentError(f"{label} has length 0, expected a direction.")
    x, y, z = (array / length).tolist()
    return x, y, z


def adopt(surface: Surface, **fields: object) -> None:
    """Set fields of a frozen surface while it is made."""
    for name, value in fields.items():
        object.__setattr__(surface, name, value)
