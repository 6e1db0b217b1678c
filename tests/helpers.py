"""What all tests share: where reference data lie, how numbers are compared, and random robots with random states."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import appell
from appell.model.joint import Mimic
from appell.model.joints import KINDS
from appell.model.pose import Pose
from appell.robot.robot import Robot

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Reference values and robot descriptions beside the repository; tests that need them skip where it is absent."""

METHODS = {
    "inverse_dynamics": ("mata2002", "valera2003", "newton_euler", "shafei2018", "hollerbach"),
    "bias": ("mata2002", "valera2003", "newton_euler", "shafei2018", "hollerbach"),
    "mass_matrix": ("gibbs_hessian", "composite", "shafei2018", "hollerbach", "noc"),
    "forward_dynamics": ("gibbs", "articulated", "noc"),
}
"""Every method of every function that has several."""


def methods_for(function: str, robot: Robot) -> tuple[str | None, ...]:
    """The methods of a function; for long robots without those of 4x4 matrices, which take long to trace."""
    names = METHODS.get(function, (None,))
    return names if robot.nv <= 20 else tuple(name for name in names if name not in ("shafei2018", "hollerbach"))


REFERENCE_FRAMES = ("LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED")


def shared(name: str) -> Path:
    """A file of the shared data; skips the test where there is none."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"shared/{name} is not beside this checkout")
    return path


def reference(name: str) -> Any:
    """Reference values made without this library."""
    return json.loads(shared(f"reference/{name}.json").read_text())


def assert_close(
    actual, expected, *, tolerance: float | None = None, scale: float | None = None, what: str = ""
) -> None:
    """Same shape, same dtype, no NaN, and every entry equal within `tolerance * scale`.

    Args:
        expected: an array; lists and plain numbers are taken as float64.
        tolerance: relative; default 64 roundings of the dtype times the last dimension.
        scale: what the tolerance is relative to; default the largest entry of `expected`. Give the size of the terms
            where the result is their difference.
    """
    actual = np.asarray(actual)
    expected = np.asarray(expected, dtype=None if hasattr(expected, "dtype") else np.float64)
    name = f"{what}: " if what else ""
    assert actual.shape == expected.shape, f"{name}shape {actual.shape}, expected {expected.shape}"
    assert actual.dtype == expected.dtype, f"{name}dtype {actual.dtype}, expected {expected.dtype}"
    for side, array in (("actual", actual), ("expected", expected)):
        assert np.isfinite(array).all(), f"{name}{side} is not finite at {np.argwhere(~np.isfinite(array))[0].tolist()}"
    if actual.size == 0:
        return
    if tolerance is None:
        tolerance = 64 * float(np.finfo(actual.dtype).eps) * max(1, *actual.shape[-1:], 1)
    if scale is None:
        scale = float(np.abs(expected).max())
    error = np.abs(actual - expected)
    worst = np.unravel_index(int(error.argmax()), error.shape)
    assert error[worst] <= tolerance * scale, (
        f"{name}worst entry {[int(i) for i in worst]} is {actual[worst]!r}, expected {expected[worst]!r}: "
        f"off by {error[worst]:.3g}, allowed {tolerance:.3g} of {scale:.3g}"
    )


def differs(actual, expected, by: float = 1e-3) -> bool:
    """Whether two results are clearly not equal, relative to the largest entry: for equations that are wrong in print."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    return bool(np.abs(actual - expected).max() > by * np.abs(expected).max())


class State(NamedTuple):
    """Coordinates, speeds, and one more vector (accelerations or forces), each (N, n)."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray


def random_states(robot: Robot, count: int = 3, seed: int = 0) -> State:
    """States of ordinary size, the same for the same seed; quaternions are of unit length."""
    rng = np.random.default_rng([seed, robot.nv])
    state = State(
        rng.uniform(-2.5, 2.5, (count, robot.nq)),
        rng.uniform(-2.0, 2.0, (count, robot.nv)),
        rng.uniform(-3.0, 3.0, (count, robot.nv)),
    )
    for joint in robot.moving_joints:
        if KINDS[joint.kind].nq > KINDS[joint.kind].nv:
            end = robot.first_coordinates[joint.name][0] + KINDS[joint.kind].nq
            state.q[:, end - 4 : end] /= np.linalg.norm(state.q[:, end - 4 : end], axis=1, keepdims=True)
    return state


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
