"""Time stepping with contact, `method="moreau"`: closed forms, energy, depth, limits, and its place in `appell.simulate`."""

import csv
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.shared_data import shared
from scipy.spatial.transform import Rotation

import appell
from appell.model.body import Geometry
from appell.robot.default_points import default_contact_points

G = 9.81


def body(inertia=(0.01, 0.02, 0.03)):
    """A free body of 2 kg with a point in its centre of mass and four feet 0.1 m below it."""
    builder = (
        appell.RobotBuilder("body").body("body", 2.0, inertia=inertia).body("world").floating("base", "world", "body")
    )
    for k, (x, y) in enumerate([(-0.2, -0.1), (-0.2, 0.1), (0.2, -0.1), (0.2, 0.1)]):
        builder = builder.fixed(f"leg{k}", "body", f"foot{k}", xyz=(x, y, -0.1))
    return builder.build()


def with_shapes(*shapes):
    """The body with a collision shape on each foot."""
    own = dict(zip(FEET, shapes, strict=False))
    bodies = (replace(each, collisions=(own[each.name],) if each.name in own else ()) for each in body().bodies)
    return replace(body(), bodies=tuple(bodies))


FEET = ["foot0", "foot1", "foot2", "foot3"]


def pose(height=0.0, x=0.0, tilt=0.0):
    """A configuration, turned about y."""
    return np.array([x, 0.0, height, 0.0, np.sin(tilt / 2), 0.0, np.cos(tilt / 2)])


def step(robot, q, qd, duration, points, dt=1e-3, **options):
    surfaces = options.pop("surfaces", appell.surfaces.Plane(friction=options.pop("friction", 0.6)))
    contact = appell.ContactOptions(points=points, restitution=options.pop("restitution", 0.0))
    method = appell.Integration("moreau", dt=dt)
    return appell.simulate(robot, q, qd, duration, surfaces=surfaces, contact=contact, method=method, **options)


def test_bouncing_ball():
    """Times and heights of the bounces, e = 0.5, which do not depend on the step."""
    ball, e, height = body(), 0.5, 1.0
    motion = step(ball, pose(height), np.zeros(6), 1.0, ["body"], restitution=e)
    fall = np.sqrt(2.0 * height / G)
    times = [fall, fall + 2.0 * e * fall, fall + 2.0 * (e + e**2) * fall]
    assert [impact.time for impact in motion.impacts] == pytest.approx([t for t in times if t < 1.0], abs=1e-6)
    assert motion.impacts[0].impulses == pytest.approx(2.0 * (1.0 + e) * G * fall, abs=1e-5)
    assert motion.impacts[0].normal_velocity_change == pytest.approx((1.0 + e) * G * fall, abs=1e-5)
    assert motion.q[:, 2].min() > -1e-6
    assert np.abs(motion.balance).max() < 1e-9


def test_a_ball_comes_to_rest_and_its_weight_is_carried():
    motion = step(body(), pose(0.01), np.zeros(6), 0.5, ["body"], restitution=0.3)
    assert motion.status == "finished"
    assert np.abs(motion.qd[-1]).max() < 1e-9
    assert motion.contact_forces["body"][-1] == pytest.approx([0.0, 0.0, 2.0 * G], abs=1e-8)


@pytest.mark.parametrize(("mu", "slides"), [(0.5, True), (0.7, False)])
def test_block_on_an_incline(mu, slides):
    """A slope of 31 degrees: mu = 0.5 slides with g (sin - mu cos), mu = 0.7 sticks."""
    angle = np.deg2rad(31.0)
    slope = appell.surfaces.Plane((np.sin(angle), 0.0, np.cos(angle)), (0.0, 0.0, 0.0), friction=mu)
    block = body()
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    q = pose(0.0, tilt=angle)
    q[:3] = 0.1 * normal
    motion = step(block, q, np.zeros(6), 0.5, FEET, surfaces=slope)
    along = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    moved = (motion.q[:, :3] - q[:3]) @ along
    a = G * (np.sin(angle) - mu * np.cos(angle)) if slides else 0.0
    assert moved == pytest.approx(0.5 * a * motion.t**2, abs=1e-9)
    assert (motion.q[:, :3] - q[:3]) @ normal == pytest.approx(np.zeros(len(motion)), abs=1e-9)
    assert np.abs(motion.balance).max() < 1e-9


