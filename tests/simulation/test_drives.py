"""Controllers, torque limits, friction of the joints, and the balance of energy."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell

ARM = appell.load("planar2r")
START = [0.5, -0.3], [0.0, 1.0]


@dataclass(frozen=True)
class Log:
    """A controller that holds what it computed, and writes down when it was asked."""

    period: float | None
    seen: list
    gain: float = 5.0

    def initial_memory(self, t, q, qd):
        return 0 if self.period else None

    def step(self, t, q, qd, memory):
        self.seen.append((t, q.copy(), qd.copy()))
        return ARM.gravity(q) - self.gain * qd, memory if memory is None else memory + 1


def with_losses(robot, damping=0.0, friction=0.0):
    return replace(robot, joints=tuple(replace(joint, damping=damping, friction=friction) for joint in robot.joints))


# --- controllers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"method": appell.Integration("rk4", dt=3e-3)}, {"method": "RK45"}])
def test_samples_are_exactly_at_the_multiples_of_the_period(options):
    seen: list = []
    motion = appell.simulate(ARM, *START, 1.0, controller=Log(0.01, seen), **options)
    assert [t for t, _, _ in seen] == [k * 0.01 for k in range(100)]
    for t, q, qd in seen:
        (at,) = np.flatnonzero(motion.t == t)
        assert_close(motion.q[at], q, tolerance=0.0)
        assert_close(motion.tau[at], ARM.gravity(q) - 5.0 * qd, tolerance=1e-15)


def test_forces_are_held_between_samples():
    motion = appell.simulate(ARM, *START, 1.0, controller=Log(0.1, []), t_eval=0.01)
    for k in range(10):
        held = motion.tau[(motion.t > k * 0.1 + 1e-9) & (motion.t < (k + 1) * 0.1 - 1e-9)]
        assert len(held) == 9
        assert (held == held[0]).all()


def test_a_held_controller_is_the_same_as_pieces_with_constant_forces():
    motion = appell.simulate(ARM, *START, 0.5, controller=Log(0.05, []), method=appell.Integration(rtol=1e-12))
    q, qd = (np.array(each) for each in START)
    for _ in range(10):
        piece = appell.simulate(ARM, q, qd, 0.05, tau=ARM.gravity(q) - 5.0 * qd, method=appell.Integration(rtol=1e-12))
        q, qd = piece.q[-1], piece.qd[-1]
    assert_close(motion.q[-1], q, tolerance=1e-10)
    assert_close(motion.qd[-1], qd, tolerance=1e-10)


def test_a_fast_controller_tends_to_a_continuous_one():
    exact = appell.simulate(ARM, *START, 0.5, tau=lambda t, q, qd: ARM.gravity(q) - 5.0 * qd)
    continuous = appell.simulate(ARM, *START, 0.5, controller=Log(None, []))
    assert_close(continuous.q[-1], exact.q[-1], tolerance=1e-12)
    errors = [
        np.abs(appell.simulate(ARM, *START, 0.5, controller=Log(period, [])).q[-1] - exact.q[-1]).max()
        for period in (4e-3, 2e-3)
    ]
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.1), "the error of holding is proportional to the period"


@pytest.mark.parametrize("options", [{}, {"method": appell.Integration("midpoint", dt=2e-3)}, {"method": "LSODA"}])
def test_controlled_runs_with_friction_give_the_same_bits(options):
    robot = with_losses(ARM, damping=0.1, friction=0.4)
    first, second = (
        appell.simulate(robot, *START, 0.3, controller=Log(0.01, []), effort_limits=20.0, **options) for _ in range(2)
    )
    for name in ("t", "q", "qd", "qdd", "tau", "saturated", "balance"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes()


def test_controllers_of_the_library():
    controller = appell.control.ComputedTorque(ARM, [0.2, 0.4], kp=400.0, kd=40.0, period=1e-3, effort_limit=40.0)
    motion = appell.simulate(
        ARM, *START, 1.0, controller=controller, t_eval=0.01, method=appell.Integration("rk4", dt=1e-3)
    )
    assert_close(motion.q[-1], np.array([0.2, 0.4]), tolerance=1e-4)
    assert motion.saturated.any(), "the limit is the controller's own"
    assert np.abs(motion.tau).max() <= 40.0


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (
            lambda t, q, qd: [0, 0],
            "controller is a function, expected an object with period.*Give a function .* as tau",
        ),
        (Log(-1.0, []), "period is -1.0, expected a positive number .s. or None"),
        (replace(Log(0.1, []), gain="much"), "."),
    ],
)
def test_wrong_controllers_are_refused(control, message):
    with pytest.raises((appell.ArgumentError, TypeError, ValueError), match=message):
        appell.simulate(ARM, *START, 1.0, controller=control)


def test_controllers_with_former_names_work_and_warn():
    class Former:
        period, limits = 0.1, 5.0

        def start(self, t, q, qd):
            return None

        def step(self, t, q, qd, memory):
            return [10.0, 0.0], memory

    with pytest.warns(DeprecationWarning, match="Former.start is now called initial_memory"):
        motion = appell.simulate(ARM, *START, 0.2, controller=Former())
    assert (motion.tau[:, 0] == 5.0).all()


def test_a_controller_that_remembers_needs_a_period():
    class Integral(Log):
        def initial_memory(self, t, q, qd):
            return np.zeros(2)

    with pytest.raises(appell.ArgumentError, match="has memory and no period"):
        appell.simulate(ARM, *START, 1.0, controller=Integral(None, []))
    with pytest.raises(appell.ArgumentError, match="both tau and controller"):
        appell.simulate(ARM, *START, 1.0, controller=Log(0.1, []), tau=[0.0, 0.0])


# --- limits -----------------------------------------------------------------------------------------------------------


def test_forces_are_cut_off_at_the_limits_and_that_is_recorded():
    motion = appell.simulate(
        ARM, *START, 1.0, tau=lambda t, q, qd: [10 * t, -10 * t], effort_limits=[5.0, math.inf], t_eval=0.1
    )
    assert_close(motion.tau, np.stack([np.minimum(10 * motion.t, 5.0), -10 * motion.t], axis=1), tolerance=1e-15)
    assert motion.saturated[:, 0].tolist() == (10 * motion.t >= 5.0).tolist()
    assert not motion.saturated[:, 1].any()


def test_limits_of_the_robot():
    joints = tuple(replace(j, limits=replace(j.limits, effort=3.0, velocity=2.0, upper=0.6)) for j in ARM.joints)
    robot = replace(ARM, joints=joints)
    motion = appell.simulate(robot, *START, 1.0, tau=[10.0, 1.0], effort_limits="robot")
    assert motion.tau[0].tolist() == [3.0, 1.0]
    assert {(each.name, each.quantity) for each in motion.limit_violations} >= {("joint1", "velocity")}
    for each in motion.limit_violations:
        values = {"position": motion.q - 0.6, "velocity": np.abs(motion.qd) - 2.0}[each.quantity]
        column = values[:, robot.joint_names.index(each.name)]
        assert each.worst == pytest.approx(column[(motion.t >= each.start) & (motion.t <= each.end)].max())
        assert (column[(motion.t >= each.start) & (motion.t < each.end)] > 0.0).all()


def test_rounding_at_a_limit_is_no_excess():
    """A joint that is driven at its greatest speed may be beyond it by the last digits."""

    def limited(speed: float) -> appell.Robot:
        return replace(ARM, joints=tuple(replace(j, limits=replace(j.limits, velocity=speed)) for j in ARM.joints))

    def steady(t, q, qd):
        return ARM.inverse_dynamics(q, qd, [0.0, 0.0])

    at, below = (
        appell.simulate(limited(speed), *START, 0.5, tau=steady).limit_violations for speed in (1.0 - 1e-12, 1.0 - 1e-6)
    )
    assert at == ()
    assert [(each.name, each.quantity, each.bound) for each in below] == [("joint2", "velocity", "upper")]


@pytest.mark.parametrize(
    ("limits", "message"), [("joint", "limits is 'joint'"), (-1.0, "expected numbers >= 0"), ([1.0], "shape")]
)
def test_wrong_limits_are_refused(limits, message):
    with pytest.raises(appell.ArgumentError, match=message):
        appell.simulate(ARM, *START, 1.0, effort_limits=limits)


# --- friction ---------------------------------------------------------------------------------------------------------


def block(friction: float):
    """A mass of 2 kg that slides along x with dry friction."""
    builder = appell.RobotBuilder("block", gravity=(0, 0, 0)).body("base").body("block", mass=2.0, inertia=(1, 1, 1))
    robot = builder.prismatic("x", parent="base", child="block", axis="x").build()
    return with_losses(robot, friction=friction)


@pytest.mark.parametrize("method", ["DOP853", "rk4", "midpoint", "Radau"])
def test_a_block_slides_to_rest_and_stays(method):
    """v² / 2 = F / m s: it stops after v m / F seconds at v² m / (2 F)."""
    options = {"dt": 5e-3} if method in ("rk4", "midpoint") else {}
    motion = appell.simulate(block(3.0), [0.0], [1.5], 1.5, method=appell.Integration(method, **options))
    assert motion.q[-1].item() == pytest.approx(1.5**2 * 2.0 / (2 * 3.0), abs=1e-9)
    assert motion.qd[-1].item() == 0.0
    assert (motion.qd[motion.t > 1.0 + 1e-9] == 0.0).all()
    assert motion.work.passive[-1] == pytest.approx(-(1.5**2), abs=1e-9)


def test_a_block_sticks_until_the_drive_is_stronger_than_friction():
    """The drive grows as 4 t and passes F = 3 at 0.75 s; then m v = ∫ (4 t - 3) dt = 2 (t - 0.75)²."""
    motion = appell.simulate(block(3.0), [0.0], [0.0], 1.5, tau=lambda t, q, qd: [4.0 * t], t_eval=0.05)
    before = motion.t < 0.75
    assert (motion.q[before] == 0.0).all()
    assert (motion.qd[before] == 0.0).all()
    assert_close(motion.qd[~before, 0], (motion.t[~before] - 0.75) ** 2, tolerance=1e-8)


def test_an_oscillator_with_dry_friction_loses_4_F_over_k_a_turn_and_stops():
    """Spring k = 50 N/m: turning points are 2 F / k closer each half turn; it stops inside ±F / k."""
    k, F = 50.0, 3.0
    motion = appell.simulate(block(F), [1.0], [0.0], 6.0, tau=lambda t, q, qd: -k * q)
    turns = np.concatenate([motion.q[0], motion.q[:-1, 0][np.diff(np.sign(motion.qd[:, 0])) != 0]])
    half = math.pi * math.sqrt(2.0 / k)
    count = math.floor((1.0 - F / k) / (2 * F / k)) + 1
    rest = (-1) ** count * (1.0 - count * 2 * F / k)
    assert abs(rest) <= F / k
    assert motion.q[-1].item() == pytest.approx(rest, abs=1e-8)
    assert motion.qd[-1].item() == 0.0
    assert np.abs(turns).max() <= 1.0
    assert motion.t[np.flatnonzero(motion.qd[:, 0])[-1] + 1] == pytest.approx(count * half, abs=1e-6)


def test_two_joints_with_friction_come_to_rest_without_a_loss_unaccounted_for():
    robot = with_losses(ARM, damping=0.3, friction=2.0)
    motion = appell.simulate(robot, *START, 12.0, method=appell.Integration("RK45", rtol=1e-8))
    assert (motion.qd[-1] == 0.0).all()
    assert (np.abs(robot.gravity(motion.q[-1])) <= 2.0).all(), "friction can hold it there"
    assert (np.diff(motion.work.passive) <= 0.0).all()
    assert np.abs(motion.balance).max() < 1e-5


def test_a_joint_that_sticks_while_a_point_rests_on_a_wall():
    """A cart with friction against a wall that a spring pushes it onto: it stays, and the spring's force is shared."""
    wall = appell.surfaces.Plane((-1, 0, 0), (0.5, 0, 0), restitution=0.0)
    motion = appell.simulate(block(3.0), [0.0], [0.0], 2.0, tau=[5.0], surfaces=[wall])
    assert motion.q[-1].item() == pytest.approx(0.5, abs=1e-9)
    assert motion.contacts[-1].end == 2.0
    assert motion.work.actuators[-1] + motion.work.passive[-1] + motion.work.contact[-1] == pytest.approx(0.0, abs=1e-9)
    back = appell.simulate(block(3.0), [0.5], [0.0], 1.0, tau=lambda t, q, qd: [1.0 - 8.0 * t], surfaces=[wall])
    assert back.contacts[0].end == pytest.approx(0.5, abs=1e-6), "friction holds it until the drive pulls with 3 N"


