"""Mata 2002, table 5: single precision is really single, the methods are the methods, and the ranking is the paper's."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.random_trees import MOVING, general_tree, over

import appell
from appell.algorithms.registry import find
from appell.compiler.trace import flat
from appell.errors import AppellError
from appell_lab.reproduce import two_bodies
from appell_lab.reproduce.precision import all_of, lanes, rounded, rounded_tree
from appell_lab.reproduce.two_bodies import ANGLES, METHODS, Study, differences, gauss_jordan, heavier
from appell_lab.reproduce.walker_orin import central_bodies, mass_matrix


@pytest.fixture(scope="module")
def robot():
    return appell.load("mata_two_body")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_right_in_double_precision(robot, method):
    accelerations = np.stack(METHODS[method](Study.of(robot, np.float64)), axis=-1)
    q = np.stack([np.zeros_like(ANGLES), ANGLES], axis=-1)
    expected = robot.forward_dynamics(q, np.zeros_like(q), np.zeros_like(q))
    assert_close(accelerations, expected, tolerance=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_every_operation_stays_in_single_precision(robot, method):
    results = METHODS[method](Study.of(robot, np.float32))
    assert {result.dtype for result in results} == {np.dtype(np.float32)}


def test_an_operation_in_double_precision_is_noticed():
    with pytest.raises(AppellError, match="done in float64, expected float32"):
        all_of(np.float32, [np.zeros(3, np.float32), np.zeros(3)])


@pytest.mark.parametrize("function", ["inverse_dynamics", "mass_matrix", "bias"])
def test_any_tree_can_be_rounded(function):
    """All constants of a general tree, with turned axes, rotors and offsets, become single."""
    robot = appell.robots.random_tree(5, seed=3, kinds=("revolute", "prismatic"))
    quantity, _, algorithm = find(function)
    values = np.random.default_rng(0).normal(size=(3, robot.nv, 4))
    inputs = [lanes(np.float32, *each) for each in values[: len(quantity.inputs)]]
    single = list(flat(algorithm(rounded_tree(robot.tree, np.float32), *inputs)))
    double = flat(algorithm(robot.tree, *(list(each.astype(float)) for each in map(np.array, inputs))))
    assert {entry.dtype for entry in single if isinstance(entry, np.ndarray)} == {np.dtype(np.float32)}
    actual, expected = (np.stack([np.broadcast_to(x, 4).astype(float) for x in each]) for each in (single, double))
    assert_close(actual, expected, tolerance=2e-5)
    assert (actual != expected).any()


def test_zero_stays_a_plain_number():
    assert rounded(np.float64(0.0), np.float32) == 0.0
    assert type(rounded(np.float64(0.0), np.float32)) is float
    assert rounded(0.1, np.float32).dtype == np.float32


@over([general_tree(5, 1, MOVING), appell.load("puma560"), appell.load("mata_two_body")])
def test_composite_bodies_about_mass_centres_give_the_inertia_matrix(robot):
    q = np.random.default_rng(1).uniform(-2, 2, robot.nq)
    M = np.array(mass_matrix(robot.tree, central_bodies(robot.tree), q.tolist()))
    assert_close(M, robot.mass_matrix(q), tolerance=1e-13)


def test_gauss_jordan_solves():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(4, 4)) + 4 * np.eye(4)
    b = rng.normal(size=4)
    assert_close(np.array(gauss_jordan(A.tolist(), b.tolist())), np.linalg.solve(A, b), tolerance=1e-13)


def test_heavier_bodies_accelerate_alike(robot):
    q = [0.0, 0.7]
    still = [0.0, 0.0]
    other = heavier(robot, 1.7).forward_dynamics(q, still, still)
    assert_close(other, robot.forward_dynamics(q, still, still), tolerance=1e-11)


def test_ranking_of_the_paper_holds_for_all_roundings(robot):
    for factor in np.random.default_rng(0).uniform(1.0, 2.0, 10):
        found = differences(heavier(robot, float(factor)))
        assert found["ABA"].largest < 1e-3
        assert found["ABA"].largest < found["GA"].largest < found["CRBA"].largest
        assert 0.2 < found["GA"].largest < 1.6
        assert 0.6 < found["CRBA"].largest < 4.0
        for difference in found.values():
            assert abs(difference.signed) <= difference.mean <= difference.largest


def test_condition_number_of_figure_2(robot):
    """Worst where the bodies are in line, and that of M there."""
    condition = two_bodies.condition_numbers(robot)
    assert condition[-1] == pytest.approx(np.linalg.cond(robot.mass_matrix([0.0, 2 * np.pi])), rel=1e-9)
    assert condition.argmax() in (len(ANGLES) - 1, len(ANGLES) // 2 - 1)


def test_table_5_quotes_the_paper_and_explains():
    table = two_bodies.table_5()
    printed = {row[0]: row[1:3] for row in table.rows if "printed" in row[0]}
    assert printed["GA, printed"] == (0.534002, 0.0087611)
    assert [row[0] for row in table.rows if "printed" not in row[0]] == list(METHODS)
    notes = " ".join(table.notes)
    assert "ABA < GA < CRBA, as printed" in notes
    assert "10 kg" in notes
