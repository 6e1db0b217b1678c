"""The equations in independent speeds against multipliers, where nothing is reduced."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.loop_robots import BUILT_IN, built_in, multiplier_solution, selected, spatial_loop, states

KINDS = ("point", "spherical", "revolute", "universal", "prismatic", "weld")


def _agrees(robot, count: int) -> None:
    q, qd, qdd = states(robot, count)
    torques = robot.inverse_dynamics(q, qd, qdd)
    assert_close(robot.forward_dynamics(q, qd, torques), qdd, tolerance=1e-10)
    for k in range(count):
        v = robot.joint_accelerations(q[k], qd[k], qdd[k])
        expected, _ = multiplier_solution(robot, q[k], qd[k], torques[k])
        assert_close(v, expected, tolerance=1e-10, scale=max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_mechanisms_agree_with_multipliers(name):
    _agrees(built_in(name), 4)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_closure_agrees_with_multipliers(kind):
    robot = spatial_loop(kind)
    assert robot.nv == 9 - {"point": 3, "spherical": 3, "universal": 4}.get(kind, 6 if kind == "weld" else 5)
    _agrees(robot, 2)


@pytest.mark.parametrize("kind", ["revolute", "universal"])
def test_forces_of_closures_take_the_place_of_what_they_hold(kind):
    """Cut the loop and let the closure's wrench act from outside: the tree moves as before."""
    robot = spatial_loop(kind)
    q, qd, qdd = (array[0] for array in states(robot, 1))
    torques = robot.inverse_dynamics(q, qd, qdd)
    wrench = robot.constraint_forces(q, qd, torques)["end"]
    closure, tree = robot.closures[0], robot.spanning_tree
    first, second = tree.pose(q, closure.body1), tree.pose(q, closure.body2)
    point = second[:3, :3] @ np.array(closure.pose2.xyz) + second[:3, 3]
    force, moment = (first[:3, :3] @ part for part in (wrench[:3], wrench[3:]))

    def at(frame: np.ndarray, sign: float) -> np.ndarray:
        about = moment + np.cross(point - frame[:3, 3], force)
        return sign * np.concatenate([frame[:3, :3].T @ force, frame[:3, :3].T @ about])

    v, vd = robot.joint_velocities(q, qd), robot.joint_accelerations(q, qd, qdd)
    external = {closure.body2: at(second, 1.0), closure.body1: at(first, -1.0)}
    forces = tree.inverse_dynamics(q, v, vd, external_forces=external)
    assert_close(forces, selected(robot, torques), tolerance=1e-10, scale=np.abs(forces).max())
