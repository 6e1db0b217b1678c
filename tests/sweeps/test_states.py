"""Any part of a description of states is the same, however it is cut and in whatever type."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from scipy.stats.qmc import Sobol

import appell
from appell.sweeps import States, grid_states, random_states, sobol_states
from appell.sweeps.make_states import as_states
from appell.sweeps.states import BLOCK, SOBOL_BITS


def sources():
    robot = appell.load("puma560")
    count = 3 * BLOCK + 17
    return [random_states(robot, count, seed=4), sobol_states(robot, count, seed=4), grid_states(robot, 6)]


def columns(states: States) -> np.ndarray:
    return np.concatenate([states.q, states.qd, states.qdd_or_tau], axis=1)


@pytest.mark.parametrize("source", sources(), ids=lambda source: type(source).__name__)
def test_parts_are_those_of_the_whole(source) -> None:
    whole = columns(source[:])
    assert len(whole) == len(source)
    for start, stop in [(0, 1), (BLOCK - 3, BLOCK + 5), (5, len(source)), (len(source) - 2, len(source)), (7, 7)]:
        assert np.array_equal(columns(source.part(start, stop)), whole[start:stop])
        assert_close(columns(source.part(start, stop, "float32")), whole[start:stop].astype("float32"), tolerance=1e-6)


def test_states_far_away_cost_no_more() -> None:
    robot = appell.load("puma560")
    for states in (random_states(robot, 10**12), sobol_states(robot, 10**12), grid_states(robot, 100)):
        assert columns(states[10**12 - 3 : 10**12]).shape == (3, 18)


def test_random_states_are_uniform() -> None:
    robot = appell.load("planar2r")
    found = columns(random_states(robot, 200_000, seed=9, max_velocity=2.0, max_qdd_or_tau=3.0)[:])
    reach = np.array([np.pi, np.pi, 2, 2, 3, 3])
    assert (np.abs(found) <= reach).all()
    assert_close((found / reach).mean(axis=0), np.zeros(6), tolerance=1, scale=5 / np.sqrt(3 * len(found)))
    assert_close((found / reach).var(axis=0), np.full(6, 1 / 3), tolerance=1, scale=5 / np.sqrt(len(found)))
    assert np.abs(np.corrcoef(found.T) - np.eye(6)).max() < 5 / np.sqrt(len(found))
    assert np.abs(np.corrcoef(found[:-1, 0], found[1:, 0])[0, 1]) < 5 / np.sqrt(len(found))


def test_sobol_states_are_those_of_scipy() -> None:
    robot = appell.load("planar2r")
    states = sobol_states(robot, 2048, seed=7)
    points = Sobol(6, scramble=True, bits=SOBOL_BITS, seed=np.random.default_rng(7)).random(2048)
    low, high = np.array(states.low), np.array(states.high)
    assert_close(columns(states[:]), low + (high - low) * points)


def test_grid_is_that_of_meshgrid() -> None:
    states = grid_states(appell.load("planar2r"), 4)
    axis = np.linspace(-np.pi, np.pi, 4)
    assert_close(states.q, np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2))


def test_dask_arrays() -> None:
    array = pytest.importorskip("dask.array")
    robot, rows = appell.load("planar2r"), np.random.default_rng(0).normal(size=(1000, 6))
    states = as_states(robot, array.from_array(rows, chunks=(300, 6)))
    assert np.array_equal(columns(states[250:700]), rows[250:700])
    carried, start, stop = states.carried(250, 350)
    assert np.array_equal(columns(carried.part(start, stop)), rows[250:350])
    assert len(carried.array.dask) < 12  # the parts that are needed, not all of the graph
    with pytest.raises(appell.ArgumentError, match=r"expected \(N, 6\)"):
        as_states(robot, array.zeros((10, 5)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda robot: random_states(robot, 0), "count is 0"),
        (lambda robot: random_states(robot, 10, seed=-1), "seed is -1"),
        (lambda robot: random_states(robot, 10, max_velocity=np.nan), "max_velocity is nan"),
        (lambda robot: grid_states(robot, 1), "points is 1"),
        (lambda robot: as_states(robot, np.zeros((3, 6))), "states are ndarray"),
    ],
)
def test_descriptions_that_make_no_sense(make, message: str) -> None:
    with pytest.raises(appell.ArgumentError, match=message):
        make(appell.load("planar2r"))
