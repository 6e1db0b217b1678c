"""SDF: the same robots as in other formats, poses relative to frames, nested models, and what is not read."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.shared_data import shared

import appell
from appell.model.pose import Pose

NAMES = {"spherical": "ball"}


def sdf_of(robot, shift: Pose | None = None, in_model: bool = False) -> str:
    """The robot as SDF: links at their places at q = 0, joint frames moved by `shift` along the axis, axes along the model's."""
    q = robot.neutral_configuration()
    placed = {name: robot.pose(q, name) for name in robot.body_names}
    children = {joint.child for joint in robot.joints}
    parts = [f"<sdf version='1.9'><model name='{robot.name}'>"]
    for body in robot.bodies:
        xx, xy, xz, yy, yz, zz = body.inertia
        entries = {"ixx": xx, "ixy": xy, "ixz": xz, "iyy": yy, "iyz": yz, "izz": zz}
        tensor = "".join(f"<{tag}>{value!r}</{tag}>" for tag, value in entries.items())
        com = " ".join(map(repr, body.com))
        parts.append(
            f"<link name='{body.name}'><pose>{pose_text(placed[body.name])}</pose><inertial><pose>{com} 0 0 0</pose>"
            f"<mass>{body.mass!r}</mass><inertia>{tensor}</inertia></inertial></link>"
        )
    assert len(children) == len(robot.bodies) - 1
    for joint in robot.joints:
        axis, attribute = np.array(joint.axis), ""
        if in_model:
            axis, attribute = placed[joint.child][:3, :3] @ axis, " expressed_in='__model__'"
        along = (
            np.array(joint.axis) * 0.3
            if shift and joint.kind in ("revolute", "continuous", "prismatic")
            else np.zeros(3)
        )
        limits = joint.limits
        parts.append(
            f"<joint name='{joint.name}' type='{NAMES.get(joint.kind, joint.kind)}'>"
            f"<pose>{' '.join(map(repr, along.tolist()))} 0 0 0</pose><parent>{joint.parent}</parent><child>{joint.child}</child>"
            f"<axis><xyz{attribute}>{' '.join(map(repr, axis.tolist()))}</xyz>"
            f"<limit><lower>{limits.lower!r}</lower><upper>{limits.upper!r}</upper></limit>"
            f"<dynamics><damping>{joint.damping!r}</damping><friction>{joint.friction!r}</friction></dynamics></axis></joint>"
        )
    return "".join([*parts, "</model></sdf>"])


def pose_text(T: np.ndarray) -> str:
    pose = Pose.from_matrix(T[:3, 3], T[:3, :3])
    return " ".join(map(repr, (*pose.xyz, *pose.rpy)))