def test_a_table_stands_on_equal_feet():
    motion = step(body(), pose(0.1), np.zeros(6), 0.2, FEET)
    for name in FEET:
        assert motion.contact_forces[name][-1] == pytest.approx([0.0, 0.0, 2.0 * G / 4], abs=1e-5)
    assert np.abs(motion.q[-1] - pose(0.1)).max() < 1e-12
    assert {contact.point for contact in motion.contacts} == set(FEET)


def test_momentum_across_impacts():
    """M (qd+ - qd-) = J^T p for every impact of a body that falls on its edge."""
    robot = body()
    motion = step(robot, pose(0.4, tilt=0.3), np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0]), 0.6, FEET, restitution=0.5)
    assert motion.impacts
    for impact in motion.impacts:
        push = sum(
            robot.jacobian(impact.q, point)[:3].T @ (n * np.array([0.0, 0.0, 1.0]) + t)
            for point, n, t in zip(impact.points, impact.impulses, impact.friction_impulses, strict=True)
        )
        change = robot.mass_matrix(impact.q) @ (impact.qd_after - impact.qd_before)
        assert change == pytest.approx(push, abs=1e-9)
        assert impact.energy_after <= impact.energy_before + 1e-12


def test_a_sphere_rolls_down_an_incline():
    """A solid sphere rolls with 5/7 g sin of the slope; its contact point does not slide."""
    angle, radius, mass = np.deg2rad(20.0), 0.1, 2.0
    slope = appell.surfaces.Plane((np.sin(angle), 0.0, np.cos(angle)), friction=0.8)
    ball = body(inertia=(0.4 * mass * radius**2,) * 3)
    q = pose()
    q[:3] = radius * np.array([np.sin(angle), 0.0, np.cos(angle)])
    motion = step(ball, q, np.zeros(6), 0.5, [appell.Point("body", radius=radius)], surfaces=slope)
    along = (motion.q[:, :3] - q[:3]) @ [np.cos(angle), 0.0, -np.sin(angle)]
    assert along == pytest.approx(0.5 * 5.0 / 7.0 * G * np.sin(angle) * motion.t**2, abs=1e-5)
    assert np.abs(motion.balance).max() < 1e-9
    assert motion.work.contact[-1] == pytest.approx(0.0, abs=1e-9)


@cache
def floating(name):
    return appell.load(shared(f"robots/{name}.urdf"), base="floating")


@pytest.mark.parametrize("restitution", [0.0, 0.5])
@pytest.mark.parametrize("name", ["go2", "anymal_c"])
def test_a_dropped_robot_gains_no_energy(name, restitution):
    robot = floating(name)
    points = default_contact_points(robot)
    q = robot.neutral_configuration()
    q[2] = 0.1 - min(robot.pose(q, point)[2, 3] for point in points)
    motion = step(robot, q, np.zeros(robot.nv), 0.4, points, restitution=restitution)
    assert motion.status == "finished"
    assert motion.impacts
    scale = motion.energy.max() - motion.energy.min()
    assert (motion.energy - np.minimum.accumulate(motion.energy)).max() < 1e-10 * scale
    assert np.abs(motion.balance).max() < 1e-8 * scale
    lowest = min(robot.pose(motion.q, point)[:, 2, 3].min() for point in points)
    assert lowest > -1e-6


def test_the_order_is_two_and_the_energy_is_kept():
    arm = appell.load("planar2r")
    exact = appell.simulate(arm, [0.5, 0.0], [0.0, 1.0], 0.5, method=appell.Integration(rtol=1e-12))
    errors = []
    for dt in (2e-3, 1e-3):
        motion = appell.simulate(arm, [0.5, 0.0], [0.0, 1.0], 0.5, method=appell.Integration("moreau", dt=dt))
        errors.append(np.abs(motion.q[-1] - exact.q[-1]).max())
        assert np.abs(motion.balance).max() < 1e-11
    assert 3.5 < errors[0] / errors[1] < 4.5


def slider(**options):
    builder = appell.RobotBuilder("slider").body("mass", 2.0, inertia=(0.1, 0.1, 0.1))
    return builder.prismatic("x", "base", "mass", axis="x", **options).build()


