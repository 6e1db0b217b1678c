"""Files that robot descriptions refer to: addresses as ROS and Gazebo resolve them, and triangles of meshes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

PACKAGE_PATHS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH")
"""Environment variables with folders of packages."""
CACHE_VARIABLE, CACHE = "ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions"
"""Where the package `robot_descriptions` keeps its repositories."""


Rgba = tuple[float, float, float, float]


class MeshError(Exception):
    """A mesh that was not found or cannot be read.

    Attributes:
        reason: continues a sentence that begins with the mesh.
        mesh: its address or name.
    """

    def __init__(self, reason: str, mesh: str) -> None:
        super().__init__(f"mesh {mesh!r} {reason}")
        self.reason, self.mesh = reason, mesh


def candidate_paths(address: str, folder: Path | None) -> Iterator[Path]:
    """Files to which an address in a description may refer: plain paths, `file://`, `package://` and `model://`.

    A package is a folder of this name, or one whose `package.xml` has the name, above or beside the description, in
    PACKAGE_PATHS, or in the cache of `robot_descriptions`.

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
    for root in package_folders(package, folder):
        yield root / inside


def package_folders(package: str, folder: Path | None) -> Iterator[Path]:
    """Folders that may be this package, the most likely first."""
    for parent in [] if folder is None else [folder.resolve(), *folder.resolve().parents]:
        if parent.name == package or declared_name(parent) == package:
            yield parent
        yield parent / package
    for variable in PACKAGE_PATHS:
        for parent in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(parent, package)
            yield Path(parent, "share", package)
            if Path(parent).name == package:
                yield Path(parent)
    cache = description_cache()
    for depth in ("*", "*/*"):
        yield from sorted(cache.glob(f"{depth}/{glob_escaped(package)}"))


def declared_name(folder: Path) -> str:
    """The name in the folder's `package.xml`, empty where there is none."""
    try:
        found = re.search(r"<name>\s*([^<\s]+)\s*</name>", (folder / "package.xml").read_text(errors="replace"))
    except (OSError, ValueError):
        return ""
    return found[1] if found else ""


def description_cache() -> Path:
    """The folder in which `robot_descriptions` keeps repositories."""
    return Path(os.path.expanduser(os.environ.get(CACHE_VARIABLE) or CACHE))


def glob_escaped(name: str) -> str:
    """A file name as a pattern that matches only itself."""
    return re.sub(r"([*?[])", r"[\1]", name.replace("/", "_")) or "_"


def find_mesh(address: str, folder: Path | None) -> Path:
    """The file that an address in a description refers to."""
    path = next((path for path in candidate_paths(address, folder) if os.path.isfile(path)), None)
    if path is None:
        raise MeshError("was not found", address)
    return path


def load_mesh(path: Path) -> Any:
    """A `trimesh.Trimesh` of a file, in metres."""
    import trimesh

    parts = [part for part, _ in load_parts(path)]
    return parts[0] if len(parts) == 1 else trimesh.util.concatenate(parts)


def load_parts(path: Path) -> list[tuple[Any, Rgba | None]]:
    """The parts of a mesh file (STL, OBJ, PLY, GLB, DAE), each a `trimesh.Trimesh` in metres, with its colour if it has one.

    The unit of a Collada file is applied; as in ROS, its direction of up is not.
    """
    try:
        import trimesh
    except ImportError:
        raise MeshError("needs trimesh: pip install 'appell[view]'", path.name) from None
    if path.suffix.lower() == ".dae" and find_spec("collada") is None:
        raise MeshError("is Collada and needs pycollada: pip install 'appell[view]'", path.name)
    try:
        scene: Any = trimesh.load(str(path), force="scene")
        placed = [scene.graph[node] for node in scene.graph.nodes_geometry]
        parts = [(scene.geometry[name].copy().apply_transform(pose), scene.geometry[name]) for pose, name in placed]
    except Exception as error:  # readers of the many formats raise various errors
        raise MeshError(f"cannot be read: {error}", path.name) from None
    parts = [(part.apply_scale(_metres(original)), original) for part, original in parts if _has_triangles(part)]
    if not parts:
        raise MeshError("cannot be read: it has no triangles", path.name)
    return [(part, _colour(original)) for part, original in parts]


def _has_triangles(part: Any) -> bool:
    return len(getattr(part, "faces", ())) > 0


def _metres(part: Any) -> float:
    """The unit of a part's coordinates, as trimesh keeps it: `meters` or `0.01 * meters`. [m]"""
    factor, star, _ = str(part.metadata.get("units", "")).partition(" * meters")
    try:
        return float(factor) if star else 1.0
    except ValueError:
        return 1.0


def _colour(part: Any) -> Rgba | None:
    """The colour of a part's material or faces, None for a mesh without."""
    if not part.visual.defined:
        return None
    source = getattr(part.visual, "material", part.visual)
    r, g, b, a = (float(channel) / 255.0 for channel in source.main_color)
    return r, g, b, a
