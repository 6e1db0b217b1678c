"""Numbers by their index: SplitMix64's own, the same in C and NumPy, uniformly distributed and independent."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell import _native
from appell.sweeps import random_states
from appell.sweeps.uniform import fill_columns, uniform_columns

FILLS = [pytest.param(fill_columns, id="NumPy")]
if _native.uniform_columns is not None:
    FILLS.append(pytest.param(_native.uniform_columns, id="C"))
WORD = 2.0**32
COUNT = 2**18


def integers(seed: int, columns: int, start: int, stop: int) -> np.ndarray:
    """The 32 bits of every number, (columns, N)."""
    numbers = uniform_columns(seed, (-WORD / 2,) * columns, (WORD / 2,) * columns, start, stop, "float64")
    return numbers.astype(np.int64).astype(np.uint32)


def require_uniform(cells: np.ndarray, kinds: int) -> None:
    """Pearson's chi-square of how often each of these cells occurs, within 6 standard deviations."""
    expected = cells.size / kinds
    chi_square = float(np.square(np.bincount(cells.ravel(), minlength=kinds) - expected).sum() / expected)
    assert abs(chi_square - (kinds - 1)) < 6 * np.sqrt(2 * (kinds - 1))


@pytest.mark.parametrize("fill", FILLS)
def test_numbers_are_those_of_splitmix64(fill) -> None:
    outputs = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    ranges, out = np.array([[1.0] * 2, [0.0] * 2, [-np.inf] * 2, [np.inf] * 2]), np.empty((2, 5))
    fill(1234567, 0, ranges, out)
    low, high = out.astype(np.int64).astype(np.uint32).astype(np.uint64)
    assert (low | high << np.uint64(32)).tolist() == outputs


@pytest.mark.skipif(_native.uniform_columns is None, reason="the extension was not built")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("columns", "first", "count"), [(1, 0, 1), (5, 10**12 + 3, 255), (18, 2**63, 1000), (2, 7, 0)])
def test_c_and_numpy_agree_in_every_bit(dtype: str, columns: int, first: int, count: int) -> None:
    rng = np.random.default_rng(columns)
    low, high = np.sort(rng.normal(size=(2, columns)), axis=0) + rng.normal(0.0, 100.0, columns)
    ranges = np.array([(high - low) / WORD, (high + low) / 2, low, high], dtype)
    found = [np.full((columns, count), np.nan, dtype) for _ in range(2)]
    for fill, out in zip((_native.uniform_columns, fill_columns), found, strict=True):
        fill(2**64 - 5, first, ranges, out)
    assert np.array_equal(found[0], found[1])


@pytest.mark.skipif(_native.uniform_columns is None, reason="the extension was not built")
def test_arrays_that_do_not_fit_are_errors() -> None:
    good, out = np.zeros((4, 3)), np.zeros((3, 10))
    for ranges, to in [
        (good[:3], out),
        (good, out[:2]),
        (good.astype("f4"), out),
        (good, out.astype("i8")),
        (good, out[0]),
    ]:
        with pytest.raises(ValueError, match="matching sizes and types"):
            _native.uniform_columns(1, 0, ranges, to)
    with pytest.raises((ValueError, BufferError)):
        _native.uniform_columns(1, 0, good, np.zeros((10, 3)).T)


@pytest.mark.parametrize("shift", [0, 12, 24])
def test_bits_are_uniform_and_independent(shift: int) -> None:
    """Eight bits at three places: alone, with the next column, with the other half, and with the next state."""
    byte = integers(1, 4, 10**9, 10**9 + COUNT) >> np.uint32(shift) & np.uint32(255)
    for column in byte:
        require_uniform(column, 256)
        require_uniform(column[:-1] * 256 + column[1:], 256**2)
    for other in byte[1:]:
        require_uniform(byte[0] * 256 + other, 256**2)
    for seed in (0, 2, 2**40 + 1):
        other = integers(seed, 4, 10**9, 10**9 + COUNT) >> np.uint32(shift) & np.uint32(255)
        require_uniform(byte * 256 + other, 256**2)


def test_moments_and_correlations() -> None:
    count = 2**16
    numbers = uniform_columns(3, (-1.0,) * 18, (1.0,) * 18, 0, count, "float64")
    error = 6 / np.sqrt(count)
    for power in range(1, 5):
        assert np.abs((numbers**power).mean(axis=1) - (power % 2 == 0) / (power + 1)).max() < error
    for lag in (0, 1, 2, 64, 4096):
        covariance = numbers[:, : count - lag] @ numbers[:, lag:].T / (count - lag)
        assert np.abs(3 * covariance - np.eye(18) * (lag == 0)).max() < error


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_limits_are_kept(dtype: str) -> None:
    low, high = (1000.0, -3.0, 1e-30, 5.0), (1000.0 + 1e-3, -3.0 + 1e-6, 1.0, 5.0)
    numbers = uniform_columns(0, low, high, 0, COUNT, dtype)
    assert (numbers >= np.array(low, dtype)[:, None]).all()
    assert (numbers <= np.array(high, dtype)[:, None]).all()


def test_rotations_are_uniform() -> None:
    drone = (
        appell.RobotBuilder().body("a", mass=1, inertia=(1, 1, 1)).floating("free", parent="world", child="a").build()
    )
    x = random_states(drone, COUNT, seed=5).q[:, 3:]
    error = 6 / np.sqrt(COUNT)
    assert_close(np.linalg.norm(x, axis=1), np.ones(COUNT))
    assert np.abs(x.mean(axis=0)).max() < error
    assert np.abs(x.T @ x / COUNT - np.eye(4) / 4).max() < error
    cells = np.floor((x[:, 3] ** 2 + x[:, 2] ** 2) * 64).astype(int).clip(0, 63)  # uniform between 0 and 1
    require_uniform(cells, 64)
    single = random_states(drone, 100).part(0, 100, "float32").q
    assert_close(single, random_states(drone, 100).q.astype("float32"), tolerance=4e-6)
