"""Damping of the model in the law, and effort limits by name, of the description and on the command line."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.cli import main


def damped() -> appell.Robot:
    """A finger: damping dominates its small inertia. Joints have effort limits of 4 and 2 N m."""
    robot = appell.load("planar2r")
    joints = [
        replace(joint, damping=3.0 - 0.5 * k, limits=replace(joint.limits, effort=4.0 - 2.0 * k))
        for k, joint in enumerate(robot.joints)
    ]
    return replace(robot, joints=tuple(joints))


def tracking_error(compensate: bool) -> float:
    robot = damped()
    reference = appell.trajectories.joint_line(robot, [0.0, 0.0], [1.0, 0.5], duration=1.0)
    law = appell.control.ComputedTorque(robot, reference, kp=100.0, kd=20.0, compensate_damping=compensate)
    motion = appell.simulate(robot, [0.0, 0.0], [0.0, 0.0], 1.0, controller=law, t_eval=0.05)
    return float(np.abs(motion.q - reference(motion.t).q).max())


def test_compensated_damping_does_not_disturb_computed_torque():
    """Without it the errors are those of a constant disturbance; with it what sampling leaves."""
    without, with_ = tracking_error(False), tracking_error(True)
    assert without > 0.01
    assert with_ < 0.02 * without


def test_the_added_torque_is_damping_times_velocity():
    robot = damped()
    q, qd = np.array([0.1, 0.2]), np.array([0.5, -1.5])
    plain, added = (
        appell.control.PDGravity(robot, [0.0, 0.0], kp=10.0, kd=1.0, compensate_damping=on).step(
            0.0, q, qd, np.zeros(0)
        )[0]
        for on in (False, True)
    )
    assert_close(added - plain, np.array([3.0, 2.5]) * qd, tolerance=1e-13, scale=10.0)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("robot", [4.0, 2.0]), ({"joint2": 1.5}, [np.inf, 1.5]), (3.0, [3.0, 3.0]), ([3.0, 5.0], [3.0, 5.0])],
)
def test_effort_limits_of_controllers(limit, expected):
    law = appell.control.PD(damped(), [1.0, 1.0], kp=1e3, kd=0.0, effort_limit=limit)
    assert law.effort_limits.tolist() == expected
    tau, _ = law.step(0.0, np.zeros(2), np.zeros(2), np.zeros(0))
    assert tau.tolist() == [min(1e3, bound) for bound in expected]


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("motor", "unknown effort_limit 'motor'"),
        ({"elbow": 1.0}, "unknown name 'elbow'"),
        ({"joint1": -1.0}, "not negative"),
    ],
)
def test_limits_that_are_none(limit, message):
    with pytest.raises(appell.ArgumentError, match=message):
        appell.control.PD(damped(), [1.0, 1.0], kp=1.0, kd=0.0, effort_limit=limit)


def test_simulations_clip_by_name():
    motion = appell.simulate(damped(), [0, 0], [0, 0], 0.02, tau=[9.0, 9.0], effort_limits={"joint2": 1.5}, t_eval=0.01)
    assert motion.tau[0].tolist() == [9.0, 1.5]
    assert motion.saturated[0].tolist() == [False, True]


def test_limits_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    damped().to_urdf(path)
    run = [
        "simulate",
        str(path),
        "--duration",
        "0.05",
        "--tau",
        "joint1=9",
        "joint2=9",
        "--out",
        str(tmp_path / "m.npz"),
    ]
    for given, expected in (
        (["joint2=1.5"], [9.0, 1.5]),
        (["robot"], [4.0, 2.0]),
        (["3"], [3.0, 3.0]),
        (["3,5"], [3.0, 5.0]),
    ):
        assert main([*run, "--effort-limit", *given]) == 0
        assert appell.Trajectory.load(tmp_path / "m.npz").tau[0].tolist() == expected
    assert main([*run, "--effort-limit", "joint9=1"]) == 1
    assert "unknown name 'joint9'" in capsys.readouterr().err
    export = ["control", "export", str(path), "--out", str(tmp_path), "--prefix", "law", "--compensate-damping"]
    assert main([*export, "--effort-limit", "joint2=1.5"]) == 0
    assert "{3e+38, 1.5}" in (tmp_path / "law.c").read_text()


def test_exported_controllers_compensate_damping(tmp_path):
    """The step in C adds the same products."""
    robot = damped()
    counts = []
    for on in (False, True):
        law = appell.control.PD(robot, [0.0, 0.0], kp=10.0, kd=1.0, compensate_damping=on)
        _, source = appell.control.export(law, tmp_path, prefix=f"law{on:d}")
        counts.append(source.read_text().count(" * "))
    assert counts[1] == counts[0] + 2
