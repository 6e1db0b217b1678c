"""Interface of contact surfaces.

A surface is the set F(p) = 0 of a function that is negative inside and positive outside. Points must stay on one side of it;
seen from that side,

    gap                     g(p) = ± F / |∇F|    distance to first order, exact on the surface and where |∇F| = 1    [m]
    normal                  n(p) = ± ∇F / |∇F|   unit vector towards the allowed side
    curvature acceleration  ± v^T ∇²F v / |∇F|   g̈ of a point of velocity v without acceleration   [m/s²]

The centre of a sphere is a radius away from the surface that it touches: where |∇F| is not 1, its gap and normal are those of
the nearest point of the surface (`nearest`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from appell.checks import require_choice, require_in_range, require_vector
from appell.errors import ArgumentError
from appell.model.pose import Triple
from appell.simulation.contact.surfaces.nearest import Nearest, nearest_point

SIDES = {"inside": -1.0, "outside": 1.0}
"""Sign of F on the allowed side."""
NORMAL_STEP = 1e-6
"""Step of the central difference of normals along a motion. [m]"""
NATIVE_NUMBERS = 17
"""Numbers of a surface in compiled code: kind, sign, radius R, centre c (3), matrix S (9), friction, restitution."""
PLANE, NORM, GENERAL, ELLIPSE = 0, 1, 2, 3
"""Kinds in compiled code: F = S_1 · (p - c) with the first row of S, F = |S (p - c)| - R, any other F, called back, and the
distance to the ellipse |S (p - c)| = 1 with two rows of S at right angles."""


@dataclass(frozen=True, kw_only=True)
class Surface(ABC):
    """A contact surface, fixed in the world. Positions (..., 3) may have batch dimensions.

    Attributes:
        restitution: Newton's coefficient e in [0, 1]; None for that of `appell.ContactOptions`.
        friction: Coulomb's coefficient, 0 without friction.
        is_distance: whether the gradient of F is of unit length everywhere.
    """

    restitution: float | None = None
    friction: float = 0.0
    is_distance: ClassVar[bool] = False

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

    def hessian_matrix(self, p: np.ndarray) -> np.ndarray:
        """∇²F at one position, (3, 3)."""
        axes = np.eye(3)
        sums, differences = axes[:, None] + axes, axes[:, None] - axes
        here = np.broadcast_to(p, sums.shape)
        return 0.25 * (self.second_derivative(here, sums) - self.second_derivative(here, differences))

    def native_form(self) -> tuple[int, float, Sequence[float], np.ndarray]:
        """Kind, R, c and rows of S in compiled code; by default `value_and_gradient` is called back."""
        return GENERAL, 0.0, (0.0, 0.0, 0.0), np.zeros((0, 3))

    def native_numbers(self, restitution: float) -> np.ndarray:
        """The surface as `NATIVE_NUMBERS` numbers."""
        kind, radius, center, S = self.native_form()
        rows = np.zeros((3, 3))
        rows[: len(S)] = S
        return np.array([kind, self.sign, radius, *center, *rows.ravel(), self.friction, restitution])

    def require_fit(self, name: str, radius: float) -> None:  # noqa: B027
        """Raise for a sphere that would touch with two points at once; nothing to check by default."""

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

    def distance_and_normal(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distance (...) of the nearest point, negative behind the surface, and the normal (..., 3) there."""
        if self.is_distance:
            return self.gap_and_normal(p)
        distance, normal, *_ = self.sphere_motion(p, np.zeros_like(p))
        return distance, normal

    def sphere_motion(self, p: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        """Distance, normal, curvature acceleration and rate of the normal, for centres (..., 3) of spheres with velocities v.

        Where Newton's method finds no nearest point, far from the surface, distance and normal are those of first order.
        """
        distance, normal = self.gap_and_normal(p)
        if self.is_distance:
            return distance, normal, self.curvature_acceleration(p, v), self.normal_rate(p, v)
        distance, normal, curvature, turn = map(np.array, (distance, normal, np.zeros_like(distance), np.zeros_like(p)))
        for k in np.ndindex(p.shape[:-1]):
            nearest = self.nearest(p[k])
            if nearest is None:
                continue
            distance[k], normal[k] = self.sign * nearest.distance(p[k]), self.sign * nearest.normal
            turn[k] = self.sign * nearest.normal_derivative(p[k]) @ v[k]
            curvature[k] = v[k] @ turn[k]
        return distance, normal, curvature, turn

    def nearest(self, p: np.ndarray) -> Nearest | None:
        """The nearest point of the surface to one position, None where Newton's method finds none."""
        return nearest_point(self.value_and_gradient, self.hessian_matrix, p)

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
        return self.distance_and_normal(np.asarray(p, dtype=float))[0]

    def normal_at(self, p) -> np.ndarray:
        """Unit vectors (..., 3) towards the allowed side, at the nearest points of the surface.

        Example:
            >>> import appell
            >>> appell.surfaces.Circle(radius=2.5).normal_at([2.5, 0.0, 0.0]).tolist()
            [-1.0, -0.0, -0.0]
        """
        return self.distance_and_normal(np.asarray(p, dtype=float))[1]


class SidedSurface(Surface):
    """A surface whose allowed side is chosen by name."""

    side: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("side", self.side, SIDES)

    @property
    def sign(self) -> float:
        return SIDES[self.side]


def require_surfaces(surfaces: Surface | Sequence[Surface] | None) -> tuple[Surface, ...]:
    """One surface, or several."""
    if surfaces is None or isinstance(surfaces, Surface):
        return () if surfaces is None else (surfaces,)
    items = tuple(surfaces) if isinstance(surfaces, Iterable) else (surfaces,)
    for item in items:
        if not isinstance(item, Surface):
            raise ArgumentError(
                f"surfaces has a {type(item).__name__}, expected surfaces such as appell.surfaces.Circle(radius=2.5)."
            )
    return items


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