def test_a_joint_stops_at_its_limit():
    robot = slider(limits=(-0.5, 0.1))
    motion = appell.simulate(robot, [0.0], [1.0], 0.3, method="moreau", limits="stop")
    assert motion.q[-1, 0] == pytest.approx(0.1, abs=1e-6)
    assert motion.qd[-1, 0] == pytest.approx(0.0, abs=1e-9)
    assert motion.work.passive[-1] == pytest.approx(-1.0, abs=1e-9)
    assert not motion.limit_violations
    assert appell.simulate(robot, [0.0], [1.0], 0.3, method="moreau").limit_violations


def test_a_joint_may_not_start_beyond_its_stop():
    with pytest.raises(appell.SimulationError, match=r"'x' starts 0\.1 beyond its upper limit"):
        appell.simulate(slider(limits=(-0.5, 0.1)), [0.2], [0.0], 0.3, method="moreau", limits="stop")


def test_joint_friction_stops_a_joint_for_good():
    """2 kg at 1 m/s with 4 N of friction stop after 0.5 s and 0.25 m; 3 N do not move them again."""
    motion = appell.simulate(slider(friction=4.0), [0.0], [1.0], 0.8, method="moreau")
    assert motion.q[-1, 0] == pytest.approx(0.25, abs=1e-6)
    assert motion.qd[-1, 0] == pytest.approx(0.0, abs=1e-9)  # the solver's tolerance
    assert motion.work.passive[-1] == pytest.approx(-1.0, abs=1e-6)
    held = appell.simulate(slider(friction=4.0), [0.0], [0.0], 0.1, tau=[3.0], method="moreau")
    assert np.abs(held.q).max() < 1e-9 * 0.1


def test_stiff_damping_is_stable():
    motion = appell.simulate(slider(damping=1e5), [0.0], [1.0], 0.1, method="moreau")
    assert np.abs(motion.qd).max() == 1.0
    assert np.abs(motion.balance).max() < 1e-9


def test_controllers_and_functions_of_the_state_are_held_for_a_step():
    class Push:
        period = 0.01
        times: list[float] = []  # noqa: RUF012

        def initial_memory(self, t, q, qd):
            return None

        def step(self, t, q, qd, memory):
            self.times.append(t)
            return [2.0], memory

    motion = appell.simulate(slider(), [0.0], [0.0], 0.1, controller=Push(), method="moreau")
    assert Push.times == pytest.approx(0.01 * np.arange(10), abs=1e-12)
    assert motion.q[-1, 0] == pytest.approx(0.005, abs=1e-12)
    assert motion.work.actuators[-1] == pytest.approx(0.01, abs=1e-12)
    function = appell.simulate(slider(), [0.0], [0.0], 0.1, tau=lambda t, q, qd: [2.0], method="moreau")
    assert function.q[-1, 0] == pytest.approx(0.005, abs=1e-12)


def test_events_and_samples():
    def low(t, q, qd):
        return q[2] - 0.5

    low.terminal = True
    motion = step(body(), pose(1.0), np.zeros(6), 1.0, ["body"], events=low)
    assert motion.status == "stopped by low"
    assert motion.t[-1] == pytest.approx(np.sqrt(1.0 / G), abs=1e-5)
    sampled = step(body(), pose(1.0), np.zeros(6), 0.4, ["body"], t_eval=0.1)
    assert sampled.t == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert sampled.q[:, 2] == pytest.approx(1.0 - 0.5 * G * sampled.t**2, abs=1e-6)


@pytest.mark.parametrize("t_eval", [0.0014, 0.0007, 1.0 / 60.0, 0.3])
def test_the_energy_is_balanced_at_samples_that_are_no_multiples_of_the_step(t_eval):
    motion = step(body(), pose(0.3, tilt=0.3), np.zeros(6), 0.6, FEET, restitution=0.3, t_eval=t_eval)
    assert motion.problems == ()
    assert motion.impacts
    assert_close(motion.t, t_eval * np.arange(len(motion)), tolerance=1e-15, scale=1.0)
    assert np.abs(motion.balance).max() < 1e-12


def test_samples_at_steps_do_not_change_the_motion():
    every, some = (step(body(), pose(0.3, tilt=0.3), np.zeros(6), 0.5, FEET, t_eval=t_eval) for t_eval in (None, 0.01))
    place = [int(np.flatnonzero(np.abs(every.t - t) < 1e-12)[-1]) for t in some.t]
    assert (every.q[place] == some.q).all()
    assert (every.qd[place] == some.qd).all()


