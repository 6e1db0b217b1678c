"""Results in a Zarr group on a file system that all workers share.

A chunk of an array is one file. It is written aside, flushed to the disk and renamed, so that its name exists only if its
bytes are on the disk: a chunk is finished when every array has its file, and nothing else is recorded. (Zarr's own local
store renames as well, but does not flush: after a power failure a named chunk may be empty.) Two tasks never write the same
file with different bytes, since the states of a chunk follow from the description that the group's attributes hold.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import uuid
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.abc.store import Store
from zarr.storage import LocalStore

from appell.errors import ArgumentError
from appell.files import write_bytes
from appell.sweeps.layout import ArrayLayout

IDENTITY = "appell"
"""Attribute of the group with all that must be equal for a store to be continued."""
ROBOT_FILE = "robot.appell"
UNFINISHED = "not finished"
"""Text where a chunk is missing; numbers are NaN there."""


class FlushedStore(LocalStore):
    """Zarr's local store with files that are flushed to the disk before they are renamed."""

    async def set(self, key: str, value: Any) -> None:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(write_bytes, path, value.as_buffer_like())


@dataclass(frozen=True)
class ChunkStore:
    """A group of arrays with `count` entries along their first dimension, in chunks of `chunk`.

    Attributes:
        names: of the arrays.
        digest: of the identity; a store that is made anew at the same path has another.
    """

    path: str
    names: tuple[str, ...]
    count: int
    chunk: int
    digest: str

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return -(-self.count // self.chunk)

    def bounds(self, k: int) -> tuple[int, int]:
        """First entry of a chunk, and the first behind it."""
        return k * self.chunk, min((k + 1) * self.chunk, self.count)

    @property
    def group(self) -> zarr.Group:
        return _group(self.path, self.digest)

    def arrays(self) -> dict[str, Any]:
        """The arrays by name."""
        return _arrays(self.path, self.names, self.digest)

    def write(self, k: int, values: Mapping[str, np.ndarray]) -> None:
        """Write one chunk of every array; it counts as finished when the last one is on the disk."""
        start, stop = self.bounds(k)
        for name, array in self.arrays().items():
            array[start:stop] = values[name]

    def finished(self) -> set[int]:
        """Chunks that every array has."""
        found = []
        for name in self.arrays():
            with os.scandir(Path(self.path, name)) as entries:
                found.append({int(each.name.split(".")[1]) for each in entries if each.name.startswith("c.")})
        return set.intersection(*found)

    def remove_partial_files(self) -> None:
        """Remove what killed processes have left, once nothing is written any more."""
        for path in Path(self.path).glob("*/.*.partial"):
            path.unlink(missing_ok=True)


@lru_cache(maxsize=8)
def _group(path: str, digest: str) -> zarr.Group:
    with zarr.config.set({"array.write_empty_chunks": True}):
        return zarr.open_group(FlushedStore(path), mode="r+", use_consolidated=False)


@lru_cache(maxsize=8)
def _arrays(path: str, names: tuple[str, ...], digest: str) -> dict[str, Any]:
    with zarr.config.set({"array.write_empty_chunks": True}):
        return {name: _group(path, digest)[name] for name in names}


def open_store(path: str | os.PathLike) -> ChunkStore:
    """An existing store."""
    path = os.path.abspath(path)
    identity = _identity(path)
    return ChunkStore(path, tuple(identity["arrays"]), identity["count"], identity["chunk"], _digest(identity))


def create_store(
    path: str | os.PathLike,
    identity: Mapping[str, Any],
    arrays: Mapping[str, ArrayLayout],
    dimension: str,
    attributes: Mapping[str, Any],
    files: Mapping[str, bytes],
    compress: bool,
) -> ChunkStore:
    """A new store, or the one at this path if it was made for the same purpose.

    It appears under its name when it is whole.

    Args:
        identity: all that must be equal, with `count` and `chunk`.
        dimension: name of the first dimension.
        files: other files of the store by name.
    """
    path = os.path.abspath(path)
    identity = json.loads(json.dumps({**identity, "arrays": [*arrays]}))
    if not os.path.lexists(path):
        with contextlib.suppress(FileExistsError), _new_folder(path) as partial:  # another process may be first
            _fill(FlushedStore(partial), identity, arrays, dimension, attributes, compress)
            for name, content in files.items():
                write_bytes(Path(partial, name), content)
    _require_same(path, _identity(path), identity)
    return open_store(path)


@contextlib.contextmanager
def _new_folder(path: str) -> Iterator[str]:
    """A folder that gets its name when the block ends without an error."""
    partial = os.path.join(os.path.dirname(path), f".{os.path.basename(path)[:100]}.{uuid.uuid4().hex}.partial")
    try:
        yield partial
        os.rename(partial, path)
    except OSError as error:
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        error.filename = path
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _fill(
    store: Store,
    identity: Mapping,
    arrays: Mapping[str, ArrayLayout],
    dimension: str,
    attributes: Mapping,
    compress: bool,
) -> None:
    count, chunk = identity["count"], identity["chunk"]
    group = zarr.create_group(store, attributes={**attributes, IDENTITY: identity})
    for name, layout in arrays.items():
        text = layout.dtype == "str"
        group.create_array(
            name, shape=(count, *layout.shape), chunks=(chunk, *layout.shape), dtype=str if text else layout.dtype,
            fill_value=UNFINISHED if text else np.nan if np.dtype(layout.dtype).kind == "f" else 0,
            compressors="auto" if compress else None, dimension_names=(dimension, *layout.dims),
            chunk_key_encoding={"name": "default", "separator": "."}, attributes=dict(layout.attributes),
        )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # consolidated metadata are an extension of Zarr 3, which xarray looks for
        zarr.consolidate_metadata(store)


def _identity(path: str) -> dict[str, Any]:
    try:
        identity = json.loads(Path(path, "zarr.json").read_text(encoding="utf-8"))["attributes"][IDENTITY]
        if isinstance(identity, dict) and {"count", "chunk", "arrays"} <= identity.keys():
            return identity
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
        pass
    raise ArgumentError(f"{path} is not a store of appell. Give a name that does not exist yet.")


def _require_same(path: str, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    for name in dict.fromkeys([*wanted, *found]):
        have, want = found.get(name), wanted.get(name)
        if isinstance(have, dict) and isinstance(want, dict):
            _require_same(path, *({f"{name}.{key}": value for key, value in each.items()} for each in (have, want)))
        elif have != want:
            raise ArgumentError(
                f"{path} was made with {name} = {_short(have)}, now it is {_short(want)}. Results are not mixed: "
                "repeat the command that made it, or give another name."
            )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 120 else f"{text[:100]}... (sha256 {hashlib.sha256(text.encode()).hexdigest()[:12]})"


def _digest(identity: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
