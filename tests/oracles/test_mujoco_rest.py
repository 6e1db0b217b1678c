"""Bodies at rest on a floor against MuJoCo: postures within its softness, contact forces within 1 %."""

import numpy as np
import pytest
from helpers.shared_data import shared

import appell

mujoco = pytest.importorskip("mujoco")
study = pytest.importorskip("mujoco_rest")

STOOL = """
<mujoco>
  <option timestep="0.001"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1" friction="0.8 0 0"/>
    <body name="seat" pos="0 0 0.35" euler="4 3 20">
      <freejoint/>
      <inertial pos="0.05 0.02 0" mass="4" diaginertia="0.05 0.06 0.08"/>
      <geom name="a" type="sphere" size="0.02" pos="-0.2 -0.15 -0.2" friction="0.8 0 0"/>
      <geom name="b" type="sphere" size="0.02" pos="-0.2 0.15 -0.2" friction="0.8 0 0"/>
      <geom name="c" type="sphere" size="0.02" pos="0.2 -0.15 -0.2" friction="0.8 0 0"/>
      <geom name="d" type="sphere" size="0.02" pos="0.2 0.15 -0.2" friction="0.8 0 0"/>
    </body>
  </worldbody>
</mujoco>
"""
FEET = [(x, y, -0.2) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]


def mujoco_rest():
    """Height and tilt at rest, and normal forces by foot."""
    model = mujoco.MjModel.from_xml_string(STOOL)
    data = mujoco.MjData(model)
    for _ in range(3000):
        mujoco.mj_step(model, data)
    forces, force = np.zeros(4), np.zeros(6)
    for k in range(data.ncon):
        mujoco.mj_contactForce(model, data, k, force)
        forces[max(data.contact[k].geom1, data.contact[k].geom2) - 1] = force[0]
    return data.qpos[2], data.xmat[1].reshape(3, 3)[2, 2], forces


def test_a_stool_dropped_on_its_feet_rests_as_in_mujoco():
    robot = appell.load(STOOL)
    model = mujoco.MjModel.from_xml_string(STOOL)
    q = robot.from_mujoco(model.qpos0, np.zeros(6))[0]
    feet = [appell.Point("seat", foot, 0.02) for foot in FEET]
    contact = appell.ContactOptions(points=feet, restitution=0.0)
    floor = appell.surfaces.Plane(friction=0.8)
    motion = appell.simulate(robot, q, np.zeros(6), 3.0, surfaces=floor, contact=contact, method="moreau")
    height, upright, forces = mujoco_rest()
    pose = robot.pose(motion.q[-1], "seat")
    assert pose[2, 3] == pytest.approx(height, abs=3e-3)
    assert pose[2, 2] == pytest.approx(upright, abs=1e-4)
    assert np.abs(motion.qd[-1]).max() < 1e-6
    own = np.array([motion.contact_forces[str(foot)][-1, 2] for foot in feet])
    assert own.sum() == pytest.approx(4.0 * 9.81, rel=1e-9)
    assert own == pytest.approx(forces, rel=0.01)


@pytest.mark.parametrize("method", ["moreau", "DOP853"])
def test_a_quadruped_dropped_on_its_feet_stands_as_in_mujoco(method):
    """Feet and base within 2 mm, the force of every foot within 1 %: with springs at the joints these are unique."""
    robot = appell.load(shared("robots/go2.urdf"), base="floating")
    found = study.compare(robot, study.STANDS["go2"], method, 2.0)
    assert found["velocity"] < 1e-4
    assert found["base"] < 2e-3
    assert found["feet"] < 2e-3
    assert found["joints"] < 1e-3
    assert found["forces"] < 1e-2
    assert abs(found["weight"]) < 1e-4
