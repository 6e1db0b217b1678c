"""tau = K Φ: the regressor against inverse dynamics, another library, and its own columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import mixed_tree
from helpers.random_trees import SMALL_TREES, over
from helpers.shared_data import shared
from helpers.states import random_states

import appell
from appell.model.parameters import PER_LINK
from appell.robot.regressor_terms import Coupling, CustomTerm, Rotor


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
    block = robot.regressor(*state, terms=["rotor"])[..., -robot.nv :]
    assert_close(
        robot.regressor(*state)[..., links:] @ np.array(armatures),
        block @ Rotor().nominal_values(robot),
        tolerance=1e-13,
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
    expected = robot.inverse_dynamics(*state) - state.qdd * Rotor().nominal_values(robot)
    assert_close(robot.regressor(*state) @ robot.parameters, expected, tolerance=1e-12)


def test_friction_columns_are_the_passive_forces():
    robot = SMALL_TREES[4]
    state = random_states(robot, 5)
    from dataclasses import replace

    joints = tuple(replace(joint, damping=0.3, friction=0.7) for joint in robot.joints)
    lossy = replace(robot, joints=joints)
    K = lossy.regressor(*state, terms=("viscous", "coulomb"))[..., -2 * robot.nv :]
    from appell.robot.regressor_terms import Coulomb, Viscous

    own = np.concatenate([Viscous().nominal_values(lossy), Coulomb().nominal_values(lossy)])
    assert_close(K @ own, -lossy.passive_forces(state.qd))


def test_blocks_of_ones_own_and_their_errors():
    robot = appell.load("puma560")
    state = random_states(robot, 3)
    K = robot.regressor(*state, terms=["offset", Coupling(4, 5)])
    assert K.shape == (3, 6, 69)
    assert_close(K[:, 4, -3], state.qdd[:, 5])
    assert_close(K[:, 5, -2], state.qd[:, 4])
    assert_close(K[:, 5, -1], np.sign(state.qd[:, 4] + state.qd[:, 5]))
    assert not K[:, :4, -3:].any()
    out = np.full((3, 6, 66), np.nan)
    assert robot.regressor(*state, terms="offset", out=out) is out
    assert np.isfinite(out).all()
    with pytest.raises(appell.ArgumentError, match=r"unknown term 'colomb'. Did you mean 'coulomb'"):
        robot.regressor(*state, terms=["colomb"])
    with pytest.raises(appell.ArgumentError, match=r"have shape \(3, 6\), expected \(3, 6, 1\)"):
        robot.regressor(*state, terms=[CustomTerm(("k",), lambda q, qd, qdd: q)])


def test_gravity_is_an_option():
    robot = appell.load("puma560")
    state = random_states(robot, 3)
    g = (1.0, 2.0, 3.0)
    assert_close(robot.regressor(*state, gravity=g) @ robot.parameters, robot.inverse_dynamics(*state, gravity=g))


def closed_states(name: str, count: int = 3):
    """A robot with closed loops, states of it, and parameters that are not its own."""
    robot, rng = appell.load(name), np.random.default_rng(0)
    q = robot.random_configurations(count, rng)
    return robot, (q, *rng.normal(size=(2, count, robot.nv))), rng.normal(size=len(robot.parameters))


@pytest.mark.parametrize("name", ["four_bar", "delta", "stewart", "agile_wrist"])
def test_closed_loops(name):
    """Every column: against the forces of actuators, and in the generalised regressor against those on the speeds."""
    robot, state, parameters = closed_states(name)
    K, of_speeds = robot.regressor(*state), robot.generalized_regressor(*state)
    assert K.shape == (3, len(robot.actuator_names), len(parameters))
    assert of_speeds.shape == (3, robot.nv, len(parameters))
    for each in (robot.parameters, parameters):
        tau, forces = (
            function(*state, parameters=each) for function in (robot.inverse_dynamics, robot.generalized_forces)
        )
        assert_close(K @ each, tau, tolerance=1e-11, scale=np.abs(tau).max())
        assert_close(of_speeds @ each, forces, tolerance=1e-11, scale=np.abs(forces).max())


def test_rotors_of_closed_loops_are_parameters():
    robot = appell.load("five_bar")
    joints = tuple(replace(joint, rotor_inertia=1e-4, gear_ratio=50.0) for joint in robot.spanning_tree.joints)
    geared = replace(robot, spanning_tree=replace(robot.spanning_tree, joints=joints))
    speeds = np.random.default_rng(0).normal(size=(2, robot.nv))
    K = geared.regressor(robot.reference_configuration, *speeds)
    assert K.shape[-1] == len(robot.parameters) + geared.rotors
    assert_close(
        K @ geared.parameters, geared.inverse_dynamics(robot.reference_configuration, *speeds), tolerance=1e-12
    )
    assert geared.regressor(robot.reference_configuration, *speeds, terms="offset").shape == (
        2,
        len(robot.parameters) + 2,
    )


@pytest.mark.parametrize("name", ["five_bar", "agile_wrist"])
def test_columns_of_closed_loops_are_balanced_by_the_actuators(name):
    robot, state, _ = closed_states(name)
    K, of_speeds = (function(*state, terms=["viscous"]) for function in (robot.regressor, robot.generalized_regressor))
    assert of_speeds.shape == (3, robot.nv, len(robot.parameters) + robot.nv)
    assert_close(np.swapaxes(robot.actuator_jacobian(state[0]), 1, 2) @ K, of_speeds, tolerance=1e-11)
    out = np.empty_like(K)
    assert robot.regressor(*state, terms=["viscous"], out=out) is out
    with pytest.raises(appell.ArgumentError, match="needs states as rows"):
        appell.compile(robot, layout="columns").regressor(*(each.T for each in state), terms=["offset"])


def test_redundant_actuators_share_and_few_are_told():
    """Two actuators of one degree of freedom: the shortest forces. None: what is asked for instead is named."""
    robot = appell.load("four_bar")
    both = appell.close_loops(
        robot.spanning_tree,
        robot.closures,
        actuated=robot.joint_names[:2],
        independent_velocities=["crank"],
        q=robot.reference_configuration,
    )
    K = both.regressor(both.reference_configuration, [0.3], [1.0])
    assert K.shape[0] == 2
    assert_close(
        K @ both.parameters, both.inverse_dynamics(both.reference_configuration, [0.3], [1.0]), tolerance=1e-12
    )
    passive = appell.close_loops(
        robot.spanning_tree,
        robot.closures,
        actuated=[],
        independent_velocities=["crank"],
        q=robot.reference_configuration,
    )
    with pytest.raises(appell.ModelError, match=r"0 actuators .* `generalized_regressor`"):
        passive.regressor(passive.reference_configuration, [0.3], [1.0])
    assert passive.generalized_regressor(passive.reference_configuration, [0.3], [1.0]).shape == (
        1,
        len(robot.parameters),
    )
    assert len(appell.base_parameters(passive)) == len(appell.base_parameters(robot))


def test_base_parameters_of_closed_loops():
    robot = appell.load("five_bar")
    base = appell.base_parameters(robot, ["viscous"])
    assert 0 < len(base) < len(robot.parameters)
    assert base.certificate.gap > 1e9


def test_columns_need_states_as_rows():
    dyn = appell.compile(appell.load("planar2r"), layout="columns")
    with pytest.raises(appell.ArgumentError, match="needs states as rows"):
        dyn.regressor(*np.zeros((3, 2, 5)), terms=["offset"])
