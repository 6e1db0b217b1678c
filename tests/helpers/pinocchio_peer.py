"""The same robot in Pinocchio: built from a URDF file by Pinocchio's own reader, or by hand from a `Robot`.

Joints are matched by name, since Pinocchio orders them differently, merges fixed joints and stores a continuous joint and
the angle of a planar one as cosine and sine. It is given all joints as free ones; with q_free = G q + h, mimic joints are
projected here. Speeds mean the same in both libraries, for every kind of joint.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from appell.model.joint import Joint
from appell.model.joints import KINDS
from appell.robot.robot import Robot

pin = pytest.importorskip("pinocchio")

BODY = pin.FrameType.BODY


def model_of_file(path: Path, floating: bool = False):
    """A model of a URDF file."""
    return (
        pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(str(path))
    )


def model_of_robot(robot: Robot):
    """A fixed-base model from the description's data, joint by joint, depth first as Pinocchio needs it."""
    model = pin.Model()
    children = {joint.child for joint in robot.joints}
    (root,) = (body.name for body in robot.bodies if body.name not in children)
    _add_branch(model, robot, root, 0, pin.SE3.Identity())
    armature = np.zeros(model.nv)
    for joint in robot.joints:
        if joint.kind != "fixed":
            there = model.joints[model.getJointId(joint.name)]
            armature[there.idx_v : there.idx_v + there.nv] = joint.armature
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
            turned = pin.SE3(_plane(joint) if joint.kind == "planar" else np.eye(3), np.zeros(3))
            kind = MODELS[joint.kind](np.array(joint.axis), joint)
            at, frame = model.addJoint(index, kind, frame * turned, joint.name), turned.inverse()
        _add_branch(model, robot, joint.child, at, frame)


def _composite(*models):
    joint = pin.JointModelComposite()
    for model in models:
        joint.addJoint(model)
    return joint


def _plane(joint: Joint) -> np.ndarray:
    """Axes of a planar joint: z along its axis, x as near as possible to the coordinate axis after the nearest one."""
    z = np.array(joint.axis)
    x = np.zeros(3)
    x[(np.abs(z).argmax() + 1) % 3] = 1.0
    x -= z * (x @ z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


X, Y = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])
MODELS = {
    "revolute": lambda axis, joint: pin.JointModelRevoluteUnaligned(axis),
    "continuous": lambda axis, joint: pin.JointModelRevoluteUnaligned(axis),
    "prismatic": lambda axis, joint: pin.JointModelPrismaticUnaligned(axis),
    "helical": lambda axis, joint: pin.JointModelHelicalUnaligned(axis, joint.pitch),
    "universal": lambda axis, joint: pin.JointModelUniversal(X, Y),
    "translation": lambda axis, joint: pin.JointModelTranslation(),
    "spherical": lambda axis, joint: pin.JointModelSpherical(),
    "planar": lambda axis, joint: pin.JointModelPlanar(),
    "floating": lambda axis, joint: pin.JointModelFreeFlyer(),
    "cylindrical": lambda axis, joint: _composite(
        pin.JointModelPrismaticUnaligned(axis), pin.JointModelRevoluteUnaligned(axis)
    ),
}
"""Every kind of joint in Pinocchio."""


class Coordinates(NamedTuple):
    """Where the coordinates of a joint begin there and here, how many they are here, and what it makes of its leader's."""

    there: int
    here: int
    count: int
    factor: float
    offset: float


