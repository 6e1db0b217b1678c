"""Base parameters: their number from the structure and from the rank, their formulas, and robots made of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import mixed_tree
from helpers.random_trees import general_tree
from helpers.shared_data import shared
from helpers.states import random_states

import appell
from appell.identification.base import choose_columns, nominal_parameters
from appell.identification.reduced import base_robot
from appell.robot.regressor_terms import Coupling, CustomTerm, as_terms

FRICTION = ("rotor", "viscous", "coulomb", "offset")


def tx40():
    path = shared("data/tx40/tx40.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        return appell.check(path, fix=True)


def count_from_structure(robot) -> int:
    """Number of base inertial parameters of a serial arm of revolute joints whose first axis is vertical.

    Khalil and Dombre, Modeling, Identification and Control of Robots, chapter 9: of a link's ten parameters three are
    regrouped, so seven are left; of links that only turn about the first, vertical axis one moment of inertia is left.
    """
    axes = [robot.jacobian(robot.neutral_configuration() + 0.1, body)[3:] for body in robot.body_names]
    directions = axes[-1].T
    vertical = 0
    for direction in directions:
        if abs(abs(direction[2]) - 1.0) > 1e-9:
            break
        vertical += 1
    return vertical + 7 * (robot.nv - vertical)


def test_puma_has_the_36_of_the_literature():
    """36 inertial parameters: Mayeda, Yoshida and Osuka 1990 (PUMA 560), and the rule above."""
    robot = appell.load("puma560")
    base = appell.base_parameters(robot)
    assert len(base) == 36 == count_from_structure(robot)
    assert base.certificate.gap > 1e12
    assert base.formulas[1].startswith("mx[link2]* = mx[link2] + 0.432 m[link3] + 0.432 m[link4]")
    assert "m[link1]" in [base.names[i] for i in base.unidentifiable]


def test_tx40_has_36_40_and_61():
    """36 inertial; 4 of 6 rotors on their own (two join the first links' moments); 18 of friction and 3 of the coupling."""
    robot = tx40()
    assert count_from_structure(robot) == len(appell.base_parameters(robot)) == 36
    assert len(appell.base_parameters(robot, ["rotor"])) == 40
    base = appell.base_parameters(robot, (*FRICTION, Coupling(4, 5)))
    assert len(base) == 61 == base.certificate.rank
    assert base.certificate.gap > 1e9


@pytest.mark.parametrize(
    "robot", [general_tree(9, 3), mixed_tree(6, 2), appell.load("planar2r")], ids=["tree", "mixed", "planar"]
)
def test_base_parameters_give_the_same_torque(robot):
    base = appell.base_parameters(robot, ["rotor"])
    state = random_states(robot, 5)
    K = robot.regressor(*state, terms=["rotor"])
    own = nominal_parameters(robot, as_terms(["rotor"]))
    assert_close(K[..., list(base.independent)] @ base.of(own), robot.inverse_dynamics(*state), tolerance=1e-9)
    hidden = np.abs(K[..., list(base.independent)])[:, ~base.used]
    assert hidden.max(initial=0.0) < 1e-12
    assert len(base) == np.linalg.matrix_rank(base.B)
    assert sorted((*base.independent, *base.dependent, *base.unidentifiable)) == list(range(len(base.names)))


def test_a_spherical_parallel_robot_has_base_parameters():
    """Parameters that differ in nothing but what the base parameters leave out move the robot alike, all others do not."""
    robot = appell.load("agile_wrist")
    base = appell.base_parameters(robot)
    state = np.random.default_rng(0).uniform(-0.3, 0.3, (3, 5, 3))
    hidden = np.linalg.svd(base.B)[2][len(base) :]
    expected = robot.generalized_forces(*state)
    for direction in hidden[::7]:
        changed = robot.generalized_forces(*state, parameters=robot.parameters + 0.1 * direction)
        assert_close(changed, expected, tolerance=1e-11)
    for k in base.independent[::7]:
        changed = robot.generalized_forces(*state, parameters=robot.parameters + 0.1 * np.eye(70)[k])
        assert np.abs(changed - expected).max() > 1e-4
    assert len(base) == 33
    assert {"m[platform]", "m[leg3_link2]"} <= {base.names[i] for i in base.unidentifiable}
    assert appell.base_parameters(robot, ["viscous"]).names[70:] == ("fv[yaw]", "fv[pitch]", "fv[roll]")


def test_columns_that_differ_by_rounding_alone_do_not_count():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(200, 1, 3))
    K = np.concatenate([A, A[..., :1] * 2 + A[..., 1:2], 1e-17 * rng.normal(size=(200, 1, 1))], axis=-1)
    found = choose_columns(K, [3, 0, 1, 2, 4])
    assert found.independent == (0, 2, 3)
    assert found.zero == {4}
    assert_close(found.B[:, 1], [-2.0, 0.0, 1.0], tolerance=1e-9)


def test_an_unsure_rank_is_refused():
    """Columns that come closer to each other by a factor of a hundred each: no place to cut."""

    def nearing(q, qd, qdd):
        waves = [np.cos(k * q[:, :1]) for k in range(9)]
        return np.stack([waves[0] + 10.0 ** (-2 * k) * waves[k] for k in range(1, 9)], axis=-1) * np.eye(2)[:, :1]

    robot = appell.load("planar2r")
    columns = [CustomTerm(tuple("abcdefgh"), nearing)]
    with pytest.raises(appell.IdentificationError, match=r"uncertain: rank .* Expected a gap above 1e\+04"):
        appell.base_parameters(robot, columns)


@pytest.mark.parametrize("name", ["puma560", "tx40", "tree"])
def test_base_robot_moves_alike_and_needs_less(name):
    robot = {"puma560": lambda: appell.load("puma560"), "tx40": tx40, "tree": lambda: general_tree(9, 3)}[name]()
    base = base_robot(robot)
    state = random_states(robot, 4)
    assert_close(base.inverse_dynamics(*state), robot.inverse_dynamics(*state), tolerance=1e-9)
    assert_close(base.mass_matrix(state.q), robot.mass_matrix(state.q), tolerance=1e-9)
    written = appell.count_operations(robot, "inverse_dynamics")
    compiled = appell.count_operations(robot, "inverse_dynamics", compiled=True)
    own = base.operations("inverse_dynamics")
    assert own.mul + own.add < compiled.mul + compiled.add < written.mul + written.add
    assert base.numbers <= len(appell.base_parameters(robot))