@pytest.mark.parametrize("restitution", [0.0, 0.3])
def test_forces_and_impulses_are_the_change_of_momentum(restitution):
    """2 kg that fall on an edge, rock and come to rest, with samples at impacts within steps."""
    mass, floor = 2.0, appell.surfaces.Plane(friction=0.3)
    motion = step(body(), pose(0.3, tilt=0.3), np.zeros(6), 0.6, FEET, restitution=restitution, surfaces=floor)
    momentum = mass * Rotation.from_quat(motion.q[:, 3:]).apply(motion.qd[:, :3])
    forces = sum(motion.contact_forces.values()) + np.array([0.0, 0.0, -mass * G])
    given = forces[1:] * np.diff(motion.t)[:, None]
    assert len(motion.impacts) >= 2
    for impact in motion.impacts:
        k = int(np.flatnonzero((motion.t[1:] == impact.time) & (np.diff(motion.t) == 0.0))[0])
        given[k] += impact.friction_impulses.sum(axis=0) + np.array([0.0, 0.0, impact.impulses.sum()])
    assert np.abs(np.diff(momentum, axis=0) - given).max() < 1e-5  # of steps of 1 ms: second order


def test_forces_at_the_start_and_across_impacts_are_those_of_the_step():
    motion = step(body(), pose(0.1), np.zeros(6), 0.01, FEET)
    assert sum(motion.contact_forces.values())[0] == pytest.approx([0.0, 0.0, 2.0 * G], abs=1e-9)
    falling = step(body(), pose(0.3, tilt=0.3), np.zeros(6), 0.6, FEET)
    loads = np.linalg.norm([falling.contact_forces[name] for name in FEET], axis=2)
    both = np.flatnonzero(np.diff(falling.t) == 0.0)
    assert (loads[:, both] == loads[:, both + 1]).all()
    assert loads[:, both].any()  # points that carried the body before


def test_an_event_just_before_an_impact_ends_the_run():
    """Both within a step; the impact is none of the motion any more."""

    def low(t, q, qd):
        return q[2] - 1e-4

    low.terminal = True
    motion = step(body(), pose(0.5), np.zeros(6), 1.0, ["body"], events=low)
    assert motion.status == "stopped by low"
    assert motion.impacts == ()
    assert motion.t[-1] == pytest.approx(np.sqrt(2.0 * (0.5 - 1e-4) / G), abs=1e-9)
    assert np.abs(motion.balance).max() < 1e-12


@pytest.mark.parametrize("t_eval", [None, 0.1])
@pytest.mark.parametrize("height", [0.15, 0.12])
def test_a_step_ends_at_a_terminal_event(height, t_eval):
    """In a state that the step reaches, with its energy and its forces: those of interpolated states were wrong by 1e-4 J."""

    def low(t, q, qd):
        return q[2] - height

    low.terminal = True
    motion = step(body(), pose(0.3, tilt=0.6), np.zeros(6), 1.0, FEET, friction=0.9, events=low, t_eval=t_eval)
    assert motion.status == "stopped by low"
    assert motion.q[-1, 2] == pytest.approx(height, abs=1e-14)
    (event,) = motion.events
    assert (event.time, event.q.tolist(), event.qd.tolist()) == (
        motion.t[-1],
        motion.q[-1].tolist(),
        motion.qd[-1].tolist(),
    )
    assert np.abs(motion.balance).max() < 1e-13
    assert motion.contacts[-1].end == motion.t[-1]
    if t_eval is None:
        velocities = Rotation.from_quat(motion.q[-2:, 3:]).apply(motion.qd[-2:, :3])
        forces = sum(force[-1] for force in motion.contact_forces.values()) + np.array([0.0, 0.0, -2.0 * G])
        assert_close(forces, 2.0 * np.diff(velocities, axis=0)[0] / np.diff(motion.t[-2:]), tolerance=2e-4)


def test_an_impact_that_passes_the_zero_of_a_terminal_event_ends_the_run():
    def rises(t, q, qd):
        return qd[2] + 0.5

    rises.terminal = True
    motion = step(body(), pose(0.5), [0, 0, -1, 0, 0, 0], 1.0, ["body"], restitution=0.5, events=rises)
    assert motion.status == "stopped by rises"
    assert [impact.time for impact in motion.impacts] == [event.time for event in motion.events] == [motion.t[-1]]
    assert motion.qd[-1, 2] == motion.impacts[0].qd_after[2] > 0.0


