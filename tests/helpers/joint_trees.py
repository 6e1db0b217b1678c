"""Random trees of joints of every kind."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import appell
from appell.model.joint import Mimic
from appell.model.joints import KINDS
from appell.robot.robot import Robot
from helpers.random_trees import triple

MOVING_KINDS = tuple(name for name, kind in KINDS.items() if kind.nv)
CURVED = tuple(name for name in MOVING_KINDS if name in ("floating", "spherical", "planar"))
"""Kinds whose speeds are not the rates of their coordinates."""


@cache
def tree_of(kind: str, seed: int = 1) -> Robot:
    """Four joints, branching: one kind at the base and further out, revolute joints between."""
    robot = appell.robots.random_chain(4, seed=seed, kinds=(kind,))
    joints = [joint if i % 2 == 0 else replace(joint, kind="revolute") for i, joint in enumerate(robot.joints)]
    joints[3] = replace(joints[3], parent="link1")
    return furnished(replace(robot, name=f"{kind}_tree", joints=tuple(joints)), seed)


@cache
def mixed_tree(n: int, seed: int) -> Robot:
    """Joints of every kind in any order, one of which follows another."""
    robot = appell.robots.random_tree(n, seed=seed, kinds=MOVING_KINDS, branching=0.3)
    single = [i for i, joint in enumerate(robot.joints) if KINDS[joint.kind].nv == 1]
    joints = list(robot.joints)
    if len(single) > 1:
        joints[single[0]] = replace(joints[single[0]], mimic=Mimic(joints[single[-1]].name, -0.7, 0.2))
    return furnished(replace(robot, name=f"mixed{n}", joints=tuple(joints)), seed)


def furnished(robot: Robot, seed: int) -> Robot:
    """With rotors at every joint and gravity in any direction."""
    rng = np.random.default_rng([seed, len(robot.joints)])
    joints = tuple(
        replace(joint, rotor_inertia=float(rng.uniform(0.01, 0.05)), gear_ratio=float(rng.uniform(1.0, 3.0)))
        for joint in robot.joints
    )
    return replace(robot, joints=joints, gravity_vector=triple(rng.normal(size=3) * 6.0))


KIND_TREES = [tree_of(kind) for kind in MOVING_KINDS]
MIXED_TREES = [mixed_tree(9, 3), mixed_tree(7, 4)]
EVERY_TREE = [*KIND_TREES, *MIXED_TREES]
