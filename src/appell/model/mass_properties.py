"""Mass properties given by hand, or estimated from the shapes of the links at a uniform density."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from appell.checks import require_choice, require_positive, require_real_array
from appell.errors import ArgumentError, ModelError
from appell.meshes import MeshError, find_mesh, load_mesh
from appell.model.body import Body, Geometry, as_inertia, inertia_entries
from appell.model.check import raise_or_warn
from appell.model.check.mass import check_mass_properties
from appell.model.pose import triple

if TYPE_CHECKING:
    from appell.model.description import Described

FIELDS = ("mass", "com", "inertia")


def with_inertia(robot: Described, properties: Mapping[str, Mapping[str, Any]]) -> Described:
    """The same robot with other mass properties of some links.

    Args:
        properties: for each link, a mapping with `mass` [kg], `com` in the link's frame [m] (default: its origin) and `inertia`
            about it [kg m²]: three principal moments along the link's axes, six entries (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) or
            a 3x3 tensor.

    Example:
        >>> import appell
        >>> arm = appell.RobotBuilder("arm").revolute("elbow", parent="base", child="rod").build()
        >>> arm = arm.with_inertia({"rod": {"mass": 2.0, "com": (0.5, 0, 0), "inertia": (0.0, 0.2, 0.2)}})
        >>> arm.mass_matrix([0.3]).item()
        0.7
    """
    given = {require_choice("link", name, robot.body_names): values for name, values in properties.items()}
    bodies = tuple(_given(body, given[body.name]) if body.name in given else body for body in robot.bodies)
    changed = replace(robot, bodies=bodies)
    problems = [p for p in check_mass_properties(changed) if p.where in {f"link {name!r}" for name in given}]
    raise_or_warn([problem for problem in problems if problem.severity == "error"], allowed=())
    return changed


def _given(body: Body, values: Mapping[str, Any]) -> Body:
    if not isinstance(values, Mapping) or "mass" not in values or not set(values) <= set(FIELDS):
        raise ArgumentError(
            f"link {body.name!r} has {values!r}, expected a mapping with mass and, if known, com, inertia."
        )
    mass = float(require_real_array(f"mass of link {body.name!r}", values["mass"], ()))
    com = require_real_array(f"com of link {body.name!r}", values.get("com", (0.0, 0.0, 0.0)), (3,))
    inertia = as_inertia(body.name, values.get("inertia", (0.0, 0.0, 0.0)))
    return replace(body, mass=mass, com=triple(com), inertia=inertia, estimated="", mass_defect="")


# --- estimates ------------------------------------------------------------------------------------------------------------


class Solid(NamedTuple):
    """Volume [m³], centroid [m], and inertia about the centroid at density 1 [m⁵] of a shape in its own frame."""

    volume: float
    centroid: np.ndarray
    inertia: np.ndarray


def with_estimated_inertia(robot: Described, density: float, links: Sequence[str] | None = None) -> Described:
    """The same robot with mass properties estimated from the shapes of its links, as solids of uniform density.

    Collision shapes are used, or visual ones where a link has none. Real links are hollow and carry motors: an estimate
    is good for trying things out and as a start of identification. Estimated links are marked (`Body.estimated`), listed by
    `appell.check` and `appell info`, and stay marked in written URDFs.

    Args:
        density: of the shapes. [kg/m³]
        links: names of the links; by default all without mass that have shapes.

    Raises:
        ModelError: a link has no shapes, or a mesh was not found or has no volume.

    Example:
        >>> import appell
        >>> from appell.model.body import Geometry
        >>> rod = appell.RobotBuilder("arm").body("rod", collisions=[Geometry("box", (0.25, 0.25, 1.0))])
        >>> arm = rod.revolute("elbow", parent="base", child="rod", axis="x").build()
        >>> arm.with_estimated_inertia(density=1000.0).body("rod").mass
        62.5
    """
    require_positive("density", density)
    shaped = [body.name for body in robot.bodies if body.mass == 0.0 and (body.collisions or body.visuals)]
    chosen = shaped if links is None else [require_choice("link", name, robot.body_names) for name in links]
    folder = Path(robot.folder) if robot.folder else None
    bodies = (_estimated(body, density, folder) if body.name in chosen else body for body in robot.bodies)
    return replace(robot, bodies=tuple(bodies))


def _estimated(body: Body, density: float, folder: Path | None) -> Body:
    kind, shapes = ("collision", body.collisions) if body.collisions else ("visual", body.visuals)
    if not shapes:
        raise ModelError(
            f"link {body.name!r} has no shapes to estimate its mass from. Give it with robot.with_inertia."
        )
    try:
        solids = [_placed(shape, _solid(shape, folder)) for shape in shapes]
    except MeshError as error:
        raise ModelError(f"link {body.name!r}: {error}. Give its mass properties with robot.with_inertia.") from None
    volume = sum(solid.volume for solid in solids)
    if not volume > 0.0:
        raise ModelError(
            f"link {body.name!r}: its {kind} shapes have no volume. Give its mass with robot.with_inertia."
        )
    com = np.sum([solid.volume * solid.centroid for solid in solids], axis=0) / volume
    inertia = sum(solid.inertia + solid.volume * _point_inertia(solid.centroid - com) for solid in solids)
    note = f"{kind} shapes at {density:g} kg/m³"
    entries = inertia_entries(density * np.asarray(inertia))
    mass = float(density * volume)
    return replace(body, mass=mass, com=triple(com), inertia=entries, estimated=note, mass_defect="")


def _point_inertia(r: np.ndarray) -> np.ndarray:
    return (r @ r) * np.eye(3) - np.outer(r, r)


def _placed(shape: Geometry, solid: Solid) -> Solid:
    R = shape.pose.rotation
    return Solid(solid.volume, np.array(shape.pose.xyz) + R @ solid.centroid, R @ solid.inertia @ R.T)


def _box(x: float, y: float, z: float) -> tuple[float, list[float]]:
    return x * y * z, [(y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12]


def _capsule(r: float, length: float, ends: bool = True) -> tuple[float, list[float]]:
    """A cylinder along z, with half balls on its ends or without."""
    cylinder, ball = math.pi * r * r * length, 4 / 3 * math.pi * r**3 * ends
    across = cylinder * (r * r / 4 + length * length / 12) + ball * (
        0.4 * r * r + length * length / 4 + 0.375 * length * r
    )
    along = cylinder * r * r / 2 + ball * 0.4 * r * r
    volume = cylinder + ball
    return volume, [across / volume, across / volume, along / volume] if volume else [0.0] * 3


SOLIDS: dict[str, Callable[..., tuple[float, list[float]]]] = {
    "box": _box,
    "sphere": lambda radius: _capsule(radius, 0.0),
    "capsule": _capsule,
    "cylinder": lambda radius, length: _capsule(radius, length, ends=False),
}
"""Volume, and principal moments per volume, by the names and sizes of `Geometry`."""


def _solid(shape: Geometry, folder: Path | None) -> Solid:
    if shape.kind != "mesh":
        volume, moments = SOLIDS[shape.kind](*map(abs, shape.size))
        return Solid(volume, np.zeros(3), volume * np.diag(moments))
    mesh = load_mesh(find_mesh(shape.mesh, folder)).copy()
    mesh.apply_scale(np.array(shape.size))
    body = mesh if mesh.is_watertight and mesh.volume > 0.0 else mesh.convex_hull
    return Solid(float(body.volume), np.array(body.center_mass), np.array(body.moment_inertia))