@pytest.mark.parametrize("method", ["DOP853", "rk4", "moreau", "auto"])
def test_both_sides_of_an_impact_at_the_start(method):
    contact = appell.ContactOptions(points=["body"], restitution=0.5)
    floor = appell.surfaces.Plane()
    motion = appell.simulate(
        body(), pose(0.0), [0, 0, -2, 0, 0, 0], 0.2, surfaces=floor, contact=contact, method=method
    )
    assert motion.t[:2].tolist() == [0.0, 0.0]
    assert motion.t[2] > 0.0
    assert motion.qd[:2, 2] == pytest.approx([-2.0, 1.0])
    assert motion.energy[:2] == pytest.approx([4.0, 1.0])
    assert motion.work.contact[:2] == pytest.approx([0.0, -3.0])
    assert motion.qdd[:2, 2] == pytest.approx([-G, -G])
    stop = slider(limits=(-0.5, 0.1))
    motion = appell.simulate(stop, [0.1], [1.0], 0.2, limits="stop", method=method)
    assert motion.t[:2].tolist() == [0.0, 0.0]
    assert motion.energy[:2] == pytest.approx([1.0, 0.0])
    assert motion.work.passive[:2] == pytest.approx([0.0, -1.0])


@pytest.mark.parametrize("method", ["DOP853", "Radau", "rk4", "moreau", "auto"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_forces_that_are_not_finite_are_named(method, value):
    class Bad:
        period = 0.1

        def initial_memory(self, t, q, qd):
            return None

        def step(self, t, q, qd, memory):
            return np.array([0, 0, 0, 0, value if t > 0.05 else 0.0, 0]), memory

    forces = np.array([0, 0, 0, 0, value, 0])
    given = [
        {"tau": forces},
        {"tau": lambda t, q, qd: forces},
        {"tau": lambda t, q, qd: forces if t > 0.05 else np.zeros(6)},
    ]
    for options in (*given, {"controller": Bad()}):
        for surfaces in ((), appell.surfaces.Plane()):
            with pytest.raises(appell.SimulationError, match=rf"tau\[4\] = {value}") as caught:
                appell.simulate(body(), pose(1.0), np.zeros(6), 0.3, surfaces=surfaces, method=method, **options)
            assert caught.value.quantity == f"tau[4] = {value}"


@pytest.mark.parametrize("method", ["moreau", "auto", "rk4"])
def test_runs_of_too_many_steps_are_refused_before_they_start(method):
    with pytest.raises(
        appell.ArgumentError, match=r"dt is 0\.001 s, expected at least 10 s: .* Choose a shorter duration"
    ):
        appell.simulate(slider(), [0.0], [0.0], 1e9, method=method)


def test_friction_beyond_what_contact_problems_can_have_ends_and_is_named():
    """All bodies of a Go2 on a floor that holds them: some impacts have no solution, and change nothing."""
    robot = floating("go2")
    q = robot.neutral_configuration()
    q[2] = 0.6
    points = [name for name in robot.body_names if name != "world"]
    with pytest.warns(appell.SimulationWarning, match="Choose a lower friction"):
        motion = step(robot, q, np.zeros(robot.nv), 0.62, points, friction=100.0)
    assert motion.status == "finished"
    assert np.abs(motion.balance).max() < 1e-10
    assert np.diff(motion.energy).max() < 1e-10


def test_any_large_friction_holds_a_block():
    motion = step(body(), pose(0.1), np.array([1.0, 0.0, -1.0, 0.0, 0.0, 3.0]), 0.02, FEET, friction=1e12)
    assert motion.problems == ()
    assert len(motion.impacts) == 1
    assert np.abs(motion.qd[-1]).max() < 1e-9


@pytest.mark.parametrize("method", ["DOP853", "rk4", "moreau", "auto"])
def test_the_depth_at_which_time_stepping_ends_is_a_start(method):
    contact = appell.ContactOptions(points=FEET, restitution=0.0)
    floor = appell.surfaces.Plane(friction=0.6)
    motion = appell.simulate(
        body(), pose(0.1 - 9e-7), np.zeros(6), 0.05, surfaces=floor, contact=contact, method=method
    )
    assert motion.status == "finished"
    assert not motion.problems
    assert np.abs(motion.q[-1, :3] - [0.0, 0.0, 0.1]).max() < 1e-6
    with pytest.raises(appell.SimulationError, match=r"is 1\.1e-06 m behind"):
        appell.simulate(body(), pose(0.1 - 1.1e-6), np.zeros(6), 0.05, surfaces=floor, contact=contact, method=method)


def test_every_surface_in_compiled_code_and_called_back_alike():
    """A sphere inside of a sphere, as such and as a function of the position."""
    inside = appell.surfaces.Sphere(radius=1.0, friction=0.3)
    function = appell.surfaces.ImplicitSurface(
        lambda p: p @ p - 1.0, lambda p: 2.0 * p, hessian=lambda p: 2.0 * np.eye(3), friction=0.3
    )
    motions = [
        step(body(), pose(-0.5, x=0.3), np.zeros(6), 0.5, ["body"], surfaces=each) for each in (inside, function)
    ]
    assert np.abs(motions[0].q[-1] - motions[1].q[-1]).max() < 1e-4
    for motion in motions:
        assert np.linalg.norm(motion.q[:, :3], axis=1).max() < 1.0 + 2e-6


@pytest.mark.parametrize(
    ("surface", "start"),
    [
        (appell.surfaces.Circle(radius=1.0, axis=(0, 1, 0)), pose(0.0, x=0.5)),
        (appell.surfaces.Cylinder(radius=0.5, axis=(0, 1, 0), side="outside"), pose(1.0, x=0.05)),
        (appell.surfaces.Ellipse((2.0, 1.0), axis=(0, 1, 0)), pose(0.0, x=0.5)),
    ],
)
def test_gaps_of_compiled_surfaces(surface, start):
    motion = step(body(), start, np.zeros(6), 0.6, ["body"], surfaces=surface, restitution=0.5)
    gaps = surface.gap(motion.q[:, :3])
    assert gaps.min() > -1e-6
    assert gaps.min() < 1e-5


def test_a_trajectory_with_contact_forces_is_a_file(tmp_path):
    motion = step(body(), pose(0.1), np.zeros(6), 0.02, FEET)
    motion.save(tmp_path / "motion.npz")
    loaded = appell.Trajectory.load(tmp_path / "motion.npz")
    assert list(loaded.contact_forces) == list(motion.contact_forces)
    assert all((loaded.contact_forces[name] == force).all() for name, force in motion.contact_forces.items())
    motion.to_csv(tmp_path / "motion.csv")
    with (tmp_path / "motion.csv").open() as file:
        rows = list(csv.DictReader(file))
    for name, force in motion.contact_forces.items():
        read = [[float(row[f"contact_forces.{name}.{axis}"]) for axis in "xyz"] for row in rows]
        assert_close(np.array(read), force, tolerance=0.0, scale=1.0)


@pytest.mark.parametrize(("limits", "tolerance"), [("ACCUMULATING", 1e-6), ("SHORT_STEPS", 2.0 * G * 1e-6)])
def test_auto_goes_over_to_time_stepping_where_events_accumulate_or_steps_are_short(monkeypatch, limits, tolerance):
    """A falling body on its edge; two events, or steps with closed contacts, count as too many here. Points that come to rest in
    time stepping do so within 1e-6 m."""
    monkeypatch.setattr(f"appell.simulation.simulate.{limits}", ((2, 1.0),))
    start, rest = pose(0.3, tilt=0.3), np.zeros(6)
    contact = appell.ContactOptions(points=FEET, restitution=0.0)
    motion = appell.simulate(
        body(), start, rest, 0.5, surfaces=appell.surfaces.Plane(friction=0.6), contact=contact, method="auto"
    )
    assert motion.status == "finished"
    assert motion.stepped_from is not None
    assert 0.1 < motion.stepped_from < 0.5
    assert (np.diff(motion.t) >= 0.0).all()
    assert np.abs(motion.balance).max() < 1e-6
    assert motion.energy[-1] == pytest.approx(2.0 * G * 0.1, abs=tolerance)
    free = appell.simulate(
        body(), pose(5.0), rest, 0.2, surfaces=appell.surfaces.Plane(), contact=contact, method="auto"
    )
    assert free.stepped_from is None


@pytest.mark.parametrize("times", [0.07, [0.05], [0.45, 0.5]])
def test_auto_samples_where_it_is_asked_to(monkeypatch, times):
    monkeypatch.setattr("appell.simulation.simulate.ACCUMULATING", ((2, 1.0),))
    floor, contact = appell.surfaces.Plane(friction=0.6), appell.ContactOptions(points=FEET, restitution=0.0)
    options = {"surfaces": floor, "contact": contact, "method": "auto"}
    motion = appell.simulate(body(), pose(0.3, tilt=0.3), np.zeros(6), 0.5, t_eval=times, **options)
    expected = 0.07 * np.arange(8) if np.ndim(times) == 0 else np.array(times)
    assert_close(motion.t, expected, tolerance=1e-15, scale=1.0)
    whole = appell.simulate(body(), pose(0.3, tilt=0.3), np.zeros(6), 0.5, **options)
    assert 0.1 < motion.stepped_from == whole.stepped_from < 0.45
    assert whole.balance == pytest.approx(0.0, abs=1e-8)
    assert motion.balance == pytest.approx(0.0, abs=1e-8)
    if times == [0.45, 0.5]:
        assert_close(motion.q, np.array([whole.q[np.abs(whole.t - t).argmin()] for t in times]), tolerance=1e-12)
    assert len(np.unique(whole.t)) + np.count_nonzero(np.diff(whole.t) == 0.0) == len(whole)
    assert not any(
        contact.end == whole.stepped_from for contact in whole.contacts if contact.point in whole.impacts[-1].points
    )


@pytest.mark.parametrize("t_eval", [None, 0.5])
@pytest.mark.parametrize("method", ["DOP853", "moreau", "auto"])
def test_contact_forces_are_in_the_order_of_the_points_and_intervals_in_that_of_time(monkeypatch, method, t_eval):
    """Also those of points that touch between samples only, and of spheres among points."""
    monkeypatch.setattr("appell.simulation.simulate.ACCUMULATING", ((2, 1.0),))
    points = [*(appell.Point(name, radius=1e-3) for name in ("foot3", "foot2")), "foot0", "foot1"]
    floor, options = appell.surfaces.Plane(friction=0.6), {"method": method, "t_eval": t_eval}
    contact = appell.ContactOptions(points=points, restitution=0.0)
    start = pose(0.3, tilt=0.3), np.zeros(6), 0.5
    motion = appell.simulate(body(), *start, surfaces=floor, contact=contact, **options)
    assert (motion.stepped_from is None) == (method == "DOP853")
    assert list(motion.contact_forces) == list(map(str, points))
    assert [each.start for each in motion.contacts] == sorted(each.start for each in motion.contacts)
    first = [each.point for each in motion.contacts if each.start == motion.contacts[0].start]
    assert first == [str(point) for point in points if str(point) in first]
    assert len(first) == 2
    balls = with_shapes(*(Geometry("sphere", (radius,)) for radius in (0.02, 0.02, 0.01, 0.01)))
    motion = appell.simulate(balls, *start, surfaces=floor, contact=replace(contact, points=None), **options)
    assert list(motion.contact_forces) == FEET


def test_auto_warns_of_missing_meshes_once(monkeypatch):
    monkeypatch.setattr("appell.simulation.simulate.ACCUMULATING", ((2, 1.0),))
    robot = with_shapes(Geometry("mesh", (1.0, 1.0, 1.0), mesh="nowhere.stl"), Geometry("box", (0.2, 0.2, 0.2)))
    contact, floor = appell.ContactOptions(restitution=0.0), appell.surfaces.Plane(friction=0.6)
    with pytest.warns(appell.ModelWarning, match="'nowhere.stl' was not found") as caught:
        motion = appell.simulate(
            robot, pose(0.3, tilt=0.3), np.zeros(6), 0.5, surfaces=floor, contact=contact, method="auto"
        )
    assert motion.stepped_from is not None
    assert len(caught) == 1


def hand(mass, damping=0.0):
    """A palm with a finger of two light links, and the points of both."""
    builder = appell.RobotBuilder("hand").body("world").body("palm", 1.0, inertia=(2e-3, 2e-3, 2e-3))
    builder.floating("base", "world", "palm")
    for name, parent, xyz in (("f0", "palm", (0.03, 0.0, -0.05)), ("f1", "f0", (0.0, 0.0, -0.03))):
        builder.body(name, mass, com=(0.0, 0.0, -0.015), inertia=(7.5e-5 * mass, 7.5e-5 * mass, 1.25e-5 * mass))
        builder.revolute(f"{name} joint", parent, name, axis="y", xyz=xyz, damping=damping)
    palm = [appell.Point("palm", (x, y, 0.0)) for x in (-0.05, 0.05) for y in (-0.05, 0.05)]
    tips = [appell.Point(name, (0.0, 0.0, -0.03)) for name in ("f0", "f1")]
    return builder.build(), [*tips, appell.Point("palm", (0.0, 0.0, -0.06)), *palm]


@pytest.mark.parametrize(("mass", "seed"), [(0.016, 0), (0.016, 11), (0.004, 11)])
def test_light_fingers_that_turn_by_a_radian_within_a_step(mass, seed):
    """Fingers that an impact turns at up to 1900 rad/s: their steps are divided, and no energy is lost beyond the work."""
    robot, points = hand(mass)
    rng = np.random.default_rng(seed)
    q = [0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0, *rng.uniform(-1.0, 1.0, 2)]
    qd = [*(rng.normal(size=6) * [0.5, 0.5, 1.0, 3.0, 3.0, 3.0]), 0.0, 0.0]
    motion = step(robot, q, qd, 0.6, points, restitution=0.5)
    assert motion.problems == ()
    assert np.abs(motion.qd).max() > 500.0
    assert np.abs(motion.balance).max() < 1e-12


@pytest.mark.parametrize("damping", [0.1, 10.0, 1e4])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_light_fingers_that_damping_stops_at_once_are_not_flung(damping, restitution):
    """Damping of 10⁵ to 10¹⁰ 1/s is part of the impact, in which a finger would leave at hundreds of rad/s without it."""
    robot, points = hand(0.004, damping)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        q = [0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0, *rng.uniform(-1.0, 1.0, 2)]
        qd = [*(rng.normal(size=6) * [0.5, 0.5, 1.0, 3.0, 3.0, 3.0]), 0.0, 0.0]
        motion = step(robot, q, qd, 0.6, points, restitution=restitution)
        assert motion.problems == ()
        assert len(motion.impacts) > 0
        assert np.abs(motion.qd).max() < 100.0
        assert np.abs(motion.balance).max() < 1e-7  # a step may lose 1e-8 J
        assert np.diff(motion.energy).max() < 1e-12


@pytest.mark.filterwarnings("ignore:.*fastest eigenvalue:appell.SimulationWarning")
def test_a_finger_at_thousands_of_radians_per_second_stays_above_the_floor():
    """Contacts ahead of steps that have been cut 40 times are kept out by their velocity, to first order in a large rotation."""
    robot, points = hand(0.004)
    rng = np.random.default_rng(86)
    speed = 10.0 ** rng.uniform(3.0, 4.3)
    q = [0.0, 0.0, 0.13, 0.0, 0.0, 0.0, 1.0, *rng.uniform(-1.0, 1.0, 2)]
    qd = [0.0, 0.0, -1.0, 0.0, 0.0, 0.0, *(rng.choice([-1, 1], 2) * rng.uniform(0.2, 1.0, 2) * speed)]
    motion = step(robot, q, qd, 0.1, points)
    assert robot.distances(motion.q, appell.surfaces.Plane(), points).distance.min() > -1e-6


def test_a_joint_that_moves_nothing_may_not_touch():
    builder = appell.RobotBuilder("arm").body("link", 1e-6, inertia=(1e-11, 1e-11, 1e-11))
    arm = builder.revolute("joint", "base", "link", axis="y").fixed("tip", "link", "end", xyz=(0.01, 0.0, 0.0)).build()
    with pytest.raises(appell.SimulationError, match="'joint' moves an inertia of 1e-11 only"):
        step(arm, [0.0], [0.0], 0.1, ["end"], surfaces=appell.surfaces.Plane(point=(0.0, 0.0, -0.1)))


def test_wrong_arguments():
    with pytest.raises(appell.SimulationError, match=r"'body' is 0\.1 m behind"):
        step(body(), pose(-0.1), np.zeros(6), 0.1, ["body"])
    with pytest.raises(appell.ArgumentError, match=r"limits is 5\.0, expected 'report' or 'stop'"):
        appell.simulate(slider(), [0.0], [0.0], 0.1, limits=5.0)
    with pytest.raises(
        appell.ArgumentError, match=r"contact is a dict, expected options such as appell\.ContactOptions"
    ):
        appell.simulate(slider(), [0.0], [0.0], 0.1, contact={"restitution": 0.5})
    with pytest.raises(appell.ArgumentError, match="not supported for 'agile_wrist'"):
        appell.simulate(appell.load("agile_wrist"), [0.1] * 3, [0.0] * 3, 0.1, method="moreau")
