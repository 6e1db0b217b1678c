"""Pinocchio's `constraintDynamics` gives the same accelerations and contact forces."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.pinocchio_peer import Peer, pin
from helpers.states import random_states
from oracles.test_floating import pair

from appell import Point

SOLES = [
    Point(f"{side}_ankle_roll_link", (x, y, -0.03))
    for side in ("left", "right")
    for x in (-0.05, 0.12)
    for y in (-0.03, 0.03)
]
CASES = {
    "go2 on four feet": ("go2", [Point(f"{leg}_foot") for leg in ("FL", "FR", "RL", "RR")]),
    "anymal on three feet": ("anymal_c", [Point(f"{leg}_FOOT", (0.0, 0.0, 0.01)) for leg in ("LF", "RF", "RH")]),
    "g1 on two soles": ("g1", ["left_ankle_roll_link", "right_ankle_roll_link"]),
    "g1 on a sole and a point": ("g1", ["left_ankle_roll_link", Point("right_ankle_roll_link", (0.1, 0.0, -0.03))]),
    "g1 on eight points": ("g1", SOLES),
}


def constraints_of(peer: Peer, contacts):
    """Contacts with the world, with forces along the world's axes."""
    models = pin.StdVec_RigidConstraintModel()
    for contact in contacts:
        point = isinstance(contact, Point)
        frame = peer.model.frames[peer.frame(contact.body if point else contact)]
        offset = np.array(contact.offset) if point else np.zeros(3)
        place = frame.placement * pin.SE3(np.eye(3), offset)
        kind = pin.ContactType.CONTACT_3D if point else pin.ContactType.CONTACT_6D
        aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        models.append(pin.RigidConstraintModel(kind, peer.model, frame.parentJoint, place, aligned))
    return models


class Solution:
    """Pinocchio's constrained dynamics at one configuration."""

    def __init__(self, peer: Peer, models, q: np.ndarray) -> None:
        self.peer, self.models, self.data, self.q = peer, models, peer.model.createData(), peer.configuration(q)
        self.datas = pin.StdVec_RigidConstraintData()
        for model in models:
            self.datas.append(model.createData())
        self.settings = pin.ProximalSettings(1e-12, 1e-12, 1e-8, 60)

    def at_rest(self, qd: np.ndarray) -> np.ndarray:
        """The velocities nearest to these with which the contacts are at rest."""
        G = self.peer.G
        pin.computeJointJacobians(self.peer.model, self.data, self.q)
        J = pin.getConstraintsJacobian(self.peer.model, self.data, self.models, self.datas)
        return qd - G.T @ np.linalg.lstsq(J, J @ G @ qd, rcond=1e-10)[0]

    def dynamics(self, qd: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations in Pinocchio's order, and contact forces."""
        G, model = self.peer.G, self.peer.model
        pin.initConstraintDynamics(model, self.data, self.models, self.datas)
        qdd = pin.constraintDynamics(model, self.data, self.q, G @ qd, G @ tau, self.models, self.datas, self.settings)
        return qdd, np.array([own.contact_force.vector for own in self.datas])

    def derivatives(self, qd: np.ndarray, tau: np.ndarray):
        """Of accelerations by q, qd and tau, then of contact forces."""
        self.dynamics(qd, tau)
        return pin.computeConstraintDynamicsDerivatives(
            self.peer.model, self.data, self.models, self.datas, self.settings
        )


@pytest.mark.parametrize("case", CASES)
def test_accelerations_and_forces(case: str) -> None:
    name, contacts = CASES[case]
    robot, peer = pair(name)
    q, qd, tau = random_states(robot, 2, seed=4)
    tau = 10.0 * tau
    models = constraints_of(peer, contacts)
    for k in range(len(q)):
        solution = Solution(peer, models, q[k])
        qd[k] = solution.at_rest(qd[k])
        expected, forces = solution.dynamics(qd[k], tau[k])
        found = robot.constrained_forward_dynamics(q[k], qd[k], tau[k], contacts)
        assert_close(found.qdd, peer.G.T @ expected, tolerance=1e-9)
        if contacts is SOLES:
            continue  # the same motion; the forces within a sole are Pinocchio's choice
        assert_close(found.forces, forces, tolerance=1e-9)


@pytest.mark.parametrize("case", ["go2 on four feet", "g1 on two soles"])
def test_derivatives_of_accelerations(case: str) -> None:
    name, contacts = CASES[case]
    robot, peer = pair(name)
    q, qd, tau = (x[0] for x in random_states(robot, 1, seed=4))
    solution = Solution(peer, constraints_of(peer, contacts), q)
    qd, tau = solution.at_rest(qd), 10.0 * tau
    found = robot.constrained_forward_dynamics_derivatives(q, qd, tau, contacts)
    for ours, theirs in zip(found.qdd, solution.derivatives(qd, tau), strict=False):
        assert_close(ours, peer.G.T @ theirs @ peer.G, tolerance=1e-11)
