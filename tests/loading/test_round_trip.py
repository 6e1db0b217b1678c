"""Writers give back the same robot, number by number."""

from __future__ import annotations

import json
import math
import stat
import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.random_trees import SMALL_TREES, over
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import appell
from appell.loading.catalogue.random import ALL_KINDS
from appell.model.body import Body, Geometry, Visual
from appell.model.joint import Joint, Limits, Mimic
from appell.model.pose import Pose
from appell.model.writers.urdf import TYPES
from appell.robot.robot import Robot

finite = st.floats(allow_nan=False, allow_infinity=False, width=64)
angles = st.floats(-10, 10)
positive = st.floats(1e-6, 1e6)
names = st.text(
    st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\ufffe\uffff"), min_size=1, max_size=12
).filter(str.strip)
triples = st.tuples(finite, finite, finite)
poses = st.builds(Pose, triples, st.tuples(angles, angles, angles))
bounded = st.floats(-1e300, 1e300)
limits = st.builds(
    lambda pair, velocity, effort: Limits(*sorted(pair), velocity, effort),
    st.tuples(st.one_of(bounded, st.just(-math.inf)), st.one_of(bounded, st.just(math.inf))),
    st.one_of(positive, st.just(math.inf)), st.one_of(positive, st.just(math.inf)),
)  # fmt: skip
rgba = st.one_of(st.none(), st.tuples(*[st.floats(0, 1)] * 4))
visuals = st.one_of(
    st.builds(Visual, st.just("box"), st.tuples(positive, positive, positive), poses, rgba=rgba),
    st.builds(Visual, st.sampled_from(["cylinder", "capsule"]), st.tuples(positive, positive), poses, rgba=rgba),
    st.builds(Visual, st.just("sphere"), st.tuples(positive), poses, rgba=rgba),
    st.builds(Visual, st.just("mesh"), st.tuples(positive, positive, positive), poses, names, rgba),
)


@st.composite
def robots(draw, kinds=ALL_KINDS) -> Robot:
    """A tree of any shape with any numbers that have a meaning; rotors keep the inertia matrix regular."""
    count = draw(st.integers(1, 6))
    labels = draw(st.lists(names, min_size=2 * count, max_size=2 * count, unique=True))
    bodies, joints = [Body(labels[0])], []
    for i in range(1, count):
        mass, com = draw(positive), draw(triples)
        inertia = draw(st.tuples(*[st.floats(1.0, 1.5)] * 3).map(lambda d: (d[0], 0.0, 0.0, d[1], 0.0, d[2])))
        shapes = tuple(draw(st.lists(visuals, max_size=2)))
        touching = tuple(
            Geometry(each.kind, each.size, each.pose, each.mesh) for each in draw(st.lists(visuals, max_size=2))
        )
        bodies.append(Body(labels[i], mass, com, inertia, shapes, touching))
        kind = draw(st.sampled_from(kinds))
        axis = (0.0, 0.0, 1.0) if kind == "fixed" else draw(st.sampled_from([(1.0, 0.0, 0.0), (0.0, -0.6, 0.8)]))
        leaders = [joint.name for joint in joints if joint.kind != "fixed"]
        follows = leaders and kind != "fixed" and draw(st.booleans())
        mimic = draw(st.builds(Mimic, st.sampled_from(leaders), positive, finite)) if follows else None
        joints.append(
            Joint(
                labels[count + i], kind, bodies[draw(st.integers(0, i - 1))].name, labels[i], draw(poses), axis,
                draw(limits) if kind in ("revolute", "prismatic") else Limits(),
                draw(positive), draw(positive), draw(positive), draw(positive),
                mimic,
                draw(finite) if kind == "helical" else 0.0,
                *(draw(st.tuples(positive, finite)) if kind in ("revolute", "prismatic") else ()),
            )
        )  # fmt: skip
    return Robot(draw(names), tuple(bodies), tuple(joints), draw(triples))


@given(robots(TYPES))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_urdf_is_exact(robot):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        from appell.loading.load import read

        again = read(robot.to_urdf())
    assert not again.problems
    assert again.robot == robot


@given(robots(), st.booleans())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_dictionary_is_exact(robot, coupled):
    robot = replace(robot, coupled=coupled)
    text = json.dumps(robot.to_dict(), allow_nan=False)
    assert Robot.from_dict(json.loads(text)) == robot


