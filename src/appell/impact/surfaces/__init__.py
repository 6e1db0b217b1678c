"""Walls, one shape a file. To add one: write a subclass of `Surface` in a file of its own and list it here."""

from appell.impact.surfaces.circle import Circle
from appell.impact.surfaces.cylinder import Cylinder
from appell.impact.surfaces.ellipse import Ellipse
from appell.impact.surfaces.implicit import ImplicitSurface
from appell.impact.surfaces.plane import Plane
from appell.impact.surfaces.sphere import Sphere
from appell.impact.surfaces.surface import Surface

__all__ = ["Circle", "Cylinder", "Ellipse", "ImplicitSurface", "Plane", "Sphere", "Surface"]
