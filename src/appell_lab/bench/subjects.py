"""The measured robots, and random states of them."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import appell
from appell.robot.robot import Robot

PANDA_FINGERS = ("panda_finger_joint1", "panda_finger_joint2")


@cache
def puma() -> Robot:
    """The built-in PUMA 560."""
    return bare(appell.load("puma560"))


@cache
def ur5(folder: Path) -> Robot | None:
    """UR5 from `ur5.urdf` of a folder, if it is there."""
    return fixed_arm("ur5", folder)


@cache
def iiwa14(folder: Path) -> Robot | None:
    """KUKA iiwa 14 from `iiwa14.urdf` of a folder, if it is there."""
    return fixed_arm("iiwa14", folder)


def fixed_arm(name: str, folder: Path) -> Robot | None:
    path = folder / f"{name}.urdf"
    return replace(bare(appell.load(path)), name=name) if path.exists() else None


@cache
def panda_arm(folder: Path) -> Robot | None:
    """The seven joints of the Panda, its fingers fixed, from `panda.urdf` of a folder, if it is there."""
    path = folder / "panda.urdf"
    if not path.exists():
        return None
    robot = appell.load(path, mimic="ignore")
    joints = [
        replace(joint, kind="fixed", mimic=None) if joint.name in PANDA_FINGERS else joint for joint in robot.joints
    ]
    return bare(replace(robot, name="panda arm", joints=tuple(joints)))


@cache
def chain(n: int) -> Robot:
    """A general chain of n revolute joints."""
    return bare(appell.robots.random_chain(n, seed=1))


@cache
def humanoid(name: str, folder: Path) -> Robot | None:
    """A humanoid on a floating base from a folder, if it is there."""
    path = folder / f"{name}.urdf"
    if not path.exists():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        return replace(bare(appell.load(path, base="floating")), name=name)


def arms(folder: Path) -> list[Robot]:
    """The available arms."""
    return [robot for robot in (puma(), ur5(folder), panda_arm(folder)) if robot is not None]


def bare(robot: Robot) -> Robot:
    """The same dynamics without features that libraries treat differently: shapes, friction, continuous joints."""
    bodies = tuple(replace(body, visuals=(), collisions=()) for body in robot.bodies)
    joints = tuple(
        replace(joint, damping=0.0, friction=0.0, kind="revolute" if joint.kind == "continuous" else joint.kind)
        for joint in robot.joints
    )
    return replace(robot, bodies=bodies, joints=joints)


def states(robot: Robot, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, qd and a third vector, each (count, n), the same for the same robot; quaternions are of unit length."""
    rng = np.random.default_rng(7)
    q, qd, third = (rng.uniform(-2.0, 2.0, (count, size)) for size in (robot.nq, robot.nv, robot.nv))
    for _, begin in robot.tree.quaternions:
        q[:, begin : begin + 4] /= np.linalg.norm(q[:, begin : begin + 4], axis=1, keepdims=True)
    return q, qd, third
