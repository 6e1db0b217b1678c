"""What every kind of joint promises: steps form groups, a step is the flow of its twist, quaternions stay unit."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import CURVED, MOVING_KINDS
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

import appell
from appell.algebra import Angle
from appell.algorithms.homogeneous import screw, transformation
from appell.model.joint import Joint
from appell.model.joints import KINDS
from appell.model.tree_builder import axes_along
from appell.robot.robot import Robot

AXES = {"z": (0.0, 0.0, 1.0), "-x": (-1.0, 0.0, 0.0), "general": (0.48, -0.6, 0.64)}
over_kinds = pytest.mark.parametrize("kind", MOVING_KINDS)


@cache
def single(kind: str, axis: str = "general") -> Robot:
    """One body on one joint."""
    builder = appell.RobotBuilder(kind).body("body", mass=2.0, com=(0.1, 0.2, -0.1), inertia=(0.2, 0.3, 0.4))
    builder.joint(kind, "joint", "base", "body", AXES[axis], xyz=(0.3, -0.2, 0.5), rpy=(0.4, -1.0, 2.0), pitch=0.1)
    return builder.build()


def drawn(robot: Robot, seed: int, size: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two configurations and a step."""
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng), robot.random_configuration(rng), size * rng.uniform(-1, 1, robot.nv)


def quaternion_of(robot: Robot, q: np.ndarray) -> np.ndarray:
    return q[..., -4:]


seeds, sizes = st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-12, 1e-8, 1e-5, 1e-3, 0.1, 1.7])


@over_kinds
@given(seed=seeds, size=sizes)
def test_a_step_and_its_difference_are_inverse(kind: str, seed: int, size: float) -> None:
    """To the last digits for steps of every size; 1.7 rad about each axis is less than half a turn."""
    robot = single(kind)
    q, _, step = drawn(robot, seed, size)
    assert_close(robot.difference(q, robot.integrate(q, step)), step, tolerance=1e-14, scale=10.0)


@over_kinds
@pytest.mark.parametrize("size", [1e-8, 0.1, 1.0, 1.7])
def test_derivatives_of_steps_and_differences(kind: str, size: float) -> None:
    """Difference quotients on both sides of series and closed forms (a rotation by 1.2 and 2 rad), and exact identities."""
    robot = single(kind)
    q, _, step = drawn(robot, 5, size)
    end = robot.integrate(q, step)
    by = robot.integrate_derivatives(q, step)
    leads = robot.difference_derivatives(q, end)
    functions = {
        "dq": (by.dq, lambda d: robot.difference(end, robot.integrate(robot.integrate(q, d), step))),
        "ddv": (by.ddv, lambda d: robot.difference(end, robot.integrate(q, step + d))),
        "dq0": (leads.dq0, lambda d: robot.difference(robot.integrate(q, d), end)),
        "dq1": (leads.dq1, lambda d: robot.difference(q, robot.integrate(end, d))),
    }
    units = np.eye(robot.nv)
    for name, (found, moved) in functions.items():
        near, far = ((moved(k * units) - moved(-k * units)).T / (2 * k) for k in (1e-3, 2e-3))
        assert_close(found, (4 * near - far) / 3, tolerance=1e-9, scale=10.0, what=name)
    back = robot.integrate_derivatives(end, -step)
    assert_close(by.dq @ back.ddv, by.ddv, tolerance=1e-14, scale=10.0)
    assert_close(by.dq @ back.dq, units, tolerance=1e-14, scale=10.0)


def test_derivatives_of_steps_of_batches() -> None:
    robot = single("floating")
    q, end = (np.array([drawn(robot, 3 * k + j)[0] for k in range(3)]) for j in range(2))
    step = robot.difference(q[:, None], end)
    for found, one in (
        (robot.integrate_derivatives(q[:, None], step), robot.integrate_derivatives(q[2], step[2, 1])),
        (robot.difference_derivatives(q[:, None], end), robot.difference_derivatives(q[2], end[1])),
    ):
        for matrices, matrix in zip(found, one, strict=True):
            assert matrices.shape == (3, 3, 6, 6)
            assert_close(matrices[2, 1], matrix, tolerance=1e-15, scale=1.0)
    with pytest.raises(appell.ArgumentError, match="dv has shape"):
        robot.integrate_derivatives(q, np.zeros(5))


