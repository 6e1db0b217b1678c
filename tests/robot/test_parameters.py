"""Inertial parameters as inputs: payloads, identification, batches of different robots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.random_trees import SMALL_TREES, general_tree, over
from helpers.states import random_states

import appell
from appell.errors import ArgumentError
from appell.model.parameters import parameters, with_parameters

ROBOT = general_tree(6, 41, ("revolute", "prismatic"))


@pytest.fixture(scope="module")
def dyn():
    return appell.compile(ROBOT, parameters="runtime")


def random_parameters(robot, count: int) -> np.ndarray:
    """Parameters near the robot's own, so that M stays positive definite."""
    rng = np.random.default_rng(9)
    return robot.parameters * rng.uniform(0.9, 1.1, (count, 1)) + 0.0


@over(SMALL_TREES)
def test_parameters_are_the_mass_properties_of_the_bodies(robot):
    """Masses and first moments of each link's bodies, at the origin of the body that the joint carries."""
    ten = robot.parameters[: 10 * len(robot.tree.links)].reshape(-1, 10)
    assert ten.shape[0] == len(robot.tree.links)
    for row, link in zip(ten, robot.tree.links, strict=True):
        alone = [body for body in robot.bodies if _carrier(robot, body.name) == link.body]
        assert_close(row[0], sum(body.mass for body in alone), tolerance=1e-14)
        if len(alone) == 1:
            (body,) = alone
            c = np.array(body.com)
            Ixx, Ixy, Ixz, Iyy, Iyz, Izz = body.inertia
            about_com = np.array([[Ixx, Ixy, Ixz], [Ixy, Iyy, Iyz], [Ixz, Iyz, Izz]])
            origin = about_com + body.mass * (c @ c * np.eye(3) - np.outer(c, c))  # parallel axes
            assert_close(row[1:4], body.mass * c, tolerance=1e-13)
            assert_close(row[4:], origin[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]], tolerance=1e-13)


def test_parameters_are_at_the_origins_of_bodies_wherever_link_frames_are():
    """Axes that meet beside the bodies' origins: link frames move there along their axes, parameters do not."""
    builder = appell.RobotBuilder("meeting")
    for name in ("one", "two", "three"):
        builder = builder.body(name, mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.5, 0.6, 0.7))
    robot = (
        builder.revolute("a", parent="world", child="one", axis="z", xyz=(0.0, 0.0, 0.2))
        .revolute("b", parent="one", child="two", axis="z", xyz=(0.0, 0.0, 0.3), rpy=(np.pi / 2, 0.0, 0.0))
        .revolute("c", parent="two", child="three", axis="z", xyz=(0.0, 0.4, 0.0), rpy=(-np.pi / 2, 0.0, 0.0))
        .build()
    )
    assert any(abs(robot.tree.frames[link.body].p.z) > 0.1 for link in robot.tree.links)
    central, c = np.diag([0.5, 0.6, 0.7]), np.array([0.1, 0.2, 0.3])
    origin = central + 2.0 * (c @ c * np.eye(3) - np.outer(c, c))
    expected = np.array([2.0, *(2.0 * c), *origin[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])
    assert_close(robot.parameters, np.tile(expected, 3), tolerance=1e-13)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 4, 3))
    assert_close(robot.regressor(q, qd, qdd) @ robot.parameters, robot.inverse_dynamics(q, qd, qdd), tolerance=1e-12)
    changed = robot.parameters * np.repeat([1.1, 1.2, 1.3], 10)
    heavier = replace(robot, bodies=tuple(scaled(body) for body in robot.bodies))
    assert_close(heavier.parameters, changed, tolerance=1e-13)
    found = robot.inverse_dynamics(q, qd, qdd, parameters=changed)
    assert_close(found, heavier.inverse_dynamics(q, qd, qdd), tolerance=1e-12)


def scaled(body):
    factor = {"one": 1.1, "two": 1.2, "three": 1.3}.get(body.name, 1.0)
    return replace(body, mass=factor * body.mass, inertia=tuple(factor * entry for entry in body.inertia))


def _carrier(robot, name: str) -> str:
    """The body of a moving joint that this body is fixed to."""
    above = {joint.child: joint for joint in robot.joints}
    while name in above and above[name].kind == "fixed":
        name = above[name].parent
    return name


@over(SMALL_TREES)
def test_parameters_make_the_same_robot(robot):
    q, qd, qdd = random_states(robot, 3)
    twin = robot.tree
    assert_close(
        np.array(parameters(with_parameters(twin, robot.parameters.tolist()))), robot.parameters, tolerance=1e-13
    )
    expected = robot.inverse_dynamics(q, qd, qdd)
    assert_close(robot.inverse_dynamics(q, qd, qdd, parameters=robot.parameters), expected, tolerance=1e-12)


FUNCTIONS = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "bias": 2, "gravity": 1, "coriolis_matrix": 2,
    "kinetic_energy": 2, "potential_energy": 1, "gibbs_function": 3, "center_of_mass": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_defaults_are_the_robots_own(dyn, name):
    state = random_states(ROBOT, 5)[: FUNCTIONS[name]]
    expected = getattr(ROBOT, name)(*state)
    assert_close(getattr(dyn, name)(*state), expected, tolerance=1e-11, what=name)
    assert_close(getattr(dyn, name)(*(each[2] for each in state)), expected[2], tolerance=1e-11, what=name)


def test_a_batch_of_different_robots(dyn):
    q, qd, qdd = random_states(ROBOT, 9)
    different = random_parameters(ROBOT, 9)
    result = dyn.inverse_dynamics(q, qd, qdd, parameters=different)
    for i in range(9):
        assert_close(result[i], ROBOT.inverse_dynamics(q[i], qd[i], qdd[i], parameters=different[i]), tolerance=1e-12)


def test_a_payload(dyn):
    """More mass on the last body gives the forces of a robot that was described with it."""
    last = ROBOT.tree.links[-1]
    heavier = replace(
        ROBOT,
        bodies=tuple(replace(body, mass=body.mass + 2.0) if body.name == last.body else body for body in ROBOT.bodies),
    )
    q, qd, qdd = random_states(ROBOT, 6)
    assert_close(
        dyn.inverse_dynamics(q, qd, qdd, parameters=heavier.parameters),
        heavier.inverse_dynamics(q, qd, qdd),
        tolerance=1e-12,
    )


def test_forces_are_linear_in_the_parameters(dyn):
    q, qd, qdd = random_states(ROBOT, 4)
    rng = np.random.default_rng(10)
    a, b = rng.normal(size=(2, len(ROBOT.parameters)))
    ours = dyn.inverse_dynamics(q, qd, qdd, parameters=a + b)
    parts = (dyn.inverse_dynamics(q, qd, qdd, parameters=each) for each in (a, b))
    assert_close(ours, sum(parts), tolerance=1e-12)


def test_kinematics_do_not_take_them(dyn):
    frame = ROBOT.body_names[-1]
    q = random_states(ROBOT, 2).q
    np.testing.assert_allclose(dyn.pose(q, frame), ROBOT.pose(q, frame), rtol=0, atol=1e-14)


def test_too_few_parameters(dyn):
    with pytest.raises(ArgumentError, match="parameters has shape"):
        dyn.gravity(np.zeros(ROBOT.nq), parameters=np.zeros(7))
