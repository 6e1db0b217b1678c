"""A round tube or pillar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.model.pose import Triple
from appell.simulation.contact.surfaces.surface import (
    Surface,
    adopt,
    direction,
    length_or_one,
    positive,
    side_sign,
    vector,
)


@dataclass(frozen=True)
class Cylinder(Surface):
    """An endless circular cylinder, F = ρ - R with ρ the distance to its axis.

    Attributes:
        radius: R. [m]
        center: a point of its axis. [m]
        axis: direction of its axis.
        side: `"inside"` (a tube, default) or `"outside"` (a pillar).

    Example:
        >>> import appell
        >>> pillar = appell.Cylinder(radius=0.5, axis=(0, 0, 1), side="outside")
        >>> pillar.gap([2.0, 0.0, 7.0]).item()
        1.5
    """

    radius: float
    center: Triple = (0.0, 0.0, 0.0)
    axis: Triple = (0.0, 0.0, 1.0)
    side: str = "inside"

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        adopt(
            self,
            radius=positive(self.radius, f"radius of {name}"),
            center=vector(self.center, f"center of {name}"),
            axis=direction(self.axis, f"axis of {name}"),
        )
        side_sign(self.side)

    @property
    def sign(self) -> float:
        return side_sign(self.side)

    def level(self, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return norm_and_gradient(self._across(p - self.center), self.radius)

    def curvature(self, p: np.ndarray, v: np.ndarray) -> np.ndarray:
        return second_of_norm(self._across(p - self.center), self._across(v))

    def _across(self, v: np.ndarray) -> np.ndarray:
        """The part of vectors at right angles to the axis."""
        axis = np.array(self.axis)
        return v - (v @ axis)[..., None] * axis


def norm_and_gradient(r: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """|r| - R and its gradient r/|r|, zero where r is."""
    length = np.sqrt(np.einsum("...i,...i->...", r, r))
    return length - radius, r / np.where(length > 0.0, length, 1.0)[..., None]


def second_of_norm(r: np.ndarray, v: np.ndarray) -> np.ndarray:
    """v^T ∇²|r| v = (v² - (v · r/|r|)²) / |r|."""
    length = length_or_one(r)
    radial = np.einsum("...i,...i->...", v, r) / length
    return (np.einsum("...i,...i->...", v, v) - radial**2) / length
