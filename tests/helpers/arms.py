"""Arms for the tests of inverse kinematics, and poses that they reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import appell
from appell.model.joint import Limits
from appell.robot.robot import Robot


def elbow_arm(
    seed: int,
    limits: tuple[float, float] | None = None,
    kinds: str = "RRRRRR",
    twist: float = 0.0,
    wrist_offset: float = 0.0,
) -> Robot:
    """An arm with parallel axes 2 and 3 and a spherical wrist, all else drawn at random.

    Args:
        limits: of every joint.
        twist: angle between axes 2 and 3, which should be 0. [rad]
        wrist_offset: distance of axis 6 from the wrist, which should be 0. [m]
    """
    rng = np.random.default_rng([seed, 60])
    right = np.pi / 2
    general = rng.uniform(0.4, 1.2, 3) if seed % 2 else np.array([right, right, right])
    a1 = 0.0 if seed == 0 else float(rng.uniform(-0.1, 0.1))
    robot = Robot.from_dh(
        alpha=[0.0, general[0], twist, right, -general[1], general[2]],
        a=[0.0, a1, 0.45, float(rng.uniform(-0.05, 0.05)), 0.0, wrist_offset],
        d=[0.3, float(rng.uniform(-0.1, 0.1)), float(rng.uniform(-0.1, 0.1)), 0.4, 0.0, 0.1],
        theta=rng.uniform(-1.0, 1.0, 6),
        mass=np.ones(6),
        com=np.zeros((6, 3)),
        inertia=[np.eye(3)] * 6,
        joints=kinds,
        name=f"elbow_arm{seed}",
    )
    if limits is None:
        return robot
    joints = tuple(replace(joint, kind="revolute", limits=Limits(*limits)) for joint in robot.joints)
    return replace(robot, joints=joints)


def poses_of(robot: Robot, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, str]:
    """Random configurations (count, 6), the poses of the last link there, and its name."""
    q = np.random.default_rng(seed).uniform(-np.pi, np.pi, (count, 6))
    frame = robot.body_names[-1]
    return q, robot.pose(q, frame), frame


def on_a_free_base(robot: Robot) -> Robot:
    """The robot on a base of 20 kg that floats."""
    base = replace(robot.bodies[0], mass=20.0, inertia=(1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
    return appell.load(replace(robot, bodies=(base, *robot.bodies[1:])).to_urdf(), base="floating")
