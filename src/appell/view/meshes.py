"""Shapes of a description: solids as they are, mesh files where they can be found and read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import numpy as np

from appell.view.shape import Rgb, Shape
from appell.view.solids import SOLIDS, Mesh

if TYPE_CHECKING:
    from appell.model.body import Visual
    from appell.model.pose import Pose
    from appell.robot.robot import Robot

GREY: Rgb = (0.72, 0.74, 0.77)
PACKAGE_PATHS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "GZ_SIM_RESOURCE_PATH")
"""Environment variables with folders in which packages are looked for."""


def visual_shapes(robot: Robot, folder: Path | None = None) -> tuple[tuple[Shape, ...], tuple[str, ...]]:
    """Shapes of all bodies, and a note for each mesh that could not be had; `folder` is that of the description.

    Example:
        >>> import appell
        >>> visual_shapes(appell.load("puma560"))
        ((), ())
    """
    shapes: list[Shape] = []
    notes: list[str] = []
    for body in robot.bodies:
        for number, visual in enumerate(body.visuals):
            try:
                mesh = visual_mesh(visual, folder)
            except MeshNotFound as problem:
                notes.append(f"{body.name}: {problem}")
                continue
            rgb = GREY if visual.rgba is None else visual.rgba[:3]
            opacity = 1.0 if visual.rgba is None else visual.rgba[3]
            placed = mesh.moved(matrix_of(visual.pose))
            shapes.append(Shape(f"visual{number}", body.name, placed, rgb, opacity, "meshes"))
    return tuple(shapes), tuple(dict.fromkeys(notes))


class MeshNotFound(Exception):
    """A mesh that does not resolve or cannot be read, and why."""


def visual_mesh(visual: Visual, folder: Path | None) -> Mesh:
    """The mesh of one shape in its own frame."""
    if visual.kind != "mesh":
        return SOLIDS[visual.kind](visual.size)
    path = next((path for path in candidates(visual.mesh, folder) if path.is_file()), None)
    if path is None:
        raise MeshNotFound(f"mesh {visual.mesh!r} was not found")
    return read_mesh(path).scaled(visual.size)


def candidates(address: str, folder: Path | None) -> Iterator[Path]:
    """Files that an address in a description may mean: plain paths, `file://`, `package://` and `model://`.

    A package is looked for above the description, since it usually is part of it, and in PACKAGE_PATHS.

    Example:
        >>> [path.as_posix() for path in candidates("meshes/arm.stl", Path("robots"))]
        ['robots/meshes/arm.stl']
    """
    parts = urlsplit(address)
    if parts.scheme not in ("package", "model"):
        path = Path(unquote(parts.path) if parts.scheme == "file" else address)
        yield path if path.is_absolute() or folder is None else folder / path
        return
    package, inside = unquote(parts.netloc), unquote(parts.path).lstrip("/")
    above = [] if folder is None else [folder.resolve(), *folder.resolve().parents]
    for place in above:
        if place.name == package:
            yield place / inside
        yield place / package / inside
    for variable in PACKAGE_PATHS:
        for place in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(place, package, inside)
            yield Path(place, "share", package, inside)


def read_mesh(path: Path) -> Mesh:
    """The triangles of a mesh file (STL, OBJ, PLY, GLB; DAE where pycollada is installed)."""
    try:
        import trimesh
    except ImportError:
        raise MeshNotFound("meshes need trimesh, which comes with: pip install 'appell[view]'") from None
    try:
        mesh: Any = trimesh.load(str(path), force="mesh")
    except Exception as error:  # readers of many formats raise what they like
        raise MeshNotFound(f"mesh {path.name} cannot be read: {error}") from None
    if not len(mesh.faces):
        raise MeshNotFound(f"mesh {path.name} cannot be read: it has no triangles")
    return Mesh(np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces))


def matrix_of(pose: Pose) -> np.ndarray:
    """A pose as a homogeneous transformation (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = pose.rotation, pose.xyz
    return matrix