@pytest.mark.filterwarnings("ignore:2 defects")
def test_an_initial_state_survives():
    tree = appell.load("shafei_tree")
    again = appell.load(tree.to_urdf())
    assert again == tree
    assert again.initial_state == tree.initial_state
    with pytest.raises(appell.ModelError, match="expected 12 numbers"):
        appell.load(tree.to_urdf().replace(' q="', ' q="0.5 '))


@over(SMALL_TREES)
def test_dynamics_survive(robot):
    """Equal robots compute equal numbers: the loaded one, not only the read one."""
    again = appell.load(robot.to_urdf())
    assert again == robot
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, robot.nv))
    expected = robot.inverse_dynamics(q, qd, qdd)
    assert_close(again.inverse_dynamics(q, qd, qdd), expected, tolerance=0.0)
    assert_close(Robot.from_dict(robot.to_dict()).inverse_dynamics(q, qd, qdd), expected, tolerance=0.0)


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    robot = appell.load("puma560")
    path = tmp_path / "puma.urdf"
    assert robot.to_urdf(path) == path.read_text(encoding="utf-8")
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600
    assert appell.load(path) == robot
    path.write_text("precious")

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", broken)
    with pytest.raises(OSError, match="disk full"):
        robot.to_urdf(path)
    assert path.read_text() == "precious"
    assert [each.name for each in tmp_path.iterdir()] == ["puma.urdf"]


@pytest.mark.parametrize("kind", [kind for kind in ALL_KINDS if kind not in TYPES])
def test_joints_that_urdf_does_not_have(kind):
    builder = appell.RobotBuilder().body("bob", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1))
    robot = builder.joint(kind, "odd", parent="base", child="bob", pitch=0.1).build()
    with pytest.raises(appell.ModelError, match=rf"joint 'odd' is {kind}, which URDF does not have .*Robot.to_dict"):
        robot.to_urdf()
    assert Robot.from_dict(robot.to_dict()) == robot


def test_names_that_xml_cannot_hold():
    with pytest.raises(appell.ModelError, match="cannot be written as XML"):
        replace(appell.load("planar2r"), name="a\x00b").to_urdf()


def _broken(change):
    data = appell.load("planar2r").to_dict()
    change(data)
    return data


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(version=2), "version is 2, expected 1"),
        (lambda d: d.pop("version"), "version is None, expected 1"),
        (lambda d: d.update(format="urdf"), "format is 'urdf', expected 'appell robot'"),
        (lambda d: d.update(colour="red"), "robot: unknown field 'colour'"),
        (
            lambda d: d["joints"][0].update(kinds="revolute"),
            r"robot.joints\[0\]: unknown field 'kinds'. Did you mean 'kind'",
        ),
        (lambda d: d["joints"][1].pop("parent"), r"robot.joints\[1\]: the field 'parent' is missing"),
        (lambda d: d["bodies"][1].update(mass="heavy"), r"robot.bodies\[1\].mass is 'heavy', expected a number"),
        (lambda d: d["bodies"][1].update(mass=True), r"robot.bodies\[1\].mass is True, expected a number"),
        (
            lambda d: d["bodies"][1].update(com=[1, 2]),
            r"robot.bodies\[1\].com is \[1, 2\], expected a list of 3 numbers",
        ),
        (lambda d: d.update(bodies={}), r"robot.bodies is {}, expected a list"),
        (lambda d: d.update(name=3), "robot.name is 3, expected text"),
        (lambda d: d.update(coupled=1), "robot.coupled is 1, expected true or false"),
        (lambda d: d["joints"].append(3), r"robot.joints\[2\] is 3, expected a dictionary"),
    ],
)
def test_foreign_dictionaries_are_refused(change, message):
    with pytest.raises(appell.ModelError, match=message):
        Robot.from_dict(_broken(change))


def test_not_even_a_dictionary():
    with pytest.raises(appell.ModelError, match="format is 'list', expected 'appell robot'"):
        Robot.from_dict([1, 2])  # type: ignore[arg-type]


def test_whole_numbers_are_read_as_floats():
    body = Robot.from_dict(_broken(lambda d: d["bodies"][1].update(mass=2))).body("link1")
    assert isinstance(body.mass, float)


def test_rotor_and_gravity_are_written():
    robot = appell.load("planar2r")
    joint = replace(robot.joints[0], rotor_inertia=1e-3, gear_ratio=100.0)
    robot = replace(robot, joints=(joint, robot.joints[1]))
    text = robot.to_urdf()
    assert 'drake:rotor_inertia value="0.001"' in text
    assert appell.load(text) == robot
    assert "drake" not in appell.load("planar2r").to_urdf()
