"""Joints of every kind in descriptions: built in code, as dictionaries, in URDF, and what makes no sense of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import EVERY_TREE
from helpers.random_trees import over
from helpers.states import random_states

import appell
from appell.model.joint import Mimic
from appell.model.joints import KINDS
from appell.robot.robot import Robot


def builder() -> appell.RobotBuilder:
    return appell.RobotBuilder("one").body("body", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.4, 0.5))


@pytest.mark.parametrize("kind", KINDS)
def test_the_builder_has_a_method_for_every_kind(kind: str) -> None:
    robot = getattr(builder(), kind)("joint", parent="base", child="body").build()
    assert robot.joint("joint").kind == kind
    assert (robot.nq, robot.nv) == (KINDS[kind].nq, KINDS[kind].nv)


def test_options_reach_the_joint() -> None:
    robot = builder().helical("screw", "base", "body", axis="-y", pitch=0.02, damping=0.3, xyz=(1, 2, 3)).build()
    joint = robot.joint("screw")
    assert (joint.axis, joint.pitch, joint.damping, joint.origin.xyz) == ((0.0, -1.0, 0.0), 0.02, 0.3, (1.0, 2.0, 3.0))
    assert_close(robot.pose([np.pi], "body")[:3, 3], [1.0, 2.0 - 0.02 * np.pi, 3.0])


@over(EVERY_TREE)
def test_dictionaries_keep_the_dynamics(robot: Robot) -> None:
    again = Robot.from_dict(json.loads(json.dumps(robot.to_dict())))
    assert again == robot
    state = random_states(robot)
    np.testing.assert_array_equal(again.inverse_dynamics(*state), robot.inverse_dynamics(*state))


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_urdf_keeps_floating_and_planar_joints(kind: str) -> None:
    robot = builder().joint(kind, "joint", "base", "body", "y", xyz=(1, 2, 3), rpy=(0.1, 0.2, 0.3)).build()
    assert appell.load(robot.to_urdf()) == robot


def test_a_floating_root_in_urdf_is_the_floating_base() -> None:
    """A description that has its own floating joint at the root, and one that is loaded with one, move alike."""
    flying = builder().floating("root_joint", parent="world", child="body").build()
    fixed = appell.RobotBuilder("one").body("body", 2.0, (0.1, 0.2, 0.3), (0.3, 0.4, 0.5)).build()
    loaded = appell.load(fixed.to_urdf(), base="floating")
    assert loaded.joint_names == flying.joint_names
    assert appell.load(flying.to_urdf()).joints == loaded.joints


@pytest.mark.parametrize(
    ("leader", "follower"), [("spherical", "spherical"), ("universal", "universal"), ("planar", "revolute")]
)
def test_only_joints_of_one_coordinate_follow_each_other(leader: str, follower: str) -> None:
    robot = builder().body("tip", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.1, 0.1))
    robot.joint(leader, "first", "base", "body").joint(follower, "second", "body", "tip", mimic=Mimic("first"))
    message = f"joint 'second': mimics the {leader} joint 'first', and is {follower}. Both must move by one coordinate"
    with pytest.raises(appell.ModelError, match=message):
        robot.build()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind].nv])
def test_joints_that_move_no_mass_are_told(kind: str) -> None:
    robot = appell.RobotBuilder().body("heavy", mass=1.0, inertia=(1, 1, 1)).revolute("turn", "base", "heavy")
    with pytest.warns(appell.ModelWarning, match="joint 'loose': link 'tip' moves with no inertia"):
        built = robot.joint(kind, "loose", "heavy", "tip", pitch=0.1).build()
    with pytest.raises(appell.ModelError, match="mass_matrix needs mass, which is missing or negative: 'tip'"):
        built.mass_matrix(built.neutral_configuration())


@pytest.mark.parametrize("kind", ["floating", "spherical", "universal"])
def test_a_point_mass_does_not_resist_turning(kind: str) -> None:
    """Mass without extension at the centre of a joint that turns."""
    point = appell.RobotBuilder().body("point", mass=1.0)
    with pytest.warns(appell.ModelWarning, match="joint 'loose': link 'point' moves with no inertia"):
        robot = point.joint(kind, "loose", "base", "point").build()
    with pytest.raises(appell.ModelError, match="mass_matrix needs mass, which is missing or negative: 'point'"):
        robot.mass_matrix(robot.neutral_configuration())


def test_a_point_mass_may_slide() -> None:
    with pytest.warns(appell.ModelWarning, match="a thin rod"):
        robot = appell.RobotBuilder().body("point", mass=1.5).translation("slide", "base", "point").build()
    assert_close(robot.mass_matrix([0.1, 0.2, 0.3]), 1.5 * np.eye(3))


def test_repr_and_names_of_a_floating_base() -> None:
    pendulum = builder().revolute("hinge", parent="body", child="bob").body("bob", 1.0, (0.1, 0, 0), (1, 1, 1))
    robot = appell.load(pendulum.build().to_urdf(), base="floating")
    assert repr(robot) == "Robot('one', 3 bodies, nq=8, nv=7, joints: root_joint, hinge)"
    assert robot.joint("root_joint").parent == robot.body_names[0] == "world"
    assert_close(robot.neutral_configuration(), [0, 0, 0, 0, 0, 0, 1, 0])


def test_a_floating_base_needs_mass() -> None:
    with pytest.warns(appell.ModelWarning, match="joint 'root_joint': link 'base' moves with no inertia"):
        robot = appell.load("planar2r", base="floating")
    with pytest.raises(appell.ModelError, match="gravity needs mass, which is missing or negative: 'base'"):
        robot.gravity(robot.neutral_configuration())
