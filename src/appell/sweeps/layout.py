"""Arrays of results: shape, type, names of dimensions and chunks; and the time that chunks take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES, CHUNKS = 4 * 2**20, 32 * 2**20, 16
"""Bytes of the largest array in a chunk by default, and chunks of a sweep between these limits."""


class ChunkSeconds(NamedTuple):
    """Time that chunks took, summed over threads: making states, kernels, writing. [s]"""

    states: float = 0.0
    kernels: float = 0.0
    writing: float = 0.0

    def __add__(self, other: tuple) -> ChunkSeconds:  # type: ignore[override]
        return ChunkSeconds(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True)
class ArrayLayout:
    """One array of a store: shape and names of the dimensions of one entry, type, attributes such as the unit."""

    shape: tuple[int, ...]
    dtype: str
    dims: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def entry_bytes(self) -> int:
        return 0 if self.dtype == "str" else int(np.prod(self.shape, dtype=int)) * np.dtype(self.dtype).itemsize


def default_chunk(arrays: Iterable[ArrayLayout], carried_bytes: int, count: int, block: int) -> int:
    """Entries of a chunk, in whole blocks: at least 16 chunks of at most 32 MB of the largest array, but no less than 4 MB.

    What travels with a task counts four times, since Dask warns of tasks of more than 10 MB.
    """
    largest = max(4 * carried_bytes, *(layout.entry_bytes for layout in arrays), 1)
    size = min(MOST_CHUNK_BYTES, max(LEAST_CHUNK_BYTES, largest * count // CHUNKS))
    return max(1, size // largest // block) * block
