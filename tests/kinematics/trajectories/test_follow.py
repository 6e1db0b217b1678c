"""References of robots that follow paths: exact, continuous, on one branch; what cannot be followed is named with its time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from helpers.arms import on_a_free_base
from helpers.shared_data import reference, shared

import appell
from appell.kinematics import trajectories
from appell.kinematics.inverse import BRANCHES
from appell.kinematics.inverse.rotation import rotation_matrix
from appell.model.joint import Limits

PUMA = appell.load("puma560")
VALERA = trajectories.valera2003_line(PUMA)


def assert_consistent(motion, tolerance: float = 1e-6, span=(0.03, 0.97)) -> None:
    h = 1e-4
    t = np.linspace(span[0] * motion.duration, span[1] * motion.duration, 9)
    robot = motion.motion.robot
    before, now, after = motion(t - h), motion(t), motion(t + h)
    assert np.abs(robot.difference(before.q, after.q) / (2 * h) - now.qd).max() < tolerance
    assert np.abs((after.qd - before.qd) / (2 * h) - now.qdd).max() < tolerance


def test_valera_line_equals_the_reference_values():
    """Coordinates, rates and torques of the straight line, made without this library."""
    data = reference("puma_line")
    assert VALERA.duration == pytest.approx(data["T"], rel=1e-15)
    samples = data["branches"]["s+1_e+1_w+1"]["samples"]
    q, qd, qdd = VALERA(np.array([sample["t"] for sample in samples]))
    tau = PUMA.inverse_dynamics(q, qd, qdd)
    for name, ours in (("q", q), ("qd", qd), ("qdd", qdd), ("tau", tau)):
        assert np.abs(ours - [sample[name] for sample in samples]).max() < 1e-10, name


@pytest.mark.parametrize("branch", BRANCHES)
@pytest.mark.parametrize(
    "path", [trajectories.valera2003_path(), trajectories.mata2002_path()], ids=["valera2003", "mata2002"]
)
def test_the_papers_lines_are_followed_in_every_branch(path, branch):
    motion = trajectories.follow(PUMA, path, branch=branch)
    t = np.linspace(0.0, path.duration, 40)
    q, qd, qdd = motion(t)
    pose, twist, rate = path(t)
    assert np.abs(PUMA.pose(q, "link6") - pose).max() < 1e-12
    J, Jd = PUMA.jacobian(q, "link6"), PUMA.jacobian_rate(q, qd, "link6")
    assert np.abs(np.einsum("nij,nj->ni", J, qd) - twist).max() < 1e-12
    assert np.abs(np.einsum("nij,nj->ni", J, qdd) + np.einsum("nij,nj->ni", Jd, qd) - rate).max() < 1e-12
    closed = appell.inverse_kinematics(PUMA, pose, branch=branch, q0=q)
    assert np.abs(closed.q - q).max() < 1e-9  # the branch is kept from beginning to end
    assert np.abs(np.diff(q, axis=0)).max() < 0.2  # and no angle jumps


def test_scalars_and_arrays_of_times_agree_and_the_end_is_at_rest():
    t = np.array([[0.0, 1.0], [5.0, 9.5]])
    q, qd, qdd = VALERA(t)
    assert q.shape == qd.shape == qdd.shape == (2, 2, 6)
    one = VALERA(5.0)
    assert one.q.shape == (6,)
    assert np.abs(one.q - q[1, 0]).max() < 1e-14
    assert not qd[1, 1].any()
    assert np.abs(qdd[1, 1]).max() == 0.0
    assert np.abs(q[1, 1] - VALERA(VALERA.duration).q).max() < 1e-14


@pytest.mark.parametrize("profile", ["trapezoidal", "cubic", "quintic"])
def test_ramps_and_splines(profile):
    motion = trajectories.valera2003_line(PUMA, profile=profile, acceleration=0.2)
    assert_consistent(motion)
    assert np.abs(motion(np.array([0.0, motion.duration])).qd).max() < 1e-12
    top = np.linalg.norm(motion.path(np.linspace(0, motion.duration, 2001)).twist[:, :3], axis=1).max()
    assert top == pytest.approx(0.1, rel=1e-5)


def test_via_points_with_attitudes():
    knots = np.array(
        [[0.1, -1.0, 2.8, 0.3, 0.8, 0.2], [0.4, -1.0, 2.6, 0.6, 0.6, 0.5], [0.5, -0.8, 2.7, 0.8, 1.0, 1.2]]
    )
    path = trajectories.via_points(PUMA.pose(knots, "link6"), duration=4.0, profile="quintic")
    motion = trajectories.follow(PUMA, path, q0=knots[0])
    assert np.abs(motion(path.breaks).q - knots).max() < 1e-12
    assert_consistent(motion)


def test_redundant_robot_moves_with_least_speed():
    robot = appell.load(shared("robots/panda.urdf"))
    frame = "panda_hand_tcp"
    q0 = robot.random_configuration(3)
    start = robot.pose(q0, frame)
    end = start.copy()
    end[:3, 3] += [0.05, 0.05, -0.05]
    motion = trajectories.follow(robot, trajectories.line(start, end, duration=2.0, profile="quintic"), frame, q0=q0)
    assert_consistent(motion)
    q, qd, _ = motion(np.linspace(0.2, 1.8, 5))
    J = robot.jacobian(q, frame)
    least = np.einsum("nij,nj->ni", np.linalg.pinv(J) @ J, qd)
    assert np.abs(least - qd).max() < 1e-12


def test_position_only_leaves_the_attitude_free():
    path = trajectories.line([0.5, 0.2, 0.1], [0.4, 0.3, 0.2], duration=1.0)
    motion = trajectories.follow(PUMA, path, q0=[0.4, -1, 2.8, 0.1, 0.5, 0.1])
    t = np.linspace(0, 1, 5)
    assert np.abs(PUMA.pose(motion(t).q, "link6")[:, :3, 3] - path(t).pose[:, :3, 3]).max() < 1e-13
    assert_consistent(motion)


@pytest.mark.parametrize("joints", [2, 3])
def test_planar_arms_follow_lines_in_their_plane(joints):
    """Only some of the rows can be moved; that is no singularity."""
    arm = appell.Robot.from_dh([0.0] * 4, [0.0, 0.4, 0.3, 0.2], [0.0] * 4, joints="RRRR")
    fixed = tuple(replace(joint, kind="fixed") if k >= joints else joint for k, joint in enumerate(arm.joints))
    arm = replace(arm, joints=fixed)
    q0 = np.array([0.3, 1.0, 0.2])[:joints]
    p = arm.pose(q0, "link4")[:3, 3]
    path = trajectories.line(p, p + np.array([-0.1, 0.1, 0.0]), duration=1.0, profile="cubic")
    motion = trajectories.follow(arm, path, "link4", q0=q0)
    assert np.abs(arm.pose(motion(0.5).q, "link4")[:3, 3] - path(0.5).pose[:3, 3]).max() < 1e-14
    assert_consistent(motion)
    outside = trajectories.line(p, p + np.array([0.0, 0.0, 0.1]), duration=1.0)
    with pytest.raises(appell.errors.TrajectoryError, match="unreachable"):
        trajectories.follow(arm, outside, "link4", q0=q0)


def test_floating_base():
    robot = on_a_free_base(PUMA)
    q0 = robot.neutral_configuration()
    q0[7:] = [0.1, -1.0, 2.8, 0.3, 0.8, 0.2]
    start = robot.pose(q0, "link6")
    end = start.copy()
    end[:3, 3] += [0.1, 0.0, 0.1]
    motion = trajectories.follow(robot, trajectories.line(start, end, duration=2.0, profile="cubic"), "link6", q0=q0)
    q, _, _ = motion(np.linspace(0, 2, 7))
    assert np.abs(robot.pose(q, "link6") - motion.path(np.linspace(0, 2, 7)).pose).max() < 1e-12
    assert_consistent(motion, tolerance=1e-4)


def test_out_of_reach_on_the_way_is_named_with_its_time():
    path = trajectories.line([0.5, 0.0, 0.2], [1.5, 0.0, 0.2], trajectories.euler_zyz([0.3, 1.0, 0.2]), speed=0.1)
    with pytest.raises(
        appell.errors.TrajectoryError, match=r"t = 3\.55\d* s, position .* is unreachable .*left/above/no_flip"
    ) as caught:
        trajectories.follow(PUMA, path, branch="left/above/no_flip")
    assert caught.value.reason == "unreachable"
    reach = 0.5 + 0.1 * caught.value.time  # where the wrist leaves the sphere that the arm can reach
    fore = np.hypot(0.433, 0.02)
    assert reach**2 + 0.2**2 == pytest.approx((0.432 + fore) ** 2 + 0.15**2, rel=1e-6)
    with pytest.raises(appell.errors.TrajectoryError, match="no branch can follow the path"):
        trajectories.follow(PUMA, path)


def test_out_of_reach_at_the_start():
    path = trajectories.line([1.5, 0.0, 0.2], [0.5, 0.0, 0.2], np.eye(3), speed=0.1)
    with pytest.raises(appell.errors.TrajectoryError, match="t = 0 s") as caught:
        trajectories.follow(PUMA, path, branch="left/above/flip")
    assert (caught.value.time, caught.value.reason) == (0.0, "unreachable")


@dataclass(frozen=True)
class Spiked:
    """A path with an excursion so short that no knot sees it."""

    path: trajectories.PosePath

    def __getattr__(self, name):
        return getattr(self.path, name)

    def __call__(self, t):
        motion = self.path(t)
        motion.pose[..., 0, 3] += np.where((np.asarray(t) > 1.0011) & (np.asarray(t) < 1.0019), 5.0, 0.0)
        return motion


def test_an_excursion_between_the_knots_is_refused_when_it_is_asked_for():
    path = Spiked(trajectories.mata2002_path())
    motion = trajectories.follow(PUMA, path, branch="left/above/no_flip")
    motion(np.array([1.0, 1.1]))
    with pytest.raises(appell.errors.TrajectoryError, match=r"t = 1\.0015 s.*unreachable"):
        motion(np.array([1.0, 1.0015, 1.1]))


def test_a_singular_point_on_the_way_is_named_with_its_time():
    """The hand turns through the attitude at which axes 4 and 6 are in line, half way."""
    q = np.array([0.3, -0.9, 2.7, 0.4, 0.0, 0.2])
    middle = PUMA.pose(q, "link6")
    bend = PUMA.pose(q, "link5")[:3, 2]  # axis 5
    start, end = middle.copy(), middle.copy()
    start[:3, :3] = rotation_matrix(0.5 * bend) @ middle[:3, :3]
    end[:3, :3] = rotation_matrix(-0.5 * bend) @ middle[:3, :3]
    start[:3, 3] += [0.05, 0.0, 0.0]
    end[:3, 3] -= [0.05, 0.0, 0.0]
    path = trajectories.line(start, end, duration=2.0)
    with pytest.raises(appell.errors.TrajectoryError, match="singular") as caught:
        trajectories.follow(PUMA, path, q0=[0.3, -0.9, 2.7, 0.4, 0.5, 0.2])
    assert caught.value.reason == "singular"
    assert 0.0 < caught.value.time < 2.0


def limited(**limits):
    joints = tuple(replace(joint, kind="revolute", limits=Limits(**limits)) for joint in PUMA.joints)
    return replace(PUMA, joints=joints)


def test_limits_are_named_with_joint_time_value_and_limit():
    robot = limited(lower=-6.0, upper=3.3, velocity=0.2, effort=60.0)
    found = trajectories.limit_violations(VALERA, robot, acceleration=0.05)
    assert {violation.quantity for violation in found} == {"position", "velocity", "acceleration", "effort"}
    assert [violation.start for violation in found] == sorted(violation.start for violation in found)
    t = np.linspace(0, VALERA.duration, 20001)
    q, qd, qdd = VALERA(t)
    values = {"position": q, "velocity": qd, "acceleration": qdd, "effort": PUMA.inverse_dynamics(q, qd, qdd)}
    for violation in found:
        column = values[violation.quantity][:, int(violation.name[-1]) - 1] * np.sign(violation.limit_value)
        beyond = np.flatnonzero(column > abs(violation.limit_value))
        assert violation.start == pytest.approx(t[beyond[0]], abs=1e-3)
        assert abs(violation.value) == pytest.approx(column.max(), rel=1e-5)
    with pytest.raises(
        appell.errors.TrajectoryError, match=r"joint 'joint2': effort .* N m at t = .* limit -60 N m"
    ) as caught:
        trajectories.require_within_limits(VALERA, robot)
    assert caught.value.reason == "outside limits"


def test_limits_that_are_kept_are_not_named():
    assert trajectories.limit_violations(VALERA, limited(lower=-7.0, upper=7.0, velocity=1.0, effort=100.0)) == ()
    trajectories.require_within_limits(VALERA, PUMA)
    exact = np.abs(VALERA(np.linspace(0, VALERA.duration, 1001)).qd).max(axis=0)
    assert trajectories.limit_violations(VALERA, PUMA, velocity=exact * (1 + 1e-6)) == ()


def test_pictures(tmp_path):
    figure = VALERA.plot(tmp_path / "line.png", PUMA)
    assert [axis.get_ylabel() for axis in figure.axes][-1].startswith("torque")
    assert (tmp_path / "line.png").stat().st_size > 20_000


@pytest.mark.parametrize("profile", ["uniform", "trapezoidal"])
def test_tables_are_the_reference_and_fast(profile):
    line = trajectories.valera2003_line(PUMA, profile=profile, acceleration=0.2 if profile == "trapezoidal" else None)
    table = trajectories.tabulated(line)
    t = np.linspace(0.0, line.duration, 333)
    for got, wanted, tolerance in zip(table(t), line(t), (1e-11, 1e-9, 1e-7), strict=True):
        assert np.abs(got - wanted).max() < tolerance
    knots = table.breaks[::7]
    assert all(np.abs(a - b).max() < 1e-11 for a, b in zip(table(knots), line(knots), strict=True))


def test_tables_refuse_quaternions_and_bad_steps():
    with pytest.raises(appell.ArgumentError, match="step is -1"):
        trajectories.tabulated(VALERA, -1)


def test_no_times_give_no_states():
    assert [part.shape for part in VALERA(np.zeros(0))] == [(0, 6)] * 3
