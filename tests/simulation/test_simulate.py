"""Simulation without walls: integrators, drives, samples, errors, and the same bits again."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.progress import Progress
from appell.robot.simulation_model import ConfigurationSpace
from appell.simulation.actuation import actuation_of
from appell.simulation.event_detector import EventDetector
from appell.simulation.integrators import METHODS
from appell.simulation.joint_friction import frictionless
from appell.simulation.loop import SimulationLoop
from appell.simulation.phase import Environment, InstantResult, Phase
from appell.simulation.plant import Plant
from appell.simulation.records import ContactInterval, Recorder

ARM = appell.load("planar2r")
START = [0.5, -0.3], [0.0, 1.0]


def bars(angle: float):
    """A pendulum of one bar that swings from this angle, and its period in the limit of small swings."""
    robot = appell.RobotBuilder("pendulum", gravity=(0, -9.81, 0)).body("base")
    robot = robot.body("bar", mass=1.0, com=(0, -0.5, 0), inertia=(1 / 12, 1e-3, 1 / 12))
    return robot.continuous("hinge", parent="base", child="bar", axis="z").build(), 2 * math.pi * math.sqrt(
        (1 / 3) / (9.81 / 2)
    )


@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if not method.fixed])
def test_adaptive_integrators_keep_the_energy_to_their_tolerance(method):
    rtol = 1e-8 if method in ("DOP853", "RK45", "LSODA") else 1e-6
    motion = appell.simulate(ARM, *START, 1.0, method=appell.Integration(method, rtol=rtol))
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e3 * rtol * 20
    exact = appell.simulate(ARM, *START, 1.0, method=appell.Integration(rtol=1e-12))
    assert_close(motion.q[-1], exact.q[-1], tolerance=2e3 * rtol, scale=1.0)


def test_energy_of_the_free_puma_is_constant_for_10_seconds():
    motion = appell.simulate(
        appell.load("puma560"), np.zeros(6), np.linspace(-1, 1, 6), 10.0, method=appell.Integration(rtol=1e-12)
    )
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-10


def test_period_of_a_pendulum():
    """T = T_0 / agm(1, cos(θ/2)): it is back where it was, at rest."""
    angle = 1.2
    pendulum, small = bars(angle)
    a, g = 1.0, math.cos(angle / 2)
    for _ in range(8):
        a, g = (a + g) / 2, math.sqrt(a * g)
    motion = appell.simulate(pendulum, [angle], [0.0], small / a, method=appell.Integration(rtol=1e-12))
    assert motion.q[-1].item() == pytest.approx(angle, abs=1e-9)
    assert motion.qd[-1].item() == pytest.approx(0.0, abs=1e-9)


def test_samples_of_every_step_every_period_and_given_times():
    steps = appell.simulate(ARM, *START, 1.0)
    assert steps.t[0] == 0.0
    assert steps.t[-1] == 1.0
    assert (np.diff(steps.t) > 0).all()
    periodic = appell.simulate(ARM, *START, 1.0, t_eval=0.1)
    assert_close(periodic.t, np.linspace(0, 1, 11))
    assert_close(periodic.q[-1], steps.q[-1], tolerance=0.0)
    chosen = appell.simulate(ARM, *START, 1.0, t_eval=[0.0, 0.3, 0.7])
    assert chosen.t.tolist() == [0.0, 0.3, 0.7]
    assert_close(chosen.q[1:], periodic.q[[3, 7]], tolerance=1e-12)
    assert appell.simulate(ARM, *START, 1.0, t_eval=0.3).t.tolist() == pytest.approx([0.0, 0.3, 0.6, 0.9])


def test_accelerations_and_forces_belong_to_the_samples():
    motion = appell.simulate(ARM, *START, 0.5, tau=lambda t, q, qd: [math.sin(t), -0.1 * qd[1]], t_eval=0.05)
    assert_close(motion.tau[:, 0], np.sin(motion.t))
    assert_close(motion.qdd, ARM.forward_dynamics(motion.q, motion.qd, motion.tau), tolerance=1e-12)


def test_a_constant_drive_that_holds_the_weight():
    q = [0.4, -0.9]
    motion = appell.simulate(ARM, q, [0.0, 0.0], 1.0, tau=ARM.gravity(q))
    assert_close(motion.q[-1], np.array(q), tolerance=1e-9)


def test_power_of_the_drive_is_the_change_of_energy():
    def drive(t, q, qd):
        return [2.0 * math.cos(3 * t), 0.5]

    motion = appell.simulate(
        ARM, *START, 1.0, tau=drive, method=appell.Integration(rtol=1e-11), t_eval=np.linspace(0, 1, 2001)
    )
    power = np.sum(motion.tau * motion.qd, axis=1)
    assert motion.energy[-1] - motion.energy[0] == pytest.approx(np.trapezoid(power, motion.t), abs=1e-5)


def test_damping_and_friction_of_the_joints_take_energy_away():
    lossy = replace(ARM, joints=tuple(replace(joint, damping=0.5) for joint in ARM.joints))
    motion = appell.simulate(lossy, *START, 2.0, t_eval=np.linspace(0, 2, 2001))
    lost = np.trapezoid(np.sum(0.5 * motion.qd**2, axis=1), motion.t)
    assert motion.energy[0] - motion.energy[-1] == pytest.approx(lost, abs=1e-5)


def test_the_same_arguments_give_the_same_bits():
    first, second = (appell.simulate(ARM, *START, 1.0) for _ in range(2))
    again = appell.simulate(pickle.loads(pickle.dumps(ARM)), *START, 1.0)
    for name in ("t", "q", "qd", "qdd", "energy"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes() == getattr(again, name).tobytes()


def test_threads_give_the_same_bits():
    tree, wall = appell.load("shafei_tree"), appell.surfaces.Circle(radius=2.5)

    def run(turn: float) -> bytes:
        q, qd = (np.array(each) for each in tree.initial_state)
        qd[0] = turn
        motion = appell.simulate(tree, q, qd, 0.6, surfaces=[wall])
        assert motion.impacts
        return motion.q.tobytes() + motion.qd.tobytes()

    turns = [0.0, 0.1, 0.2, 0.3] * 2
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, turns)) == [run(turn) for turn in turns[:4]] * 2


def test_quasi_velocities_and_quaternions():
    """A free body without gravity: angular momentum in space is constant, the quaternion stays of unit length."""
    body = appell.RobotBuilder("body", gravity=(0, 0, 0)).body("world").body("body", mass=1.0, inertia=(1.0, 2.0, 3.0))
    robot = body.joint("floating", "free", parent="world", child="body").build()
    q0 = robot.neutral_configuration()
    qd0 = np.array([1.0, 0.0, 0.0, 0.1, 2.0, 0.1])  # turns about the middle axis, which is not stable
    motion = appell.simulate(robot, q0, qd0, 10.0, method=appell.Integration(rtol=1e-11), t_eval=0.5)
    R = robot.pose(motion.q, "body")[:, :3, :3]
    momentum = np.einsum("nij,nj->ni", R, np.array([1.0, 2.0, 3.0]) * motion.qd[:, 3:])
    assert_close(momentum, np.tile(momentum[0], (len(motion), 1)), tolerance=1e-8)
    velocity = np.einsum("nij,nj->ni", R, motion.qd[:, :3])
    assert_close(velocity, np.tile(velocity[0], (len(motion), 1)), tolerance=1e-8)
    assert_close(motion.q[:, :3], motion.t[:, None] * velocity[0], tolerance=1e-8, scale=10.0)
    assert_close(np.linalg.norm(motion.q[:, 3:], axis=1), np.ones(len(motion)))
    assert np.ptp(motion.qd[:, 4]) > 2.0, "the middle axis turned over"


@pytest.mark.parametrize("kind", ["floating", "planar", "spherical", "universal", "cylindrical", "translation"])
def test_rates_of_coordinates_are_those_of_integrate(kind):
    builder = (
        appell.RobotBuilder("one").body("base").body("body", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1.0, 2.0, 2.5))
    )
    robot = builder.joint(kind, "joint", parent="base", child="body").build()
    coordinates = ConfigurationSpace(robot)
    q, qd = robot.random_configuration(2), np.random.default_rng(0).normal(size=robot.nv)
    h = 1e-6
    slope = (robot.integrate(q, h * qd) - robot.integrate(q, -h * qd)) / (2 * h)
    assert_close(coordinates.rates(q, qd), slope, tolerance=1e-8, scale=1.0 + float(np.abs(slope).max()))


# --- errors ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"q0": [0.0]}, r"q0 has shape \(1,\), expected \(2,\)"),
        ({"qd0": [0.0, math.nan]}, r"qd0\[1\] is nan, expected a finite number"),
        ({"duration": 0.0}, "duration is 0.0, expected a positive number"),
        ({"duration": math.inf}, "duration is inf, expected a positive number"),
        ({"method": "RK46"}, "unknown method 'RK46'.*Did you mean 'RK45'"),
        ({"tau": [1.0]}, r"tau has shape \(1,\), expected \(2,\)"),
        ({"tau": lambda t, q, qd: [1.0]}, r"the result of tau has shape \(1,\)"),
        ({"tau": lambda t, q, qd: "much"}, "the result of tau is 'much', expected real numbers of shape"),
        ({"t_eval": [0.0, 2.0]}, "t_eval must be a period or increasing times from 0 to the duration of 1 s"),
        ({"t_eval": -0.1}, "t_eval is -0.1"),
        ({"surfaces": ["floor"]}, "surfaces has a str, expected surfaces"),
        ({"surfaces": [appell.surfaces.Plane()], "contact": appell.ContactOptions(["hand"])}, "unknown body 'hand'"),
        ({"surfaces": [appell.surfaces.Plane()], "contact": appell.ContactOptions([])}, "no moving points for contact"),
        ({"surfaces": 3}, "surfaces has a int, expected surfaces"),
        ({"events": 3}, "events is a int, expected functions"),
        ({"events": lambda t: t}, r"event '<lambda>' is a function of \(t\), expected one of \(t, q, qd\)"),
        ({"tau": lambda t, q: q}, r"tau is a function of \(t, q\), expected one of \(t, q, qd\)"),
        ({"q0": "ab"}, "q0 is 'ab', expected real numbers"),
        ({"q0": [1j, 0]}, "q0 is .*, expected real numbers"),
        ({"qd0": [[1], [1, 2]]}, "qd0 is .*, expected real numbers"),
        ({"t_eval": "a"}, "t_eval is 'a', expected a positive number"),
        ({"t_eval": [0.0, math.nan, 0.1]}, "t_eval must be a period or increasing times"),
        ({"t_eval": 2.0}, "t_eval is 2 s, expected at most the duration of 1 s"),
        ({"robot": "planar2r"}, r"robot is a str, expected an appell.Robot. Load it first: appell.load\('planar2r'\)"),
        ({"robot": None}, "robot is a NoneType, expected an appell.Robot"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(appell.ArgumentError, match=message):
        appell.simulate(**{"robot": ARM, "q0": START[0], "qd0": START[1], "duration": 1.0, **arguments})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (lambda: appell.Integration(rtol=-1e-9), "rtol is -1e-09"),
        (lambda: appell.Integration(rtol=True), "rtol is True, expected a positive number"),
        (lambda: appell.Integration(atol=-1.0), "atol is -1.0, expected a number >= 0"),
        (lambda: appell.Integration("RK46"), "unknown method 'RK46'.*Did you mean 'RK45'"),
        (lambda: appell.ContactOptions(restitution=2.0), "restitution is 2.0, expected a number from 0 to 1"),
        (lambda: appell.ContactOptions(max_impacts=-1), "max_impacts is -1, expected an integer >= 0"),
        (lambda: appell.ContactOptions("tip"), r"points is 'tip', .* as in \['tip'\]"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(appell.ArgumentError, match=message):
        options()


def test_former_arguments_work_and_warn():
    wall = appell.surfaces.Circle(radius=1.4)
    expected = appell.simulate(
        ARM, *START, 0.4, surfaces=[wall], contact=appell.ContactOptions(["link2"], 0.5), t_eval=0.1,
        method=appell.Integration("RK45", rtol=1e-6),
    )  # fmt: skip
    with pytest.warns(DeprecationWarning, match="is now called") as warned:
        motion = appell.simulate(
            ARM, *START, 0.4, walls=[wall], points=["link2"], restitution=0.5, sample=0.1, method="RK45", rtol=1e-6
        )
    assert (motion.q == expected.q).all()
    assert all(warning.filename == __file__ for warning in warned)
    texts = [str(warning.message) for warning in warned]
    for text in (
        "simulate(walls=) is now called surfaces=",
        "contact=ContactOptions(points=)",
        "method=Integration(rtol=)",
    ):
        assert any(text in each for each in texts)
    with pytest.warns(DeprecationWarning, match="Trajectory.excesses is now called limit_violations"):
        assert motion.excesses == motion.limit_violations
    with pytest.warns(DeprecationWarning, match="Work.walls is now called contact"):
        assert motion.work.walls is motion.work.contact
    with pytest.warns(DeprecationWarning, match="appell.Contact is now called ContactInterval"):
        assert appell.Contact is ContactInterval


def test_single_walls_and_events_and_compiled_robots_are_taken():
    plain = appell.simulate(ARM, *START, 0.2)
    wall = appell.simulate(
        appell.compile(ARM), *START, 0.2, surfaces=appell.surfaces.Circle(radius=9.0), events=lambda t, q, qd: t - 0.1
    )
    assert (plain.q == appell.simulate(ARM, *START, 0.2, surfaces=None, events=None).q).all()
    assert_close(wall.q[-1], plain.q[-1], tolerance=1e-9)
    assert [round(event.time, 9) for event in wall.events] == [0.1]


def test_numbers_of_numpy_are_numbers():
    plain = appell.simulate(
        ARM,
        *START,
        0.5,
        method=appell.Integration("rk4", dt=0.125),
        t_eval=0.25,
        contact=appell.ContactOptions(max_impacts=3),
    )
    other = appell.simulate(
        ARM,
        *START,
        np.float32(0.5),
        method=appell.Integration("rk4", dt=np.array(0.125)),
        t_eval=np.float16(0.25),
        contact=appell.ContactOptions(max_impacts=np.int64(3)),
    )
    assert (plain.q == other.q).all()
    assert appell.surfaces.Circle(
        radius=np.float32(2), restitution=np.float32(0.5), friction=np.int64(1)
    ) == appell.surfaces.Circle(radius=2.0, restitution=0.5, friction=1.0)


def test_no_absolute_tolerance_is_a_tolerance():
    exact = appell.simulate(ARM, *START, 0.5, method=appell.Integration(rtol=1e-12))
    assert_close(
        appell.simulate(ARM, *START, 0.5, method=appell.Integration(atol=0)).q[-1], exact.q[-1], tolerance=1e-7
    )


def test_speeds_that_grow_without_end_are_an_error():
    with pytest.raises(
        appell.SimulationError, match=r"velocities grow, and the rest would take more than 1e\+06 steps"
    ) as caught:
        appell.simulate(
            ARM, [0, 0], [0, 0], 500.0, tau=lambda t, q, qd: 10 * qd + 1, method=appell.Integration(rtol=1e-3)
        )
    assert caught.value.quantity.startswith("qd[")
    assert np.isfinite(caught.value.state).all()


def test_a_drive_that_fails_stops_the_run_with_its_time():
    def drive(t, q, qd):
        return [0.0, math.nan if t > 0.25 else 0.0]

    with pytest.raises(appell.SimulationError, match=r"tau\[1\] = nan at t = 0.25") as caught:
        appell.simulate(ARM, *START, 1.0, tau=drive)
    assert caught.value.time == pytest.approx(0.25, abs=1e-6)
    assert caught.value.state.shape == (4,)
    assert caught.value.quantity == "tau[1] = nan"


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau"])
def test_a_motion_that_diverges_is_an_error_and_not_an_endless_run(method):
    with pytest.raises(appell.SimulationError, match="cannot be continued beyond t = ") as caught:
        appell.simulate(
            ARM, *START, 50.0, tau=lambda t, q, qd: 5.0 * np.abs(qd) * qd, method=appell.Integration(method, rtol=1e-6)
        )
    assert 0.0 < caught.value.time < 50.0
    assert np.isfinite(caught.value.state).all()
    assert caught.value.quantity


def test_events_without_progress_end_the_run_with_a_status():
    """A phase that always has an event at once: what a bug in a wall, or a jam of many points, would be."""

    class Restless(Phase):
        def first_event(self, step):
            return step.start

    class Jam(Environment):
        def resolve_instant(self, t, q, qd):
            return InstantResult(q, qd, Restless(self.plant, frictionless(2)), ())

    q, qd = map(np.array, START)
    plant = Plant(ARM.simulation_model(), actuation_of(2, None, None, q, qd))
    extras = Recorder(plant, None), EventDetector(plant, ()), Progress("arm", 1.0, False)
    loop = SimulationLoop(plant, Jam(plant), appell.Integration(rtol=1e-6), *extras)
    assert loop.run(q, qd, 1.0, 1000) == "no progress"


@pytest.mark.parametrize("method", ["DOP853", "RK45", "rk4", "Radau", "midpoint"])
@pytest.mark.parametrize("spin", [1.0, 20.0])
def test_functions_of_the_state_get_unit_quaternions(method, spin):
    """Trial states of an integrator leave them; a law that uses the robot's functions would raise an error there."""
    builder = appell.RobotBuilder("body").body("world").body("body", mass=2.0, inertia=(0.1, 0.2, 0.25))
    robot = builder.floating("base", "world", "body").build()

    def brake(t, q, qd):
        return -0.5 * (robot.mass_matrix(q) @ qd)

    start = [0.0, 0.0, 0.5, 0.1, 0.0, 0.0, np.sqrt(0.99)], [0.0, 0.0, 0.0, spin, 0.1, 0.2]
    motion = appell.simulate(robot, *start, 0.2, tau=brake, method=method)
    assert motion.status == "finished"
    kinetic = robot.kinetic_energy(motion.q[[0, -1]], motion.qd[[0, -1]] * [0, 0, 0, 1, 1, 1])
    assert kinetic[1] == pytest.approx(kinetic[0] * np.exp(-2 * 0.5 * 0.2), rel=1e-4)  # its angular momentum decays so
