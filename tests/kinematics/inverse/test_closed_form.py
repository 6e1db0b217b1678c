"""Closed-form inverse kinematics: every branch reaches the pose, is what its name says, and arms of other kinds are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.arms import elbow_arm, poses_of
from helpers.shared_data import shared
from hypothesis import given
from hypothesis import strategies as st

import appell
from appell.kinematics.inverse import BRANCHES, inverse_kinematics, why_not_closed_form

PUMA = appell.load("puma560")
ARMS = [PUMA, *(elbow_arm(seed) for seed in range(6))]


@pytest.mark.parametrize("robot", ARMS, ids=[robot.name for robot in ARMS])
def test_all_eight_branches_reach_random_poses(robot):
    q, pose, frame = poses_of(robot, 200)
    answer = inverse_kinematics(robot, pose, frame, branch="all")
    assert answer.q.shape == (8, 200, 6)
    reached = answer.solved
    assert np.abs(robot.pose(answer.q, frame) - pose)[reached].max() < 1e-12
    assert (answer.status[~reached] == "unreachable").all()
    assert answer.branch[:, 0].tolist() == list(BRANCHES)
    # the configuration that the pose came from is one of the eight
    away = np.abs((answer.q - q + np.pi) % (2 * np.pi) - np.pi).max(axis=-1)
    assert np.where(reached, away, np.inf).min(axis=0).max() < 1e-8


def test_the_puma_has_all_eight_branches_nearly_everywhere():
    _, pose, frame = poses_of(PUMA, 500)
    answer = inverse_kinematics(PUMA, pose, frame, branch="all")
    assert answer.solved.all()
    assert np.abs(PUMA.pose(answer.q, frame) - pose).max() < 1e-12
    distinct = np.abs((answer.q[:, None] - answer.q[None] + np.pi) % (2 * np.pi) - np.pi).max(axis=-1)
    assert distinct[~np.eye(8, dtype=bool)].min() > 1e-6


@pytest.mark.parametrize("name", BRANCHES)
def test_branches_are_what_their_names_say(name):
    """Seen at the robot itself: where wrist, elbow and hand are."""
    _, pose, frame = poses_of(PUMA, 50)
    q = inverse_kinematics(PUMA, pose, frame, branch=name).q
    wrist, elbow = PUMA.pose(q, "link4")[:, :3, 3], PUMA.pose(q, "link3")[:, :3, 3]
    up = np.array([0.0, 0.0, 1.0])
    across = PUMA.pose(q, "link2")[:, :3, 2]  # axis of joint 2
    forward = np.cross(up, across)
    shoulder, height, flip = name.split("/")
    side = np.sum(wrist * forward, axis=1)
    assert ((side > 0) == (shoulder == "right")).all()
    normal = np.sum(np.cross(elbow, wrist) * across, axis=1) * np.sign(side)
    assert ((normal < 0) == (height == "above")).all()
    assert ((np.sin(q[:, 4]) > 0) == (flip == "no_flip")).all()


def test_a_raised_elbow_is_above():
    """An arm stretched forwards with the elbow up is called so, without any formula."""
    q = [0.0, -0.8, 3.0, 0.0, 0.5, 0.0]
    answer = inverse_kinematics(PUMA, PUMA.pose(q, "link6"), q0=q)
    elbow, wrist = (PUMA.pose(answer.q, name)[:3, 3] for name in ("link3", "link4"))
    assert elbow[2] > max(wrist[2], 0.1)
    assert wrist[0] > elbow[0] > 0.1
    assert answer.branch.split("/")[1] == "above"


@given(st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6))
def test_nearest_branch_gives_the_configuration_back(q):
    q = np.array(q)
    if min(abs(np.sin(q[4])), 1.0) < 1e-3:
        q[4] = 0.5
    pose = PUMA.pose(q, "link6")
    answer = inverse_kinematics(PUMA, pose, q0=q)
    assert answer.solved
    assert np.abs(PUMA.pose(answer.q, "link6") - pose).max() < 1e-12
    assert np.abs(answer.q - q).max() < np.pi + 1e-9


def test_out_of_reach_is_proven():
    far = np.eye(4)
    far[:3, 3] = [2.0, 0.0, 0.0]
    answer = inverse_kinematics(PUMA, far, branch="all")
    assert (answer.status == "unreachable").all()
    inside = np.eye(4)
    inside[:3, 3] = [0.05, 0.0, 0.3]  # nearer to axis 1 than the offset of the shoulder
    assert inverse_kinematics(PUMA, inside).status == "unreachable"


@pytest.mark.parametrize("bend", [0.0, 1e-10, 1e-8, 3e-8, 1e-7, 1e-6, 1e-4])
def test_at_a_wrist_singularity_joint_4_stays(bend):
    q = np.array([0.3, -0.8, 2.4, 0.7, bend, 0.4])
    pose = PUMA.pose(q, "link6")
    answer = inverse_kinematics(PUMA, pose, q0=q)
    assert answer.singular == (bend < 1e-7)
    assert answer.solved
    assert np.abs(PUMA.pose(answer.q, "link6") - pose).max() < 1e-12
    assert np.abs(answer.q - q).max() < 1e-6


def test_limits_choose_turns_and_refuse_branches():
    robot = elbow_arm(0, limits=(-0.1, 6.5))
    q = np.array([6.2, 1.0, 5.0, 3.0, 5.5, 0.1])
    pose = robot.pose(q, "link6")
    answer = inverse_kinematics(robot, pose, q0=q)
    assert answer.solved
    assert np.abs(answer.q - q).max() < 1e-9
    narrow = elbow_arm(0, limits=(-0.2, 0.2))
    answer = inverse_kinematics(narrow, pose, branch="all")
    assert (answer.status == "outside limits").all()


@pytest.mark.parametrize(("robot", "reason"), [
    (appell.load("planar2r"), "2 joints move 'link2', expected 6"),
    (elbow_arm(1, kinds="RRPRRR"), "joint 'joint3' is prismatic, expected revolute"),
    (elbow_arm(1, twist=0.3), "the axes of 'joint2' and 'joint3' are not parallel"),
    (elbow_arm(1, wrist_offset=0.05), "do not intersect: they are"),
])  # fmt: skip
def test_other_structures_are_named(robot, reason):
    assert reason in (why_not_closed_form(robot, robot.body_names[-1]) or "")
    with pytest.raises(appell.ArgumentError, match="no closed form"):
        inverse_kinematics(robot, np.eye(4), robot.body_names[-1], branch="right/above/flip")


def test_a_real_arm_with_printed_digits_and_fingers():
    """Its axes are parallel and meet within the digits of the file; fingers hang on the last link."""
    robot, frame = appell.load(shared("robots/kinova.urdf")), "j2s6s200_end_effector"
    assert why_not_closed_form(robot, frame) is None
    rng = np.random.default_rng(1)
    q = np.array([robot.random_configuration(rng) for _ in range(50)])
    pose = robot.pose(q, frame)
    answer = inverse_kinematics(robot, pose, frame, q0=q)
    assert answer.solved.all()
    assert np.abs(robot.pose(answer.q, frame) - pose).max() < 1e-12
    assert np.abs(answer.q - q).max(axis=1).min() < 1e-9


def test_arms_of_universal_robots_have_no_spherical_wrist():
    robot = appell.load(shared("robots/ur5.urdf"))
    assert "do not intersect: they are 94.6 mm apart" in (why_not_closed_form(robot, "ee_link") or "")


def test_single_and_batch_agree():
    _, pose, frame = poses_of(PUMA, 6)
    batch = inverse_kinematics(PUMA, pose.reshape(2, 3, 4, 4), frame)
    assert batch.q.shape == (2, 3, 6)
    assert batch.status.shape == batch.branch.shape == batch.error.shape == (2, 3)
    one = inverse_kinematics(PUMA, pose[4], frame)
    assert one.branch == batch.branch[1, 1]
    assert np.abs(one.q - batch.q[1, 1]).max() < 1e-13


def with_third_axis_reversed(robot):
    """The same arm with joint 3 turning the other way: axes 2 and 3 are antiparallel."""
    joints = list(robot.joints)
    joints[2] = replace(joints[2], axis=tuple(-x for x in joints[2].axis))
    return replace(robot, name="reversed", joints=tuple(joints))


@pytest.mark.parametrize("name", BRANCHES)
def test_an_antiparallel_third_axis_changes_the_sign_of_its_angle_alone(name):
    """The branches keep their names: elbow above is above, whichever way its joint turns."""
    other = with_third_axis_reversed(PUMA)
    _, pose, frame = poses_of(PUMA, 50)
    expected = inverse_kinematics(PUMA, pose, frame, branch=name)
    found = inverse_kinematics(other, pose, frame, branch=name)
    assert found.solved.all()
    assert np.abs(other.pose(found.q, frame) - pose).max() < 1e-12
    difference = found.q * [1.0, 1.0, -1.0, 1.0, 1.0, 1.0] - expected.q
    assert np.abs((difference + np.pi) % (2 * np.pi) - np.pi).max() < 1e-9
