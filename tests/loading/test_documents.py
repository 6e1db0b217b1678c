"""Writing back to URDF changes only what was changed."""

from __future__ import annotations

import difflib
from dataclasses import replace

import pytest

import appell
from appell.model.body import Visual
from appell.model.joint import Joint, Limits

TEXT = """<?xml version="1.0"?>
<!-- generated -->
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <material name="grey"><color rgba="0.5 0.5 0.5 1"/></material>
  <link name="base"/>
  <!-- the arm -->
  <link name="upper">
    <inertial>
      <origin rpy="0 0 1.5" xyz="0.1 0 0"/>
      <mass value="2.0"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/>
    </inertial>
    <visual>
      <geometry><box size="1 2 3"/></geometry>
      <material name="grey"/>
    </visual>
    <collision name="hull"><geometry><sphere radius="0.5"/></geometry></collision>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <axis xyz="0 0 2"/>
    <limit effort="10" lower="-1.570" upper="1.570" velocity="3"/>
    <safety_controller k_velocity="1"/>
  </joint>
  <transmission name="t1">
    <joint name="shoulder"><hardwareInterface>Effort</hardwareInterface></joint>
    <actuator name="m1"><mechanicalReduction>50</mechanicalReduction></actuator>
  </transmission>
  <gazebo reference="upper"><mu1>0.2</mu1></gazebo>
</robot>
"""


@pytest.fixture
def robot():
    with pytest.warns(appell.ModelWarning, match="axis has length 2"):
        return appell.load(TEXT)


def changed_lines(text: str) -> list[str]:
    """Lines that differ from TEXT, removed ones with - and added ones with +, without indentation."""
    lines = difflib.ndiff(TEXT.splitlines(), text.splitlines())
    return [line[0] + line[2:].strip() for line in lines if line[0] in "+-"]


def test_unchanged_text_stays(robot):
    assert robot.to_urdf() == TEXT
    assert appell.load("puma560").document is None


def test_only_the_mass_changes(robot):
    heavier = replace(robot, bodies=(robot.bodies[0], replace(robot.bodies[1], mass=2.5)))
    assert changed_lines(heavier.to_urdf()) == ['-<mass value="2.0"/>', '+<mass value="2.5"/>']


def test_inertia_is_written_along_the_axes_of_the_link(robot):
    found = robot.with_inertia({"upper": {"mass": 2.0, "com": (0, 0, 0.5), "inertia": (0.3, 0.2, 0.2)}})
    assert changed_lines(found.to_urdf()) == [
        '-<origin rpy="0 0 1.5" xyz="0.1 0 0"/>',
        '+<origin rpy="0.0 0.0 0.0" xyz="0.0 0.0 0.5"/>',
        '-<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.2"/>',
        '+<inertia ixx="0.3" ixy="0.0" ixz="0.0" iyy="0.2" iyz="0.0" izz="0.2"/>',
    ]


CHANGES = {
    "damping": ({"damping": 0.5}, ['+<dynamics damping="0.5" friction="0.0"/>']),
    "limits": (
        {"limits": Limits(-1.57, 2.0, 3.0, 10.0)},
        [
            '-<limit effort="10" lower="-1.570" upper="1.570" velocity="3"/>',
            '+<limit effort="10.0" lower="-1.57" upper="2.0" velocity="3.0"/>',
        ],
    ),
    "axis": ({"axis": (1.0, 0.0, 0.0)}, ['-<axis xyz="0 0 2"/>', '+<axis xyz="1.0 0.0 0.0"/>']),
}


@pytest.mark.parametrize("change", CHANGES)
def test_one_field_of_a_joint(robot, change):
    fields, lines = CHANGES[change]
    other = replace(robot, joints=(replace(robot.joints[0], **fields),))
    assert changed_lines(other.to_urdf()) == lines


def test_actuators_are_those_of_transmissions(robot):
    assert [(each.name, each.joint, each.gear) for each in robot.actuators] == [("m1", "shoulder", 50.0)]
    assert robot.generalized_forces({"m1": 2.0}).tolist() == [100.0]
    other = replace(robot, actuators=(replace(robot.actuators[0], gears=(20.0,)),))
    with pytest.warns(appell.ModelWarning):
        assert appell.load(other.to_urdf()).actuators == other.actuators
    assert appell.load(replace(other, document=None).to_urdf()).actuators == other.actuators
    locked = robot.lock({"shoulder": 0.1})
    assert appell.load(locked.to_urdf()).actuators == locked.actuators == ()


