"""Names for kernels: equal exactly when everything that a kernel depends on is equal."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from appell.version import __version__

SOURCES = ("algebra", "model", "algorithms", "compiler")
"""Packages that decide what every kernel computes; systems add their own (`System.sources`)."""


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


@lru_cache(maxsize=32)
def source_digest(*more: Path) -> str:
    """A digest of this version of the algorithms, the compiler, and more files or folders of code."""
    root = Path(__file__).parents[1]
    content = hashlib.sha256()
    files = [path for place in (*(root / name for name in SOURCES), *more) for path in _files(place)]
    for path in sorted(path for path in files if path.endswith((".py", ".h"))):
        with open(path, "rb") as file:
            content.update(file.read())
    return f"{__version__} {content.hexdigest()}"


def _files(place: Path) -> Iterator[str]:
    """The file, or all files of the folder: in half the time that `Path.rglob` takes."""
    if not place.is_dir():
        yield str(place)
    for folder, _, names in os.walk(place):
        yield from (os.path.join(folder, name) for name in names)
