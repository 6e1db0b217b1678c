"""A circular wall around, or inside, a planar motion."""

from __future__ import annotations

from dataclasses import dataclass

from appell.simulation.contact.surfaces.cylinder import Cylinder


@dataclass(frozen=True)
class Circle(Cylinder):
    """A circle in the plane of motion, F = ρ - R with ρ the distance to its centre in that plane.

    Attributes:
        radius: R. [m]
        center: where it is; the part along the axis does not matter. [m]
        axis: normal of its plane, z by default.
        side: `"inside"` (the motion is within the circle, default) or `"outside"`.

    Example:
        >>> import appell
        >>> appell.Circle(radius=2.5, restitution=0.5).gap([0.0, 2.0, 0.0]).item()
        0.5
    """