# --- balance ----------------------------------------------------------------------------------------------------------


def test_work_of_drives_joints_and_walls_is_the_change_of_energy():
    robot = with_losses(ARM, damping=0.2, friction=0.3)
    motion = appell.simulate(
        robot, [0.5, 0.3], [0.0, 0.0], 2.0, tau=lambda t, q, qd: [3 * math.cos(4 * t), 1.0],
        surfaces=[appell.surfaces.Plane((0, 1, 0), (0, -0.5, 0), friction=0.2)],
        contact=appell.ContactOptions(restitution=0.4), method=appell.Integration(rtol=1e-10),
    )  # fmt: skip
    assert motion.impacts
    assert motion.contacts
    assert min(np.abs(part).max() for part in motion.work) > 1e-2, "each of the three takes part"
    assert np.abs(motion.balance).max() < 1e-7
    assert (np.diff(motion.work.passive) <= 1e-12).all()
    assert (np.diff(motion.work.contact) <= 1e-9).all()


def test_work_is_that_of_the_samples():
    motion = appell.simulate(ARM, *START, 1.0, tau=[2.0, 0.5], t_eval=np.linspace(0, 1, 1001))
    power = np.sum(motion.tau * motion.qd, axis=1)
    assert motion.work.actuators[-1] == pytest.approx(np.trapezoid(power, motion.t), abs=1e-5)
    assert not motion.work.passive.any()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_effort_limits_hold_in_both_directions(sign):
    """Drives that want much more are cut to the limit, up and down: the acceleration is that of the limit."""
    limits = np.array([3.0, 1.0])
    q, still = np.array([0.4, -0.2]), np.zeros(2)
    wanted = sign * np.array([200.0, 100.0])
    motion = appell.simulate(ARM, q, still, 1e-3, tau=lambda t, q, qd: wanted, effort_limits=limits)
    expected = ARM.forward_dynamics(q, still, sign * limits)
    assert_close(motion.qd[-1] / 1e-3, expected, tolerance=1e-3)
    free = appell.simulate(ARM, q, still, 1e-3, tau=lambda t, q, qd: wanted)
    assert np.abs(free.qd[-1]).max() > 10.0 * np.abs(motion.qd[-1]).max()


