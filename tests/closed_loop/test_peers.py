"""The built-in mechanisms against Pinocchio's loop constraints and MuJoCo's equalities.

Pinocchio solves the constrained dynamics with proximal iterations down to a residual of 1e-12; points are its 3D constraints, a
hinge is two of them on its axis, redundant as they may be. It agrees to 5e-14 of the largest acceleration. MuJoCo's constraints
are springs and dampers of adjustable stiffness; at the greatest impedance it takes, 0.9999, it agrees to 1e-3.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.loop_robots import BUILT_IN, built_in, selected, states

import appell
from appell.closed_loop.robot import ClosedLoopRobot

PROXIMAL, SPRINGS = 1e-11, 1e-3
"""Tolerances of the peers, as parts of the largest acceleration."""


def pinocchio_accelerations(robot: ClosedLoopRobot, q, v, forces) -> np.ndarray:
    """Accelerations of all joints from Pinocchio's constrained dynamics."""
    peers = pytest.importorskip("helpers.pinocchio_peer")
    pin = peers.pin
    peer = peers.Peer(robot.spanning_tree, peers.model_of_robot(robot.spanning_tree))
    models = []
    for closure in robot.closures:
        ends = []
        for body, pose in ((closure.body1, closure.pose1), (closure.body2, closure.pose2)):
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
        expected = pinocchio_accelerations(robot, q, robot.joint_velocities(q, qd), selected(robot, torques))
        own = robot.joint_accelerations(q, qd, robot.forward_dynamics(q, qd, torques))
        assert_close(own, expected, tolerance=PROXIMAL, scale=np.abs(own).max())


FOUR_BAR = """
<mujoco><option gravity="0 -9.81 0"/><worldbody>
  <body name="crank"><joint name="a" axis="0 0 1"/><geom type="capsule" fromto="0 0 0 1 0 0" size="0.02"/>
    <body name="coupler" pos="1 0 0"><joint name="b" axis="0 0 1"/><geom type="capsule" fromto="0 0 0 1.6 0 0" size="0.02"/>
  </body></body>
  <body name="rocker" pos="1.6 0 0"><joint name="c" axis="0 0 1"/><geom type="capsule" fromto="0 0 0 1 0 0" size="0.02"/></body>
</worldbody>
<equality><connect name="knee" body1="coupler" body2="rocker" anchor="1.6 0 0" solimp="0.9999 0.9999 0.001" solref="0.02 1"/>
</equality><actuator><motor joint="a"/></actuator></mujoco>
"""


def test_mujoco_accelerates_alike():
    """The model that MuJoCo has compiled, read with its equality as closure."""
    mujoco = pytest.importorskip("mujoco")
    robot = appell.load(FOUR_BAR)
    assert (robot.actuator_names, robot.nv, robot.closures[0].kind) == (("a",), 1, "point")
    model = mujoco.MjModel.from_xml_string(FOUR_BAR)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.opt.tolerance, model.opt.iterations = 0.0, 200
    data = mujoco.MjData(model)
    q = robot.solve_loop_closure({"a": 0.9}).q
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, robot.joint_velocities(q, [0.7]), 3.0
    mujoco.mj_forward(model, data)
    own = robot.joint_accelerations(q, [0.7], robot.forward_dynamics(q, [0.7], [3.0]))
    assert_close(own, data.qacc.copy(), tolerance=SPRINGS, scale=np.abs(own).max())


def test_mujoco_welds_alike():
    """Frames of a weld: in the rest pose it is closed, as MuJoCo says, and a site may stand for a body."""
    pytest.importorskip("mujoco")
    arm = """<mujoco><worldbody><body name="left" pos="0 0 1"><joint name="a" type="ball"/><geom size="0.1" pos="0.3 0 0"/>
      <body name="hand" pos="0.5 0.1 0" euler="20 30 40"><joint name="b" type="ball"/><geom size="0.1" pos="0.1 0.2 0"/></body>
      </body>
      <body name="right" pos="1 0.2 0.9" euler="0 10 5"><joint name="c" type="ball"/><geom size="0.1" pos="0.2 0 0"/></body>
      </worldbody><equality><weld name="grip" body1="hand" body2="right"/></equality></mujoco>"""
    robot = appell.load(arm)
    assert robot.nv == 3
    rest = robot.spanning_tree.neutral_configuration()
    assert robot.closure_error(rest) < 1e-14
    assert appell.load(arm, loops="ignore").nv == 9
