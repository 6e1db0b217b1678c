"""What is read from a URDF, element by element."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell import Pose
from appell.model.body import Geometry

MASS = "<inertial><mass value='2'/><inertia ixx='0.1' ixy='0' ixz='0' iyy='0.2' iyz='0' izz='0.25'/></inertial>"


def arm(joint: str = "", *, link: str = MASS, kind: str = "revolute", rest: str = "", root: str = "name='arm'") -> str:
    """A base and one link, with these elements inside the joint and the link."""
    return (
        f"<robot {root}><link name='base'/><link name='tip'>{link}</link>"
        f"<joint name='elbow' type='{kind}'><parent link='base'/><child link='tip'/>{joint}</joint>{rest}</robot>"
    )


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_defaults_of_a_joint():
    joint = appell.load(arm()).joint("elbow")
    assert joint.axis == (1.0, 0.0, 0.0)  # of the standard, not ours
    assert joint.origin.xyz == joint.origin.rpy == (0.0, 0.0, 0.0)
    assert joint.limits == type(joint.limits)(-math.inf, math.inf, math.inf, math.inf)
    assert (joint.damping, joint.friction, joint.rotor_inertia, joint.gear_ratio) == (0.0, 0.0, 0.0, 1.0)
    assert joint.mimic is None


def test_everything_of_a_joint():
    robot = appell.load(arm(
        "<origin xyz='1 -2 3e-1' rpy='0.1 0.2 -.3'/><axis xyz='0 0 -1'/>"
        "<limit lower='-1' upper='2' effort='30' velocity='4'/><dynamics damping='0.5' friction='0.25'/>"
    ))  # fmt: skip
    joint = robot.joint("elbow")
    assert joint.origin.xyz == (1.0, -2.0, 0.3)
    assert joint.origin.rpy == (0.1, 0.2, -0.3)
    assert joint.axis == (0.0, 0.0, -1.0)
    limits = joint.limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-1.0, 2.0, 4.0, 30.0)
    assert (joint.damping, joint.friction) == (0.5, 0.25)


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_moving_kinds(kind):
    robot = appell.load(arm(kind=kind))
    assert robot.joint("elbow").kind == kind
    assert robot.nv == 1


def test_infinite_limits_are_infinite():
    joint = appell.load(arm("<limit lower='-inf' upper='INF' effort='1.7976931348623157e308' velocity='inf'/>")).joint(
        "elbow"
    )
    assert joint.limits == type(joint.limits)()


def test_limit_without_range_is_unlimited():
    limits = appell.load(arm("<limit effort='3' velocity='2'/>")).joint("elbow").limits
    assert (limits.lower, limits.upper, limits.effort) == (-math.inf, math.inf, 3.0)


def test_inertial_origin_turns_the_inertia_into_the_axes_of_the_link():
    tensor = "<inertia ixx='0.1' ixy='0.01' ixz='-0.02' iyy='0.2' iyz='0.03' izz='0.25'/>"
    body = appell.load(
        arm(link=f"<inertial><origin xyz='0.1 0.2 0.3' rpy='0.4 -0.5 0.6'/><mass value='2'/>{tensor}</inertial>")
    ).body("tip")
    roll, pitch, yaw = 0.4, -0.5, 0.6
    Rx = np.array([[1, 0, 0], [0, math.cos(roll), -math.sin(roll)], [0, math.sin(roll), math.cos(roll)]])
    Ry = np.array([[math.cos(pitch), 0, math.sin(pitch)], [0, 1, 0], [-math.sin(pitch), 0, math.cos(pitch)]])
    Rz = np.array([[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]])
    R = Rz @ Ry @ Rx
    expected = R @ np.array([[0.1, 0.01, -0.02], [0.01, 0.2, 0.03], [-0.02, 0.03, 0.25]]) @ R.T
    assert_close(np.array(body.inertia), expected[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]])
    assert body.com == (0.1, 0.2, 0.3)


def test_a_right_angle_of_the_inertial_origin_is_exact():
    inertial = MASS.replace("<mass", "<origin rpy='0 0 1.5707963267948966'/><mass")
    assert appell.load(arm(link=inertial)).body("tip").inertia == (0.2, 0.0, 0.0, 0.1, 0.0, 0.25)


def test_numbers_are_those_of_the_file():
    odd = "0.12345678901234567"
    body = appell.load(arm(link=MASS.replace("'2'", f"'{odd}'"))).body("tip")
    assert body.mass == float(odd)
    assert body.inertia == (0.1, 0.0, 0.0, 0.2, 0.0, 0.25)


def test_order_of_the_file_is_kept():
    bodies = "".join(f"<link name='{name}'>{MASS}</link>" for name in ("c", "a", "root", "b"))
    joints = "".join(
        f"<joint name='{name}' type='revolute'><parent link='{parent}'/><child link='{child}'/></joint>"
        for name, parent, child in (("z", "a", "b"), ("y", "root", "a"), ("x", "root", "c"))
    )
    robot = appell.load(f"<robot name='r'>{joints}{bodies}</robot>")
    assert robot.body_names == ("c", "a", "root", "b")
    assert robot.joint_names == ("z", "y", "x")


def test_lines_are_those_of_the_file():
    robot = appell.load(arm().replace("<link name='tip'>", "\n\n<link name='tip'>").replace("<joint", "\n<joint"))
    assert (robot.body("base").line, robot.body("tip").line, robot.joint("elbow").line) == (1, 3, 4)


def test_mimic_couples_or_not():
    second = (
        f"<link name='finger'>{MASS}</link><joint name='follower' type='prismatic'><parent link='base'/>"
        "<child link='finger'/><axis xyz='0 1 0'/><mimic joint='elbow' multiplier='-2' offset='0.5'/></joint>"
    )
    robot = appell.load(arm(rest=second))
    mimic = robot.joint("follower").mimic
    assert mimic is not None
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ("elbow", -2.0, 0.5)
    assert robot.joint_names == ("elbow",)
    free = appell.load(arm(rest=second), mimic="ignore")
    assert free.joint_names == ("elbow", "follower")
    assert free.joint("follower").mimic == mimic


def test_mimic_of_a_fixed_joint_is_left_out():
    second = (
        "<link name='pad'/><joint name='glued' type='fixed'><parent link='tip'/><child link='pad'/>"
        "<mimic joint='elbow'/></joint>"
    )
    assert appell.load(arm(rest=second)).joint("glued").mimic is None


@pytest.mark.parametrize("declared", [" xmlns:drake='http://drake.mit.edu'", ""], ids=["declared", "undeclared"])
def test_rotor_inertia_of_drake(declared):
    motor = (
        "<transmission name='t'><type>transmission_interface/SimpleTransmission</type><joint name='elbow'/>"
        "<actuator name='m'><drake:rotor_inertia value='0.001'/><drake:gear_ratio value='100'/></actuator></transmission>"
    )
    joint = appell.load(arm(rest=motor, root=f"name='arm'{declared}")).joint("elbow")
    assert (joint.rotor_inertia, joint.gear_ratio) == (0.001, 100.0)
    assert joint.armature == pytest.approx(10.0)


def test_mechanical_reduction_alone_is_the_gear_of_an_actuator():
    gear = (
        "<transmission name='t'><joint name='elbow'/><actuator name='m'><mechanicalReduction>100</mechanicalReduction>"
        "</actuator></transmission>"
    )
    geared, plain = appell.load(arm(rest=gear)), appell.load(arm())
    assert (geared.bodies, geared.joints, geared.actuators[0].gear) == (plain.bodies, plain.joints, 100.0)


def test_rotor_with_mechanical_reduction_warns():
    gear = (
        "<transmission name='t'><joint name='elbow'/><actuator name='m'><mechanicalReduction>100</mechanicalReduction>"
        "<drake:rotor_inertia value='0.001'/></actuator></transmission>"
    )
    with pytest.warns(
        appell.ModelWarning, match="transmission 't' .line 1.: a rotor inertia with <mechanicalReduction>"
    ):
        joint = appell.load(arm(rest=gear)).joint("elbow")
    assert (joint.rotor_inertia, joint.gear_ratio) == (0.001, 1.0)


def test_meshes_stay_names_and_foreign_tags_are_ignored():
    drawing = (
        "<visual><origin xyz='1 2 3'/><geometry><mesh filename='package://nowhere/a.dae' scale='1 2 3'/></geometry>"
        "<material name='red'/></visual><visual><geometry><box size='1 2 3'/></geometry></visual>"
        "<collision><geometry><mesh filename='package://nowhere/b.dae'/></geometry></collision>"
    )
    rest = (
        "<material name='red'><color rgba='1 0 0 1'/></material><gazebo reference='tip'><mu>1</mu></gazebo>"
        "<sensor name='s'/><joint_like/>"
    )
    mesh, box = appell.load(arm(link=MASS + drawing, rest=rest)).body("tip").visuals
    assert (mesh.kind, mesh.mesh, mesh.size) == ("mesh", "package://nowhere/a.dae", (1.0, 2.0, 3.0))
    assert mesh.pose.xyz == (1.0, 2.0, 3.0)
    assert mesh.rgba == (1.0, 0.0, 0.0, 1.0)
    assert (box.kind, box.size, box.rgba) == ("box", (1.0, 2.0, 3.0), None)


def test_collision_shapes():
    shapes = (
        "<collision><origin xyz='1 2 3' rpy='0 0 1'/><geometry><mesh filename='b.dae'/></geometry></collision>"
        "<collision><geometry><cylinder radius='0.1' length='0.4'/></geometry></collision>"
    )
    mesh, cylinder = appell.load(arm(link=MASS + shapes)).body("tip").collisions
    assert mesh == Geometry("mesh", (1.0, 1.0, 1.0), Pose((1.0, 2.0, 3.0), (0.0, 0.0, 1.0)), "b.dae")
    assert cylinder == Geometry("cylinder", (0.1, 0.4))


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("<sphere radius='-1'/>", r"a sphere with size \(-1.0,\), expected numbers >= 0"),
        ("<sphere radius='x'/>", "radius='x' of <sphere>, expected a decimal number"),
        ("<cone radius='1'/>", "<collision> has no known shape"),
    ],
)
def test_invalid_collision_shapes_are_left_out(shape, text):
    with pytest.warns(appell.ModelWarning, match=text + ". Shapes are box.*not used for contact"):
        robot = appell.load(arm(link=f"{MASS}<collision><geometry>{shape}</geometry></collision>"))
    assert robot.body("tip").collisions == ()


def test_a_shape_that_cannot_be_read_is_left_out_with_a_warning():
    drawing = "<visual><geometry><sphere radius='big'/></geometry></visual>"
    with pytest.warns(appell.ModelWarning, match="radius='big' of <sphere>"):
        assert appell.load(arm(link=MASS + drawing)).body("tip").visuals == ()


def test_a_default_namespace_is_no_obstacle():
    assert appell.load(arm(root="name='arm' xmlns='http://www.ros.org'")) == appell.load(arm())


def test_axis_becomes_a_unit_vector():
    with pytest.warns(appell.ModelWarning, match=r"joint 'elbow' \(line 1\): axis has length 2, expected 1"):
        assert appell.load(arm("<axis xyz='0 0 2'/>")).joint("elbow").axis == (0.0, 0.0, 1.0)
    nearly = appell.load(arm("<axis xyz='0.6000001 0.8 0'/>")).joint("elbow").axis
    assert math.hypot(*nearly) == pytest.approx(1.0, abs=1e-15)


def test_numbers_do_not_depend_on_the_locale():
    import locale

    previous = locale.setlocale(locale.LC_NUMERIC)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8"):
        try:
            locale.setlocale(locale.LC_NUMERIC, name)
            break
        except locale.Error:
            continue
    try:
        robot = appell.load(arm("<limit lower='-1.5' upper='2.5' effort='1' velocity='1'/>"))
        assert robot.joint("elbow").limits.upper == 2.5
        assert appell.load(robot.to_urdf()) == robot
    finally:
        locale.setlocale(locale.LC_NUMERIC, previous)