@over_kinds
@given(seed=seeds)
def test_difference_leads_from_one_configuration_to_the_other(kind: str, seed: int) -> None:
    robot = single(kind)
    start, end, _ = drawn(robot, seed)
    reached = robot.integrate(start, robot.difference(start, end))
    assert_close(robot.pose(reached, "body"), robot.pose(end, "body"), tolerance=1e-13, scale=10.0)


@over_kinds
@given(seed=seeds)
def test_standing_still_is_no_step(kind: str, seed: int) -> None:
    robot = single(kind)
    q, _, step = drawn(robot, seed)
    assert_close(robot.integrate(q, 0 * step), q, tolerance=1e-15, scale=10.0)
    assert_close(robot.difference(q, q), 0 * step, tolerance=1e-15, scale=10.0)


@over_kinds
@given(seed=seeds, part=st.floats(-2.0, 2.0))
def test_steps_along_one_direction_add_up(kind: str, seed: int, part: float) -> None:
    robot = single(kind)
    q, _, step = drawn(robot, seed)
    twice = robot.integrate(robot.integrate(q, part * step), (1 - part) * step)
    assert_close(robot.pose(twice, "body"), robot.pose(robot.integrate(q, step), "body"), tolerance=1e-13, scale=10.0)


@over_kinds
@given(seed=seeds)
def test_there_and_back(kind: str, seed: int) -> None:
    """difference(a, b) = -difference(b, a): the same twist, backwards."""
    robot = single(kind)
    start, end, _ = drawn(robot, seed)
    forth, back = robot.difference(start, end), robot.difference(end, start)
    assert_close(back, -forth, tolerance=1e-12, scale=max(1.0, float(np.abs(forth).max())))


@pytest.mark.parametrize("kind", ["floating", "spherical"])
@given(seed=seeds, size=st.floats(0.0, 1e6))
def test_quaternions_stay_unit_and_their_sign_does_not_matter(kind: str, seed: int, size: float) -> None:
    robot = single(kind)
    q, other, step = drawn(robot, seed, size)
    reached = robot.integrate(q, step)
    assert abs(np.linalg.norm(quaternion_of(robot, reached)) - 1.0) < 4e-16
    turned = other.copy()
    turned[-4:] *= -1
    assert_close(robot.difference(q, turned), robot.difference(q, other), tolerance=1e-14, scale=10.0)
    assert np.linalg.norm(robot.difference(q, other)[-3:]) <= np.pi * (1 + 1e-15)


@pytest.mark.parametrize("kind", CURVED)
@pytest.mark.parametrize("axis", AXES)
def test_a_step_is_the_flow_of_a_constant_body_twist(kind: str, axis: str) -> None:
    """The pose goes over into pose exp(S), S the step as a 4x4 twist along the axes of the body."""
    robot = single(kind, axis)
    axes = np.eye(4)
    axes[:3, :3] = axes_along(AXES[axis]) if KINDS[kind].axial else np.eye(3)
    for seed in range(20):
        q, _, step = drawn(robot, seed, 2.0)
        S = np.array(screw(KINDS[kind].twist(step.tolist())).rows)
        expected = robot.pose(q, "body") @ axes @ expm(S) @ axes.T
        assert_close(robot.pose(robot.integrate(q, step), "body"), expected, tolerance=1e-13, scale=10.0)


@pytest.mark.parametrize("kind", [kind for kind in MOVING_KINDS if kind not in CURVED])
def test_steps_of_flat_kinds_are_sums(kind: str) -> None:
    robot = single(kind)
    q, other, step = drawn(robot, 1)
    np.testing.assert_array_equal(robot.integrate(q, step), q + step)
    np.testing.assert_array_equal(robot.difference(q, other), other - q)


@pytest.mark.parametrize("kind", [kind for kind in MOVING_KINDS if kind != "universal"])
def test_unit_twists_are_derivatives_of_the_placement(kind: str) -> None:
    """placement(q ⊕ h e_k) leaves placement(q) with the unit twist k, by central differences."""
    each, h = KINDS[kind], 1e-5
    if kind == "helical":
        ((each, _),) = each.parts(Joint("screw", "helical", "a", "b", pitch=0.3))
    q = each.random(np.random.default_rng(3), -1.0, 1.0)
    here = matrix(each, q)
    for k, unit in enumerate(each.motion_subspace()):
        step = h * np.eye(each.nv)[k]
        change = (matrix(each, each.integrate(q, step)) - matrix(each, each.integrate(q, -step))) / (2 * h)
        assert_close(np.linalg.solve(here, change), np.array(screw(unit).rows), tolerance=1e-9)


