"""Random trees of revolute, prismatic and fixed joints, with rotors, gears and mimic joints."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import appell
from appell.model.joint import Mimic
from appell.model.pose import Pose
from appell.robot.robot import Robot

MOVING = ("revolute", "continuous", "prismatic")

ALL = (*MOVING, "fixed")


@cache
def general_tree(n: int, seed: int, kinds: tuple[str, ...] = ALL, branching: float = 0.4) -> Robot:
    """A tree of n joints with rotor inertia, gears, mimic joints and gravity in any direction.

    About a sixth of the joints follow another, which may come before or after them, be of another kind, or follow a
    third one.
    """
    robot = appell.robots.random_tree(n, seed=seed, kinds=kinds, branching=branching)
    rng = np.random.default_rng([seed, n, 7])
    joints = list(robot.joints)
    moving = [i for i, joint in enumerate(joints) if joint.kind != "fixed"]
    for i in moving:
        joints[i] = replace(
            joints[i], rotor_inertia=float(rng.uniform(0.0, 0.02)), gear_ratio=float(rng.uniform(1.0, 5.0))
        )
    chosen = rng.permutation(moving)  # a follower's leader stands before it in this order, so there are no circles
    for place, i in enumerate(chosen):
        if place > 0 and rng.random() < 1 / 6:
            leader = joints[int(chosen[rng.integers(0, place)])].name
            mimic = Mimic(leader, float(rng.uniform(0.5, 2.0) * rng.choice([-1, 1])), float(rng.uniform(-1, 1)))
            joints[i] = replace(joints[i], mimic=mimic)
    return replace(robot, joints=tuple(joints), gravity_vector=triple(rng.normal(size=3) * 6.0))


@cache
def right_angled_tree(n: int, seed: int) -> Robot:
    """A tree as people draw robots: axes along coordinate axes, right angles, many zeros, some joints on one point."""
    robot = general_tree(n, seed, MOVING)
    rng = np.random.default_rng([seed, n, 8])
    joints = []
    for joint in robot.joints:
        xyz = rng.choice([0.0, 0.0, 0.3, -0.5], size=3)
        rpy = rng.integers(-2, 3, size=3) * (math.pi / 2)
        axis = np.eye(3)[rng.integers(0, 3)] * rng.choice([-1.0, 1.0])
        joints.append(replace(joint, origin=Pose(triple(xyz), triple(rpy)), axis=triple(axis)))
    return replace(robot, name=f"right_angled{n}", joints=tuple(joints))


def triple(values) -> tuple[float, float, float]:
    """Three plain floats."""
    x, y, z = (float(value) for value in values)
    return x, y, z


SMALL_TREES = [
    general_tree(1, 0, ("revolute",)),
    general_tree(1, 0, ("prismatic",)),
    general_tree(4, 2, MOVING, branching=0.0),
    general_tree(6, 11, MOVING),  # a joint that follows one that follows another
    general_tree(9, 3),
    general_tree(14, 4, MOVING),
    right_angled_tree(8, 5),
]
"""Small enough for anything; every feature occurs in one of them."""

MEDIUM_TREES = [general_tree(30, 6), right_angled_tree(20, 7)]

LARGE_TREES = [general_tree(60, 8, MOVING)]
"""The size to which agreement is claimed; slow to trace, so only for what matters most."""


def over(robots: list[Robot]):
    """Parametrises a test over robots, as the argument `robot`."""
    return pytest.mark.parametrize("robot", robots, ids=[f"{robot.name}-nv{robot.nv}" for robot in robots])
