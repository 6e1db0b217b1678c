"""The nearest physically consistent robot."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import appell
from appell.model.body import Body, inertia_tensors
from appell.model.check.mass import second_moments
from appell.model.check.repair import MIN_MASS, nearest_body
from appell.model.joint import Joint, Limits
from appell.robot.robot import Robot


def repaired(robot):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = appell.check(robot, fix=True)
    return result, [str(warning.message) for warning in caught]


def arm(body: Body, **joint) -> Robot:
    return Robot("arm", (Body("base"), body), (Joint("j", "revolute", "base", body.name, **joint),))


def pseudo(body: Body) -> np.ndarray:
    """Σ and m seen from the mass centre, the blocks of the pseudo-inertia."""
    P = np.zeros((4, 4))
    P[:3, :3] = second_moments(inertia_tensors((body,))[0])
    P[3, 3] = body.mass
    return P


def test_a_sound_robot_comes_back_as_it_is():
    robot = appell.load("puma560")
    result, messages = repaired(robot)
    assert result == robot
    assert messages == []


@pytest.mark.parametrize("seed", range(6))
def test_no_other_consistent_body_is_nearer(seed):
    """Any other positive semidefinite pseudo-inertia is at least as far, up to the floor."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3, 3))
    xx, xy, xz, yy, yz, zz = (A + A.T)[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]].tolist()
    wrong = Body("b", 1.0, (0.1, 0.2, 0.3), (xx, xy, xz, yy, yz, zz))
    right = nearest_body(wrong)
    assert np.linalg.eigvalsh(pseudo(right)).min() > 0.0
    assert (right.mass, right.com) == (wrong.mass, wrong.com)
    distance = np.linalg.norm(pseudo(right) - pseudo(wrong))
    for _ in range(200):
        B = rng.normal(size=(4, 4)) * 0.3
        other = pseudo(right) + B @ B.T - np.diag(rng.uniform(0, 0.2, 4))
        values, axes = np.linalg.eigh(other)
        other = (axes * np.maximum(values, 0.0)) @ axes.T
        assert np.linalg.norm(other - pseudo(wrong)) > distance - 1e-5


def test_triangle_is_closed_by_the_smallest_change():
    """(1, 1, 5): Σ = diag(2.5, 2.5, -1.5); the last becomes almost 0, so I = (2.5, 2.5, 5)."""
    result, (message,) = repaired(arm(Body("b", 1.0, (0.1, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 5.0))))
    assert result.body("b").inertia == pytest.approx((2.5, 0, 0, 2.5, 0, 5), abs=1e-5)
    assert "link 'b': inertia (1, 0, 0, 1, 0, 5) -> (2.5" in message
    assert appell.check(result).ok


@pytest.mark.parametrize(
    "body",
    [
        Body("b", -2.0, (0.1, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)),
        Body("b", 0.0, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)),
        Body("b"),
        Body("b", 1.0, (0.0, 0.0, 0.3)),
        Body("b", 1.0, (0.3, 0.0, 0.0)),
        Body("b", 1.0, (0.3, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0, 0.0, 1.0)),
        Body("b", 1.0, (0.3, 0.0, 0.0), (-1.0, 0.2, 0.0, -1.0, 0.0, -1.0)),
        Body("b", 1.0, (0.3, 0.0, 0.0), (1e-6, 1e-6, 1e-6, 1e-6, 1e-6, 1e-6)),
    ],
)
def test_repaired_robots_are_sound(body):
    robot = arm(body)
    assert not appell.check(robot).ok
    result, messages = repaired(robot)
    assert {problem.kind for problem in appell.check(result)} <= {"units"}
    assert len(messages) == 1
    assert result.mass_matrix([0.3]).item() > 0.0
    if body.mass <= 0.0:
        assert result.body("b").mass == MIN_MASS


def test_joints_are_put_right():
    joint = {
        "axis": (0.0, 3.0, 4.0), "limits": Limits(2.0, -1.0, -3.0, -4.0), "damping": -0.5, "friction": -0.25,
        "rotor_inertia": -1.0,
    }  # fmt: skip
    result, (message,) = repaired(arm(Body("b", 1.0, (0.3, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)), **joint))
    fixed = result.joint("j")
    assert fixed.axis == pytest.approx((0.0, 0.6, 0.8))
    assert fixed.limits == Limits(-1.0, 2.0, 3.0, 4.0)
    assert (fixed.damping, fixed.friction, fixed.rotor_inertia) == (0.5, 0.25, 0.0)
    assert appell.check(result).ok
    for field in ("axis", "limits", "damping", "friction", "rotor_inertia"):
        assert f"joint 'j': {field}" in message


def test_what_has_no_nearest_right_value_is_refused():
    robot = appell.load("planar2r")
    with pytest.raises(appell.ModelError, match="unknown joint type 'ball'"):
        appell.check(replace(robot, joints=(replace(robot.joints[0], kind="ball"), robot.joints[1])), fix=True)
    with pytest.raises(appell.ModelError, match="broken XML"):
        appell.check("<robot name='r'>\n<link name='a'>", fix=True)


def test_text_can_be_repaired():
    text = (
        "<robot name='r'><link name='a'/><link name='b'><inertial><mass value='1'/>"
        "<inertia ixx='1' iyy='1' izz='9'/></inertial></link>"
        "<joint name='j' type='revolute'><parent link='a'/><child link='b'/></joint></robot>"
    )
    result, _ = repaired(text)
    assert isinstance(result, Robot)
    assert appell.check(result).ok
