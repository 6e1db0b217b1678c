"""Names for kernels: equal exactly when everything that a kernel depends on is equal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appell.algorithms.system import System
from appell.version import __version__

if TYPE_CHECKING:
    from appell.algorithms.request import Request
    from appell.model.tree import Tree

SOURCES = (
    "algebra",
    "algorithms",
    "closed_loop",
    "compiler",
    "control/sampled.py",
    "model/joints",
    "model/tree.py",
    "model/parameters.py",
    "robot/state_rate.py",
    "rollouts",
)
"""Parts of the package that decide what a kernel computes."""


def digest(*parts: object) -> str:
    """A short name for the content of data: numbers to the last bit, containers by their entries."""
    return hashlib.sha256("\n".join(token for part in parts for token in tokens(part)).encode()).hexdigest()[:40]


def tokens(value: Any) -> Iterator[str]:
    """The content of nested data as text, without gaps for confusion."""
    if value is None or isinstance(value, (bool, int, str)):
        yield repr(value)
    elif isinstance(value, float):
        yield value.hex()
    elif is_dataclass(value) and not isinstance(value, type):
        yield type(value).__name__
        for each in fields(value):
            yield from tokens(getattr(value, each.name))
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}"
        for key in sorted(value):
            yield from tokens(key)
            yield from tokens(value[key])
    elif isinstance(value, Iterable):
        entries = list(value)
        yield f"{type(value).__name__} {len(entries)}"
        for entry in entries:
            yield from tokens(entry)
    else:
        yield type(value).__qualname__


def tree_digest(tree: Tree | System) -> str:
    """The name of a robot's dynamics, without its frames: those that matter belong to a request."""
    if isinstance(tree, System):
        return digest(type(tree).__qualname__, tree.content, source_digest())
    return digest(tree.links, tree.gravity, tree.base, tree.nq, tree.nv, source_digest())


def request_digest(tree: Tree | System, request: Request) -> str:
    """The name of a request, with the frames that it uses."""
    names = sorted({*request.forces, request.frame} & set(tree.frames))
    return digest(request, [tree.frames[name] for name in names])


@lru_cache(maxsize=1)
def source_digest() -> str:
    """The name of this version of the algorithms and of the compiler."""
    root = Path(__file__).parents[1]
    files = sorted(path for part in SOURCES for path in _files(root / part))
    content = hashlib.sha256()
    for path in files:
        content.update(path.read_bytes())
    return f"{__version__} {content.hexdigest()}"


def _files(place: Path) -> Iterable[Path]:
    return (path for path in place.rglob("*") if path.suffix in (".py", ".h")) if place.is_dir() else (place,)
