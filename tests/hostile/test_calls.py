"""Odd arguments at the call boundary: errors of the library, never a crash or a wrong number."""

import numpy as np
import pytest
from hostile.fuzz_calls import ball_and_hinge, main, misaligned

import appell
from appell.errors import ArgumentError


@pytest.fixture(scope="module")
def robots():
    return [appell.compile(appell.load("planar2r")), appell.compile(ball_and_hinge())]


@pytest.mark.parametrize("check", [np.array([1, 2]), np.zeros(0), None, "no", 1])
def test_check_is_true_or_false(robots, check):
    for dyn in robots:
        q = np.array(dyn.robot.neutral_configuration())
        dyn.gravity(q)
        with pytest.raises(ArgumentError, match=r"check is .* expected True or False"):
            dyn.gravity(q, check=check)
        np.testing.assert_array_equal(dyn.gravity(q, check=np.True_), dyn.gravity(q))


@pytest.mark.parametrize("lead", [(), (5,)])
def test_a_misaligned_out(robots, lead):
    dyn = robots[0]
    with pytest.raises(ArgumentError, match="out is misaligned"):
        dyn.gravity(np.zeros((*lead, 2)), out=misaligned(np.zeros((*lead, 2))))


def test_random_calls():
    main(seed=1, calls=2000)


@pytest.mark.slow
def test_many_random_calls():
    for seed in range(2, 22):
        main(seed, calls=10_000)
