"""The built-in mechanisms against Pinocchio's loop constraints and MuJoCo's equalities.

Pinocchio solves the constrained dynamics with proximal iterations; points are its 3D constraints, a hinge is two of them on
its axis, redundant as they may be. It stops at a residual of 1e-12, and agrees to 1e-8 of the largest acceleration: that is
what the proximal term leaves where constraints are redundant. MuJoCo's constraints are springs: as stiff as its time step
allows they agree to 2e-3.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers import assert_close
from loop_robots import BUILT_IN, built_in, selected, states

from appell.closed_loop.robot import ClosedLoopRobot

PROXIMAL = 1e-8
"""What Pinocchio's proximal solution leaves, as a part of the largest acceleration."""


def pinocchio_accelerations(robot: ClosedLoopRobot, q, v, forces) -> np.ndarray:
    """Accelerations of all joints from Pinocchio's constrained dynamics."""
    peers = pytest.importorskip("pinocchio_peer")
    pin = peers.pin
    peer = peers.Peer(robot.open_tree, peers.model_of_robot(robot.open_tree))
    models = []
    for closure in robot.closures:
        ends = []
        for body, pose in ((closure.first, closure.first_pose), (closure.second, closure.second_pose)):
            frame = peer.model.frames[peer.frame(body)]
            ends.append((frame.parentJoint, frame.placement * pin.SE3(pose.rotation, np.array(pose.xyz))))
        along = pin.SE3(np.eye(3), np.array(closure.axis))
        for shift in (pin.SE3.Identity(), along) if closure.kind == "revolute" else (pin.SE3.Identity(),):
            (first, here), (second, there) = ends
            models.append(
                pin.RigidConstraintModel(
                    pin.ContactType.CONTACT_3D, peer.model, first, here * shift, second, there * shift, pin.LOCAL
                )
            )
    datas = [model.createData() for model in models]
    if int(pin.__version__.split(".")[0]) >= 4:
        pin.initConstraintDynamics(peer.model, peer.data, models, datas)
    else:
        pin.initConstraintDynamics(peer.model, peer.data, models)
    settings = pin.ProximalSettings(1e-12, 1e-12, 1e-9, 200)
    # G is a permutation here: the same speeds in Pinocchio's order
    found = pin.constraintDynamics(
        peer.model, peer.data, peer.configuration(q), peer.G @ v, peer.G @ forces, models, datas, settings
    )
    return peer.G.T @ found


@pytest.mark.parametrize("name", BUILT_IN)
def test_pinocchio_accelerates_alike(name):
    robot = built_in(name)
    for q, qd, qdd in zip(*states(robot, 3, seed=5), strict=True):
        torques = robot.inverse_dynamics(q, qd, qdd)
        expected = pinocchio_accelerations(robot, q, robot.joint_speeds(q, qd), selected(robot, torques))
        own = robot.joint_accelerations(q, qd, robot.forward_dynamics(q, qd, torques))
        assert_close(own, expected, tolerance=PROXIMAL, scale=np.abs(own).max())
