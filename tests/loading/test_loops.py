"""Closures from a YAML file beside a URDF, from a mapping, and from MJCF."""

from __future__ import annotations

import contextlib
import copy
import warnings
from dataclasses import replace

import pytest
from helpers.loop_robots import built_in
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import appell
from appell.closed_loop.robot import ClosedLoopRobot

YAML = """
actuated: [crank]
configuration: {crank: 1.34, coupler: -0.69, rocker: 1.48}
closures:
  - name: knee
    kind: revolute
    first: {body: coupler_link, xyz: [0.5, 0, 0]}
    second: {body: rocker_link, xyz: [0.5, 0, 0]}
"""
LOOPS = {
    "actuated": ["crank"],
    "independent_velocities": ["crank"],
    "configuration": {"crank": 1.34, "coupler": -0.69, "rocker": [1.48]},
    "closures": [
        {
            "name": "knee",
            "kind": "revolute",
            "first": {"body": "coupler_link", "xyz": [0.5, 0, 0]},
            "second": {"body": "rocker_link", "xyz": [0.5, 0, 0], "rpy": [0, 0, 0]},
            "axis": [0, 0, 1],
        }
    ],
}


@pytest.fixture
def urdf(tmp_path):
    path = tmp_path / "linkage.urdf"
    path.write_text(built_in("four_bar").spanning_tree.to_urdf())
    return path


def test_the_file_beside_a_urdf_is_found(urdf):
    assert isinstance(appell.load(urdf), appell.Robot)
    urdf.with_name("linkage.loops.yaml").write_text(YAML)
    robot = appell.load(urdf)
    assert isinstance(robot, ClosedLoopRobot)
    assert robot.closures == built_in("four_bar").closures
    assert robot.actuator_names == robot.qd_names == ("crank",)
    assert isinstance(appell.load(urdf, loops="ignore"), appell.Robot)


def test_loops_may_be_another_file_or_a_mapping(urdf, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(YAML)
    expected = built_in("four_bar").closures
    assert appell.load(urdf, loops=other).closures == appell.load(urdf, loops=LOOPS).closures == expected


def test_a_floating_base_may_carry_loops(urdf):
    robot = appell.load(urdf, base="floating", loops={**LOOPS, "independent_velocities": None})
    assert (robot.nq, robot.nv) == (10, 7)
    q = robot.solve_loop_closure(
        robot.spanning_tree.random_configuration(seed=1) * [*[1] * 7, 0, 0, 0] + [*[0] * 7, 1.34, -0.69, 1.48]
    ).q
    assert robot.closure_error(q) < 1e-12
    assert robot.mass_matrix(q).shape == (7, 7)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("closures", 0, "kind"), "hinge", r"closure 'knee'.*unknown kind 'hinge'.*Valid: point"),
        (("closures", 0, "first"), {"xyz": [0, 0, 0]}, r"closures\[0\].first has no entry 'body'"),
        (("closures", 0, "first", "xyz"), [1, 2], r"closures\[0\].first.xyz has 2 numbers, expected 3"),
        (("closures", 0, "first", "xyz"), "here", r"first.xyz is 'here', expected numbers"),
        (("closures", 0, "colour"), "red", r"closures\[0\]: unknown entry 'colour'"),
        (("closures",), "knee", r"loops: closures is a str, expected a list"),
        (("actuated",), [3], r"3 is not a string"),
        (("configuration",), {"crank": [1, 2]}, r"configuration of joint 'crank' has 2 numbers, expected 1"),
        (("configuration",), {"cranc": 1}, r"unknown joint 'cranc'.*Did you mean 'crank'"),
        (("configuration",), {"crank": float("nan")}, r"expected finite numbers"),
        (("independent_velocities",), ["coupler", "rocker"], r"coupler, rocker are not independent velocities"),
    ],
)
def test_wrong_entries_are_told_with_their_place(urdf, path, value, message):
    wrong = copy.deepcopy(LOOPS)
    place = wrong
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(appell.ModelError, match=message):
        appell.load(urdf, loops=wrong)


def test_files_that_are_no_yaml_are_told_with_their_line(urdf, tmp_path):
    beside = tmp_path / "linkage.loops.yaml"
    beside.write_text("actuated: [crank\nclosures: ]")
    with pytest.raises(appell.ModelError, match=r"linkage.loops.yaml:2: invalid YAML") as error:
        appell.load(urdf)
    assert error.value.place.endswith(":2")
    with pytest.raises(appell.ModelError, match="cannot be read"):
        appell.load(urdf, loops=tmp_path / "nothing.yaml")
    with pytest.raises(appell.ArgumentError, match="loops is a int"):
        appell.load(urdf, loops=3)


NESTED = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "kind", "first", "body"]), inner)
    ),
    max_leaves=8,
)


@given(key=st.sampled_from(["actuated", "closures", "configuration", "independent_velocities"]), value=NESTED)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_content_is_anything_but_a_robot_or_an_error_of_ours(key, value):
    tree = built_in("four_bar").spanning_tree.to_urdf()
    with contextlib.suppress(appell.AppellError):
        appell.load(tree, loops={**LOOPS, key: value})


def test_loops_without_mass(urdf):
    """A coupler alone without mass leaves the tree singular, but not the linkage; without any mass there is kinematics."""
    tree = built_in("four_bar").spanning_tree
    rest = {"com": (0.0, 0.0, 0.0), "inertia": (0.0,) * 6}
    light = replace(
        tree, bodies=tuple(replace(b, mass=0.0, **rest) if b.name == "coupler_link" else b for b in tree.bodies)
    )
    assert light.tree.mass_defects
    q = built_in("four_bar").reference_configuration
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        assert appell.load(light.to_urdf(), loops=LOOPS).mass_matrix(q).item() > 0.0
        bare = replace(tree, bodies=tuple(replace(body, mass=0.0, **rest) for body in tree.bodies))
        robot = appell.load(bare.to_urdf(), loops=LOOPS)
    assert robot.joint_velocities(q, [1.0]).shape == (3,)
    with pytest.raises(appell.ModelError, match="mass_matrix needs mass, which is missing or negative: 'crank_link'"):
        robot.mass_matrix(q)
