"""Circles, the rims of wheels and discs, on planes."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import pairs_of
from scipy.spatial.transform import Rotation

import appell
from appell.model.body import Geometry
from appell.simulation.contact.compiled import CompiledPairs

G, MASS, RADIUS = 9.81, 1.2, 0.1
DIAMETER, AXIS = 0.3 * MASS * RADIUS**2, 0.55 * MASS * RADIUS**2
"""Moments of inertia about a diameter and about the axis, y."""
RIM = appell.Point("disc", radius=RADIUS, axis=(0, 1, 0))


def disc() -> appell.Robot:
    builder = appell.RobotBuilder("disc").body("world").body("disc", mass=MASS, inertia=(DIAMETER, AXIS, DIAMETER))
    return builder.floating("base", "world", "disc").build()


def rim_pairs(robot, plane) -> CompiledPairs:
    options = appell.ContactOptions(points=[RIM])
    pairs = pairs_of(robot.simulation_model(), robot.neutral_configuration(), (plane,), options)
    assert isinstance(pairs, CompiledPairs)
    return pairs


def test_the_gap_is_that_of_the_lowest_point_of_the_rim():
    rng, robot = np.random.default_rng(1), disc()
    plane = appell.surfaces.Plane((0.3, -0.2, 0.9), point=(0.1, 0.0, -0.2), friction=0.5)
    q = np.array([robot.random_configuration(seed) for seed in range(20)])
    qd = rng.normal(size=(20, 6))
    gaps, rates = rim_pairs(robot, plane).gaps(q, qd)
    turns = np.linspace(0.0, 2.0 * np.pi, 20001)
    rim = RADIUS * np.stack([np.cos(turns), 0.0 * turns, np.sin(turns), np.ones_like(turns) / RADIUS], axis=1)
    for k in range(20):
        places = (robot.pose(q[k], "disc") @ rim.T)[:3].T
        assert gaps[k, 0] == pytest.approx(plane.gap(places).min(), abs=2e-7)  # to be smooth where it lies flat
        state = rim_pairs(robot, plane).state(q[k], qd[k])
        lowest = places[np.argmin(plane.gap(places))]
        J = robot.jacobian(q[k], "disc")
        velocity = (J[:3] - np.cross(lowest - q[k, :3], J[3:], axis=0)) @ qd[k]
        assert_close(state.velocity[0], velocity, tolerance=2e-3, scale=1.0)  # of that point of the rim, to its spacing
        assert rates[k, 0] == pytest.approx(state.gap_rate[0], abs=1e-12)


def test_rates_and_accelerations_of_the_gap_are_its_derivatives():
    robot, plane, h = disc(), appell.surfaces.Plane(friction=0.5), 1e-4
    pairs = rim_pairs(robot, plane)
    for seed in range(10):
        q, qd = robot.random_configuration(seed), np.random.default_rng(seed).normal(size=6)
        steps = h * np.array([-1.0, 0.0, 1.0])[:, None] * qd
        path = robot.integrate(q, steps)  # a constant twist of the body: qdd = 0
        g = pairs.gaps(path, np.tile(qd, (3, 1)))[0][:, 0]
        state = pairs.state(q, qd)
        steep = 1.0 - (robot.pose(q, "disc")[2, 1]) ** 2  # less smooth where it lies flat
        assert state.gap_rate[0] == pytest.approx((g[2] - g[0]) / (2 * h), abs=1e-6 / steep**2)
        assert state.gap_acceleration_bias[0] == pytest.approx((g[2] - 2 * g[1] + g[0]) / h**2, abs=1e-5 / steep**2)
        slips = [pairs.state(x, qd).velocity[0] for x in path]
        rate = (slips[2] - slips[0]) / (2 * h)
        assert_close(state.acceleration_bias[0, :2], rate[:2], tolerance=1e-5 / steep**2, scale=1.0)


@pytest.mark.parametrize(
    ("method", "tolerance"),
    [(appell.Integration("DOP853", rtol=1e-11), 2e-6), (appell.Integration("moreau", dt=2e-4), 1e-4)],
)
def test_a_disc_rolls_in_a_circle(method, tolerance):
    """Steady precession Ω of a disc at the inclination α, with the spin ω_a about its axis (Routh):

    Ω ω_a sin α (C + m r²) - A Ω² sin α cos α + m g r cos α = 0;  its centre moves on a circle of radius r ω_a / Ω.
    """
    alpha, Omega, end = 1.2, 4.0, 0.6
    spin = (DIAMETER * Omega**2 * np.sin(alpha) - MASS * G * RADIUS) * np.cos(alpha)
    spin /= Omega * np.sin(alpha) * (AXIS + MASS * RADIUS**2)
    R = Rotation.from_euler("x", np.pi / 2 - alpha)
    axis = R.apply([0.0, 1.0, 0.0])
    down = (np.cos(alpha) * axis - np.array([0.0, 0.0, 1.0])) / np.sin(alpha)
    omega = spin * axis - Omega * np.sin(alpha) * down
    velocity = -np.cross(omega, RADIUS * down)
    q = np.array([0.0, 0.0, RADIUS * np.sin(alpha), *R.as_quat()])
    qd = np.concatenate([R.inv().apply(velocity), R.inv().apply(omega)])
    motion = appell.simulate(
        disc(), q, qd, end, surfaces=appell.surfaces.Plane(friction=2.0),
        contact=appell.ContactOptions(points=[RIM], restitution=0.0), method=method,
    )  # fmt: skip
    poses = disc().pose(motion.q, "disc")
    assert_close(poses[:, 2, 1], np.full(len(poses), np.cos(alpha)), tolerance=10 * tolerance, scale=1.0)
    turned = np.arctan2(poses[-1, 1, 1], poses[-1, 0, 1]) - np.arctan2(axis[1], axis[0])
    assert np.sin(turned - Omega * end) == pytest.approx(0.0, abs=10 * tolerance)
    radius = RADIUS * abs(spin) / Omega
    chord = np.linalg.norm(motion.q[-1, :2] - q[:2])
    assert chord == pytest.approx(2.0 * radius * np.sin(Omega * end / 2), abs=10 * tolerance)
    assert np.abs(motion.balance).max() < 1e-8
    assert abs(motion.work.contact[-1]) < 1e-5


def wheel() -> appell.Robot:
    """A cylinder along y with its shape for contact."""
    shape = Geometry("cylinder", (RADIUS, 0.06), appell.Pose(rpy=(np.pi / 2, 0.0, 0.0)))
    builder = appell.RobotBuilder("wheel").body("world")
    builder.body("wheel", mass=MASS, inertia=(DIAMETER, AXIS, DIAMETER), collisions=[shape])
    return builder.floating("base", "world", "wheel").build()


@pytest.mark.parametrize("method", ["DOP853", "moreau"])
def test_a_wheel_rolls_without_bumps(method):
    """With its rims as circles nothing is lost; eight points on each rim are a prism, which loses energy at every edge."""
    start = [0, 0, RADIUS, 0, 0, 0, 1], [1.0, 0, 0, 0, 1.0 / RADIUS, 0]
    ends = []
    for rims in (True, False):
        points = wheel().contact_points(rims=rims)
        assert len(points) == 16 + 2 * rims
        contact = appell.ContactOptions(points=points, restitution=0.0)
        ends.append(
            appell.simulate(
                wheel(), *start, 0.5, surfaces=appell.surfaces.Plane(friction=0.8), contact=contact, method=method
            )
        )
    rolls, bumps = ends
    tolerance = 1e-6 if method == "moreau" else 1e-8
    assert rolls.q[-1, 0] == pytest.approx(0.5, abs=tolerance)
    assert rolls.energy[-1] == pytest.approx(rolls.energy[0], abs=tolerance)
    assert bumps.energy[-1] < 0.9 * bumps.energy[0]


def test_a_cylinder_lands_on_its_face():
    """Tilted by 0.1 rad: it comes to rest on the points of its rim."""
    points, angle = wheel().contact_points(rims=True), np.pi / 2 + 0.1
    motion = appell.simulate(
        wheel(), [0, 0, 0.1, np.sin(angle / 2), 0, 0, np.cos(angle / 2)], np.zeros(6), 1.0, method="moreau",
        surfaces=appell.surfaces.Plane(friction=0.6), contact=appell.ContactOptions(points=points, restitution=0.0),
    )  # fmt: skip
    assert motion.problems == ()
    assert motion.q[-1, 2] == pytest.approx(0.03, abs=1e-6)
    assert np.abs(motion.qd[-1]).max() < 1e-6
    assert sum(force[-1, 2] for force in motion.contact_forces.values()) == pytest.approx(MASS * G, rel=1e-6)


def test_circles_touch_planes_only():
    contact = appell.ContactOptions(points=[RIM])
    with pytest.raises(appell.ArgumentError, match="'disc' is a circle, which can touch planes only"):
        appell.simulate(
            disc(), [0, 0, 0, 0, 0, 0, 1], np.zeros(6), 0.1, surfaces=appell.surfaces.Sphere(2.0), contact=contact
        )
    with pytest.raises(appell.ArgumentError, match="axis of 'disc' has length 0"):
        appell.Point("disc", radius=0.1, axis=(0, 0, 0))
