"""Every defect of a description is reported, with its line, severity and remedy."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.random_trees import LARGE_TREES, SMALL_TREES, over

import appell
from appell.model.body import Body
from appell.model.check import KINEMATICS_ONLY
from appell.model.check.pivots import pivots
from appell.model.check.problem import SEVERITY, Problem
from appell.model.joint import Joint, Mimic
from appell.model.joints import KINDS
from appell.robot.robot import Robot

MASS = "<inertial><mass value='1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"
LINES = [
    "<robot name='r'>",
    "<link name='base'/>",
    f"<link name='arm'>{MASS}</link>",
    f"<link name='hand'>{MASS}</link>",
    "<joint name='shoulder' type='revolute'><parent link='base'/><child link='arm'/><axis xyz='0 0 1'/></joint>",
    "<joint name='elbow' type='revolute'><parent link='arm'/><child link='hand'/><axis xyz='0 1 0'/></joint>",
    "</robot>",
]
"""A sound robot, one element a line."""

DEFECTS = {
    "negative mass": (3, "value='1'", "value='-1'", "negative-mass", "link 'arm'", "mass is -1 kg"),
    "indefinite inertia": (3, "ixx='1'", "ixx='-1'", "inertia", "link 'arm'", "not positive definite"),
    "no inertia": (3, "ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'", "ixx='0' iyy='1' izz='1'", "inertia",
                   "link 'arm'",
                   "not positive definite: principal moments 0, 1, 1"),
    "triangle": (3, "izz='1'", "izz='2.1'", "triangle", "link 'arm'", "triangle inequality"),
    "inertia without mass": (3, "value='1'", "value='0'", "massless", "link 'arm'", "inertia but no mass"),
    "movable link without mass": (4, MASS, "", "singular", "joint 'elbow'",
                                  "link 'hand' moves with no inertia"),
    "movable link without mass but a load": (3, MASS, "", "massless", "link 'arm'",
                                             "moves with joint 'shoulder' but has no mass"),
    "zero axis": (6, "0 1 0", "0 0 0", "axis-zero", "joint 'elbow'", "axis has length 0, expected 1"),
    "long axis": (6, "0 1 0", "0 3 0", "axis-length", "joint 'elbow'", "axis has length 3, expected 1"),
    "duplicate link": (4, "'hand'", "'arm'", "name", "link 'arm'", "the name is used twice"),
    "duplicate joint": (6, "'elbow'", "'shoulder'", "name", "joint 'shoulder'", "the name is used twice"),
    "missing link name": (4, "name='hand'", "", "name", "link ''", "the name is missing"),
    "missing joint name": (6, "name='elbow'", "", "name", "joint ''", "the name is missing"),
    "missing child": (6, "<child link='hand'/>", "", "missing", "joint 'elbow'", "the joint names no child link"),
    "unnamed parent": (6, "link='arm'", "", "missing", "joint 'elbow'", "the joint names no parent link"),
    "unknown parent": (6, "link='arm'", "link='arn'", "link", "joint 'elbow'",
                       "unknown parent link 'arn'. Did you mean 'arm'"),
    "unknown child": (6, "link='hand'", "link='x'", "link", "joint 'elbow'", "unknown child link 'x'"),
    "cycle": (5, "parent link='base'", "parent link='hand'", "cycle", "joint 'shoulder'", "arm <- hand <- arm"),
    "own parent": (6, "parent link='arm'", "parent link='hand'", "cycle", "joint 'elbow'", "hand <- hand"),
    "two parents": (6, "child link='hand'", "child link='arm'", "two-parents", "joint 'elbow'",
                    "already the child of joint 'shoulder'"),
    "two roots": (6, LINES[5], "", "roots", "robot", "2 links have no parent joint ('base', 'hand'), expected one root"),
    "unknown type": (6, "revolute", "hinge", "joint-type", "joint 'elbow'",
                     "unknown joint type 'hinge'. Valid: revolute, continuous"),
    "missing type": (6, "type='revolute'", "", "joint-type", "joint 'elbow'", "unknown joint type ''"),
    "reversed limits": (6, "<axis", "<limit lower='1' upper='-1'/><axis", "limits", "joint 'elbow'",
                        "lower 1 > upper -1"),
    "no room": (6, "<axis", "<limit lower='1' upper='1'/><axis", "limits", "joint 'elbow'", "the joint cannot move"),
    "negative effort": (6, "<axis", "<limit effort='-1'/><axis", "limits", "joint 'elbow'", "the effort limit is -1"),
    "negative damping": (6, "<axis", "<dynamics damping='-1'/><axis", "friction", "joint 'elbow'", "damping is -1"),
    "NaN": (6, "0 1 0", "0 nan 0", "non-finite", "joint 'elbow'", "xyz='0 nan 0' of <axis>, expected finite numbers"),
    "overflow": (3, "value='1'", "value='1e999'", "mass-data", "link 'arm'", "value='1e999' of <mass>"),
    "NaN limit": (6, "<axis", "<limit lower='nan'/><axis", "non-finite", "joint 'elbow'", "lower='nan' of <limit>"),
    "comma": (6, "0 1 0", "0 1,0 0", "number", "joint 'elbow'", "expected decimal numbers"),
    "underscore": (3, "value='1'", "value='1_0'", "mass-data", "link 'arm'", "expected a decimal number"),
    "xacro": (3, "value='1'", "value='${mass}'", "mass-data", "link 'arm'", "Expand the macros with xacro first"),
    "too few numbers": (6, "0 1 0", "0 1", "number", "joint 'elbow'", "expected 3 numbers"),
    "no mass": (3, "<mass value='1'/>", "", "mass-data", "link 'arm'", "<inertial> has no <mass>"),
    "no tensor": (3, MASS, "<inertial><mass value='1'/></inertial>", "mass-data", "link 'arm'",
                  "<inertial> has no <inertia>"),
    "half a tensor": (3, "ixx='1'", "", "mass-data", "link 'arm'", "<inertia> has no attribute 'ixx'"),
    "blank mass": (3, "value='1'", "value=' '", "mass-data", "link 'arm'", "value=' ' of <mass>, expected one number"),
    "blank axis": (6, "0 1 0", "", "default", "joint 'elbow'", "xyz='' of <axis> is blank; its default is used"),
    "undeclared root": (2, LINES[1], "", "root", "robot", "the root link 'base' is not declared"),
    "macros": (2, LINES[1], LINES[1] + "<xacro:include filename='a'/>", "macros", "robot", "1 macros of xacro"),
    "millimetres": (6, "<axis", "<origin xyz='0 0 350'/><axis", "units", "joint 'elbow'", "the origin is 350 m from"),
    "grams": (3, "value='1'", "value='0.001'", "units", "link 'arm'", "a radius of gyration of 31.62 m"),
    "mimic of nothing": (6, "<axis", "<mimic joint='wrist'/><axis", "leader", "joint 'elbow'",
                         "it mimics the unknown joint 'wrist' and is independent"),
    "degrees": (6, "<axis", "<origin rpy='0 90 0'/><axis", "units", "joint 'elbow'", "turned by 90 rad"),
    "tiny axis": (6, "0 1 0", "0 1e-200 0", "axis-zero", "joint 'elbow'", "axis has length 1e-200, expected 1"),
    "mimic of itself": (6, "<axis", "<mimic joint='elbow'/><axis", "mimic", "joint 'elbow'", "mimics itself"),
    "unnamed robot": (1, "name='r'", "", "robot-name", "robot", "<robot> has no name"),
}  # fmt: skip
"""Line, text there, what it becomes; kind, element and words of the report."""


def broken(line: int, old: str, new: str) -> str:
    lines = list(LINES)
    assert old in lines[line - 1]
    lines[line - 1] = lines[line - 1].replace(old, new, 1)
    return "\n".join(lines)


def test_the_sound_robot_is_sound():
    report = appell.check("\n".join(LINES))
    assert report.ok
    assert len(report) == 0
    assert str(report) == "r: no defects found"


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_defect_is_reported_at_its_line(defect, tmp_path):
    line, old, new, kind, where, words = DEFECTS[defect]
    path = tmp_path / "arm.urdf"
    path.write_text(broken(line, old, new))
    report = appell.check(path)
    assert not report.ok
    found = [problem for problem in report if problem.kind == kind and problem.where == where]
    assert found, str(report)
    (problem,) = found
    assert words in str(problem)
    assert problem.severity == SEVERITY[kind]
    if kind not in ("root", "roots"):  # of two roots the second is named
        expected = {"movable link without mass": 6, "movable link without mass but a load": 5}.get(defect, line)
        assert problem.place == f"arm.urdf:{expected}"
        assert f"arm.urdf:{expected}" in str(report)
    assert problem.fix


@pytest.mark.parametrize("defect", DEFECTS)
def test_load_raises_for_errors_and_warns_of_the_rest(defect):
    line, old, new, kind, _, words = DEFECTS[defect]
    text = broken(line, old, new)
    if SEVERITY[kind] == "error" and kind not in KINEMATICS_ONLY:
        with pytest.raises(appell.ModelError) as caught:
            appell.load(text)
        assert words in str(caught.value)
        assert kind in {problem.kind for problem in caught.value.problems}
        assert tuple(caught.value.problems) == appell.check(text).problems
    else:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            robot = appell.load(text)
        assert len(caught) == 1
        assert words in str(caught[0].message)
        q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, robot.nv))
        assert np.isfinite(robot.pose(q, robot.body_names[-1])).all()
        if kind in KINEMATICS_ONLY:
            with pytest.raises(appell.ModelError, match="inverse_dynamics needs mass"):
                robot.inverse_dynamics(q, qd, qdd)
        else:
            assert np.isfinite(robot.inverse_dynamics(q, qd, qdd)).all()


def test_all_defects_at_once():
    chosen = ("triangle", "comma", "negative damping", "unknown type", "unnamed robot")
    lines = list(LINES)
    for name in chosen:
        line, old, new, *_ = DEFECTS[name]
        lines[line - 1] = lines[line - 1].replace(old, new, 1)
    report = appell.check("\n".join(lines))
    assert {problem.kind for problem in report} == {DEFECTS[name][3] for name in chosen}
    assert [problem.severity for problem in report] == ["error"] * 2 + ["warning"] * 3  # errors first
    assert len(report.errors) + len(report.warnings) == len(report) == 5
    assert str(report).startswith("r: 2 errors, 3 warnings") or str(report).startswith("robot: 2 errors, 3 warnings")
    with pytest.raises(appell.ModelError, match="2 defects of the robot description"):
        appell.load("\n".join(lines))


def test_message_of_one_error():
    text = broken(6, "0 1 0", "0 0 0")
    with pytest.raises(appell.ModelError) as caught:
        appell.load(text)
    assert str(caught.value) == "joint 'elbow' (line 6): axis has length 0, expected 1. Give a unit vector."
    assert caught.value.place == "line 6"


def test_mimic_in_a_circle():
    robot = appell.load("planar2r")
    first, second = robot.joints
    joints = (replace(first, mimic=Mimic("joint2")), replace(second, mimic=Mimic("joint1")))
    assert [problem.kind for problem in appell.check(replace(robot, joints=joints))] == ["mimic", "mimic"]


def test_robot_objects_are_checked_too():
    robot = appell.load("planar2r")
    body = replace(robot.bodies[1], mass=math.nan)
    joint = replace(robot.joints[0], axis=(0.0, math.inf, 0.0), rotor_inertia=-1.0)
    bad = replace(robot, bodies=(robot.bodies[0], body, robot.bodies[2]), joints=(joint, robot.joints[1]))
    kinds = sorted((problem.kind, problem.where) for problem in appell.check(bad))
    assert kinds == [
        ("negative-mass", "joint 'joint1'"),
        ("non-finite", "joint 'joint1'"),
        ("non-finite", "link 'link1'"),
    ]
    assert not appell.check(Robot("empty", (), ())).ok


def test_a_robot_that_is_no_tree_computes_nothing():
    robot = appell.load("planar2r")
    astray = replace(robot, joints=(robot.joints[0], replace(robot.joints[1], parent="nowhere")))
    with pytest.raises(appell.ModelError, match="joint 'joint2': unknown parent link 'nowhere'"):
        astray.inverse_dynamics([0, 0], [0, 0], [0, 0])


# --- the inertia matrix -------------------------------------------------------------------------------------------------


EVERY_KIND = [appell.robots.random_tree(14, seed=seed, kinds=tuple(KINDS)) for seed in range(3)]


@over([*SMALL_TREES, *LARGE_TREES, *EVERY_KIND])
def test_pivots_are_those_of_the_inertia_matrix(robot):
    """Their product is det M where no joints are coupled."""
    free, rng = replace(robot, coupled=False), np.random.default_rng(0)
    moving = [joint for joint in robot.joints if KINDS[joint.kind].nv]
    configuration = {joint.name: KINDS[joint.kind].random(rng, 0.3, 1.2) for joint in moving}
    found = pivots(free, configuration)
    assert set(found) == set(free.joint_names)
    every = [pivot for joint in found.values() for pivot in joint]
    assert len(every) == free.nv
    assert all(pivot.value > 1e3 * pivot.rounding for pivot in every)
    q = np.concatenate([configuration[name] for name in free.joint_names])
    sign, expected = np.linalg.slogdet(free.mass_matrix(q))
    assert sign == 1.0
    assert sum(math.log(pivot.value) for pivot in every) == pytest.approx(expected, abs=1e-8 * max(1.0, abs(expected)))


def two_links(first: Body, second: Body, axes=((0.0, 0.0, 1.0), (0.0, 0.0, 1.0)), kind="revolute", **options) -> Robot:
    return Robot(
        "two", (Body("base"), replace(first, name="a"), replace(second, name="b")),
        (Joint("j1", kind, "base", "a", axis=axes[0]), Joint("j2", kind, "a", "b", axis=axes[1], **options)),
    )  # fmt: skip


SOLID = Body("", 1.0, (0.3, 0.1, 0.2), (0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
POINT_ON_AXIS = Body("", 1.0, (0.0, 0.0, 0.5))
POINT = Body("", 1.0, (0.5, 0.0, 0.0))
NOTHING = Body("")


@pytest.mark.parametrize(
    ("robot", "singular"),
    [
        (two_links(SOLID, SOLID), []),
        (two_links(SOLID, NOTHING), ["j2"]),
        (two_links(NOTHING, NOTHING), ["j1", "j2"]),
        (two_links(SOLID, POINT), []),
        (two_links(SOLID, POINT_ON_AXIS), ["j2"]),
        (two_links(SOLID, NOTHING, rotor_inertia=1e-6), []),
        # Two joints on one axis with nothing between: only their sum meets inertia.
        (two_links(NOTHING, SOLID), ["j1"]),
        (two_links(NOTHING, SOLID, axes=((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))), []),
        (two_links(NOTHING, POINT, kind="prismatic"), ["j1"]),
        (two_links(NOTHING, POINT, kind="prismatic", axes=((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))), []),
        # Coupled joints need inertia only together.
        (two_links(NOTHING, SOLID, mimic=Mimic("j1", 0.5)), []),
        (two_links(SOLID, NOTHING, mimic=Mimic("j1", 0.5)), []),
        (two_links(NOTHING, NOTHING, mimic=Mimic("j1", 0.5)), ["j1"]),
        # Inertia below zero that a heavy neighbour cannot hide.
        (two_links(SOLID, Body("", 1e-3, (0.0, 0.0, 0.0), (-0.01, 0.0, 0.0, -0.01, 0.0, -0.01))), ["j2"]),
    ],
)
def test_joints_that_meet_no_inertia(robot, singular):
    report = appell.check(robot)
    assert [problem.where for problem in report if problem.kind == "singular"] == [
        f"joint {name!r}" for name in singular
    ]
    if singular:
        with pytest.raises(appell.ModelError, match="mass_matrix needs mass"):
            robot.mass_matrix([0.4] * robot.nv)
    else:
        assert np.linalg.eigvalsh(robot.mass_matrix([0.4] * robot.nv)).min() > 0.0


# --- reports ------------------------------------------------------------------------------------------------------------


def test_report_reads_like_a_table():
    report = appell.check("\n".join(LINES).replace("0 1 0", "0 0 0").replace("izz='1'", "izz='3'"))
    first, *rows = str(report).splitlines()
    assert first == "r: 1 error, 2 warnings"
    assert [row.split()[0] for row in rows] == ["error", "warning", "warning"]
    assert "line 6" in rows[0]
    columns = {row.index(word) for row, word in zip(rows, ("joint 'elbow'", "link 'arm'", "link 'hand'"), strict=True)}
    assert len(columns) == 1


def test_a_problem_is_frozen():
    with pytest.raises(AttributeError):
        Problem("name", "robot", "x", "y").line = 3  # type: ignore[misc]


def test_broken_text_is_a_report_too():
    report = appell.check("<robot name='r'>\n<link name='a'>")
    assert [problem.kind for problem in report] == ["xml"]
    assert report.errors[0].line == 2


def with_inertia(mass: float, *principal: float) -> Robot:
    x, y, z = principal
    return two_links(
        Body("first", 1.0, inertia=(1.0, 0.0, 0.0, 1.0, 0.0, 1.0)),
        Body("second", mass, inertia=(x, 0.0, 0.0, y, 0.0, z)),
    )


def kinds_of(robot: Robot) -> list[str]:
    return [problem.kind for problem in appell.check(robot)]


@pytest.mark.parametrize(("excess", "reported"), [(1e-3, True), (1e-5, True), (3e-6, True), (1e-7, False)])
def test_triangle_inequality_holds_to_the_rounding_of_six_digits(excess, reported):
    """A plate whose largest moment is too large by a part of itself."""
    assert ("triangle" in kinds_of(with_inertia(1.0, 1.0, 1.0, 2.0 * (1.0 + excess)))) is reported


@pytest.mark.parametrize(("radius", "reported"), [(1e-4, True), (3e-6, True), (3e-7, False)])
def test_radii_of_gyration_below_a_micrometre_are_rounding(radius, reported):
    """A small plate of large mass, whose largest moment is too large by the square of a radius of gyration."""
    mass, moment = 1e3, 1e-9
    excess = 2.0 * mass * radius**2
    assert ("triangle" in kinds_of(with_inertia(mass, moment, moment, 2.0 * moment + excess))) is reported


def test_mimic_joints_of_mimic_joints_multiply():
    """c = 2 b + 0.1 and b = -3 a + 0.5, so c = -6 a + 1.1: in poses, in velocities and in the mass matrix."""
    builder = appell.RobotBuilder("chain").body("base")
    for name in ("one", "two", "three"):
        builder = builder.body(name, mass=1.0, com=(0.2, 0.1, 0.0), inertia=(0.01, 0.02, 0.03))
    builder = builder.revolute("a", "base", "one").revolute(
        "b", "one", "two", xyz=(1, 0, 0), mimic=Mimic("a", -3.0, 0.5)
    )
    robot = builder.revolute("c", "two", "three", xyz=(1, 0, 0), mimic=Mimic("b", 2.0, 0.1)).build()
    free = replace(robot, coupled=False)
    q, rates = np.array([0.3]), np.array([1.0, -3.0, -6.0])
    angles = np.array([0.3, -3.0 * 0.3 + 0.5, -6.0 * 0.3 + 1.1])
    np.testing.assert_allclose(robot.pose(q, "three"), free.pose(angles, "three"), atol=1e-14)
    np.testing.assert_allclose(robot.jacobian(q, "three")[:, 0], free.jacobian(angles, "three") @ rates, atol=1e-13)
    np.testing.assert_allclose(robot.mass_matrix(q)[0, 0], rates @ free.mass_matrix(angles) @ rates, rtol=1e-13)
