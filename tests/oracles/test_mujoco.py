"""MuJoCo as a second peer, on random trees written to MJCF here, joint by joint."""

from __future__ import annotations

from dataclasses import replace
from xml.sax.saxutils import quoteattr

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.methods import METHODS
from helpers.random_trees import MOVING, general_tree, over
from helpers.states import random_states
from scipy.spatial.transform import Rotation

from appell.robot.robot import Robot

mujoco = pytest.importorskip("mujoco")

TOLERANCE = 1e-11


def uncoupled(robot: Robot) -> Robot:
    """MuJoCo holds couplings by soft constraints, so they are left out of the comparison."""
    return replace(robot, joints=tuple(replace(joint, mimic=None) for joint in robot.joints))


ROBOTS = [
    uncoupled(general_tree(6, 12, MOVING)),
    uncoupled(general_tree(20, 13)),
    uncoupled(general_tree(24, 14, MOVING)),
]


def numbers(values) -> str:
    return quoteattr(" ".join(repr(float(value)) for value in values))


def body_text(robot: Robot, name: str, place: str, joint: str) -> str:
    body = robot.body(name)
    Ixx, Ixy, Ixz, Iyy, Iyz, Izz = body.inertia
    inertial = ""
    if body.mass:
        full = numbers((Ixx, Iyy, Izz, Ixy, Ixz, Iyz))
        inertial = f'<inertial pos={numbers(body.com)} mass="{body.mass!r}" fullinertia={full}/>'
    below = []
    for child in (each for each in robot.joints if each.parent == name):
        quaternion = Rotation.from_euler("xyz", child.origin.rpy).as_quat()[[3, 0, 1, 2]]
        at = f"pos={numbers(child.origin.xyz)} quat={numbers(quaternion)}"
        own = ""
        if child.kind != "fixed":
            kind = "slide" if child.kind == "prismatic" else "hinge"
            axis, armature = numbers(child.axis), numbers([child.armature])
            own = f'<joint name={quoteattr(child.name)} type="{kind}" axis={axis} armature={armature}/>'
        below.append(body_text(robot, child.child, at, own))
    return f"<body name={quoteattr(name)} {place}>{joint}{inertial}{''.join(below)}</body>"


class MujocoPeer:
    def __init__(self, robot: Robot) -> None:
        text = f"""<mujoco><compiler angle="radian" boundmass="0" boundinertia="0"/>
            <option gravity={numbers(robot.gravity_vector)}><flag contact="disable" constraint="disable"/></option>
            <worldbody>{body_text(robot, robot.bodies[0].name, "", "")}</worldbody></mujoco>"""
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)
        ids = [self.model.joint(name).id for name in robot.joint_names]
        self.places = [int(self.model.jnt_dofadr[i]) for i in ids]

    def set(self, q, qd) -> None:
        self.data.qpos[self.places], self.data.qvel[self.places] = q, qd
        mujoco.mj_forward(self.model, self.data)

    def inverse_dynamics(self, q, qd, qdd):
        self.set(q, qd)
        self.data.qacc[self.places] = qdd
        mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse[self.places]

    def bias(self, q, qd):
        self.set(q, qd)
        return self.data.qfrc_bias[self.places]

    def mass_matrix(self, q):
        self.set(q, np.zeros(len(q)))
        columns = np.zeros((self.model.nv, self.model.nv))
        for column, unit in zip(columns, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, column, unit)
        return columns.T[np.ix_(self.places, self.places)]

    def forward_dynamics(self, q, qd, tau):
        self.data.qfrc_applied[self.places] = tau
        self.set(q, qd)
        return self.data.qacc[self.places]

    def pose(self, q, frame: str):
        self.set(q, np.zeros(len(q)))
        found = np.eye(4)
        found[:3, :3], found[:3, 3] = self.data.body(frame).xmat.reshape(3, 3), self.data.body(frame).xpos
        return found


@over(ROBOTS)
def test_agrees_with_mujoco(robot: Robot) -> None:
    peer = MujocoPeer(robot)
    state = random_states(robot)
    for function, inputs in {"inverse_dynamics": 3, "mass_matrix": 1, "bias": 2, "forward_dynamics": 3}.items():
        expected = np.array([getattr(peer, function)(*row) for row in zip(*state[:inputs], strict=True)])
        for method in METHODS[function]:
            found = getattr(robot, function)(*state[:inputs], method=method)
            assert_close(found, expected, tolerance=TOLERANCE, what=f"{function} {method}")
    last = robot.body_names[-1]
    expected = np.array([peer.pose(q, last) for q in state.q])
    assert_close(robot.pose(state.q, last), expected, tolerance=TOLERANCE)
