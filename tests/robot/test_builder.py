"""Robots written in code."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import appell
from appell.model.joint import Limits, Mimic


def test_builds_the_robot_it_is_told():
    robot = (
        appell.RobotBuilder("arm", gravity=(0, 0, -1.62))
        .body("base")
        .body("upper", mass=2, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.025))
        .revolute("shoulder", parent="base", child="upper", axis="-y", xyz=(0, 0, 1), rpy=(0, 0, math.pi / 2),
                  limits=(-1, 2, 3, 4), damping=0.1, friction=0.2, rotor_inertia=1e-4, gear_ratio=50)
        .body("slider", mass=1, inertia=np.diag([0.1, 0.1, 0.1]))
        .prismatic("rail", parent="upper", child="slider", axis=(0, 0, 1), limits=Limits(0.0, 1.0))
        .body("wheel", mass=1, inertia=(0.1, 0, 0, 0.1, 0, 0.1))
        .continuous("spin", parent="slider", child="wheel", axis="x", mimic=Mimic("rail", 2.0, 0.1))
        .fixed("flange", parent="wheel", child="tool", xyz=(0.4, 0, 0))
        .build()
    )  # fmt: skip
    assert robot.body_names == ("base", "upper", "slider", "wheel", "tool")
    assert robot.joint_names == ("shoulder", "rail")
    assert robot.gravity_vector == (0.0, 0.0, -1.62)
    shoulder = robot.joint("shoulder")
    assert shoulder.axis == (0.0, -1.0, 0.0)
    assert shoulder.origin.xyz == (0.0, 0.0, 1.0)
    assert shoulder.limits == Limits(-1.0, 2.0, 3.0, 4.0)
    assert (shoulder.damping, shoulder.friction, shoulder.armature) == (0.1, 0.2, pytest.approx(0.25))
    assert robot.body("upper").inertia == (0.01, 0.0, 0.0, 0.02, 0.0, 0.025)
    assert robot.body("slider").inertia == robot.body("wheel").inertia == (0.1, 0.0, 0.0, 0.1, 0.0, 0.1)
    assert robot.joint("spin").mimic == Mimic("rail", 2.0, 0.1)
    assert robot.body("tool").mass == 0.0


def test_bodies_keep_the_order_in_which_they_are_first_named():
    robot = (
        appell.RobotBuilder()
        .fixed("f", parent="world", child="post")
        .revolute("j", parent="post", child="bob")
        .body("bob", mass=1, com=(1, 0, 0), inertia=(1, 1, 1))
        .body("post", mass=3, inertia=(1, 1, 1))
        .build()
    )
    assert robot.body_names == ("world", "post", "bob")
    assert robot.body("post").mass == 3.0


def test_a_robot_without_any_mass_is_a_kinematic_one():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = appell.RobotBuilder().revolute("j", parent="base", child="tip").build()
    assert robot.nv == 1


def test_defects_are_told_when_it_is_built():
    with pytest.warns(appell.ModelWarning, match="joint 'j2': link 'c' moves with no inertia"):
        (
            appell.RobotBuilder()
            .body("b", mass=1, inertia=(1, 1, 1))
            .revolute("j1", parent="a", child="b")
            .revolute("j2", parent="b", child="c")
            .build()
        )
    with pytest.raises(appell.ModelError, match="2 links have no parent joint"):
        appell.RobotBuilder().body("a").body("b").build()
    with pytest.warns(appell.ModelWarning, match="triangle inequality") as caught:
        appell.RobotBuilder().body("b", mass=1, inertia=(1, 1, 5)).revolute("j", parent="a", child="b").build()
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda b: b.body("x").body("x"), "body 'x' was already added"),
        (lambda b: b.body("x", com=(1, 2)), r"com of body 'x' has shape \(2,\), expected \(3,\)"),
        (lambda b: b.body("x", inertia=(1, 2)), r"inertia of body 'x' has shape \(2,\), expected \(6,\)"),
        (lambda b: b.body("x", inertia=np.triu(np.ones((3, 3)))), "inertia of body 'x' is not symmetric"),
        (lambda b: b.body("x", mass="heavy"), "mass of body 'x' is"),
        (
            lambda b: b.revolute("j", parent="a", child="b", axis="w"),
            "unknown axis of joint 'j' 'w'. Valid: x, y, z, -x",
        ),
        (lambda b: b.revolute("j", parent="a", child="b", xyz=(1, 2)), r"xyz of joint 'j' has shape \(2,\)"),
        (lambda b: b.revolute("j", parent="a", child="b", limits=(1, 2, 3, 4, 5)), "limits of joint 'j'"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(appell.ArgumentError, match=message):
        call(appell.RobotBuilder())


def test_mimic_joints_by_name():
    def fingers(mimic):
        builder = (
            appell.RobotBuilder("hand")
            .body("left", mass=1.0, inertia=(1, 1, 1))
            .body("right", mass=1.0, inertia=(1, 1, 1))
        )
        return builder.revolute("a", "base", "left").revolute("b", "base", "right", mimic=mimic).build()

    for given in (("a", 2.0, 0.1), ["a", 2], ("a",)):
        assert fingers(given).joint("b").mimic == Mimic(*given)
    for given in (("a", 1.0, 0.0, 0.0), (2.0, "a"), "a", ()):
        with pytest.raises(appell.ArgumentError, match=r"mimic of joint 'b' is .* expected Mimic"):
            fingers(given)
