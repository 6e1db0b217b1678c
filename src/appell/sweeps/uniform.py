"""Uniformly distributed numbers by their index, so that any part of them is made alone: SplitMix64.

Output j of the generator is a hash of seed + (j + 1) γ (Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
OOPSLA 2014); it passes TestU01's BigCrush. Row k of numbers has the halves of outputs k p to (k + 1) p - 1, p per row.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from appell import _native

GAMMA = np.uint64(0x9E3779B97F4A7C15)
STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
"""Of the hash: x becomes (x ^ x >> shift) * factor."""


def uniform_columns(
    seed: int, low: tuple[float, ...], high: tuple[float, ...], start: int, stop: int, dtype: str
) -> np.ndarray:
    """Rows start to stop of numbers between `low` and `high`, on 2^32 values each, as columns (len(low), N)."""
    state, ranges = _prepared(seed, low, high, dtype)
    out = np.empty((len(low), stop - start), dtype)
    (_native.uniform_columns or fill_columns)(state, start, ranges, out)
    return out


@lru_cache(maxsize=8)
def _prepared(seed: int, low: tuple[float, ...], high: tuple[float, ...], dtype: str) -> tuple[int, np.ndarray]:
    """State of the generator; factor, middle, lower and upper limit of every column, (4, columns)."""
    least, most = np.array(low), np.array(high)
    ranges = np.array([(most - least) * 2.0**-32, (most + least) / 2, least, most], dtype)
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]), ranges


def fill_columns(seed: int, first: int, ranges: np.ndarray, out: np.ndarray) -> None:
    """`_native.uniform_columns` where the extension was not built."""
    pairs = -(-len(out) // 2)
    index = np.arange(first, first + out.shape[1], dtype=np.uint64) * np.uint64(pairs)
    bits = np.uint64(seed) + GAMMA * (index + np.arange(1, pairs + 1, dtype=np.uint64)[:, None])
    for shift, factor in STEPS:
        bits ^= bits >> np.uint64(shift)
        bits *= np.uint64(factor)
    halves = bits.astype("<u8", copy=False).view("<i4").reshape(pairs, -1, 2).transpose(0, 2, 1)
    scale, middle, least, most = ranges[:, :, None]
    np.multiply(halves.reshape(2 * pairs, -1)[: len(out)], scale, out=out, dtype=out.dtype, casting="unsafe")
    out += middle
    np.clip(out, least, most, out=out)
