"""Shapes in a robot description: solids, and mesh files that can be found and read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from appell.model.body import Visual
from appell.robot.robot import Robot
from appell.view.scene import Rgb, Shape
from appell.view.solids import SOLIDS, Mesh, pose_matrix

DEFAULT_COLOUR: Rgb = (0.72, 0.74, 0.77)
PACKAGE_PATHS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "GZ_SIM_RESOURCE_PATH")
"""Environment variables with folders of packages."""


def visual_shapes(robot: Robot, folder: Path | None = None) -> tuple[tuple[Shape, ...], tuple[str, ...]]:
    """Shapes of all bodies, and a note per missing mesh; `folder` is that of the description."""
    shapes: list[Shape] = []
    notes: list[str] = []
    for body in robot.bodies:
        for number, visual in enumerate(body.visuals):
            try:
                mesh = visual_mesh(visual, folder)
            except MeshError as problem:
                notes.append(f"{body.name}: {problem}")
                continue
            rgb = DEFAULT_COLOUR if visual.rgba is None else visual.rgba[:3]
            opacity = 1.0 if visual.rgba is None else visual.rgba[3]
            transformed = mesh.transformed(pose_matrix(visual.pose.rotation, visual.pose.xyz))
            shapes.append(Shape(f"visual{number}", body.name, transformed, rgb, opacity, "meshes"))
    return tuple(shapes), tuple(dict.fromkeys(notes))


class MeshError(Exception):
    """A mesh that was not found or cannot be read."""


def visual_mesh(visual: Visual, folder: Path | None) -> Mesh:
    """The mesh of one shape in its own frame."""
    if visual.kind != "mesh":
        return SOLIDS[visual.kind](visual.size)
    path = next((path for path in candidate_paths(visual.mesh, folder) if path.is_file()), None)
    if path is None:
        raise MeshError(f"mesh {visual.mesh!r} was not found")
    return read_mesh(path).scaled(visual.size)


def candidate_paths(address: str, folder: Path | None) -> Iterator[Path]:
    """Files to which an address in a description may refer: plain paths, `file://`, `package://` and `model://`.

    Packages are searched in the folders above the description and in PACKAGE_PATHS.

    Example:
        >>> [path.as_posix() for path in candidate_paths("meshes/arm.stl", Path("robots"))]
        ['robots/meshes/arm.stl']
    """
    parts = urlsplit(address)
    if parts.scheme not in ("package", "model"):
        path = Path(unquote(parts.path) if parts.scheme == "file" else address)
        yield path if path.is_absolute() or folder is None else folder / path
        return
    package, inside = unquote(parts.netloc), unquote(parts.path).lstrip("/")
    above = [] if folder is None else [folder.resolve(), *folder.resolve().parents]
    for parent in above:
        if parent.name == package:
            yield parent / inside
        yield parent / package / inside
    for variable in PACKAGE_PATHS:
        for parent in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(parent, package, inside)
            yield Path(parent, "share", package, inside)


def read_mesh(path: Path) -> Mesh:
    """The triangles of a mesh file (STL, OBJ, PLY, GLB; DAE where pycollada is installed)."""
    try:
        import trimesh
    except ImportError:
        raise MeshError("meshes need trimesh, which comes with: pip install 'appell[view]'") from None
    try:
        mesh: Any = trimesh.load(str(path), force="mesh")
    except Exception as error:  # readers of the many formats raise various errors
        raise MeshError(f"mesh {path.name} cannot be read: {error}") from None
    if not len(mesh.faces):
        raise MeshError(f"mesh {path.name} cannot be read: it has no triangles")
    return Mesh(np.asarray(mesh.vertices, dtype=float), np.asarray(mesh.faces))
