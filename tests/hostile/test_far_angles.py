"""Angles of many turns: the error is at most that of an angle rounded to its type."""

from fractions import Fraction

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell

TURN = 2 * Fraction("3.14159265358979323846264338327950288419716939937510582097494459")


def wrapped(q: np.ndarray) -> np.ndarray:
    """The same angles within half a turn, rounded once."""
    return np.array([[float(Fraction(x) - round(Fraction(x) / TURN) * TURN) for x in row] for row in q.tolist()])


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("offsets", [False, True])
def test_error_of_large_angles(size, offsets):
    """Robots with joints turned by right angles alone have no error; others have that of a rounded angle."""
    dyn = appell.compile(appell.robots.random_chain(6, seed=1) if offsets else appell.load("puma560"))
    rng = np.random.default_rng(5)
    q, qd, qdd = rng.uniform(-1, 1, (3, 50, 6)) * np.array([size, 1, 1])[:, None, None]
    tolerance = 1e-13 + (2 * np.spacing(size) if offsets else 0.0)
    assert_close(dyn.inverse_dynamics(q, qd, qdd), dyn.inverse_dynamics(wrapped(q), qd, qdd), tolerance=tolerance)
