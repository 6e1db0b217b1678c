"""Forward kinematics: all assembly modes, and the one near a start."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.spherical_robots import EIGHT, ROBOTS, general_robot, regular_states, wrist

import appell
from appell.closed_loop.spherical.forward_kinematics import common_points, middle_axis, orientation, polish, quadric


def actuated(robot, q: np.ndarray) -> np.ndarray:
    return robot.joint_angles(q)[..., list(robot.actuated)]


def same_angles(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(np.remainder(a - b + np.pi, 2 * np.pi) - np.pi).max() < 1e-9)


def found_by_search(robot, theta: np.ndarray, starts: int) -> list[np.ndarray]:
    """Quaternions of all solutions that Newton's method finds from random attitudes."""
    quadrics = np.array([
        quadric(middle_axis(leg, angle), np.array(leg.tip.direction), np.cos(leg.arcs[1]))
        for leg, angle in zip(robot.legs, theta, strict=True)
    ])  # fmt: skip
    rng = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for x in rng.normal(size=(starts, 4)):
        solution = polish(quadrics, x)
        if solution is not None and all(abs(solution @ other) < 1.0 - 1e-9 for other in found):
            found.append(solution)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_all_real_solutions_are_found(seed):
    """As many as a search from 150 random attitudes finds, each with small residual, each an assembly of the robot."""
    robot = wrist() if seed == 0 else general_robot((3, 3, 3), 20 + seed)
    for q in regular_states(robot, 3, seed).q:
        theta = actuated(robot, q)
        found = robot.forward_kinematics(theta)
        assert len(found) == len(found_by_search(robot, theta, 150))
        assert found.residual.max() < 1e-14
        assert_close(orientation(found.nearest(q)).as_matrix(), orientation(q).as_matrix(), tolerance=1e-11)
        for solution, assembly in found:
            assert same_angles(actuated(robot.with_working_modes(assembly), solution), theta)


def test_there_can_be_eight_solutions():
    robot, theta = wrist(), np.array([2.0, 2.1, -1.6])
    found = robot.forward_kinematics(theta)
    assert len(found) == len(found_by_search(robot, theta, 400)) == 8
    assert found.residual.max() < 1e-14
    for solution, assembly in found:
        assert same_angles(actuated(wrist(assembly), solution), theta)


def test_solutions_come_in_pairs():
    """Real solutions of real equations: complex ones are conjugate."""
    rng = np.random.default_rng(7)
    counts = {len(wrist().forward_kinematics(theta)) for theta in rng.uniform(-np.pi, np.pi, (60, 3))}
    assert {0, 2, 4} <= counts <= {0, 2, 4, 6, 8}


def test_no_solution_is_told():
    robot = wrist()
    rng = np.random.default_rng(7)
    found = next(f for f in map(robot.forward_kinematics, rng.uniform(-np.pi, np.pi, (150, 3))) if not len(f))
    assert found.q.shape == (0, 3)
    with pytest.raises(appell.errors.LoopClosureError, match="no orientation of the platform"):
        found.nearest([0.0, 0.0, 0.0])


def test_common_points_of_quadrics_with_known_solutions():
    """x_i² = x_0² for i = 1, 2, 3 has the eight points (1, ±1, ±1, ±1)."""
    quadrics = np.zeros((3, 4, 4))
    for i in range(3):
        quadrics[i, 0, 0], quadrics[i, i + 1, i + 1] = -1.0, 1.0
    points = common_points(quadrics)
    signs = {tuple(np.round((x / x[0]).real).astype(int)) for x in points}
    assert len(signs) == 8
    assert_close(np.abs(points), np.full((8, 4), 0.5), tolerance=1e-10)


@pytest.mark.parametrize("assembly", EIGHT[::3], ids="-".join)
def test_newton_finds_the_solution_near_a_start(assembly):
    robot = wrist(assembly)
    q = regular_states(robot, 20, span=0.6).q
    rng = np.random.default_rng(1)
    start = q + rng.uniform(-0.05, 0.05, q.shape)
    assert_close(robot.forward_kinematics_near(actuated(robot, q), start), q, tolerance=1e-10)
    assert robot.forward_kinematics_near(actuated(robot, q[0]), start[0]).shape == (3,)


def test_newton_tells_that_nothing_is_near_the_start():
    """The error is about what was given, not about a configuration on the way; the other solutions are named."""
    with pytest.raises(
        appell.errors.LoopClosureError, match=r"no solution was found near start: .*forward_kinematics gives all"
    ):
        wrist().forward_kinematics_near([2.0, -2.0, 2.0], [0.0] * 3)
    good = actuated(wrist(), np.full(3, 0.1))
    with pytest.raises(appell.errors.LoopClosureError, match=r"near start\[1, 0\]") as caught:
        wrist().forward_kinematics_near([[good], [[2.0, -2.0, 2.0]]], np.zeros((2, 1, 3)))
    assert caught.value.index == (1, 0)


def test_newton_serves_robots_of_any_legs():
    for name in ("long legs", "driven anywhere", "five-bar", "four-bar"):
        robot = ROBOTS[name]
        q = regular_states(robot, 3).q
        assert_close(robot.forward_kinematics_near(actuated(robot, q), q + 1e-3), q, tolerance=1e-9, what=name)


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(appell.ArgumentError, match="three legs of three joints"):
        ROBOTS["four legs"].forward_kinematics([0.0] * 4)
    with pytest.raises(appell.ArgumentError, match=r"expected \(3,\)"):
        wrist().forward_kinematics(np.zeros((2, 3)))
    with pytest.raises(appell.ArgumentError, match="finite"):
        wrist().forward_kinematics([0.0, np.nan, 0.0])
    with pytest.raises(appell.ArgumentError, match="4 actuators"):
        ROBOTS["four legs"].forward_kinematics_near([0.0] * 4, [0.0] * 3)


def test_the_platform_has_the_orientation_of_its_euler_angles():
    q = np.random.default_rng(0).uniform(-0.3, 0.3, (20, 3))
    assert_close(wrist().pose(q, "platform")[..., :3, :3], orientation(q).as_matrix(), tolerance=1e-14)


def test_forward_kinematics_near_a_start_is_exact_or_an_error():
    """Angles that are met to a tenth of a nanoradian, or not at all: beyond the workspace nothing near it is returned."""
    robot = wrist()
    q = np.array([0.1, 0.2, -0.1])
    theta = robot.joint_angles(q)[list(robot.actuated)]
    found = robot.forward_kinematics_near(theta, q + 0.05)
    assert np.abs(robot.joint_angles(found)[list(robot.actuated)] - theta).max() < 1e-12
    with pytest.raises(appell.errors.LoopClosureError, match="still misses the angles by") as raised:
        robot.forward_kinematics_near(
            theta + np.array([-0.04249392350463266, 1.1684635030470005, 1.302130547868749]), q
        )
    assert raised.value.value > 0.1
