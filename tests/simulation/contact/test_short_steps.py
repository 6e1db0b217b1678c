"""Steps of time stepping in event-driven runs, where no mode of contacts lasts."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.contact_robots import pairs_of
from helpers.particles import FLOOR, particles_on
from helpers.shared_data import shared

import appell
from appell.simulation.actuation import actuation_of
from appell.simulation.contact.environment import ContactEnvironment
from appell.simulation.contact.mode import ContactMode
from appell.simulation.contact.pairs import contact_points_of
from appell.simulation.contact.phase import ContactPhase
from appell.simulation.contact.stepper import SteppedState
from appell.simulation.joint_friction import frictionless
from appell.simulation.plant import Plant

ROUGH = appell.surfaces.Plane(friction=0.5, restitution=0.0)


@pytest.fixture(scope="module")
def block():
    """The environment of a block of 2 kg on four corners."""
    builder = appell.RobotBuilder("block").body("block", 2.0, inertia=(0.01, 0.02, 0.03)).body("world")
    model = builder.floating("base", "world", "block").build().simulation_model()
    corners = [appell.Point("block", (x, y, -0.1)) for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    plant = Plant(model, actuation_of(6, None, None, np.zeros(7), np.zeros(6)))
    q = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0])
    options = appell.ContactOptions(points=corners, restitution=0.0)
    return ContactEnvironment(plant, pairs_of(model, q, (ROUGH,), options), 1e-7)


def test_a_sliding_block_slows_down(block):
    q, qd = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    t, q_next, qd_next, work = block.short_step(2.0, q, qd, 1e-4)
    assert t == pytest.approx(2.0 + 1e-4, abs=1e-15)
    slower = 1.0 - 0.5 * 9.81 * 1e-4
    assert qd_next[0] == pytest.approx(slower, abs=1e-9)
    assert q_next[0] == pytest.approx(1e-4 * (1.0 + slower) / 2, abs=1e-12)
    assert abs(q_next[2] - 0.1) < 1e-12
    assert work.tolist() == pytest.approx([0.0, 0.0, slower**2 - 1.0], abs=1e-9)


def test_a_step_ends_before_a_contact_closes(block):
    """At half of the time that the gap would take."""
    q, qd = np.array([0.0, 0.0, 0.1 + 1e-5, 0.0, 0.0, 0.0, 1.0]), np.array([0.0, 0.0, -0.5, 0.0, 0.0, 0.0])
    t, q_next, _, work = block.short_step(2.0, q, qd, 1e-4)
    assert t == pytest.approx(2.0 + 1e-5, abs=1e-12)
    assert q_next[2] == pytest.approx(0.1 + 0.5e-5, abs=1e-8)
    assert not work.any()
    q[2] += 1.0
    assert block.short_step(2.0, q, qd, 1e-4)[0] == pytest.approx(2.0 + 1e-4, abs=1e-15)


def test_steps_that_are_not_finite_or_leave_points_behind_a_surface_are_shortened(block, monkeypatch):
    q, qd = np.array([0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 1.0]), np.zeros(6)
    low = q - [0.0, 0.0, 2e-9, 0.0, 0.0, 0.0, 0.0]
    results = {1e-4: None, 2.5e-5: (low, qd, np.zeros(3)), 6.25e-6: (q, qd, np.ones(3))}
    results = {h: found and SteppedState(*found, np.zeros((0, 5))) for h, found in results.items()}
    monkeypatch.setattr(type(block.pairs.stepper), "step", lambda stepper, q, qd, tau, h: results.get(h))
    assert block.short_step(0.0, q, qd, 1e-4)[0] == 6.25e-6
    results.clear()
    assert block.short_step(0.0, q, qd, 1e-4) is None


@pytest.mark.parametrize("height", [0.0, 1e-8])
def test_a_contact_without_load_is_not_held_by_friction(block, height):
    """The projection of a mode stopped a robot that slid with such a contact, and took its energy."""
    loads = np.array([[-2.0, 0.0, 4.0], [-2.0, 0.0, 4.0], [-2.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    along, sticking = np.tile([1.0, 0.0, 0.0], (4, 1)), np.array([False, False, False, True])
    mode = ContactMode(np.arange(4), sticking, np.zeros(4, dtype=bool), along, np.full(4, 0.5), loads)
    phase = ContactPhase(block.plant, frictionless(6), block.pairs, mode)
    q, qd = np.array([0.0, 0.0, 0.1 + height, 0.0, 0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert np.abs(phase.project_to_constraints(q, qd)[1] - qd).max() < 1e-12
    held = replace(phase, mode=replace(mode, loads=None))
    assert abs(held.project_to_constraints(q, qd)[1][0]) < 0.2


def test_surfaces_without_compiled_code_have_no_steps():
    assert particles_on(FLOOR).short_step(0.0, np.zeros(3), np.zeros(3), 1e-4) is None


@pytest.mark.filterwarnings("ignore::appell.ModelWarning")
def test_a_foot_that_lifts_off_with_next_to_no_acceleration():
    """Its mode repeated without end."""
    robot = appell.load(shared("corpus/mjcf/anybotics_anymal_c__anymal_c_mjx.xml"))
    q = robot.random_configuration(0)
    q[:3] = 0.0
    points = list(contact_points_of(robot, None))
    q[2] = 0.3 - min(robot.pose(q, p.body)[2, :3] @ p.offset + robot.pose(q, p.body)[2, 3] - p.radius for p in points)
    contact = appell.ContactOptions(points=points, restitution=0.0)
    floor = appell.surfaces.Plane(friction=0.6)
    motion = appell.simulate(robot, q, np.zeros(robot.nv), 0.5, surfaces=floor, contact=contact)
    assert motion.status == "finished"
    assert motion.fallback_steps == ()
    assert np.abs(motion.balance).max() < 1e-7
