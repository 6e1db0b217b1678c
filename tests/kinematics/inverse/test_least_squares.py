"""Damped least squares: arms, trees and floating bases, limits, restarts, and honest answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.arms import elbow_arm, poses_of
from helpers.random_trees import general_tree
from helpers.shared_data import shared

import appell
from appell.kinematics.inverse import LeastSquaresOptions
from appell.kinematics.inverse.frame_motion import coordinate_bounds
from appell.model.joint import Limits


def test_agrees_with_the_closed_form():
    """Two independent routes to the same configuration."""
    robot = elbow_arm(2)
    q, pose, frame = poses_of(robot, 40)
    near = q + np.random.default_rng(1).normal(scale=0.02, size=q.shape)
    search = appell.inverse_kinematics(robot, pose, frame, q0=near, method="least_squares")
    closed = appell.inverse_kinematics(robot, pose, frame, q0=near, method="closed_form")
    assert search.solved.all()
    assert closed.solved.all()
    same = np.abs(closed.q - q).max(axis=1) < 0.1
    assert same.sum() > 30
    assert np.abs(search.q - closed.q)[same].max() < 1e-8


def test_redundant_arm_within_its_limits():
    robot = appell.load(shared("robots/panda.urdf"))
    frame = "panda_hand_tcp"
    rng = np.random.default_rng(2)
    q = np.array([robot.random_configuration(rng) for _ in range(40)])
    pose = robot.pose(q, frame)
    answer = appell.inverse_kinematics(robot, pose, frame)
    assert answer.solved.all()
    assert np.abs(robot.pose(answer.q, frame) - pose).max() < 2e-12
    bounds = coordinate_bounds(robot)
    assert ((answer.q >= bounds.lower) & (answer.q <= bounds.upper)).all()
    again = appell.inverse_kinematics(robot, pose, frame)
    assert (again.q == answer.q).all()
    assert (again.iterations == answer.iterations).all()


def floating_tree():
    """A tree of joints of all kinds on a free base."""
    robot = general_tree(9, 3)
    return appell.load(robot.to_urdf(), base="floating")


def test_tree_on_a_floating_base():
    robot = floating_tree()
    frame = robot.body_names[-1]
    rng = np.random.default_rng(3)
    q = np.array([robot.random_configuration(rng) for _ in range(10)])
    pose = robot.pose(q, frame)
    answer = appell.inverse_kinematics(robot, pose, frame)
    assert answer.solved.all()
    assert np.abs(robot.pose(answer.q, frame) - pose).max() < 2e-12
    base = answer.q[:, 3:7]
    assert np.abs(np.linalg.norm(base, axis=1) - 1.0).max() < 1e-12


def test_only_chosen_joints_move():
    robot = appell.load(shared("robots/panda.urdf"))
    q0 = np.where(
        np.isfinite(coordinate_bounds(robot).lower),
        0.5 * (coordinate_bounds(robot).lower + coordinate_bounds(robot).upper),
        0.0,
    )
    moving = robot.joint_names[1:7]
    slots = [robot.first_coordinates[name][0] for name in moving]
    q0[0] = coordinate_bounds(robot).upper[0] + 0.1  # outside its limits, but not to be moved
    goal = q0.copy()
    goal[slots] += 0.2
    pose = robot.pose(goal, "panda_hand_tcp")
    answer = appell.inverse_kinematics(robot, pose, "panda_hand_tcp", q0=q0, joints=moving)
    assert answer.solved
    others = np.setdiff1d(np.arange(robot.nq), slots)
    assert (answer.q[others] == q0[others]).all()


def test_position_only():
    arm = appell.load("planar2r")
    q = np.array([0.4, 0.9])
    point = arm.pose(q, "link2")[:3, 3]
    answer = appell.inverse_kinematics(arm, arm.pose(q, "link2"), q0=[0.3, 0.8])
    assert answer.solved
    puma = appell.load("puma560")
    answer = appell.inverse_kinematics(puma, [0.4, 0.3, 0.2])
    assert answer.solved
    assert np.abs(puma.pose(answer.q, "link6")[:3, 3] - [0.4, 0.3, 0.2]).max() < 1e-12
    assert point.shape == (3,)


def test_out_of_reach_gives_the_nearest_point_and_says_so():
    arm = appell.load("planar2r")
    reach = np.linalg.norm(arm.pose([0.0, 0.0], "link2")[:3, 3])
    answer = appell.inverse_kinematics(
        arm, [5.0, 0.0, 0.0], "link2", q0=[0.5, 0.3], options=LeastSquaresOptions(restarts=2)
    )
    assert answer.status == "not converged"
    assert not answer.solved
    assert answer.error == pytest.approx(5.0 - reach, rel=1e-3)


def test_limits_hold_and_restarts_find_the_other_way_in():
    """A start at a limit that bars the way: without restarts stuck, with them solved."""
    robot = elbow_arm(4)
    bounded = tuple(replace(joint, kind="revolute", limits=Limits(-2.0, 2.0)) for joint in robot.joints)
    robot = replace(robot, joints=bounded)
    q = np.random.default_rng(5).uniform(-1.9, 1.9, (30, 6))
    pose = robot.pose(q, "link6")
    start = np.full(6, 2.0)
    alone = appell.inverse_kinematics(
        robot, pose, "link6", q0=start, method="least_squares", options=LeastSquaresOptions(restarts=0)
    )
    more = appell.inverse_kinematics(
        robot, pose, "link6", q0=start, method="least_squares", options=LeastSquaresOptions(restarts=40)
    )
    assert alone.solved.sum() < more.solved.sum() == 30
    assert (np.abs(more.q) <= 2.0).all()


def test_limits_of_followers_narrow_their_leader():
    robot = general_tree(6, 11, ("revolute", "continuous", "prismatic"))
    follower = next(joint for joint in robot.joints if joint.mimic)
    joints = tuple(
        replace(joint, kind="revolute", limits=Limits(-0.5, 0.3)) if joint is follower else joint
        for joint in robot.joints
    )
    robot = replace(robot, joints=joints)
    bounds = coordinate_bounds(robot)
    link = next(link for link in robot.tree.links if link.name == follower.name)
    ends = sorted(
        link.multiplier * end + link.mimic_offset for end in (bounds.lower[link.idx_q], bounds.upper[link.idx_q])
    )
    assert ends[0] >= -0.5 - 1e-12
    assert ends[1] <= 0.3 + 1e-12


@pytest.mark.parametrize(("arguments", "text"), [
    ({"pose": np.eye(5)}, r"pose has shape \(5, 5\), expected"),
    ({"pose": np.eye(3)}, r"shape \(3, 3\) and is a rotation matrix.* Give a pose \(4, 4\)"),
    ({"pose": np.diag([1.0, 1.0, -1.0, 1.0])}, "reflection"),
    ({"pose": 2.0 * np.eye(4)}, "off by 3"),
    ({"pose": np.full((4, 4), np.nan)}, r"pose\[\(0, 0\)\]"),
    ({"pose": np.eye(4), "frame": "link7"}, "Did you mean 'link6'"),
    ({"pose": np.eye(4), "branch": "right/above/flop"}, "Did you mean 'right/above/flip'"),
    ({"pose": np.eye(4), "method": "newton"}, "unknown method"),
    ({"pose": np.eye(4), "q0": [0.0, 1.0]}, r"q0 has shape \(2,\)"),
    ({"pose": np.eye(4), "joints": ["joint9"]}, "unknown joint"),
    ({"pose": np.eye(4), "branch": "right/above/flip", "method": "least_squares"}, "branches belong to the closed form"),
    ({"pose": [0.1, 0.2, 0.3], "branch": "right/above/flip"}, "only a position is given"),
])  # fmt: skip
def test_wrong_arguments_are_named(arguments, text):
    puma = appell.load("puma560")
    with pytest.raises(appell.ArgumentError, match=text):
        appell.inverse_kinematics(puma, **arguments)


def test_a_robot_with_several_tips_needs_a_frame():
    with pytest.raises(appell.ArgumentError, match="Name the frame"):
        appell.inverse_kinematics(appell.load("shafei_tree"), np.eye(4))


@pytest.mark.parametrize("name", ["agile_wrist", "four_bar"])
def test_robots_that_are_not_trees_are_named_with_the_alternative(name):
    with pytest.raises(appell.ArgumentError, match=r"a kinematic tree.*solve_loop_closure.*joint_angles"):
        appell.inverse_kinematics(appell.load(name), np.eye(4))
    with pytest.raises(appell.ArgumentError, match="compiled robot has its robot as `robot`"):
        appell.inverse_kinematics(appell.compile(appell.load("planar2r")), np.eye(4))  # type: ignore[arg-type]
