"""Legged and humanoid robots on a floating base: Pinocchio computes the same, with a free-flyer at the root."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.methods import METHODS, REFERENCE_FRAMES
from helpers.pinocchio_peer import Peer, model_of_file
from helpers.shared_data import shared
from helpers.states import random_states

import appell
from appell.robot.robot import Robot

TOLERANCE = 1e-11
STATES = 2
ROBOTS = ("g1", "talos_reduced", "anymal_c", "go2", "solo12", "icub")
over_robots = pytest.mark.parametrize("name", ROBOTS)


@cache
def pair(name: str) -> tuple[Robot, Peer]:
    path = shared(f"robots/{name}.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        robot = appell.load(path, base="floating")
    return robot, Peer(robot, model_of_file(path, floating=True))


def methods(function: str, name: str) -> tuple[str | None, ...]:
    """Every method for one robot, the default for the others; methods are compared with each other on random trees."""
    return METHODS.get(function, (None,)) if name == "go2" else (None,)


def there(peer: Peer, function: str, arguments, *rest) -> np.ndarray:
    return np.array([getattr(peer, function)(*row, *rest) for row in zip(*arguments, strict=True)])


@over_robots
def test_base_comes_first(name: str) -> None:
    robot, peer = pair(name)
    assert robot.joint_names[0] == "root_joint"
    assert (robot.nq, robot.nv) == (peer.model.nq, peer.model.nv)


@over_robots
def test_dynamics(name: str) -> None:
    robot, peer = pair(name)
    state = random_states(robot, STATES)
    for function, inputs in {"inverse_dynamics": 3, "mass_matrix": 1, "bias": 2, "gravity": 1}.items():
        expected = there(peer, function, state[:inputs])
        for method in methods(function, name):
            found = getattr(robot, function)(*state[:inputs], method=method)
            assert_close(found, expected, tolerance=TOLERANCE, what=f"{function} {method}")


@over_robots
def test_forward_dynamics(name: str) -> None:
    """To 1e-11, or to what the condition of M leaves (iCub: 5e6, its file has inertias that are not positive)."""
    robot, peer = pair(name)
    q, qd, qdd = random_states(robot, STATES)
    tau = robot.inverse_dynamics(q, qd, qdd)
    expected = there(peer, "forward_dynamics", (q, qd, tau))
    condition = float(np.linalg.cond(robot.mass_matrix(q)).max())
    for method in methods("forward_dynamics", name):
        found = robot.forward_dynamics(q, qd, tau, method=method)
        assert_close(there(peer, "inverse_dynamics", (q, qd, found)), tau, tolerance=TOLERANCE, what=method)
        assert_close(found, expected, tolerance=max(TOLERANCE, condition * 2**-52), what=method)


@over_robots
def test_momenta_energies_and_coriolis_forces(name: str) -> None:
    robot, peer = pair(name)
    q, qd, _ = random_states(robot, STATES)
    for function, state in {
        "centroidal_momentum": (q, qd), "centroidal_momentum_matrix": (q,), "center_of_mass": (q,),
        "center_of_mass_jacobian": (q,), "kinetic_energy": (q, qd), "potential_energy": (q,),
    }.items():  # fmt: skip
        assert_close(getattr(robot, function)(*state), there(peer, function, state), tolerance=TOLERANCE, what=function)
    force = np.einsum("nij,nj->ni", robot.coriolis_matrix(q, qd), qd)
    scale = float(np.abs(robot.bias(q, qd)).max())
    assert_close(force, there(peer, "coriolis_force", (q, qd)), tolerance=TOLERANCE, scale=scale)


@over_robots
def test_kinematics(name: str) -> None:
    robot, peer = pair(name)
    q, qd, _ = random_states(robot, STATES)
    frame = robot.body_names[-1]
    assert_close(robot.pose(q, frame), there(peer, "pose", (q,), frame), tolerance=TOLERANCE)
    for reference in REFERENCE_FRAMES:
        J = there(peer, "jacobian", (q,), frame, reference)
        assert_close(robot.jacobian(q, frame, reference), J, tolerance=TOLERANCE, what=reference)
        rate = there(peer, "jacobian_rate", (q, qd), frame, reference)
        scale = float(np.abs(J).max() * np.abs(qd).max())
        found = robot.jacobian_rate(q, qd, frame, reference)
        assert_close(found, rate, tolerance=TOLERANCE, scale=scale, what=reference)


@over_robots
def test_steps(name: str) -> None:
    robot, peer = pair(name)
    q, qd, _ = random_states(robot, STATES)
    end = robot.integrate(q, 0.5 * qd)
    assert_close(end, there(peer, "integrate", (q, 0.5 * qd)), tolerance=TOLERANCE)
    assert_close(robot.difference(q, end), there(peer, "difference", (q, end)), tolerance=TOLERANCE)


@pytest.mark.parametrize("name", ["g1", "go2"])
def test_large_batches(name: str) -> None:
    """Enough states to be compiled, where a compiler exists."""
    robot, peer = pair(name)
    state = random_states(robot, 1100)
    for function in ("inverse_dynamics", "forward_dynamics"):
        for _ in range(2):  # the first batch may be interpreted
            found = getattr(robot, function)(*state)
        few = tuple(array[::100] for array in state)
        condition = float(np.linalg.cond(robot.mass_matrix(few[0])).max()) if function == "forward_dynamics" else 1.0
        tolerance = max(TOLERANCE, condition * 2**-50)
        assert_close(found[::100], there(peer, function, few), tolerance=tolerance, what=function)
