"""Laws of motion, splines and paths: derivatives, ends, points, and the limits they were made for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import appell
from appell.kinematics.inverse.frame_motion import pose_error
from appell.kinematics.inverse.rotation import rotation_matrix, rotation_vector
from appell.kinematics.trajectories import joint_line, joint_via_points, line, via_points
from appell.kinematics.trajectories.curves import PROFILES, dense, time_scaling

ARM = appell.load("planar2r")
SMOOTH = ("trapezoidal", "cubic", "quintic")


def assert_rates(curve, breaks, tolerance: float = 1e-7) -> None:
    """Speeds and accelerations are the derivatives of what comes before them, away from breaks."""
    h = 1e-5
    t = dense(breaks, 7)
    t = t[np.abs(t[:, None] - breaks).min(axis=1) > 2 * h]
    before, now, after = curve(t - h), curve(t), curve(t + h)
    for k in (1, 2):
        slope = (after[k - 1] - before[k - 1]) / (2 * h)
        scale = max(1.0, np.abs(now[k]).max())
        assert np.abs(slope - now[k]).max() < tolerance * scale


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("duration", [0.3, 4.0])
def test_laws_go_from_0_to_1(profile, duration):
    s = time_scaling(profile, duration)
    assert s.duration == duration
    x, _, _ = s(np.array([-1.0, 0.0, duration, duration + 1.0]))
    assert np.abs(x - [0.0, 0.0, 1.0, 1.0]).max() < 1e-14
    assert s(-1.0).xd == s(duration + 1.0).xd == 0.0
    assert_rates(s, s.breaks)
    assert (np.diff(s(np.linspace(0, duration, 200)).x) >= 0.0).all()


@pytest.mark.parametrize("profile", SMOOTH)
def test_laws_begin_and_end_at_rest(profile):
    s = time_scaling(profile, 2.0)
    assert np.abs(s(np.array([0.0, 2.0])).xd).max() < 1e-14
    if profile == "quintic":
        assert np.abs(s(np.array([0.0, 2.0])).xdd).max() < 1e-13


@given(st.sampled_from(SMOOTH), st.floats(0.01, 100.0), st.floats(0.01, 100.0))
def test_laws_use_the_limits_fully_and_keep_them(profile, speed, acceleration):
    s = time_scaling(profile, None, speed, acceleration)
    _, xd, xdd = s(dense(s.breaks, 2000))
    used = max(np.abs(xd).max() / speed, np.abs(xdd).max() / acceleration)
    assert 1.0 - 1e-5 < used < 1.0 + 1e-9


@pytest.mark.parametrize(("arguments", "text"), [
    ((), "needs a duration"),
    ((None, 1.0), "also needs an acceleration"),
    ((None, None, 1.0), "also needs a speed"),
    ((1.0, 1.0, 1.0), "two of duration, speed and acceleration"),
    ((1.0, 3.0), "expected more than 1 and at most 2"),
    ((1.0, None, 1.0), "it takes 2 s"),
    ((-1.0,), "expected a positive number"),
])  # fmt: skip
def test_impossible_trapezoids_are_named(arguments, text):
    with pytest.raises(appell.ArgumentError, match=text):
        time_scaling("trapezoidal", *arguments)


def test_a_trapezoid_from_any_two_of_its_numbers_is_the_same():
    one = time_scaling("trapezoidal", None, 0.5, 1.0)
    others = [time_scaling("trapezoidal", one.duration, 0.5), time_scaling("trapezoidal", one.duration, None, 1.0)]
    t = np.linspace(0, one.duration, 50)
    assert all(np.abs(one(t).x - other(t).x).max() < 1e-12 for other in others)


POINTS = np.array([[0.0, 0.0], [1.0, 0.5], [0.5, 1.5], [0.2, 0.3]])


@pytest.mark.parametrize("profile", ["cubic", "quintic"])
def test_splines_pass_their_points_smoothly_and_rest_at_the_ends(profile):
    times = np.array([0.0, 0.7, 2.0, 2.4])
    move = joint_via_points(ARM, POINTS, times=times, profile=profile)
    assert np.abs(move(times).q - POINTS).max() < 1e-13
    assert np.abs(move(times[[0, -1]]).qd).max() < 1e-12
    assert_rates(move, times)
    inner = times[1:-1]
    jump = [np.abs(a - b).max() for a, b in zip(move(inner - 1e-9), move(inner + 1e-9), strict=True)]
    assert max(jump) < 1e-6
    if profile == "quintic":
        assert np.abs(move(times[[0, -1]]).qdd).max() < 1e-11
        from scipy.interpolate import make_interp_spline

        rest = [(1, np.zeros(2)), (2, np.zeros(2))]
        other = make_interp_spline(times, POINTS, k=5, bc_type=(rest, rest))
        t = np.linspace(0, 2.4, 50)
        assert np.abs(move(t).q - other(t)).max() < 1e-12


@pytest.mark.parametrize("profile", ["cubic", "quintic", "trapezoidal"])
def test_joints_keep_their_limits_and_use_one_of_them(profile):
    speed, acceleration = np.array([0.8, 2.0]), np.array([3.0, 1.0])
    move = joint_via_points(ARM, POINTS, velocity=speed, acceleration=acceleration, profile=profile)
    _, qd, qdd = move(dense(move.breaks, 1000))
    used = max((np.abs(qd) / speed).max(), (np.abs(qdd) / acceleration).max())
    assert 1.0 - 1e-9 < used < 1.0 + 1e-4
    if profile == "trapezoidal":
        stops = [t for t in move.breaks if np.abs(move(t).qd).max() < 1e-12]
        assert len(stops) >= len(POINTS)


def test_joint_lines_are_straight_and_synchronous():
    start, end = np.array([0.2, -0.4]), np.array([1.0, 1.2])
    for profile in PROFILES:
        move = joint_line(ARM, start, end, duration=1.5, profile=profile)
        q = move(np.linspace(0, 1.5, 40)).q
        away, way = q - start, end - start
        assert np.abs(away[:, 0] * way[1] - away[:, 1] * way[0]).max() < 1e-14
        assert_rates(move, move.breaks)


def test_speed_limits_of_the_robot_are_the_default():
    with pytest.raises(appell.ArgumentError, match="'joint1' of 'planar2r' has no velocity limit"):
        joint_line(ARM, [0, 0], [1, 1])


@pytest.mark.parametrize(("arguments", "text"), [
    ({"points": [[0, 0]], "duration": 1.0}, r"expected \(k, 2\) with k of 2"),
    ({"points": [[0, 0, 0], [1, 1, 1]], "duration": 1.0}, "points has shape"),
    ({"points": [[0, 0], [1, np.nan]], "duration": 1.0}, r"points\[\(1, 1\)\]"),
    ({"points": [[0, 0], [0, 0], [1, 1]], "duration": 1.0}, "points 0 and 1 are equal"),
    ({"points": [[0, 0], [1, 1]], "times": [0.0, 0.0]}, "increasing numbers from 0"),
    ({"points": [[0, 0], [1, 1]], "times": [0.0, 1.0, 2.0]}, "one for each point"),
    ({"points": [[0, 0], [1, 1]], "times": [0.0, 1.0], "duration": 1.0}, "already fixes the timing"),
    ({"points": [[0, 0], [1, 1]], "profile": "quartic", "duration": 1.0}, "unknown profile 'quartic'"),
    ({"points": [[0, 0], [1, 1]], "velocity": [1.0, -1.0]}, "expected one positive number or 2"),
])  # fmt: skip
def test_wrong_points_are_named(arguments, text):
    with pytest.raises(appell.ArgumentError, match=text):
        joint_via_points(ARM, **arguments)


@pytest.mark.parametrize("points", [POINTS[:2], POINTS])
@pytest.mark.parametrize("profile", ["cubic", "quintic"])
def test_a_duration_that_breaks_the_limits_is_refused(points, profile):
    least = joint_via_points(ARM, points, velocity=1.0, profile=profile).duration
    with pytest.raises(appell.ArgumentError, match=f"it takes {least:g} s"):
        joint_via_points(ARM, points, velocity=1.0, duration=0.9 * least, profile=profile)
    assert joint_via_points(ARM, points, velocity=1.0, duration=1.1 * least, profile=profile).duration == pytest.approx(
        1.1 * least
    )


def test_times_must_be_finite():
    with pytest.raises(appell.ArgumentError, match="t is nan"):
        joint_line(ARM, [0, 0], [1, 1], duration=1.0)(np.array([0.1, np.nan]))


def test_joints_with_several_coordinates_are_refused_by_name():
    builder = appell.RobotBuilder("ball").body("base").body("ball", mass=1.0, inertia=(1, 1, 1))
    robot = builder.spherical("turn", "base", "ball").build()
    with pytest.raises(appell.ArgumentError, match="has several coordinates"):
        joint_line(robot, robot.neutral_configuration(), robot.neutral_configuration(), duration=1.0)


def poses(count: int, seed: int = 0, turn: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    result = np.tile(np.eye(4), (count, 1, 1))
    result[:, :3, 3] = rng.uniform(-0.5, 0.5, (count, 3))
    for k in range(1, count):
        result[k, :3, :3] = rotation_matrix(rng.normal(size=3) * turn) @ result[k - 1, :3, :3]
    return result


def assert_twists(path) -> None:
    """Twist and rate of a path against differences of its poses and twists."""
    h = 1e-5
    t = dense(path.breaks, 7)
    t = t[np.abs(t[:, None] - path.breaks).min(axis=1) > 2 * h]
    before, now, after = path(t - h), path(t), path(t + h)
    assert np.abs(pose_error(after.pose, before.pose) / (2 * h) - now.twist).max() < 1e-7 * (
        1 + np.abs(now.twist).max()
    )
    assert np.abs((after.twist - before.twist) / (2 * h) - now.rate).max() < 1e-7 * (1 + np.abs(now.rate).max())


@pytest.mark.parametrize("profile", PROFILES)
def test_lines_between_poses(profile):
    start, end = poses(2, seed=1)
    path = line(start, end, duration=2.0, profile=profile)
    assert np.abs(path(0.0).pose - start).max() < 1e-14
    assert np.abs(path(2.0).pose - end).max() < 1e-13
    assert_twists(path)
    p = path(np.linspace(0, 2, 30)).pose[:, :3, 3] - start[:3, 3]
    assert np.abs(np.cross(p, end[:3, 3] - start[:3, 3])).max() < 1e-14
    axes = path(np.linspace(0.1, 1.9, 5)).twist[:, 3:]
    assert np.abs(np.cross(axes, axes[0])).max() < 1e-12  # one axis all the way


def test_a_line_at_constant_speed_has_this_speed():
    path = line([0.1, 0.2, 0.3], [0.5, -0.2, 0.1], speed=0.3)
    assert path.duration == pytest.approx(0.6 / 0.3)
    assert np.abs(np.linalg.norm(path(np.linspace(0, 2, 9)).twist[:, :3], axis=1) - 0.3).max() < 1e-14
    assert not path(np.linspace(0, 2, 9)).rate.any()


@pytest.mark.parametrize("profile", ["cubic", "quintic", "trapezoidal", "uniform"])
def test_paths_pass_their_poses(profile):
    points, times = poses(5, seed=2), np.array([0.0, 1.0, 1.5, 3.0, 4.0])
    path = via_points(points, times=times, profile=profile)
    assert np.abs(path(times).pose - points).max() < 1e-12
    assert_twists(path)


def test_paths_turn_further_than_half_a_turn():
    """Attitudes 100 degrees apart about one axis: on and on, not back and forth."""
    points = np.tile(np.eye(4), (4, 1, 1))
    for k in range(4):
        points[k, :3, :3] = rotation_matrix(np.array([0.0, 0.0, np.radians(100.0 * k)]))
        points[k, 0, 3] = 0.1 * k
    path = via_points(points, duration=3.0, profile="cubic")
    assert (path(np.linspace(0.05, 2.95, 40)).twist[:, 5] > 0.0).all()


@pytest.mark.parametrize("profile", ["cubic", "quintic", "trapezoidal"])
def test_paths_keep_speed_and_acceleration(profile):
    path = via_points(poses(4, seed=3)[:, :3, 3], speed=0.4, acceleration=1.5, profile=profile)
    _, twist, rate = path(dense(path.breaks, 1000))
    used = max(np.linalg.norm(twist, axis=1).max() / 0.4, np.linalg.norm(rate, axis=1).max() / 1.5)
    assert 1.0 - 1e-9 < used < 1.0 + 1e-4


@pytest.mark.parametrize(("call", "text"), [
    (lambda: line([0, 0], [1, 1], duration=1.0), r"start has shape \(2,\)"),
    (lambda: line([0, 0, 0], [0, 0, 0], duration=1.0), "are equal"),
    (lambda: line([0, 0, 0], [np.inf, 0, 0], duration=1.0), "end is not finite"),
    (lambda: line(np.eye(4), np.eye(4), np.eye(3), duration=1.0), "has an orientation already"),
    (lambda: line([0, 0, 0], [1, 0, 0], 2 * np.eye(3), duration=1.0), "off by 3"),
    (lambda: line([0, 0, 0], [1, 0, 0], speed=1.0, acceleration=1.0), "'uniform' has no accelerations"),
    (lambda: via_points([[0, 0, 0]], duration=1.0), "k of 2 or more"),
])  # fmt: skip
def test_wrong_paths_are_named(call, text):
    with pytest.raises(appell.ArgumentError, match=text):
        call()


@given(st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3), st.floats(0.0, 3.14))
def test_rotation_vectors_and_matrices_are_inverse(direction, angle):
    axis = np.array(direction) + np.array([0.0, 0.0, 2.0])
    r = axis / np.linalg.norm(axis) * angle
    assert np.abs(rotation_vector(rotation_matrix(r)) - r).max() < 1e-14 + 1e-15 / (np.pi - angle)
