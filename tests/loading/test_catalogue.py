"""Built-in robots."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.shared_data import reference

import appell


@pytest.mark.parametrize("name", appell.robots.names())
def test_every_name_loads_without_defects(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = appell.load(name)
    assert robot.name == name
    assert appell.check(name).ok
    assert appell.load(name) == robot == appell.robots.build(name)


def test_names_of_the_issue_are_there():
    assert {"puma560", "mata_two_body", "planar2r"} <= set(appell.robots.names())


def test_puma_agrees_with_the_reference_states():
    robot = appell.load("puma560")
    states = reference("puma_states")["states"]
    assert states
    for state in states:
        q, qd, qdd = state["q"], state["qd"], state["qdd"]
        assert_close(robot.inverse_dynamics(q, qd, qdd), np.array(state["tau"]), tolerance=1e-12)
        assert_close(robot.bias(q, qd), np.array(state["bias"]), tolerance=1e-12)
        assert_close(robot.gravity(q), np.array(state["gravity"]), tolerance=1e-12)
        assert_close(robot.mass_matrix(q), np.array(state["M"]), tolerance=1e-12)


def test_puma_link_frames_fit_its_mass_centres():
    """O3 stands beside G2 and O4 beside G3, which fixes the sign of d (errata of Valera 2003)."""
    robot = appell.load("puma560")
    assert robot.joint("joint3").origin.xyz == (0.432, 0.0, 0.15)
    assert_close(np.array(robot.joint("joint4").origin.xyz), np.array([-0.02, -0.433, 0.0]))


def test_mata_two_body_is_the_system_of_section_5_1():
    robot = appell.load("mata_two_body")
    first, second = robot.body("link1"), robot.body("link2")
    assert (first.mass, second.mass) == (0.1, 10.0)
    assert first.inertia[5] == pytest.approx(0.1 * (0.02**2 + 0.02**2) / 12)
    assert second.inertia[5] == pytest.approx(10.0 * (2.0**2 + 0.02**2) / 12)
    assert robot.joint("joint2").origin.xyz == (0.02, 0.0, 0.0)
    # Hanging mass: at q = 0 both bars lie along x and gravity pulls along -y.
    expected = [9.81 * (0.1 * 0.01 + 10.0 * 1.02), 9.81 * 10.0 * 1.0]
    assert_close(robot.gravity([0.0, 0.0]), np.array(expected))


def test_planar2r_is_the_textbook_arm():
    """M of the 2R arm: a + 2 b cos q2, d + b cos q2, d with a = m l²(1/4 + 1/4 + 1) + 2 I, b = m l²/2, d = m l²/4 + I."""
    robot = appell.load("planar2r")
    inertia = robot.body("link1").inertia[5]
    for q2 in (0.0, 0.7, -2.0):
        a, b, d = 1.5 + 2 * inertia, 0.5 * np.cos(q2), 0.25 + inertia
        assert_close(robot.mass_matrix([0.3, q2]), np.array([[a + 2 * b, d + b], [d + b, d]]))


def test_unknown_name():
    with pytest.raises(appell.ArgumentError, match=r"unknown built-in robot 'puma'. Did you mean 'puma560'"):
        appell.robots.build("puma")


def test_random_robots_of_unknown_kinds_are_refused():
    with pytest.raises(appell.ArgumentError, match=r"unknown joint kind 'hinge'. Valid: revolute"):
        appell.robots.random_tree(3, kinds=["hinge"])
    with pytest.raises(appell.ArgumentError, match="n is -1"):
        appell.robots.random_chain(-1)


def test_random_robots_are_seeded_and_sound():
    assert appell.robots.random_tree(20, seed=1) == appell.robots.random_tree(20, seed=1)
    assert appell.robots.random_tree(20, seed=1) != appell.robots.random_tree(20, seed=2)
    for seed in range(5):
        assert appell.check(appell.robots.random_tree(25, seed=seed)).ok
        assert appell.check(appell.robots.random_chain(25, seed=seed)).ok
    kinds = {joint.kind for joint in appell.robots.random_tree(40, seed=0).joints}
    assert kinds == {"revolute", "continuous", "prismatic", "fixed"}
