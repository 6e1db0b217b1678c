"""Motions that show parameters: within all limits, from rest to rest, better than chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.recorded_motion import tx40

import appell
from appell.identification import MotionLimits
from appell.identification.excitation import FourierMotion
from appell.model.joint import Limits


def test_limits_of_position_speed_acceleration_and_force_are_kept():
    robot = tx40()
    effort = 1.3 * np.abs(robot.gravity(np.random.default_rng(0).uniform(-2, 2, (200, 6)))).max(axis=0) + 2.0
    motion = appell.excitation(
        robot, 6.0, 4, terms=(), limits=MotionLimits(acceleration=9.0, effort=effort), iterations=1
    )
    t = np.linspace(0.0, motion.duration, 4000)
    q, qd, qdd = motion(t)
    limits = [joint.limits for joint in robot.moving_joints]
    assert (q >= [limit.lower for limit in limits]).all()
    assert (q <= [limit.upper for limit in limits]).all()
    assert (np.abs(qd) <= [limit.velocity for limit in limits]).all()
    assert (np.abs(qdd) <= 9.0).all()
    assert (np.abs(robot.inverse_dynamics(q, qd, qdd)) <= effort).all()


def test_it_is_a_reference_from_rest_to_rest():
    robot = appell.load("planar2r")
    motion = appell.excitation(robot, 4.0, 3, terms=(), iterations=0)
    q, qd, qdd = motion(0.0)
    assert q.shape == qd.shape == qdd.shape == (2,)
    assert_close(qd, [0.0, 0.0], scale=1.0, tolerance=1e-12)
    assert_close(qdd, [0.0, 0.0], scale=1.0, tolerance=1e-12)
    ends = motion([0.0, motion.duration])
    assert_close(ends[0][0], ends[0][1], tolerance=1e-12)
    t = np.linspace(0.0, 4.0, 4001)
    q, qd, qdd = motion(t)
    assert_close(np.gradient(q, t, axis=0)[5:-5], qd[5:-5], tolerance=1e-4)
    assert_close(np.gradient(qd, t, axis=0)[5:-5], qdd[5:-5], tolerance=1e-4)
    assert "condition number" in str(motion.table())


def test_the_search_lowers_the_condition_number():
    robot = appell.load("planar2r")
    chance, found = (appell.excitation(robot, 5.0, 4, iterations=n) for n in (0, 15))
    assert isinstance(found, FourierMotion)
    assert found.condition_number < 0.9 * chance.condition_number


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"harmonics": 1}, "harmonics is 1"),
        ({"limits": MotionLimits(velocity=[1.0, 2.0, 3.0])}, r"velocity has shape \(3,\), expected a number or \(2,\)"),
        ({"limits": MotionLimits(1.0, 0.5)}, "'joint1' has no room to move"),
    ],
)
def test_wrong_arguments(options, told):
    with pytest.raises(appell.ArgumentError, match=told):
        appell.excitation(appell.load("planar2r"), **options)


def test_drives_too_weak_to_hold_the_robot():
    robot = appell.load("planar2r")
    weak = replace(robot, joints=tuple(replace(joint, limits=Limits(0.1, 0.3, 1.0, 0.5)) for joint in robot.joints))
    with pytest.raises(appell.IdentificationError, match="no trajectory within the effort limits"):
        appell.excitation(
            weak.with_gravity((9.81, 0.0, 0.0)) if not weak.gravity([0.2, 0.2]).any() else weak, iterations=0
        )
    with pytest.raises(appell.ArgumentError, match="one coordinate each"):
        appell.excitation(appell.load("""<robot name="r"><link name="b"><inertial><mass value="1"/>
            <inertia ixx="1" iyy="1" izz="1"/></inertial></link></robot>""", base="floating"))  # fmt: skip
