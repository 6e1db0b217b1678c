"""tau = K Φ: the regressor against inverse dynamics, another library, and its own columns."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import SMALL_TREES, assert_close, over, random_states, shared
from joint_trees import mixed_tree

import appell
from appell.identification.columns import Columns, Coupling, Rotor
from appell.model.parameters import PER_LINK


@over([*SMALL_TREES, mixed_tree(7, 3)])
def test_times_any_parameters_is_the_torque(robot):
    """Not only the robot's own parameters: every column is checked, those of rotors, too."""
    state = random_states(robot, 3)
    K = robot.regressor(*state)
    for parameters in (robot.parameters, np.random.default_rng(1).normal(size=K.shape[-1])):
        assert_close(K @ parameters, robot.inverse_dynamics(*state, parameters=parameters), tolerance=1e-12)
    assert_close(K @ robot.parameters, robot.inverse_dynamics(*state), tolerance=1e-12)


@over(SMALL_TREES)
def test_rotors_come_behind_the_links(robot):
    links, state = PER_LINK * len(robot.tree.links), random_states(robot, 3)
    armatures = [link.armature for link in robot.tree.links if link.armature]
    assert robot.parameters[links:].tolist() == armatures
    block = robot.regressor(*state, columns=["rotor"])[..., -robot.nv :]
    assert_close(
        robot.regressor(*state)[..., links:] @ np.array(armatures), block @ Rotor().own(robot), tolerance=1e-13
    )


def test_pinocchio_has_the_same_columns():
    """Its order of the ten parameters is ours; the arm's joints are in file order in both."""
    pin = pytest.importorskip("pinocchio")
    path = shared("robots/ur5.urdf")
    robot, model = appell.load(path), pin.buildModelFromUrdf(str(path))
    data, state = model.createData(), random_states(robot, 4)
    K = robot.regressor(*state)
    for i in range(4):
        expected = pin.computeJointTorqueRegressor(model, data, *(x[i] for x in state))
        assert_close(K[i], np.array(expected), tolerance=1e-12)


def test_floating_base():
    robot = appell.load(shared("robots/solo12.urdf"), base="floating")
    state = random_states(robot, 2)
    expected = robot.inverse_dynamics(*state) - state.qdd * Rotor().own(robot)
    assert_close(robot.regressor(*state) @ robot.parameters, expected, tolerance=1e-12)


def test_friction_columns_are_the_passive_forces():
    robot = SMALL_TREES[4]
    state = random_states(robot, 5)
    from dataclasses import replace

    joints = tuple(replace(joint, damping=0.3, friction=0.7) for joint in robot.joints)
    lossy = replace(robot, joints=joints)
    K = lossy.regressor(*state, columns=("viscous", "coulomb"))[..., -2 * robot.nv :]
    from appell.identification.columns import Coulomb, Viscous

    own = np.concatenate([Viscous().own(lossy), Coulomb().own(lossy)])
    assert_close(K @ own, -lossy.passive_forces(state.qd))


def test_blocks_of_ones_own_and_their_errors():
    robot = appell.load("puma560")
    state = random_states(robot, 3)
    K = robot.regressor(*state, columns=["offset", Coupling(4, 5)])
    assert K.shape == (3, 6, 69)
    assert_close(K[:, 4, -3], state.qdd[:, 5])
    assert_close(K[:, 5, -2], state.qd[:, 4])
    assert_close(K[:, 5, -1], np.sign(state.qd[:, 4] + state.qd[:, 5]))
    assert not K[:, :4, -3:].any()
    out = np.full((3, 6, 66), np.nan)
    assert robot.regressor(*state, columns="offset", out=out) is out
    assert np.isfinite(out).all()
    with pytest.raises(appell.ArgumentError, match=r"unknown columns 'colomb'. Did you mean 'coulomb'"):
        robot.regressor(*state, columns=["colomb"])
    with pytest.raises(appell.ArgumentError, match=r"have shape \(3, 6\), expected \(3, 6, 1\)"):
        robot.regressor(*state, columns=[Columns(("k",), lambda q, qd, qdd: q)])


def test_gravity_is_an_option():
    robot = appell.load("puma560")
    state = random_states(robot, 3)
    g = (1.0, 2.0, 3.0)
    assert_close(robot.regressor(*state, gravity=g) @ robot.parameters, robot.inverse_dynamics(*state, gravity=g))


def test_closed_loops():
    """G^T K: every column against generalised forces with those parameters."""
    robot = appell.load("five_bar")
    rng = np.random.default_rng(0)
    speeds, parameters = rng.normal(size=(2, robot.nv)), rng.normal(size=len(robot.parameters))
    expected = robot.generalized_forces(robot.reference, *speeds, parameters=parameters)
    assert_close(robot.regressor(robot.reference, *speeds) @ parameters, expected, tolerance=1e-12)
    assert robot.regressor(robot.reference, *speeds, columns=["viscous"]).shape == (2, len(parameters) + 2)
    base = appell.base_parameters(robot, ["viscous"])
    assert 0 < len(base) < len(parameters)
    assert base.certificate.gap > 1e9


def test_columns_need_states_as_rows():
    dyn = appell.compile(appell.load("planar2r"), layout="columns")
    with pytest.raises(appell.ArgumentError, match="need states as rows"):
        dyn.regressor(*np.zeros((3, 2, 5)), columns=["offset"])
