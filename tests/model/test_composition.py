"""Robots with locked joints, attached robots and payloads: the physics of the whole, and Pinocchio's own functions for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import KIND_TREES, MIXED_TREES
from helpers.random_trees import over
from helpers.shared_data import shared
from helpers.states import random_states

import appell
from appell.model.actuator import Actuator, Posture
from appell.model.joints import KINDS
from appell.robot.robot import Robot

TOLERANCE = 1e-11


def split(robot: Robot, locked: list[str]) -> tuple[list[int], list[int]]:
    """Indices in q and in qd of the joints that still move."""
    q = [k for k, name in enumerate(robot.q_names) if not {name, name.rpartition(".")[0]} & set(locked)]
    v = [k for k, name in enumerate(robot.qd_names) if not {name, name.rpartition(".")[0]} & set(locked)]
    return q, v


@over([*KIND_TREES, *MIXED_TREES])
def test_a_robot_with_locked_joints_moves_as_the_whole_one_with_these_at_rest(robot: Robot) -> None:
    locked = [robot.joint_names[0], robot.joint_names[-1]]
    q, qd, qdd = random_states(robot, 3)
    keep_q, keep_v = split(robot, locked)
    at_rest = [k for k in range(robot.nv) if k not in keep_v]
    for k in range(3):
        small = robot.lock({name: q[k][[i for i, n in enumerate(robot.q_names) if name in (n, n.rpartition(".")[0])]]
                            for name in locked})  # fmt: skip
        assert small.joint_names == tuple(name for name in robot.joint_names if name not in locked)
        v, a = qd[k].copy(), qdd[k].copy()
        v[at_rest] = a[at_rest] = 0.0
        own = q[k][keep_q], v[keep_v], a[keep_v]
        assert_close(small.mass_matrix(own[0]), robot.mass_matrix(q[k])[np.ix_(keep_v, keep_v)], tolerance=TOLERANCE)
        assert_close(small.inverse_dynamics(*own), robot.inverse_dynamics(q[k], v, a)[keep_v], tolerance=TOLERANCE)
        assert_close(
            small.potential_energy(own[0]), robot.potential_energy(q[k]) - held(robot, small, q[k]), tolerance=TOLERANCE
        )
        tip = robot.body_names[-1]
        assert_close(small.pose(own[0], tip), robot.pose(q[k], tip), tolerance=1e-13, scale=1.0)


def held(robot: Robot, small: Robot, q: np.ndarray) -> np.ndarray:
    """Potential energy of the bodies that no longer move: those fixed to the world are not counted."""
    links = {name for name, frame in small.tree.frames.items() if frame.link == -1}
    links -= {name for name, frame in robot.tree.frames.items() if frame.link == -1}
    masses = [(robot.body(name).mass, robot.pose(q, name) @ [*robot.body(name).com, 1.0]) for name in links]
    return np.array(-sum(mass * np.dot(robot.gravity_vector, place[:3]) for mass, place in masses))


def test_reduced_as_pinocchio_reduces():
    pin = pytest.importorskip("pinocchio")
    path = shared("robots/panda.urdf")
    robot, model = appell.load(path, mimic="ignore"), pin.buildModelFromUrdf(str(path))
    q, qd, qdd = random_states(robot, 4)
    keep = robot.joint_names[1:5]
    full, _ = robot.to_pinocchio(q[0], qd[0], list(model.names)[1:])
    ids = [k for k in range(1, model.njoints) if model.names[k] not in keep]
    theirs, ours = pin.buildReducedModel(model, ids, full), robot.reduce(keep, q[0])
    assert list(theirs.names)[1:] == list(ours.joint_names) == list(keep)
    for k in range(4):
        state = [array[k, 1:5] for array in (q, qd, qdd)]
        assert_close(ours.inverse_dynamics(*state), pin.rnea(theirs, theirs.createData(), *state), tolerance=TOLERANCE)


def test_attached_as_pinocchio_appends():
    pin = pytest.importorskip("pinocchio")
    path, place = shared("robots/ur5.urdf"), appell.Pose((0.1, -0.2, 0.3), (0.4, 0.5, 0.6))
    tool = (
        appell.RobotBuilder("tool")
        .body("palm", 0.7, (0.1, 0, 0), (0.01, 0.02, 0.02))
        .body("tip", 0.3, (0, 0.2, 0), (0.1, 0.1, 0.1))
    )
    tool = tool.continuous("spin", "palm", "tip", "x", xyz=(0, 0.1, 0.2), rpy=(0.3, 0.2, 0.1)).build()
    arm = appell.load(path)
    ours = arm.attach(tool, at="tool0", pose=place, prefix="my_")
    model, other = pin.buildModelFromUrdf(str(path)), pin.buildModelFromXML(tool.to_urdf())
    theirs = pin.appendModel(model, other, model.getFrameId("tool0"), pin.SE3(place.rotation, np.array(place.xyz)))
    names = [name if name in arm.joint_names else f"my_{name}" for name in list(theirs.names)[1:]]
    q, qd, _ = random_states(ours, 4)
    for k in range(4):
        state, speeds = ours.to_pinocchio(q[k], qd[k], names)
        energy = pin.computeKineticEnergy(theirs, theirs.createData(), state, speeds)
        assert_close(ours.kinetic_energy(q[k], qd[k]), np.array(energy), tolerance=TOLERANCE)


def test_an_attached_robot_keeps_its_names_postures_and_actuators():
    hand = appell.RobotBuilder("hand").prismatic("finger", "palm", "tip").body("tip", 0.1, inertia=(1e-4, 1e-4, 1e-4))
    hand = replace(hand.build(), actuators=(Actuator("motor", ("finger",), (2.0,)),),
                   named_postures=(Posture("home", (("finger", (0.02,)),)),))  # fmt: skip
    arm = replace(appell.load("planar2r"), named_postures=(Posture("home", (("joint1", (0.5,)),)),))
    both = arm.attach(hand, at="link2")
    assert both.joint_names == ("joint1", "joint2", "finger")
    assert both.postures["home"].tolist() == [0.5, 0.0, 0.02]
    two = both.attach(hand, at="link2", pose=np.eye(4), prefix="left_")
    assert two.joint_names[-1] == "left_finger"
    assert [actuator.name for actuator in two.actuators] == ["motor", "left_motor"]
    assert two.actuators[1].joint == "left_finger"
    assert appell.Robot.from_dict(two.to_dict()) == two
    with pytest.raises(appell.ModelError, match=r"both robots have bodies palm, tip\. Give a `prefix`"):
        both.attach(hand, at="link2")
    with pytest.raises(appell.ArgumentError, match="unknown body 'flange'"):
        arm.attach(hand, at="flange")
    locked = two.lock({"finger": 0.01})
    assert [actuator.name for actuator in locked.actuators] == ["left_motor"]
    assert locked.postures["home"].tolist() == [0.5, 0.0, 0.0]


@over([*KIND_TREES, *MIXED_TREES])
def test_a_payload_is_a_body_more(robot: Robot) -> None:
    """Kinetic and potential energy of a rigid body at the pose and twist of its carrier."""
    mass, com, inertia = (
        1.7,
        np.array([0.1, -0.2, 0.3]),
        np.array([[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]]),
    )
    at = robot.body_names[-2]
    loaded = robot.with_payload(mass, com, inertia, at=at)
    assert loaded.body_names[-1] == "payload"
    assert loaded.joint_names == robot.joint_names
    q, qd, _ = random_states(robot, 3)
    for k in range(3):
        pose, (v, w) = robot.pose(q[k], at), np.split(robot.jacobian(q[k], at, "LOCAL") @ qd[k], 2)
        v = v + np.cross(w, com)
        kinetic = (mass * v @ v + w @ inertia @ w) / 2
        assert_close(
            loaded.kinetic_energy(q[k], qd[k]) - robot.kinetic_energy(q[k], qd[k]), np.array(kinetic), tolerance=1e-10
        )
        potential = -mass * np.dot(robot.gravity_vector, (pose @ [*com, 1.0])[:3])
        difference = loaded.potential_energy(q[k]) - robot.potential_energy(q[k])
        assert_close(difference, np.array(potential), tolerance=1e-10, scale=10.0)


def test_locking_keeps_the_initial_state_of_the_others():
    robot = appell.load("shafei_tree")
    q, qd = robot.initial_state
    small = robot.lock({robot.joint_names[1]: 0.3})
    assert small.initial_state == ((q[0], *q[2:]), (qd[0], *qd[2:]))


def test_a_mimic_joint_is_locked_with_its_leader():
    robot = MIXED_TREES[0]
    (follower,) = (joint for joint in robot.joints if joint.mimic)
    with pytest.raises(appell.ArgumentError, match=f"It follows '{follower.mimic.joint}': lock that joint"):
        robot.lock({follower.name: 0.1})
    small = robot.lock({follower.mimic.joint: 0.1})
    assert small.joint(follower.name).kind == "fixed"
    assert all(KINDS[joint.kind].nv for joint in small.moving_joints)


def test_errors_name_what_is_wrong():
    robot = appell.load("planar2r")
    for call, error, message in (
        (lambda: robot.reduce(["joint9"]), appell.ArgumentError, "reduce: unknown joint 'joint9'"),
        (lambda: robot.lock({"joint1": [1, 2]}), appell.ArgumentError, "expected 1 number: joint1"),
        (lambda: robot.with_payload(-1.0, at="link2"), appell.ArgumentError, "mass is -1.0, expected a number >= 0"),
        (
            lambda: robot.with_payload(1.0, at="link2", name="link1"),
            appell.ModelError,
            "there is a body 'link1' already",
        ),
        (lambda: robot.attach(robot, "link2", np.ones((4, 4)), "b_"), appell.ArgumentError, "a rigid transformation"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_a_payload_of_a_closed_loop_is_that_of_its_tree():
    robot = appell.load("four_bar")
    loaded, q = robot.with_payload(2.0, (0.1, 0.0, 0.0), at="coupler_link"), robot.reference_configuration
    G = robot.joint_velocity_jacobian(q)
    J = robot.spanning_tree.jacobian(q, "coupler_link", "LOCAL")
    v = J[:3] + np.cross(J[3:].T, [0.1, 0.0, 0.0]).T
    assert_close(loaded.mass_matrix(q) - robot.mass_matrix(q), 2.0 * (v @ G).T @ (v @ G), tolerance=1e-10)
