"""A circle in the plane of motion."""

from __future__ import annotations

from dataclasses import dataclass

from appell.simulation.contact.surfaces.cylinder import Cylinder


@dataclass(frozen=True)
class Circle(Cylinder):
    """A circle in the plane of motion, F = ρ - R with the distance ρ to its centre in that plane.

    Attributes:
        radius: R. [m]
        center: its position; the component along the axis has no effect. [m]
        axis: normal of its plane, z by default.
        side: allowed side, `"inside"` (default) or `"outside"`.

    Example:
        >>> import appell
        >>> appell.surfaces.Circle(radius=2.5, restitution=0.5).gap([0.0, 2.0, 0.0]).item()
        0.5
    """
