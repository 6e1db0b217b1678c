"""Real robots as users load them, against Pinocchio's own reading of the same files."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.shared_data import SHARED

import appell
from appell.model.check.problem import WARNING
from appell.model.joints import KINDS

ROBOTS = sorted((SHARED / "robots").glob("*.urdf"))
pytestmark = pytest.mark.skipif(not ROBOTS, reason="shared/robots is not beside this checkout")
over_robots = pytest.mark.parametrize("path", ROBOTS, ids=[path.stem for path in ROBOTS])


def quietly(path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        return appell.load(path, **options)


@over_robots
def test_loads_with_at_most_one_warning_that_lists_all(path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = appell.load(path)
    report = appell.check(path)
    assert not report.errors
    assert {problem.severity for problem in report} <= {WARNING}
    assert len(caught) == bool(report)
    for warning in caught:
        assert warning.category is appell.ModelWarning
        assert warning.filename == __file__  # points at the caller
        assert all(problem.where in str(warning.message) for problem in report)
    for problem in report:
        assert path.name in problem.place
        assert problem.line > 0
    assert robot.source == path.name


@over_robots
def test_agrees_with_pinocchio(path):
    """Poses of all bodies and inverse dynamics; mimic joints free, so that both have the same coordinates."""
    pin = pytest.importorskip("pinocchio")
    robot = quietly(path, mimic="ignore")
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    assert model.nv == robot.nv
    rng = np.random.default_rng(3)
    q, qd, qdd = rng.uniform(-2, 2, (3, robot.nv))
    pin_q, order = pin.neutral(model), np.zeros(robot.nv, dtype=int)
    for i, name in enumerate(robot.joint_names):
        joint = model.joints[model.getJointId(name)]
        order[i] = joint.idx_v
        pin_q[joint.idx_q : joint.idx_q + joint.nq] = [q[i]] if joint.nq == 1 else [np.cos(q[i]), np.sin(q[i])]
    there = np.empty((2, robot.nv))
    there[:, order] = qd, qdd
    tau = pin.rnea(model, data, pin_q, *there)[order]
    assert_close(robot.inverse_dynamics(q, qd, qdd), tau, tolerance=1e-12)
    pin.framesForwardKinematics(model, data, pin_q)
    for body in robot.body_names:
        frame = data.oMf[model.getFrameId(body, pin.FrameType.BODY)]
        assert_close(robot.pose(q, body), frame.homogeneous, tolerance=1e-12, scale=1.0, what=body)


@over_robots
def test_keeps_the_numbers_of_the_file(path):
    """Masses, and the limits that the file spells out, are the same doubles."""
    robot = quietly(path)
    text = re.sub(r"<!--.*?-->", "", path.read_text(), flags=re.DOTALL)
    masses = [float(value) for value in re.findall(r'<mass\s+value="([^"]*)"', text)]
    assert sum(body.mass != 0.0 for body in robot.bodies) == np.count_nonzero(masses)
    assert {body.mass for body in robot.bodies} - {0.0} == set(masses) - {0.0}
    uppers = {float(value) for value in re.findall(r'<limit[^>]*upper="([^"]*)"', text)}
    limited = [joint for joint in robot.joints if KINDS[joint.kind].limited]
    assert {joint.limits.upper for joint in limited if np.isfinite(joint.limits.upper)} <= uppers


@over_robots
def test_round_trips(path):
    robot = quietly(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        assert appell.load(robot.to_urdf()) == robot
    assert appell.Robot.from_dict(robot.to_dict()) == robot


@over_robots
def test_written_urdf_is_read_by_pinocchio(path):
    pin = pytest.importorskip("pinocchio")
    robot = quietly(path, mimic="ignore")
    ours, theirs = pin.buildModelFromXML(robot.to_urdf()), pin.buildModelFromUrdf(str(path))
    assert list(ours.names) == list(theirs.names)
    q, v = pin.neutral(ours), np.linspace(-1.0, 1.0, ours.nv)
    expected = pin.rnea(theirs, theirs.createData(), q, v, v)
    assert_close(pin.rnea(ours, ours.createData(), q, v, v), expected, tolerance=1e-12)


@over_robots
def test_yourdfpy_object_is_the_same_robot(path):
    yourdfpy = pytest.importorskip("yourdfpy")
    urdf = yourdfpy.URDF.load(str(path), load_meshes=False, build_scene_graph=False)
    robot, through = quietly(path), quietly(urdf)
    assert through.joint_names == robot.joint_names
    assert through.body_names == robot.body_names
    for mine, other in zip(robot.joints, through.joints, strict=True):
        assert (mine.kind, mine.parent, mine.child, mine.mimic) == (other.kind, other.parent, other.child, other.mimic)
        assert (mine.limits, mine.damping, mine.friction) == (other.limits, other.damping, other.friction)
    q, qd, qdd = np.random.default_rng(1).uniform(-2, 2, (3, robot.nv))
    assert_close(through.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd))


@over_robots
def test_repaired_robot_has_consistent_masses(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        repaired = appell.check(path, fix=True)
    assert {problem.kind for problem in appell.check(repaired)} <= {"limits"}
    right = set(quietly(path).bodies) & set(repaired.bodies)
    wrong = {problem.where for problem in appell.check(path) if problem.where.startswith("link")}
    assert len(right) == len(repaired.bodies) - len(wrong)  # what was right is untouched
