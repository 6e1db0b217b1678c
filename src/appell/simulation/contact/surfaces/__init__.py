"""Contact surfaces, one shape per file. To add one: write a subclass of `Surface` in its own file and list it here."""

from appell.simulation.contact.surfaces.circle import Circle
from appell.simulation.contact.surfaces.cylinder import Cylinder
from appell.simulation.contact.surfaces.ellipse import Ellipse
from appell.simulation.contact.surfaces.implicit import ImplicitSurface
from appell.simulation.contact.surfaces.plane import Plane
from appell.simulation.contact.surfaces.sphere import Sphere
from appell.simulation.contact.surfaces.surface import Surface

__all__ = ["Circle", "Cylinder", "Ellipse", "ImplicitSurface", "Plane", "Sphere", "Surface"]