def matrix(kind, q: np.ndarray) -> np.ndarray:
    return np.array(transformation(*kind.placement(q.tolist(), Angle.of(0.0))).rows, dtype=float)


def test_a_universal_joint_is_made_of_two() -> None:
    for ask in (lambda: KINDS["universal"].placement([0.1, 0.2], Angle.of(0.0)), KINDS["universal"].motion_subspace):
        with pytest.raises(TypeError, match="consists of two revolute joints"):
            ask()


@over_kinds
def test_neutral_configuration_is_the_pose_of_the_description(kind: str) -> None:
    robot = single(kind)
    expected = np.eye(4)
    expected[:3, :3], expected[:3, 3] = robot.joints[0].origin.rotation, robot.joints[0].origin.xyz
    assert_close(robot.pose(robot.neutral_configuration(), "body"), expected)


def test_random_configurations_are_within_limits_and_seeded() -> None:
    builder = appell.RobotBuilder("arm").body("a", 1.0, inertia=(1, 1, 1)).body("b", 1.0, inertia=(1, 1, 1))
    builder.revolute("elbow", "base", "a", limits=(0.2, 0.5)).prismatic("rail", "a", "b", limits=(-0.1, np.inf))
    robot = builder.build()
    drawn = np.array([robot.random_configuration(seed) for seed in range(200)])
    assert drawn[:, 0].min() >= 0.2
    assert drawn[:, 0].max() <= 0.5
    assert drawn[:, 1].min() >= -0.1
    assert np.ptp(drawn[:, 0]) > 0.25
    np.testing.assert_array_equal(robot.random_configuration(7), drawn[7])


@pytest.mark.parametrize(
    ("limits", "drawn"),
    [
        ((-1e16, 1e16), (-np.pi, np.pi)),
        ((-999999.0, np.inf), (-np.pi, np.pi)),
        ((-np.inf, -4.0), (-4.0 - 2 * np.pi, -4.0)),
        ((-1e16, -4.0), (-4.0 - 2 * np.pi, -4.0)),
        ((0.5, 1e16), (0.5, 0.5 + 2 * np.pi)),
        ((500.0, 501.0), (500.0, 501.0)),
        ((-501.0, -500.0), (-501.0, -500.0)),
        ((-7.854, 7.854), (-7.854, 7.854)),
    ],
)
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "helical"])
def test_limits_that_no_mechanism_has_are_drawn_as_none(
    kind: str, limits: tuple[float, float], drawn: tuple[float, float]
) -> None:
    q = [KINDS[kind].random(np.random.default_rng(seed), *limits) for seed in range(300)]
    assert drawn[0] <= np.min(q) < drawn[0] + 0.03 * (drawn[1] - drawn[0])
    assert drawn[1] - 0.03 * (drawn[1] - drawn[0]) < np.max(q) <= drawn[1]


def test_turns_of_a_random_quaternion_are_even() -> None:
    """The mean of R is zero where rotations are drawn evenly."""
    robot = single("spherical")
    rotations = robot.pose([robot.random_configuration(seed) for seed in range(400)], "body")[:, :3, :3]
    assert np.abs(rotations.mean(axis=0)).max() < 0.12


@over_kinds
def test_batches_of_steps(kind: str) -> None:
    """Leading dimensions broadcast; results are those of single states."""
    robot = single(kind)
    q = np.array([robot.random_configuration(seed) for seed in range(3)])
    step = np.random.default_rng(0).normal(size=(2, 1, robot.nv))
    ends = robot.integrate(q, step)
    assert ends.shape == (2, 3, robot.nq)
    assert_close(ends[1, 2], robot.integrate(q[2], step[1, 0]))
    assert_close(robot.difference(q, ends)[0, 1], robot.difference(q[1], ends[0, 1]))
    with pytest.raises(appell.errors.ArgumentError, match="dv has shape"):
        robot.integrate(q, np.zeros(robot.nv + 1))


@pytest.mark.parametrize("kind", CURVED)
def test_a_full_turn_is_no_step(kind: str) -> None:
    """Configurations of the same attitude have no turn between them, only the straight way."""
    robot = single(kind)
    q, step = robot.random_configuration(1), np.zeros(robot.nv)
    step[-1] = 2 * np.pi
    assert_close(robot.difference(q, robot.integrate(q, step)), 0 * step, tolerance=1e-14, scale=10.0)
