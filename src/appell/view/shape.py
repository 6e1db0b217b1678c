"""What a scene is made of: coloured meshes that are carried by frames. Pure data, without a viewer."""

from __future__ import annotations

from dataclasses import dataclass, field

from appell.view.solids import Mesh

Rgb = tuple[float, float, float]

WORLD = ""
"""The frame of what does not move."""

LAYERS = {
    "meshes": "the shapes of the description",
    "links": "drawn from joint to joint",
    "inertia": "ellipsoids of even density with the bodies' mass and inertia",
    "walls": "what points of the robot can hit",
}
"""Groups of shapes that can be shown and hidden together."""


@dataclass(frozen=True)
class Shape:
    """A mesh fixed to a frame.

    Attributes:
        name: unlike that of all other shapes of its layer and frame.
        frame: name of the frame that carries it, WORLD for what stands still.
        mesh: in that frame. [m]
        colour: red, green, blue from 0 to 1.
        opacity: 1 for solid.
        layer: a name in LAYERS.
    """

    name: str
    frame: str
    mesh: Mesh = field(repr=False)
    colour: Rgb = (0.6, 0.6, 0.6)
    opacity: float = 1.0
    layer: str = "links"