class Peer:
    """Functions of one state, in the coordinates of the `Robot`."""

    def __init__(self, robot: Robot, model) -> None:
        self.robot, self.model, self.data = robot, model, model.createData()
        model.gravity.linear = np.array(robot.gravity_vector)
        self.G = np.zeros((model.nv, robot.nv))
        self.places: list[Coordinates] = []
        for name in model.names[1:]:
            there, factor, offset, joint = model.joints[model.getJointId(name)], 1.0, 0.0, robot.joint(name)
            while robot.coupled and joint.mimic is not None:
                offset += factor * joint.mimic.offset
                factor *= joint.mimic.multiplier
                joint = robot.joint(joint.mimic.joint)
            q, v = robot.first_coordinates[joint.name]
            self.G[there.idx_v : there.idx_v + there.nv, v : v + there.nv] = factor * np.eye(there.nv)
            self.places.append(Coordinates(there.idx_q, q, KINDS[joint.kind].nq, factor, offset))
        self.free = self.G.shape[0] == self.G.shape[1]

    def configuration(self, q: np.ndarray) -> np.ndarray:
        """Pinocchio's q: as ours, but an angle without bounds and the one of a planar joint as (cos, sin)."""
        found = np.zeros(self.model.nq)
        for joint, (there, here, count, factor, offset) in zip(self.model.joints[1:], self.places, strict=True):
            own = factor * q[here : here + count] + offset
            if joint.nq > count:
                own = [*own[:-1], np.cos(own[-1]), np.sin(own[-1])]
            found[there : there + joint.nq] = own
        return found

    def coordinates(self, configuration: np.ndarray) -> np.ndarray:
        """Our q from Pinocchio's, where no joint follows another; angles within a turn."""
        q = np.zeros(self.robot.nq)
        for joint, (there, here, count, _, _) in zip(self.model.joints[1:], self.places, strict=True):
            own = configuration[there : there + joint.nq]
            if joint.nq > count:
                own = [*own[:-2], np.arctan2(own[-1], own[-2])]
            q[here : here + count] = own
        return q

    def integrate(self, q, dv):
        return self.coordinates(pin.integrate(self.model, self.configuration(q), self.G @ dv))

    def difference(self, q0, q1):
        return self.G.T @ pin.difference(self.model, self.configuration(q0), self.configuration(q1))

    def inverse_dynamics(self, q, qd, qdd):
        return self.G.T @ pin.rnea(self.model, self.data, self.configuration(q), self.G @ qd, self.G @ qdd)

    def inverse_dynamics_derivatives(self, q, qd, qdd):
        """[dq, dqd, dqdd] side by side."""
        arguments = self.configuration(q), self.G @ qd, self.G @ qdd
        dq, dqd, _ = pin.computeRNEADerivatives(self.model, self.data, *arguments)
        return np.hstack([self.G.T @ dq @ self.G, self.G.T @ dqd @ self.G, self.mass_matrix(q)])

    def forward_dynamics_derivatives(self, q, qd, tau):
        """[dq, dqd, dtau] side by side: Pinocchio's own, or, where joints are coupled, from those of inverse dynamics."""
        if self.free:
            arguments = self.configuration(q), self.G @ qd, self.G @ tau
            dq, dqd, inverse = pin.computeABADerivatives(self.model, self.data, *arguments)
            inverse = np.triu(inverse) + np.triu(inverse, 1).T
            return np.hstack([self.G.T @ each @ self.G for each in (dq, dqd, inverse)])
        by_state = self.inverse_dynamics_derivatives(q, qd, self.forward_dynamics(q, qd, tau))[:, : -len(tau)]
        return np.linalg.solve(self.mass_matrix(q), np.hstack([-by_state, np.eye(len(tau))]))

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

    def center_of_mass_jacobian(self, q):
        return pin.jacobianCenterOfMass(self.model, self.data, self.configuration(q)) @ self.G

    def centroidal_momentum(self, q, qd):
        return pin.computeCentroidalMomentum(self.model, self.data, self.configuration(q), self.G @ qd).vector

    def centroidal_momentum_matrix(self, q):
        zero = np.zeros(self.model.nv)
        return pin.ccrba(self.model, self.data, self.configuration(q), zero) @ self.G

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

    def drift(self, q, qd, frame: str):
        """Acceleration of a frame's origin and angular acceleration along the world's axes, for qdd = 0."""
        speeds = self.G @ qd
        pin.forwardKinematics(self.model, self.data, self.configuration(q), speeds, 0 * speeds)
        aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return pin.getFrameClassicalAcceleration(self.model, self.data, self.frame(frame), aligned).vector

    def frame(self, name: str) -> int:
        return self.model.getFrameId(name, BODY)
