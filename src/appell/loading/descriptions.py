"""Robots by name from the package `robot_descriptions` (extra `descriptions`), from its cache on this machine alone.

The package clones a repository when one of its modules is imported. Here the modules are imported with that step replaced by
a look into the cache: nothing is fetched.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from appell.errors import ModelError
from appell.meshes import description_cache

ENDINGS = ("", "_description", "_mj_description")
"""What follows a name in the package: URDF or xacro first, then MJCF."""
PACKAGE = "robot_descriptions"


class DescriptionFile(NamedTuple):
    """The file of a description, and the arguments of its macros if it is a xacro file."""

    path: Path
    xacro_args: Mapping[str, str] | None = None


class NotInCache(Exception):
    """A repository that is not in the cache."""


def names() -> tuple[str, ...]:
    """Names that `robot_descriptions` has, without their endings; empty where it is not installed."""
    found = (name.removesuffix("_description").removesuffix("_mj") for name in _descriptions())
    return tuple(dict.fromkeys(found))


def find(name: str) -> DescriptionFile | None:
    """The file of a robot of this name; None if there is no such name or the package is not installed.

    Raises:
        ModelError: the description is not in the cache.
    """
    known = _descriptions()
    module = next((name + ending for ending in ENDINGS if name + ending in known), None)
    if module is None:
        return None
    try:
        return _file(_import(module))
    except NotInCache as absent:
        raise ModelError(
            f"{name!r} is {module!r} of {PACKAGE}, whose repository is not in its cache ({absent}). "
            f"Fetch it once, where there is a network: python -m {PACKAGE} pull {module}"
        ) from None
    except (ImportError, AttributeError, LookupError, OSError) as error:
        raise ModelError(f"{name!r}: the package {PACKAGE} does not give the description: {error}.") from None


def _descriptions() -> Mapping[str, Any]:
    try:
        return import_module(PACKAGE).DESCRIPTIONS
    except (ImportError, AttributeError):
        return {}


def _import(module: str) -> Any:
    name = f"{PACKAGE}.{module}"
    if name in sys.modules:
        return sys.modules[name]
    cache: Any = import_module(f"{PACKAGE}._cache")
    clone, cache.clone_to_cache = cache.clone_to_cache, _cached_repository
    try:
        return import_module(name)
    finally:
        cache.clone_to_cache = clone


def _cached_repository(name: str, commit: str | None = None) -> str:
    folder = import_module(f"{PACKAGE}._repositories").REPOSITORIES[name].cache_path
    path = description_cache() / (folder if commit is None else f"{folder}-{commit}/{folder}")
    if not path.is_dir():
        raise NotInCache(path)
    return str(path)


def _file(module: Any) -> DescriptionFile:
    for attribute in ("URDF_PATH", "MJCF_PATH"):
        if path := getattr(module, attribute, None):
            return DescriptionFile(Path(path))
    return DescriptionFile(Path(module.XACRO_PATH), getattr(module, "XACRO_ARGS", {}))
