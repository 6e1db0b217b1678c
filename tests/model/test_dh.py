"""Denavit-Hartenberg tables in their conventions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.shared_data import reference

import appell

RIGHT = math.pi / 2


def Rx(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def Rz(angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


def T(x: float = 0.0, z: float = 0.0) -> np.ndarray:
    matrix = np.eye(4)
    matrix[0, 3], matrix[2, 3] = x, z
    return matrix


PRODUCTS = {
    "modified": lambda alpha, a, d, theta: Rx(alpha) @ T(x=a) @ Rz(theta) @ T(z=d),
    "standard": lambda alpha, a, d, theta: Rz(theta) @ T(z=d) @ T(x=a) @ Rx(alpha),
    "valera2003": lambda alpha, a, d, theta: Rx(alpha) @ T(x=a) @ Rz(theta) @ T(z=-d),
}
"""The conventions written as products of elementary transformations."""


@pytest.mark.parametrize("convention", PRODUCTS)
def test_link_frames_are_those_of_the_table(convention):
    """T_i of every row, with q added to theta (R) or moving the origin along +z of its axis (P)."""
    rng = np.random.default_rng(4)
    joints = "RPRRPR"
    alpha, theta = rng.uniform(-3, 3, (2, 6))
    a, d = rng.uniform(-0.5, 0.5, (2, 6))
    q = rng.uniform(-2, 2, 6)
    robot = appell.Robot.from_dh(alpha, a, d, theta, joints=joints, convention=convention)
    expected = np.eye(4)
    for i, kind in enumerate(joints):
        turn, slide = (q[i], 0.0) if kind == "R" else (0.0, q[i])
        along = -slide if convention == "valera2003" else slide  # its d counts along -z
        expected = expected @ PRODUCTS[convention](alpha[i], a[i], d[i] + along, theta[i] + turn)
        assert_close(robot.pose(q, f"link{i + 1}"), expected, scale=1.0, tolerance=1e-14, what=f"link{i + 1}")


def test_origins_as_printed():
    """modified [a, -d sin alpha, d cos alpha]; valera2003 the opposite sign of d (Valera 2003, section 2)."""
    alpha, a, d = 0.3, 0.1, 0.7
    for convention, sign in (("modified", 1.0), ("valera2003", -1.0)):
        origin = appell.Robot.from_dh([alpha], [a], [d], convention=convention).joint("joint1").origin
        assert_close(np.array(origin.xyz), np.array([a, -sign * d * math.sin(alpha), sign * d * math.cos(alpha)]))


def test_right_angles_stay_exact():
    robot = appell.Robot.from_dh([RIGHT, -RIGHT, math.pi], [0.1, 0, 0], [0.2, 0.3, 0], theta=[RIGHT, 0, -RIGHT])
    for joint in robot.joints:
        assert set(np.abs(joint.origin.rotation).ravel()) == {0.0, 1.0}
    assert robot.joint("joint1").origin.xyz == (0.1, -0.2, 0.0)


def test_two_conventions_of_one_robot_have_the_same_dynamics():
    """A planar arm: standard frames sit at the far ends of the links, modified ones at the joints."""
    length, com, inertia = 0.5, 0.2, [np.diag([0.01, 0.02, 0.03])] * 2
    near = appell.Robot.from_dh(
        [0, 0], [0, length], [0, 0], mass=[1, 2], com=[(com, 0, 0)] * 2, inertia=inertia, gravity=(0, -9.81, 0)
    )
    far = appell.Robot.from_dh(
        [0, 0], [length] * 2, [0, 0], mass=[1, 2], com=[(com - length, 0, 0)] * 2, inertia=inertia,
        convention="standard", gravity=(0, -9.81, 0),
    )  # fmt: skip
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    assert_close(far.inverse_dynamics(q, qd, qdd), near.inverse_dynamics(q, qd, qdd))
    assert far.joint_names == near.joint_names == ("joint1", "joint2")


@pytest.mark.parametrize("form", ["tensor", "six"])
def test_inertia_forms(form):
    tensor = np.array([[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]])
    inertia = [tensor] if form == "tensor" else [[0.3, 0.01, 0.02, 0.4, 0.03, 0.5]]
    robot = appell.Robot.from_dh([0], [0], [0], mass=[1], com=[(0.1, 0, 0)], inertia=inertia)
    assert robot.body("link1").inertia == (0.3, 0.01, 0.02, 0.4, 0.03, 0.5)


def test_names():
    robot = appell.Robot.from_dh([0, 0], [0, 1], [0, 0], names=["shoulder", "elbow"], name="arm")
    assert robot.name == "arm"
    assert robot.joint_names == ("shoulder", "elbow")
    assert robot.body_names == ("base", "link1", "link2")


def test_without_masses_only_the_kinematics_are_promised():
    robot = appell.Robot.from_dh([0, RIGHT], [0, 1], [0, 0])
    assert robot.pose([0.0, 0.0], "link2")[0, 3] == 1.0
    assert [problem.kind for problem in appell.check(robot)] == ["singular", "singular"]


def test_random_chains_of_the_reference():
    """Revolute and mixed chains in Valera's convention: torques, inertia matrix and bias made by other programs."""
    cases = reference("random_chains")["chains"]
    assert cases
    assert {kind for case in cases for kind in case["chain"]["type"]} == {"R", "P"}
    for case in cases:
        chain = case["chain"]
        robot = appell.Robot.from_dh(
            chain["alpha"], chain["a"], chain["d"], chain["theta"], chain["m"], chain["r"], chain["I"],
            joints="".join(chain["type"]), convention="valera2003",
        )  # fmt: skip
        for state in case["states"]:
            tau = robot.inverse_dynamics(state["q"], state["qd"], state["qdd"])
            assert_close(tau, np.array(state["tau"]), tolerance=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"convention": "craig"}, "unknown convention 'craig'. Valid: modified, standard, valera2003"),
        ({"a": [0.0]}, r"a has shape \(1,\), expected \(2,\)"),
        ({"d": [0.0, math.nan]}, r"d\[1\] is nan, expected a finite number"),
        ({"theta": ["x", 0]}, "theta is .*, expected real numbers"),
        ({"joints": "RS"}, "joints is 'RS', expected 2 letters R .revolute. or P .prismatic."),
        ({"joints": "R"}, "joints is 'R', expected 2 letters"),
        ({"names": ["one"]}, "names has 1 entries, expected 2"),
        ({"mass": [1.0]}, r"mass has shape \(1,\), expected \(2,\)"),
        ({"mass": [1, 1], "com": [0, 0, 0]}, r"com has shape \(3,\), expected \(2, 3\)"),
        ({"mass": [1, 1], "inertia": [np.eye(3)]}, r"inertia has shape \(1, 3, 3\), expected \(2, 3, 3\)"),
        ({"mass": [1, 1], "inertia": [np.eye(3), np.triu(np.ones((3, 3)))]}, r"inertia\[1\] is not symmetric"),
    ],
)
def test_wrong_tables_are_refused(change, message):
    table = {"alpha": [0.0, 0.0], "a": [0.0, 1.0], "d": [0.0, 0.0], **change}
    with pytest.raises(appell.ArgumentError, match=message):
        appell.Robot.from_dh(**table)


def test_negative_mass_is_a_model_error():
    with pytest.raises(appell.ModelError, match="link 'link1': mass is -1 kg"):
        appell.Robot.from_dh([0], [0], [0], mass=[-1], com=[(0.1, 0, 0)], inertia=[np.eye(3)])
