"""Robots that fall on a floor in random postures: they finish, with their energy accounted for."""

from functools import cache

import numpy as np
import pytest
from helpers.shared_data import shared

import appell
from appell.simulation.contact.pairs import contact_points_of

FLOOR = appell.surfaces.Plane(friction=0.6)


@cache
def floating(name):
    """A shared robot with a floating base, and its contact points."""
    robot = appell.load(shared(f"robots/{name}.urdf"), base="floating")
    return robot, list(contact_points_of(robot, None))


def heights(robot, points, q):
    poses = {point.body: robot.pose(q, point.body) for point in points}
    return np.stack(
        [poses[p.body][..., 2, :3] @ p.offset + poses[p.body][..., 2, 3] - p.radius for p in points], axis=-1
    )


def posture(robot, points, seed):
    """A random configuration with the lowest point 0.3 m above the floor."""
    q = robot.random_configuration(seed)
    q[:3] = 0.0
    q[2] = 0.3 - heights(robot, points, q).min()
    return q


@pytest.mark.filterwarnings("ignore::appell.ModelWarning")
@pytest.mark.parametrize(
    ("name", "seed", "restitution", "duration"),
    [
        ("go2", 3, 0.0, 0.5),  # separates where its normal force vanishes, to within rounding
        ("go2", 2, 0.0, 0.5),  # stiff slip, whose friction is not against it
        ("go2", 0, 0.5, 0.6),
        ("panda", 0, 0.0, 1.0),  # contacts that stay closed drive others into the floor
        ("solo12", 0, 0.0, 0.7),  # many dependent contacts, of which some slip
    ],
)
def test_a_dropped_robot_lands_and_loses_energy(name, seed, restitution, duration):
    robot, points = floating(name)
    q = posture(robot, points, seed)
    contact = appell.ContactOptions(points=points, restitution=restitution)
    motion = appell.simulate(robot, q, np.zeros(robot.nv), duration, surfaces=FLOOR, contact=contact)
    assert motion.status == "finished"
    assert not motion.problems
    assert np.abs(motion.balance).max() < 1e-6
    assert (motion.energy - np.minimum.accumulate(motion.energy)).max() < 1e-7
    assert heights(robot, points, motion.q).min() > -1e-9


@pytest.mark.filterwarnings("ignore::appell.ModelWarning")
@pytest.mark.parametrize("dt", [1e-3, 5e-4])
def test_a_robot_that_comes_to_rest_by_time_stepping_is_not_pushed_out_of_the_floor(dt):
    """Its last steps are divided because contacts would lift it; that alone makes no contact pass the floor."""
    robot, points = floating("go2")
    contact = appell.ContactOptions(points=points, restitution=0.0)
    motion = appell.simulate(
        robot, posture(robot, points, 2), np.zeros(robot.nv), 1.0, surfaces=FLOOR, contact=contact,
        method=appell.Integration("moreau", dt=dt),
    )  # fmt: skip
    assert np.abs(motion.qd[-1]).max() < 1e-6
    assert np.abs(motion.balance).max() < 1e-9
    assert (motion.energy - np.minimum.accumulate(motion.energy)).max() < 1e-9


@pytest.mark.filterwarnings("ignore::appell.ModelWarning")
def test_a_humanoid_that_lies_on_many_points_is_left_to_time_stepping():
    """Steps with closed contacts are short long before events accumulate."""
    robot, points = floating("g1")
    contact = appell.ContactOptions(points=points, restitution=0.0)
    q = posture(robot, points, 1)
    motion = appell.simulate(robot, q, np.zeros(robot.nv), 0.7, surfaces=FLOOR, contact=contact, method="auto")
    assert motion.status == "finished"
    assert not motion.problems
    assert motion.stepped_from is not None
    assert 0.3 < motion.stepped_from < 0.7
    assert np.abs(motion.balance).max() < 1e-6
    assert heights(robot, points, motion.q).min() > -1e-6


@pytest.mark.filterwarnings("ignore::appell.ModelWarning")
def test_strong_friction_whose_forces_grow_without_end_is_an_impulse():
    """A foot of a falling Go2 jams: forces have a pole that the integrator cannot reach."""
    robot, points = floating("go2")
    q = np.array(robot.neutral_configuration())
    q[7:] += 0.1 * np.random.default_rng(0).standard_normal(robot.nq - 7)
    q[2] += 0.3 - min(robot.pose(q, point.body)[2, 3] for point in points)
    floor = appell.surfaces.Plane(friction=1.0)
    contact = appell.ContactOptions(points=points, restitution=0.0)
    motion = appell.simulate(robot, q, np.zeros(robot.nv), 0.6, surfaces=floor, contact=contact)
    assert motion.status == "finished"
    assert not motion.problems
    assert (motion.energy - np.minimum.accumulate(motion.energy)).max() < 1e-8


@pytest.mark.filterwarnings("ignore::appell.ModelWarning")
def test_a_robot_wedged_by_strong_friction_rests_in_long_steps():
    """No mode holds where a leg is at a dead centre: steps of time stepping follow, which grow while nothing moves."""
    robot, points = floating("go2")
    q = posture(robot, points, 3)
    contact = appell.ContactOptions(points=points, restitution=0.0)
    floor = appell.surfaces.Plane(friction=2.0)
    motion = appell.simulate(robot, q, np.zeros(robot.nv), 1.0, surfaces=floor, contact=contact)
    assert motion.status == "finished"
    assert not motion.problems
    assert 0 < len(motion.fallback_steps) < 50
    assert np.diff(motion.fallback_steps).max() > 5e-3
    assert np.abs(motion.balance).max() < 1e-6
    assert heights(robot, points, motion.q).min() > -1e-9


def tumbling(mass: float, height: float):
    """A block with eight corners that turns about all axes: the robot, its contact points and its state."""
    inertia = mass / 12.0 * np.array([0.16, 0.25, 0.25])
    builder = appell.RobotBuilder("block").body("block", mass, inertia=tuple(inertia)).body("world")
    corners = [appell.Point("block", (x, y, z)) for x in (-0.25, 0.25) for y in (-0.15, 0.15) for z in (-0.15, 0.15)]
    q = np.array([0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0])
    return builder.floating("base", "world", "block").build(), corners, q


def test_energy_of_a_heavy_body_at_its_impacts():
    """Interpolated states of a long step are less exact than its end: steps are repeated to end at impacts."""
    block, corners, q = tumbling(50.0, 2.0)
    contact = appell.ContactOptions(points=corners, restitution=0.8)
    motion = appell.simulate(block, q, [1.0, 0.0, 0.0, 3.0, 2.0, 1.0], 2.0, surfaces=FLOOR, contact=contact)
    assert len(motion.impacts) > 3
    assert np.abs(motion.balance).max() < 3e-7


def test_small_gaps_of_closed_contacts_are_left():
    """Closing the gap of one corner beside others would turn the block."""
    block, corners, q = tumbling(2.0, 0.15 + 8e-10)
    contact = appell.ContactOptions(points=corners, restitution=0.0)
    motion = appell.simulate(block, q, np.zeros(6), 0.1, surfaces=FLOOR, contact=contact)
    assert len(motion.contact_forces) == 4
    assert np.abs(motion.q - q).max() < 1e-15