def load(text, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        return appell.load(text, **options)


def assert_same_dynamics(robot, other) -> None:
    assert other.joint_names == robot.joint_names
    rng = np.random.default_rng(5)
    q = robot.integrate(robot.neutral_configuration(), rng.uniform(-1, 1, robot.nv))
    qd, qdd = rng.uniform(-1, 1, (2, robot.nv))
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert_close(other.inverse_dynamics(q, qd, qdd), tau, tolerance=1e-12)
    for name in robot.body_names[-3:]:
        assert_close(other.pose(q, name), robot.pose(q, name), tolerance=1e-12, scale=1.0)
    assert_close(other.passive_forces(qd), robot.passive_forces(qd), tolerance=1e-14)


@pytest.mark.parametrize("name", ["panda", "ur5", "go2"])
def test_the_same_robot_as_in_urdf(name):
    robot = load(shared(f"robots/{name}.urdf"), mimic="ignore")
    other = load(sdf_of(robot))
    assert_same_dynamics(robot, other)
    assert [joint.limits.upper for joint in other.moving_joints] == [j.limits.upper for j in robot.moving_joints]
    shifted = load(sdf_of(robot, shift=Pose(), in_model=True))
    assert_same_dynamics(robot, shifted)


@pytest.mark.parametrize("seed", range(4))
def test_random_trees(seed):
    robot = appell.robots.random_tree(5, seed=seed, kinds=("revolute", "prismatic", "spherical"))
    joints = tuple(replace(joint, rotor_inertia=0.0, mimic=None) for joint in robot.joints)
    robot = replace(robot, joints=joints, gravity_vector=(0.0, 0.0, -9.81))
    assert_same_dynamics(robot, load(sdf_of(robot)))


LINK = "<inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>2</iyy><izz>2.5</izz></inertia></inertial>"


def arm(joint: str = "", *, links: str = "", rest: str = "", version: str = "1.9", pose: str = "1 0 0 0 0 0") -> str:
    return (
        f"<sdf version='{version}'><model name='arm'><link name='base'>{LINK}</link><link name='tip'><pose>{pose}</pose>"
        f"{LINK}{links}</link>"
        f"<joint name='elbow' type='revolute'><parent>base</parent><child>tip</child>{joint}</joint>{rest}</model></sdf>"
    )


def test_everything_of_a_joint():
    joint = load(
        arm(
            "<axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>-1</effort><velocity>3</velocity></limit>"
            "<dynamics><damping>0.5</damping><friction>0.1</friction><spring_stiffness>7</spring_stiffness>"
            "<spring_reference>0.2</spring_reference></dynamics></axis>"
        )
    ).joint("elbow")
    assert (joint.axis, joint.kind, joint.origin.xyz) == ((0.0, 1.0, 0.0), "revolute", (1.0, 0.0, 0.0))
    limits = joint.limits
    assert (limits.lower, limits.upper, limits.effort, limits.velocity) == (-1.0, math.inf, math.inf, 3.0)
    assert (joint.damping, joint.friction, joint.stiffness, joint.springref) == (0.5, 0.1, 7.0, 0.2)


def test_axes_of_old_versions_are_along_the_model():
    turned = "1 0 0 0 0 1.5707963267948966"
    axis = "<axis><xyz>1 0 0</xyz></axis>"
    assert_close(load(arm(axis, version="1.4", pose=turned)).joint("elbow").axis, [0.0, -1.0, 0.0])
    flag = axis.replace("</axis>", "<use_parent_model_frame>1</use_parent_model_frame></axis>")
    assert_close(load(arm(flag, version="1.6", pose=turned)).joint("elbow").axis, [0.0, -1.0, 0.0])
    assert load(arm(axis, pose=turned)).joint("elbow").axis == (1.0, 0.0, 0.0)


def test_poses_relative_to_frames():
    frames = (
        "<frame name='stand'><pose>0 0 2 0 0 0</pose></frame>"
        "<frame name='tool' attached_to='tip'><pose relative_to='elbow'>0.5 0 0 0 0 90</pose></frame>"
    )
    text = arm("<pose>0 0.25 0 0 0 0</pose>", rest=frames).replace(" 0 0 90<", " 0 0 1.5707963267948966<")
    text = text.replace("<link name='tip'><pose>", "<link name='tip'><pose relative_to='stand'>")
    robot = load(text)
    assert_close(robot.pose([0.0], "tip")[:3, 3], [1.0, 0.0, 2.0])
    assert_close(robot.pose([0.0], "tool")[:3, 3], [1.5, 0.25, 2.0])
    assert_close(robot.pose([0.0], "stand")[:3, 3], [0.0, 0.0, 2.0])
    assert robot.pose([math.pi], "tip")[1, 3] == pytest.approx(0.5)  # about the joint's frame
    degrees = load(arm(pose="0 0 0 0 0 0").replace("<pose>0 0 0 0 0 0", "<pose degrees='true'>0 0 0 0 0 90"))
    quaternion = "<pose rotation_format='quat_xyzw'>0 0 0 0 0 0.5 0.5"
    other = load(arm(pose="0 0 0 0 0 0").replace("<pose>0 0 0 0 0 0", quaternion))
    for turned in (degrees, other):
        assert_close(turned.pose([0.0], "tip")[:2, :2], [[0.0, -1.0], [1.0, 0.0]], tolerance=1e-15)


def test_nested_models_have_scoped_names():
    hand = (
        f"<model name='hand'><pose>0 0 1 0 0 0</pose><link name='palm'><pose>0 0 0.5 0 0 0</pose>{LINK}</link></model>"
    )
    wrist = "<joint name='wrist' type='prismatic'><parent>tip</parent><child>hand::palm</child></joint>"
    robot = load(arm(rest=hand + wrist))
    assert robot.body_names == ("base", "tip", "hand::palm")
    assert_close(robot.pose([0.0, 0.25], "hand::palm")[:3, 3], [0.0, 0.0, 1.75])


def test_fixed_to_the_world():
    anchor = (
        "<joint name='anchor' type='fixed'><parent>world</parent><child>base</child></joint><pose>0 0 3 0 0 0</pose>"
    )
    robot = load(arm(rest=anchor))
    assert robot.body_names[0] == "world"
    assert robot.pose([0.0], "tip")[2, 3] == 3.0
    moved = load(arm().replace("<link name='base'>", "<link name='base'><pose>0 0 4 0 0 0</pose>"))
    assert moved.pose([0.0], "base")[2, 3] == 4.0
    assert load(arm(), base="floating").nv == 7


def test_joints_with_two_axes():
    text = arm("<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>").replace("revolute", "universal")
    robot = load(text)
    assert robot.joint_names == ("elbow", "elbow_axis2")
    expected = Pose((0, 0, 0), (0.3, 0, 0)).rotation @ Pose((0, 0, 0), (0, 0.4, 0)).rotation
    assert_close(robot.pose([0.3, 0.4], "tip")[:3, :3], expected)


def test_mimic_and_screws():
    finger = (
        f"<link name='finger'>{LINK}</link><joint name='slide' type='prismatic'><parent>tip</parent><child>finger</child>"
        "<axis><xyz>0 0 1</xyz><mimic joint='elbow'><multiplier>2</multiplier><offset>1</offset><reference>0.5</reference>"
        "</mimic></axis></joint>"
    )
    mimic = load(arm(rest=finger)).joint("slide").mimic
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ("elbow", 2.0, 0.0)
    screw = load(arm("<screw_thread_pitch>0.1</screw_thread_pitch>").replace("revolute", "screw"))
    assert screw.pose([2 * math.pi], "tip")[2, 3] == pytest.approx(0.1)


def test_shapes():
    shapes = (
        "<visual name='v'><pose>1 0 0 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry><material><diffuse>1 0 0 1"
        "</diffuse></material></visual><visual name='m'><geometry><mesh><uri>model://arm/a.stl</uri><scale>2 2 2</scale></mesh>"
        "</geometry></visual><collision name='c'><geometry><cylinder><radius>0.1</radius><length>0.5</length></cylinder>"
        "</geometry></collision>"
    )
    body = load(arm(links=shapes)).body("tip")
    assert [(v.kind, v.size, v.mesh, v.rgba) for v in body.visuals] == [
        ("box", (1.0, 2.0, 3.0), "", (1.0, 0.0, 0.0, 1.0)),
        ("mesh", (2.0, 2.0, 2.0), "model://arm/a.stl", None),
    ]
    assert body.visuals[0].pose.xyz == (1.0, 0.0, 0.0)
    assert [(c.kind, c.size) for c in body.collisions] == [("cylinder", (0.1, 0.5))]


DEFECTS = {
    "no inertial": (LINK, "", "default", "the format takes 1 kg"),
    "auto": ("<inertial>", "<inertial auto='true'>", "mass-data", "computed by the simulator"),
    "bad mass": ("<mass>2<", "<mass>two<", "mass-data", "'two' in <mass>, expected a decimal number"),
    "unknown parent": ("<parent>base<", "<parent>nothing<", "link", "unknown parent link 'nothing'"),
    "unknown frame": ("<pose>1", "<pose relative_to='nowhere'>1", "link", "relative to 'nowhere'"),
    "own frame": ("<pose>1", "<pose relative_to='tip'>1", "link", "relative to itself"),
    "include": ("</model>", "<include><uri>model://a</uri></include></model>", "missing", "'model://a' is not read"),
    "two models": ("</sdf>", "<model name='b'/></sdf>", "ignored", "several models"),
    "gearbox": ("'revolute'", "'gearbox'", "joint-type", "unknown joint type 'gearbox'"),
    "no model": ("model", "actor", "missing", "there is no <model>"),
    "no gravity": ("<link name='tip'>", "<link name='tip'><gravity>false</gravity>", "ignored", "gravity acts"),
    "number": ("<pose>1 0", "<pose>1", "number", "expected 6 numbers"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects(defect):
    old, new, kind, words = DEFECTS[defect]
    text = arm()
    assert old in text
    report = appell.check(
        text.replace(old, new, 2 if old == "model" else 1) if old != "model" else text.replace(old, new)
    )
    assert any(problem.kind == kind and words in problem.what for problem in report), str(report)


def test_the_world_has_gravity():
    moon = "<sdf version='1.9'><world name='w'><gravity>0 0 -1.62</gravity>" + arm().partition("'1.9'>")[2]
    assert load(moon.replace("</sdf>", "</world></sdf>")).gravity_vector == (0.0, 0.0, -1.62)


def test_written_as_urdf():
    robot = load(arm("<pose>0 0.25 0 0 0 0</pose>"))
    again = load(robot.to_urdf())
    assert_close(again.mass_matrix([0.4]), robot.mass_matrix([0.4]))