@pytest.mark.parametrize(
    ("method", "order"), [("rk4", 4), ("semi_implicit_euler", 1), ("midpoint", 2), ("RK45", 5), ("DOP853", 8)]
)
def test_drives_that_change_with_time_keep_the_order(method, order):
    """A bar under gravity and a force that oscillates: every stage of a step has its own time."""
    bar = (
        appell.RobotBuilder("bar", gravity=(0, -9.81, 0))
        .body("base")
        .body("link", mass=1.0, com=(0, -0.5, 0), inertia=(0.1, 0.1, 0.1))
    )
    robot = bar.continuous("hinge", parent="base", child="link", axis="z").build()

    def end(**options):
        motion = appell.simulate(
            robot,
            [0.3],
            [0.0],
            1.0,
            tau=lambda t, q, qd: [3.0 * math.sin(7.0 * t)],
            method=appell.Integration(**options),
        )
        return np.array([motion.q[-1, 0], motion.qd[-1, 0]])

    exact = end(method="DOP853", rtol=1e-13, atol=1e-14)
    steps = {
        1: (1 / 400, 1 / 1600),
        2: (1 / 100, 1 / 400),
        4: (1 / 40, 1 / 160),
        5: (1 / 20, 1 / 40),
        8: (1 / 5, 1 / 10),
    }[order]
    fixed = method in ("rk4", "semi_implicit_euler", "midpoint")
    errors = [
        np.abs(end(method=method, **({"dt": h} if fixed else {"max_step": h, "rtol": 1e3, "atol": 1e3})) - exact).max()
        for h in steps
    ]
    measured = math.log(errors[0] / errors[1]) / math.log(steps[0] / steps[1])
    assert measured == pytest.approx(order, abs=0.25 if fixed else 1.2)
