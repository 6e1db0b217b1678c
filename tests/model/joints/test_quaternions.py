"""Quaternions that are not of unit length are refused by joint and index, wherever a call is checked."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import mixed_tree
from helpers.states import random_states

import appell
from appell.model.joints import KINDS
from appell.robot.robot import Robot


@pytest.fixture(scope="module")
def robot() -> Robot:
    """A floating body with a ball joint and a hinge."""
    builder = appell.RobotBuilder("flyer")
    for name in ("trunk", "arm", "hand"):
        builder.body(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25))
    builder.floating("base", "world", "trunk").revolute("hinge", "trunk", "arm", xyz=(0.1, 0, 0))
    return builder.spherical("wrist", "arm", "hand", xyz=(0, 0.3, 0)).build()


def stretched(q: np.ndarray, where: tuple, factor: float) -> np.ndarray:
    q = q.copy()
    q[where] *= factor
    return q


def message(index: str, joint: str, length: str) -> str:
    return rf"q\[{index}\], the quaternion of joint '{joint}', has length {length}, expected 1. Divide it"


@pytest.mark.parametrize("compiled", [False, True])
def test_the_joint_and_the_index_are_named(robot: Robot, compiled: bool) -> None:
    """By the interpreter, by native code on its first call, and by native code that is called directly."""
    answers = appell.compile(robot) if compiled else robot
    q, qd, qdd = random_states(robot, 6)
    for _ in range(3):
        with pytest.raises(appell.ArgumentError, match=message("3:7", "base", "1.001")):
            answers.inverse_dynamics(stretched(q[0], (slice(3, 7),), 1.001), qd[0], qdd[0])
        with pytest.raises(appell.ArgumentError, match=message("4, 8:12", "wrist", "0.5")):
            answers.gravity(stretched(q, (4, slice(8, 12)), 0.5))
        with pytest.raises(appell.ArgumentError, match=message("1, 2, 3:7", "base", "0")):
            answers.mass_matrix(stretched(q.reshape(2, 3, -1), (1, 2, slice(3, 7)), 0.0))
        answers.inverse_dynamics(q[0], qd[0], qdd[0])
        answers.gravity(q)


@pytest.mark.parametrize("compiled", [False, True])
def test_check_false_looks_at_nothing(robot: Robot, compiled: bool) -> None:
    answers = appell.compile(robot) if compiled else robot
    q = stretched(random_states(robot, 5).q, (2, slice(3, 7)), 1.1)
    for _ in range(2):
        assert np.isfinite(answers.gravity(q, check=False)).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_six_digits_are_enough(robot: Robot, dtype: str) -> None:
    dyn = appell.compile(robot, dtype=dtype)
    q = random_states(robot, 5).q.astype(dtype)
    for _ in range(2):
        dyn.gravity(stretched(q, (slice(None), slice(3, 7)), 1 + 5e-7))
        for factor in (1 - 3e-6, 1 + 3e-6):
            with pytest.raises(appell.ArgumentError, match="quaternion of joint 'base'"):
                dyn.gravity(stretched(q, (3, slice(3, 7)), factor))
            with pytest.raises(appell.ArgumentError, match="quaternion of joint 'base'"):
                dyn.gravity(stretched(q[3], (slice(3, 7),), factor))


def test_columns(robot: Robot) -> None:
    dyn = appell.compile(robot, layout="columns")
    q = random_states(robot, 5).q
    for _ in range(2):
        assert_close(dyn.gravity(q.T).T, robot.gravity(q), tolerance=1e-13)
        with pytest.raises(appell.ArgumentError, match=message("4, 8:12", "wrist", "0.5")):
            dyn.gravity(stretched(q, (4, slice(8, 12)), 0.5).T)


def test_numbers_that_are_not_finite_are_told_as_such(robot: Robot) -> None:
    dyn = appell.compile(robot)
    q = random_states(robot, 3).q
    for value in (np.nan, np.inf):
        bad = q.copy()
        bad[1, 4] = value
        for answers in (robot, dyn, dyn):
            with pytest.raises(appell.ArgumentError, match=rf"q\[\(1, 4\)\] is {value}, expected a finite number"):
                answers.gravity(bad)


def test_zeros_are_no_configuration(robot: Robot) -> None:
    """The mistake of all beginners."""
    zeros = np.zeros(robot.nq)
    for call in (
        lambda: robot.center_of_mass(zeros),
        lambda: robot.pose(zeros, "hand"),
        lambda: robot.integrate(zeros, np.zeros(robot.nv)),
        lambda: robot.difference(robot.neutral_configuration(), zeros),
        lambda: robot.to_mujoco(zeros, np.zeros(robot.nv)),
    ):
        with pytest.raises(
            appell.ArgumentError, match=r"joint 'base', has length 0, expected 1.*neutral_configuration"
        ):
            call()


def test_robots_without_quaternions_are_not_looked_at() -> None:
    assert appell.load("puma560").tree.quaternions == ()
    names = {joint.name for joint in mixed_tree(9, 3).joints if joint.kind in ("floating", "spherical")}
    assert {name for name, _ in mixed_tree(9, 3).tree.quaternions} == names


@pytest.mark.parametrize(
    ("angle", "tolerance"), [(2e-4, 2e-15), (9e-4, 2e-15), (1.1e-3, 1e-13), (0.3, 2e-15), (2.0, 2e-15)]
)
def test_a_twist_in_two_halves_is_the_twist(angle, tolerance):
    """A constant body twist for one second, or for half of it twice. The series for small angles needs its second term; where
    it is not used, 1 - cos θ loses digits."""
    joint = KINDS["floating"]
    rng = np.random.default_rng(3)
    axis = rng.normal(size=3)
    dv = np.concatenate([rng.normal(size=3), angle * axis / np.linalg.norm(axis)])
    q = joint.random(rng, -1.0, 1.0)
    whole, halves = joint.integrate(q, dv), joint.integrate(joint.integrate(q, 0.5 * dv), 0.5 * dv)
    np.testing.assert_allclose(whole, halves, rtol=0.0, atol=tolerance)
    np.testing.assert_allclose(joint.difference(q, whole), dv, rtol=0.0, atol=3.0 * tolerance)
