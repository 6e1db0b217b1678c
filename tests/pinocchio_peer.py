"""The same robot in Pinocchio: built from a URDF file by Pinocchio's own reader, or by hand from a `Robot`.

Joints are matched by name, since Pinocchio orders them differently, merges fixed joints and stores a continuous joint as
cosine and sine. It is given all joints as free ones; with q_free = G q + h, mimic joints are projected here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from appell.model.robot import Robot

pin = pytest.importorskip("pinocchio")

BODY = pin.FrameType.BODY


def model_of_file(path: Path):
    """A fixed-base model of a URDF file."""
    return pin.buildModelFromUrdf(str(path))


def model_of_robot(robot: Robot):
    """A fixed-base model from the description's data, joint by joint, depth first as Pinocchio needs it."""
    model = pin.Model()
    children = {joint.child for joint in robot.joints}
    (root,) = (body.name for body in robot.bodies if body.name not in children)
    _add_branch(model, robot, root, 0, pin.SE3.Identity())
    armature = np.zeros(model.nv)
    for joint in robot.joints:
        if joint.kind != "fixed":
            armature[model.joints[model.getJointId(joint.name)].idx_v] = joint.armature
    model.armature = armature
    return model


def _add_branch(model, robot: Robot, name: str, index: int, place) -> None:
    """A body at `place` of joint `index`, and everything that hangs on it."""
    body = robot.body(name)
    inertia = np.array(body.inertia)[[[0, 1, 2], [1, 3, 4], [2, 4, 5]]]
    if index:
        model.appendBodyToJoint(index, pin.Inertia(body.mass, np.array(body.com), inertia), place)
    model.addFrame(pin.Frame(name, index, 0, place, BODY))
    for joint in (joint for joint in robot.joints if joint.parent == name):
        at, frame = index, place * pin.SE3(pin.rpy.rpyToMatrix(*joint.origin.rpy), np.array(joint.origin.xyz))
        if joint.kind != "fixed":
            kind = pin.JointModelPrismaticUnaligned if joint.kind == "prismatic" else pin.JointModelRevoluteUnaligned
            at, frame = model.addJoint(index, kind(np.array(joint.axis)), frame, joint.name), pin.SE3.Identity()
        _add_branch(model, robot, joint.child, at, frame)


class Peer:
    """Functions of one state, in the coordinates of the `Robot`."""

    def __init__(self, robot: Robot, model) -> None:
        self.robot, self.model, self.data = robot, model, model.createData()
        model.gravity.linear = np.array(robot.gravity_vector)
        self.G, self.h = np.zeros((model.nv, robot.nv)), np.zeros(model.nv)
        for name in model.names[1:]:
            row, factor, joint = model.joints[model.getJointId(name)].idx_v, 1.0, robot.joint(name)
            while robot.coupled and joint.mimic is not None:
                self.h[row] += factor * joint.mimic.offset
                factor *= joint.mimic.multiplier
                joint = robot.joint(joint.mimic.joint)
            self.G[row, robot.joint_names.index(joint.name)] = factor
        self.free = self.G.shape[0] == self.G.shape[1]

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Pinocchio's q: angles, displacements, and (cos, sin) of unbounded joints."""
        own = self.G @ q + self.h
        found = np.zeros(self.model.nq)
        for joint in self.model.joints[1:]:
            x = own[joint.idx_v]
            found[joint.idx_q : joint.idx_q + joint.nq] = [x] if joint.nq == 1 else [np.cos(x), np.sin(x)]
        return found

    def inverse_dynamics(self, q, qd, qdd):
        return self.G.T @ pin.rnea(self.model, self.data, self.configuration(q), self.G @ qd, self.G @ qdd)

    def mass_matrix(self, q):
        M = pin.crba(self.model, self.data, self.configuration(q), pin.Convention.WORLD)
        M = np.triu(M) + np.triu(M, 1).T
        return self.G.T @ M @ self.G

    def bias(self, q, qd):
        return self.G.T @ pin.nonLinearEffects(self.model, self.data, self.configuration(q), self.G @ qd)

    def gravity(self, q):
        return self.G.T @ pin.computeGeneralizedGravity(self.model, self.data, self.configuration(q))

    def coriolis_force(self, q, qd):
        C = pin.computeCoriolisMatrix(self.model, self.data, self.configuration(q), self.G @ qd)
        return self.G.T @ C @ self.G @ qd

    def forward_dynamics(self, q, qd, tau):
        """The articulated-body algorithm, or, where joints are coupled, the projected equations."""
        if self.free:
            there = pin.aba(self.model, self.data, self.configuration(q), self.G @ qd, self.G @ tau)
            return self.G.T @ there
        return np.linalg.solve(self.mass_matrix(q), tau - self.bias(q, qd))

    def kinetic_energy(self, q, qd):
        """Bodies, and the rotors added here: Pinocchio's own energy (4.1) holds them for some joint models only."""
        speeds = self.G @ qd
        bare = pin.Model(self.model)
        bare.armature = np.zeros(bare.nv)
        energy = pin.computeKineticEnergy(bare, bare.createData(), self.configuration(q), speeds)
        return energy + 0.5 * self.model.armature @ speeds**2

    def potential_energy(self, q):
        return pin.computePotentialEnergy(self.model, self.data, self.configuration(q))

    def center_of_mass(self, q):
        return pin.centerOfMass(self.model, self.data, self.configuration(q))

    def pose(self, q, frame: str):
        pin.framesForwardKinematics(self.model, self.data, self.configuration(q))
        return self.data.oMf[self.frame(frame)].homogeneous

    def jacobian(self, q, frame: str, reference: str):
        reference = getattr(pin.ReferenceFrame, reference)
        J = pin.computeFrameJacobian(self.model, self.data, self.configuration(q), self.frame(frame), reference)
        return J.reshape(6, -1) @ self.G

    def jacobian_rate(self, q, qd, frame: str, reference: str):
        reference = getattr(pin.ReferenceFrame, reference)
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self.configuration(q), self.G @ qd)
        pin.framesForwardKinematics(self.model, self.data, self.configuration(q))
        rate = pin.getFrameJacobianTimeVariation(self.model, self.data, self.frame(frame), reference)
        return rate.reshape(6, -1) @ self.G

    def frame(self, name: str) -> int:
        return self.model.getFrameId(name, BODY)
