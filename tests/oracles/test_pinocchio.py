"""Pinocchio computes the same: on real robots, read from URDF by each library itself, and on random trees."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.methods import METHODS, REFERENCE_FRAMES, methods_for
from helpers.pinocchio_peer import Peer, model_of_file, model_of_robot
from helpers.random_trees import LARGE_TREES, MEDIUM_TREES, SMALL_TREES
from helpers.shared_data import SHARED, shared
from helpers.states import random_states

import appell
from appell.robot.robot import Robot

TOLERANCE = 1e-11
STATES = 2
FILES = sorted((SHARED / "robots").glob("*.urdf"))
TREES = [*SMALL_TREES, *MEDIUM_TREES, *LARGE_TREES, appell.robots.random_chain(16, seed=11)]


@cache
def pair_of_file(path: Path) -> tuple[Robot, Peer]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        robot = appell.load(path)
    return robot, Peer(robot, model_of_file(path))


@cache
def pair_of_tree(index: int) -> tuple[Robot, Peer]:
    return TREES[index], Peer(TREES[index], model_of_robot(TREES[index]))


CASES = [pytest.param(pair_of_file, path, id=path.stem) for path in FILES] + [
    pytest.param(pair_of_tree, index, id=f"{robot.name}-nv{robot.nv}") for index, robot in enumerate(TREES)
]
over_robots = pytest.mark.parametrize(("pair", "which"), CASES)


def frames_of(robot: Robot) -> tuple[str, ...]:
    """One body in the middle and the last."""
    names = robot.body_names
    return tuple(dict.fromkeys((names[len(names) // 2], names[-1])))


def test_every_file_is_compared() -> None:
    if not FILES:
        pytest.skip("shared/robots is not beside this checkout")
    assert len(FILES) >= 14


@over_robots
def test_dynamics(pair, which) -> None:
    robot, peer = pair(which)
    state = random_states(robot, STATES)
    for function, inputs in {"inverse_dynamics": 3, "mass_matrix": 1, "bias": 2, "gravity": 1}.items():
        expected = np.array([getattr(peer, function)(*row) for row in zip(*state[:inputs], strict=True)])
        for method in methods_for(function, robot):
            found = getattr(robot, function)(*state[:inputs], method=method)
            assert_close(found, expected, tolerance=TOLERANCE, what=f"{function} {method}")


@over_robots
def test_forward_dynamics(pair, which) -> None:
    """Pinocchio's inverse dynamics takes our accelerations back to tau, and its forward dynamics gives the same ones.

    The second is meant to 1e-11, or to what the condition of M leaves where it is worse: 5e6 for iCub, whose file has
    inertias that are not positive definite. There Pinocchio itself is 1.5e-10 off the motion that tau was made from.
    """
    robot, peer = pair(which)
    q, qd, qdd = random_states(robot, STATES)
    tau = robot.inverse_dynamics(q, qd, qdd)
    expected = np.array([peer.forward_dynamics(*row) for row in zip(q, qd, tau, strict=True)])
    condition = float(np.linalg.cond(robot.mass_matrix(q)).max())
    for method in METHODS["forward_dynamics"]:
        found = robot.forward_dynamics(q, qd, tau, method=method)
        back = np.array([peer.inverse_dynamics(*row) for row in zip(q, qd, found, strict=True)])
        assert_close(back, tau, tolerance=TOLERANCE, what=method)
        assert_close(found, expected, tolerance=max(TOLERANCE, condition * 2**-52), what=method)


@over_robots
def test_coriolis_forces(pair, which) -> None:
    robot, peer = pair(which)
    q, qd, _ = random_states(robot, STATES)
    expected = np.array([peer.coriolis_force(*row) for row in zip(q, qd, strict=True)])
    found = np.einsum("nij,nj->ni", robot.coriolis_matrix(q, qd), qd)
    assert_close(found, expected, tolerance=TOLERANCE, scale=float(np.abs(robot.bias(q, qd)).max()))


@over_robots
def test_energies_and_mass_centre(pair, which) -> None:
    robot, peer = pair(which)
    q, qd, _ = random_states(robot, STATES)
    for function, state in (("kinetic_energy", (q, qd)), ("potential_energy", (q,)), ("center_of_mass", (q,))):
        expected = np.array([getattr(peer, function)(*row) for row in zip(*state, strict=True)])
        assert_close(getattr(robot, function)(*state), expected, tolerance=TOLERANCE, what=function)


@over_robots
def test_kinematics(pair, which) -> None:
    robot, peer = pair(which)
    q, qd, _ = random_states(robot, STATES)
    for frame in frames_of(robot):
        expected = np.array([peer.pose(x, frame) for x in q])
        assert_close(robot.pose(q, frame), expected, tolerance=TOLERANCE, what=frame)
        for reference in REFERENCE_FRAMES:
            J = np.array([peer.jacobian(x, frame, reference) for x in q])
            assert_close(robot.jacobian(q, frame, reference), J, tolerance=TOLERANCE, what=f"{frame} {reference}")
            rate = np.array([peer.jacobian_rate(x, xd, frame, reference) for x, xd in zip(q, qd, strict=True)])
            assert_close(
                robot.jacobian_rate(q, qd, frame, reference),
                rate,
                tolerance=TOLERANCE,
                scale=float(np.abs(J).max() * np.abs(qd).max()),
                what=f"rate {frame} {reference}",
            )


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_large_batches(name: str) -> None:
    """Batches that are large enough to be compiled, where a compiler exists."""
    robot, peer = pair_of_file(shared(f"robots/{name}.urdf"))
    state = random_states(robot, 1500)
    for function in ("inverse_dynamics", "forward_dynamics"):
        for _ in range(2):  # the first batch may be interpreted
            found = getattr(robot, function)(*state)
        expected = np.array([getattr(peer, function)(*row) for row in zip(*state, strict=True)])
        assert_close(found, expected, tolerance=TOLERANCE, what=function)
