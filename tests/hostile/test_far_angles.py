"""Angles of many turns: the error is at most that of an angle rounded to its type, and angles beyond a bound raise."""

from fractions import Fraction

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.errors import ArgumentError

TURN = 2 * Fraction("3.14159265358979323846264338327950288419716939937510582097494459")
LARGEST = {"float64": 1e8, "float32": 1e5}


def wrapped(q: np.ndarray) -> np.ndarray:
    """The same angles within half a turn, rounded once."""
    return np.array([[float(Fraction(x) - round(Fraction(x) / TURN) * TURN) for x in row] for row in q.tolist()])


@pytest.mark.parametrize("size", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("offsets", [False, True])
def test_error_of_large_angles(size, offsets):
    """Robots with joints turned by right angles alone have no error; others have that of a rounded angle."""
    dyn = appell.compile(appell.robots.random_chain(6, seed=1) if offsets else appell.load("puma560"))
    rng = np.random.default_rng(5)
    q, qd, qdd = rng.uniform(-1, 1, (3, 50, 6)) * np.array([size, 1, 1])[:, None, None]
    tolerance = 1e-13 + (2 * np.spacing(size) if offsets else 0.0)
    assert_close(dyn.inverse_dynamics(q, qd, qdd), dyn.inverse_dynamics(wrapped(q), qd, qdd), tolerance=tolerance)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["puma560", "four_bar", "agile_wrist", "chain30"])
@pytest.mark.parametrize("native", ["0", "1"])
def test_angles_beyond_the_bound_raise(name, dtype, native, monkeypatch):
    """With one state and batches, compiled and interpreted; one step below the bound is no error."""
    monkeypatch.setenv("APPELL_NATIVE", native)
    robot = appell.robots.random_chain(30, seed=2) if name == "chain30" else appell.load(name)
    dyn, far = appell.compile(robot, dtype=dtype), robot.nq - 1
    q = np.tile(robot.neutral_configuration(), (20, 1))
    q[7, far] = LARGEST[dtype] * (1 + 1e-6)
    rates = np.ones((2, robot.nv))
    for states, place in ((q, f"7, {far}"), (q[7], f"{far}")):
        with pytest.raises(
            ArgumentError, match=rf"^q\[{place}\] is 100?000.*angles of at most 1e\+0[58] rad.*np.remainder"
        ):
            dyn.inverse_dynamics(states, *rates)
        assert np.isnan(dyn.inverse_dynamics(states, *rates, check=False)).any()
    q[7, far] = -LARGEST[dtype]
    dyn.potential_energy(q)


def test_displacements_have_no_bound():
    rail = (
        appell.RobotBuilder("rail")
        .body("cart", mass=2.0, inertia=(1, 1, 1))
        .prismatic("rail", "world", "cart", axis="x")
        .build()
    )
    for robot in (rail, appell.compile(rail), appell.compile(rail, dtype="float32")):
        assert robot.pose([3e9], "cart")[0, 3] == 3e9


def test_a_saved_robot_raises(tmp_path):
    appell.compile(appell.load("puma560")).save(tmp_path / "puma.appell", functions=["potential_energy"])
    loaded = appell.load_compiled(tmp_path / "puma.appell")
    with pytest.raises(ArgumentError, match=r"^q\[2\] is 1e\+12, expected angles"):
        loaded.potential_energy([0, 0, 1e12, 0, 0, 0])
