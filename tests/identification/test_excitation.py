"""Motions that show parameters: within all limits, from rest to rest, better than chance."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.recorded_motion import tx40

import appell
from appell.identification import MotionLimits, Recording
from appell.identification import excitation as fourier
from appell.identification.base import base_parameters
from appell.identification.excitation import FourierMotion
from appell.identification.excitation_criteria import AddedInformation, ConditionNumber
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


def test_the_nearest_coefficients_of_a_motion_from_rest():
    """Projections: orthogonal to (1, 1, 1) and to (1, 2, 3)."""
    a, b = np.array([[1.0, 2.0, 6.0]]), np.array([[1.0, 0.0, 2.0]])
    found = fourier.starting_at_rest(a, b)
    assert_close(found[0], np.array([[-2.0, -1.0, 3.0]]))
    assert_close(found[1], np.array([[0.5, -1.0, 0.5]]))


def search_of(robot, **limits):
    base = base_parameters(robot, ())
    return fourier._Search(robot, (), base, fourier._joint_limits(robot, MotionLimits(**limits)), 3.0, 3)


def test_default_limits_of_motions():
    found = fourier._joint_limits(appell.load("planar2r"), MotionLimits())
    assert_close(found.lower, np.full(2, -np.pi))
    assert_close(found.upper, np.full(2, np.pi))
    assert_close(found.velocity, np.full(2, 2.0))
    assert_close(found.acceleration, np.full(2, 10.0))
    assert np.isinf(found.effort).all()
    slide = appell.Robot.from_dh(
        alpha=[0.0],
        a=[0.0],
        d=[0.0],
        theta=[0.0],
        mass=[1.0],
        com=[[0, 0, 0]],
        inertia=[np.eye(3)],
        joints="P",
    )
    assert_close(fourier._joint_limits(slide, MotionLimits()).upper, np.array([0.5]))
    for bad in ({"velocity": 0.0}, {"lower": 1.0, "upper": 1.0}):
        with pytest.raises(appell.ArgumentError, match="'joint1' has no room"):
            fourier._joint_limits(appell.load("planar2r"), MotionLimits(**bad))
    with pytest.raises(appell.ArgumentError, match="duration 0"):
        appell.excitation(appell.load("planar2r"), 0.0)
    assert appell.excitation(appell.load("planar2r"), 0.5, 2, terms=(), iterations=0).duration == 0.5


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (Limits(-0.5, 1.2, 3.0, 7.0), (-0.5, 1.2, 3.0, 7.0)),
        (Limits(-0.5, np.inf, np.inf, 7.0), (-0.5, np.pi, 2.0, 7.0)),
        (Limits(-np.inf, 0.5, 3.0, np.inf), (-np.pi, 0.5, 3.0, np.inf)),
    ],
)
def test_limits_of_the_robot(own, expected):
    robot = appell.load("planar2r")
    robot = replace(robot, joints=tuple(replace(joint, limits=own) for joint in robot.joints))
    found = fourier._joint_limits(robot, MotionLimits())
    for name, value in zip(("lower", "upper", "velocity", "effort"), expected, strict=True):
        assert (getattr(found, name) == value).all()
    assert (found.acceleration == 10.0).all()


@pytest.mark.parametrize("binding", ["position", "velocity", "acceleration"])
def test_one_limit_is_reached_to_two_percent(binding):
    robot = appell.load("planar2r")
    limits = {"lower": -9.0, "upper": 9.0, "velocity": 90.0, "acceleration": 900.0}
    tight = {
        "position": {"lower": -0.1, "upper": 0.3},
        "velocity": {"velocity": 0.5},
        "acceleration": {"acceleration": 0.7},
    }
    search = search_of(robot, **(limits | tight[binding]))
    x = np.random.default_rng(0).normal(size=(2, search.size))
    center, a, b = search.coefficients(x)
    for k in range(2):
        q, qd, qdd = fourier.fourier_series(center[k], a[k], b[k], 3.0, np.linspace(0.0, 3.0, 192))
        reached = {"position": np.ptp(q, axis=0) / 0.4, "velocity": np.abs(qd).max(axis=0) / 0.5,
                   "acceleration": np.abs(qdd).max(axis=0) / 0.7}[binding]  # fmt: skip
        assert_close(reached, np.full(2, 0.98), tolerance=1e-9)
        if binding == "position":  # what is left is the margin of both sides
            assert_close(q.min(axis=0), np.full(2, -0.1 + 0.004), tolerance=1e-9)
            assert_close(q.max(axis=0), np.full(2, 0.3 - 0.004), tolerance=1e-9)


def test_centres_share_the_room_that_is_left():
    robot = appell.load("planar2r")
    search = search_of(robot, lower=-1.0, upper=2.0, velocity=0.1)
    x = np.random.default_rng(0).normal(size=(3, search.size))
    x[:, -2:] = [[-20.0, -20.0], [0.0, 0.0], [20.0, 20.0]]
    x[1:, :-2] = x[0, :-2]
    center, a, b = search.coefficients(x)
    q, *_ = fourier.fourier_series(center, a, b, 3.0, np.linspace(0.0, 3.0, 192))
    assert_close(q.min(axis=1)[0], np.full(2, -1.0 + 0.03), tolerance=1e-9)
    assert_close(q.max(axis=1)[2], np.full(2, 2.0 - 0.03), tolerance=1e-9)
    assert_close(center[1], (center[0] + center[2]) / 2.0, tolerance=1e-9)


def test_the_cost_is_the_condition_number_and_the_violation_of_forces():
    robot = appell.load("planar2r")
    search = search_of(robot)
    x = np.random.default_rng(0).normal(size=(2, search.size))
    t = np.arange(48) * (3.0 / 48)
    for k, cost in enumerate(search.costs(x)):
        center, a, b = (each[k] for each in search.coefficients(x))
        states = fourier.fourier_series(center, a, b, 3.0, t)
        rows = robot.regressor(*states)[..., list(search.base.independent)].reshape(-1, len(search.base))
        assert cost == pytest.approx(np.log(np.linalg.cond(rows / np.linalg.norm(rows, axis=0))), rel=1e-6)
    tau = np.abs(robot.inverse_dynamics(*states)).max(axis=0)
    limited = search_of(robot, effort=0.8 * tau)
    assert limited.costs(x)[1] - cost == pytest.approx(30.0 * (1.25 - 0.97) ** 2, rel=1e-6)
    motion = search.motion(x[1])
    rows = robot.regressor(*motion(np.linspace(0.0, 3.0, 768)))[..., list(search.base.independent)]
    rows = rows.reshape(-1, len(search.base))
    assert motion.condition_number == pytest.approx(np.linalg.cond(rows / np.linalg.norm(rows, axis=0)), rel=1e-7)
    value, slope = search.cost_and_gradient(x[0])
    assert value == pytest.approx(search.costs(x[:1])[0])
    for k in (0, 7, search.size - 1):
        unit = 1e-4 * np.eye(search.size)[k]
        pair = search.costs(np.array([x[0] + unit, x[0] - unit]))
        assert slope[k] == pytest.approx((pair[0] - pair[1]) / 2e-4, rel=1e-2, abs=1e-3)


FACTORS = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)


def test_amplitudes_are_reduced_until_the_drives_suffice():
    """To the largest of some factors with which no force exceeds its limit."""
    robot = appell.load("planar2r").with_gravity((0.0, 0.0, 0.0))
    free = search_of(robot)
    x = np.random.default_rng(0).normal(size=free.size)
    strong = free.motion(x)
    t = np.linspace(0.0, 3.0, 768)

    def limited(effort):
        return replace(free, limits=fourier._joint_limits(robot, MotionLimits(effort=effort))).motion(x)

    for factor, less in zip(FACTORS, (*FACTORS[1:], None), strict=True):
        states = fourier.fourier_series(strong.center, factor * strong.a, factor * strong.b, 3.0, t)
        peaks = np.abs(robot.inverse_dynamics(*states)).max(axis=0)
        found = limited(1.0001 * peaks)
        assert_close(found.a, factor * strong.a, tolerance=1e-12)
        assert_close(found.b, factor * strong.b, tolerance=1e-12)
        rows = robot.regressor(*states)[..., list(free.base.independent)].reshape(-1, len(free.base))
        condition = np.linalg.cond(rows / np.linalg.norm(rows, axis=0))
        assert found.condition_number == pytest.approx(condition, rel=1e-6)
        if less is not None:
            assert_close(limited(0.9999 * peaks).a, less * strong.a, tolerance=1e-12)
    assert found.joint_names == ("joint1", "joint2")
    assert found.uncertainty is None
    assert [row[0] for row in FourierMotion(found.center, found.a, found.b, 3.0).table().rows] == ["0", "1"]
    assert found.table().columns == ("joint", "c", "a1", "a2", "a3", "b1", "b2", "b3")
    with pytest.raises(appell.IdentificationError, match="no trajectory within the effort limits"):
        limited(0.9999 * peaks)


def test_the_best_of_twelve_random_motions():
    """A seed whose thirteenth would be better."""
    robot = appell.load("planar2r")
    search = fourier._Search(robot, (), base_parameters(robot), fourier._joint_limits(robot, MotionLimits()), 3.0, 2)
    for seed in range(100):
        starts = np.random.default_rng(seed).normal(size=(13, search.size))
        costs = search.costs(starts)
        if int(np.argmin(costs)) == 12:
            break
    expected = search.motion(starts[int(np.argmin(costs[:12]))])
    found = appell.excitation(robot, 3.0, 2, terms=(), iterations=0, seed=seed)
    assert_close(found.a, expected.a)
    assert_close(found.center, expected.center)


def test_gradients_in_pieces_are_those_of_the_whole():
    """One pass of all trajectories, with the step of 1e-5."""
    search = search_of(appell.load("planar2r"))
    x = np.random.default_rng(0).normal(size=search.size)
    value, slope = search.cost_and_gradient(x)
    costs = search.costs(np.concatenate([x[None], x + 1e-5 * np.eye(search.size)]))
    assert value == pytest.approx(costs[0], rel=1e-12)
    assert_close(slope, (costs[1:] - costs[0]) / 1e-5, tolerance=1e-6)


def test_condition_numbers_of_columns_of_any_size():
    """Columns are of unit length from 1e-12 on; dependent ones have the largest number, 1e14 of squares."""
    rng = np.random.default_rng(0)
    K = rng.normal(size=(1, 20, 2, 3))
    rows = K.reshape(40, 3)
    expected = np.log(np.linalg.cond(rows / np.linalg.norm(rows, axis=0)))
    for size in (1.0, 1e-10):
        assert ConditionNumber().costs(K * [1.0, size, 1.0])[0] == pytest.approx(expected, rel=1e-9)
    K[..., 2] = K[..., 0]
    largest = np.linalg.eigvalsh((rows / np.linalg.norm(rows, axis=0)).T @ (rows / np.linalg.norm(rows, axis=0)))[-1]
    assert ConditionNumber().costs(K)[0] == pytest.approx(0.5 * np.log(largest / 1e-14), rel=1e-3)


def test_directions_without_information_are_very_uncertain():
    """They count as a thousand-millionth of that of single parameters, and parameters without any as 1e-12 of the best."""
    criterion = AddedInformation(np.zeros((2, 2)), np.ones(1), np.eye(2))
    assert criterion._relative(np.diag([4.0, 9.0])) == pytest.approx(np.sqrt(0.25 + 1.0 / 9.0), rel=1e-8)
    equal = np.ones((2, 2))
    assert criterion._relative(equal) == pytest.approx(np.sqrt(1e9), rel=1e-3)
    assert criterion._relative(np.diag([4.0, 0.0])) == pytest.approx(np.sqrt(1.0 / (4e-12 * 1e-9)), rel=1e-3)
    assert criterion._relative(np.diag([4.0, 4e-10])) == pytest.approx(np.sqrt(1.0 / 4e-10), rel=1e-3)


def test_defaults_of_the_search():
    parameters = inspect.signature(appell.excitation).parameters
    found = {name: parameters[name].default for name in ("duration", "harmonics", "iterations", "seed")}
    assert found == {"duration": 10.0, "harmonics": 5, "iterations": 30, "seed": 0}


def test_a_motion_that_complements_a_recording():
    """The elbow hardly moved: the motion is proposed by the finding, and adding its recording makes it vanish."""
    arm = appell.load("planar2r")
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 10.0, 0.01)

    def recorded(q, qd, qdd):
        tau = arm.inverse_dynamics(q, qd, qdd) + 0.2 * qd
        return Recording(t, q, tau + 0.05 * rng.normal(size=tau.shape))

    states = [np.stack([a, 0.02 * a], axis=1) for a in (np.sin(2 * t), 2 * np.cos(2 * t), -4 * np.sin(2 * t))]
    poor = recorded(*states)
    with pytest.warns(appell.errors.IdentificationWarning, match=r"appell.excitation\(robot, fit=fit\) proposes"):
        fit = appell.identify(arm, poor)
    chance, motion = (appell.excitation(arm, 10.0, 4, iterations=n, fit=fit) for n in (0, 10))
    assert motion.uncertainty is not None
    assert chance.uncertainty is not None
    before, after = motion.uncertainty
    assert after < 0.1 * before
    assert after < 0.99 * chance.uncertainty[1]
    both = appell.identify(arm, [poor, recorded(*motion(t))])
    assert not [each for each in both.findings if each.kind == "excitation"]
    criterion = AddedInformation.of(arm, fourier._joint_limits(arm, MotionLimits()), fit, 10.0)
    assert criterion._relative(both.information) == pytest.approx(after, rel=0.5)
