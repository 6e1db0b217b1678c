"""Arrays of results: shape, type, names of dimensions and chunks; and the time that chunks take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

CHUNK_BYTES = 16 * 2**20
"""Bytes of the largest array in a chunk by default."""


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


def default_chunk(arrays: Iterable[ArrayLayout], carried_bytes: int, block: int) -> int:
    """Entries of a chunk: of about `CHUNK_BYTES`, in whole blocks."""
    largest = max(carried_bytes, *(layout.entry_bytes for layout in arrays), 1)
    return max(1, CHUNK_BYTES // largest // block) * block
