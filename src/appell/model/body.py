"""A rigid body of a robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from appell.checks import require_real_array
from appell.errors import ArgumentError
from appell.model.pose import Pose, Triple

Six = tuple[float, float, float, float, float, float]


def inertia_entries(tensor: np.ndarray) -> Six:
    """(Ixx, Ixy, Ixz, Iyy, Iyz, Izz) of a symmetric tensor (3, 3)."""
    xx, xy, xz, yy, yz, zz = tensor[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]].tolist()
    return xx, xy, xz, yy, yz, zz


def as_inertia(name: str, inertia: Any) -> Six:
    """(Ixx, Ixy, Ixz, Iyy, Iyz, Izz) from three principal moments, these six entries or a symmetric tensor (3, 3)."""
    label = f"inertia of body {name!r}"
    entries = require_real_array(label, inertia)
    if entries.shape == (3,):
        entries = np.diag(entries)
    if entries.shape == (3, 3):
        if not np.allclose(entries, entries.T, rtol=1e-9, atol=0.0):
            raise ArgumentError(f"{label} is not symmetric.")
        return inertia_entries(entries)
    xx, xy, xz, yy, yz, zz = require_real_array(label, entries, (6,)).tolist()
    return xx, xy, xz, yy, yz, zz


def inertia_tensors(bodies: Sequence[Body]) -> np.ndarray:
    """Inertia tensors about the centres of mass, (bodies, 3, 3)."""
    entries = np.array([body.inertia for body in bodies], dtype=float).reshape(-1, 6)
    return entries[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3)


def rotated_inertia(R: np.ndarray, tensor: np.ndarray) -> Six:
    """Entries of R I R^T, exactly symmetric."""
    rotated = R @ tensor @ R.T
    return inertia_entries((rotated + rotated.T) / 2)


@dataclass(frozen=True)
class Geometry:
    """A shape fixed to a body.

    Attributes:
        kind: `"box"`, `"cylinder"`, `"sphere"`, `"capsule"` or `"mesh"`.
        size: box edges, (radius, length), (radius,), or the mesh's scale along x, y, z. Cylinders and capsules are along z; the
            length of a capsule is that of its cylinder. [m]
        mesh: file name or URI of a mesh as the description gives it.
    """

    kind: str
    size: tuple[float, ...]
    pose: Pose = Pose()
    mesh: str = ""


@dataclass(frozen=True)
class Visual(Geometry):
    """A shape that is drawn.

    Attributes:
        rgba: colour, or None.
    """

    rgba: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class Body:
    """Mass properties of one link in its own frame.

    Attributes:
        mass: [kg]
        com: centre of mass in the body frame. [m]
        inertia: (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) about the centre of mass, along the body frame's axes. [kg m²]
        visuals, collisions: shapes that are drawn, and shapes that touch surfaces.
        estimated: how its mass properties were estimated, empty if they were given.
        mass_defect: why its mass properties could not be read (they are zero then), empty if they could.
        line: line of the description file it came from, 0 where unknown.
    """

    name: str
    mass: float = 0.0
    com: Triple = (0.0, 0.0, 0.0)
    inertia: Six = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    visuals: tuple[Visual, ...] = ()
    collisions: tuple[Geometry, ...] = ()
    estimated: str = ""
    mass_defect: str = ""
    line: int = field(default=0, compare=False, repr=False)