def test_springs_of_gazebo():
    spring = "<gazebo reference='shoulder'><springStiffness>5</springStiffness><springReference>0.1</springReference></gazebo>"
    with pytest.warns(appell.ModelWarning):
        joint = appell.load(TEXT.replace("</robot>", f"{spring}</robot>")).joint("shoulder")
    assert (joint.stiffness, joint.springref) == (5.0, 0.1)
    off = "<gazebo reference='upper'><turnGravityOff>true</turnGravityOff></gazebo></robot>"
    report = appell.check(TEXT.replace("</robot>", off))
    assert any("gravity acts on 'upper'" in problem.what for problem in report)


def test_a_rotor_gets_a_transmission_of_its_own(robot):
    """A reduction alone has no meaning for the dynamics; it stays."""
    geared = replace(robot, joints=(replace(robot.joints[0], rotor_inertia=1e-4, gear_ratio=50.0),))
    text = geared.to_urdf()
    assert "<mechanicalReduction>50</mechanicalReduction>" in text
    with pytest.warns(appell.ModelWarning):
        again = appell.load(text)
    assert again == geared
    lighter = replace(again, joints=(replace(again.joints[0], rotor_inertia=2e-4),))
    assert lighter.to_urdf().count("<transmission") == text.count("<transmission") == 2


def test_bodies_and_joints_come_and_go(robot):
    hand = appell.RobotBuilder().body("hand", mass=1.0, inertia=(1, 1, 1)).build().bodies[0]
    wrist = Joint("wrist", "fixed", "upper", "hand")
    more = replace(robot, bodies=(robot.bodies[0], hand, robot.bodies[1]), joints=(*robot.joints, wrist))
    text = more.to_urdf()
    assert all(line[0] == "+" for line in changed_lines(text))
    with pytest.warns(appell.ModelWarning):
        again = appell.load(text)
    assert again == more
    fewer = replace(again, bodies=(again.bodies[0], again.bodies[2]), joints=again.joints[:1])
    assert changed_lines(fewer.to_urdf()) == []
    swapped = replace(robot, bodies=robot.bodies[::-1])
    with pytest.warns(appell.ModelWarning):
        assert appell.load(swapped.to_urdf()).body_names == ("upper", "base")


def test_shapes_that_differ_are_replaced(robot):
    (box,) = robot.bodies[1].visuals
    ball = Visual("sphere", (0.1,))
    shaped = replace(robot, bodies=(robot.bodies[0], replace(robot.bodies[1], visuals=(ball, box))))
    text = shaped.to_urdf()
    assert '<collision name="hull">' in text
    with pytest.warns(appell.ModelWarning):
        assert appell.load(text) == shaped
    bare = replace(
        robot, bodies=(robot.bodies[0], replace(robot.bodies[1], mass=0.0, com=(0.0,) * 3, inertia=(0.0,) * 6))
    )
    assert "inertial" not in bare.to_urdf()


def test_gravity_and_name(robot):
    moon = replace(robot.with_gravity((0, 0, -1.62)), name="lunar")
    with pytest.warns(appell.ModelWarning):
        again = appell.load(moon.to_urdf())
    assert again == moon
    with pytest.warns(appell.ModelWarning):
        assert appell.load(replace(again, gravity_vector=(0.0, 0.0, -9.81), name="arm").to_urdf()) == robot


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_other_encodings_are_written_as_utf_8(tmp_path, encoding):
    declared = TEXT.replace('"1.0"?', f'"1.0" encoding="{encoding.removesuffix("-sig")}"?').replace(
        "generated", "für ±1 °"
    )
    (tmp_path / "arm.urdf").write_bytes(declared.encode(encoding))
    with pytest.warns(appell.ModelWarning):
        robot = appell.load(tmp_path / "arm.urdf")
    robot.to_urdf(tmp_path / "out.urdf")
    written = (tmp_path / "out.urdf").read_bytes().decode("utf-8")
    assert 'encoding="utf-8"' in written
    assert "für ±1 °" in written
    with pytest.warns(appell.ModelWarning):
        assert appell.load(tmp_path / "out.urdf") == robot
