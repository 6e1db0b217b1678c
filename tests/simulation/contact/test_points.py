"""Points that may touch walls."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import particle, rod, stacked_rod
from helpers.random_trees import SMALL_TREES, over

import appell
from appell.simulation.contact.pairs import ContactPoints, contact_point_names, default_contact_points


@over([*SMALL_TREES, appell.load("shafei_tree"), rod(3)])
def test_motion_agrees_with_pose_and_jacobians(robot):
    names = robot.body_names
    points = ContactPoints(robot, names)
    rng = np.random.default_rng(0)
    q, qd = robot.random_configuration(3), rng.uniform(-1, 1, robot.nv)
    motion = points.kinematics(q, qd)
    for i, name in enumerate(names):
        J = robot.jacobian(q, name)[:3]
        assert_close(motion.p[i], robot.pose(q, name)[:3, 3], tolerance=1e-13, scale=5.0)
        assert_close(motion.J[i], J, tolerance=1e-13, scale=5.0)
        assert_close(motion.v[i], J @ qd, tolerance=1e-13, scale=20.0)
        assert_close(motion.a[i], robot.jacobian_rate(q, qd, name)[:3] @ qd, tolerance=1e-12, scale=100.0)


def test_paths_are_motions_of_many_states():
    robot = appell.load("shafei_tree")
    points = ContactPoints(robot, ("O1", "O8"))
    q, qd = np.random.default_rng(0).uniform(-1, 1, (2, 5, 12))
    p, v = points.positions_and_velocities(q, qd)
    assert p.shape == v.shape == (5, 2, 3)
    for i in range(5):
        one = points.kinematics(q[i], qd[i])
        assert_close(p[i], one.p, scale=1.0)
        assert_close(v[i], one.v, scale=1.0)
        assert_close(points.positions_and_velocities(q[i : i + 1], qd[i : i + 1])[0][0], p[i], tolerance=0.0)


def test_default_points_are_joint_origins_and_tips():
    assert default_contact_points(appell.load("planar2r")) == ("link2",)
    assert default_contact_points(particle()) == ("p",)
    assert default_contact_points(rod(2)) == ("rod", "P0", "P1")
    assert default_contact_points(stacked_rod()) == ("rod", "P0", "P1")
    assert default_contact_points(appell.load("shafei_tree")) == tuple(f"O{i}" for i in range(1, 12))


def test_unknown_points_are_refused_by_name():
    robot = appell.load("shafei_tree")
    with pytest.raises(appell.ArgumentError, match=r"unknown frame 'O12'.*Did you mean 'O"):
        contact_point_names(robot, ["O1", "O12"])
    assert contact_point_names(robot, ["O3", "O1", "O3"]) == ("O3", "O1")
