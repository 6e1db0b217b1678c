"""Implicit steps where those of the integrator collapse: slow slip of contacts that nearly stick."""

import functools
import sys

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import pairs_of
from helpers.shared_data import shared

import appell
from appell.simulation.actuation import actuation_of
from appell.simulation.contact import creep
from appell.simulation.contact.compiled import CompiledPairs
from appell.simulation.joint_friction import moving_joints
from appell.simulation.linear_step import StateAtTime
from appell.simulation.loop import SimulationLoop
from appell.simulation.monitors import COLLAPSED, PaceMonitor
from appell.simulation.phase import Phase
from appell.simulation.plant import Plant

FLOOR = appell.surfaces.Plane(friction=0.6)


def heights(robot, points, q):
    poses = {point.body: robot.pose(q, point.body) for point in points}
    return np.stack([poses[p.body][..., 2, :3] @ p.offset + poses[p.body][..., 2, 3] for p in points], axis=-1)


def force_error(robot, motion, k):
    """Relative difference of the forces at all points and the force on the base that the accelerations need."""
    q, wrench = motion.q[k], robot.inverse_dynamics(motion.q[k], motion.qd[k], motion.qdd[k])
    force = robot.pose(q, "iiwa_link_0")[:3, :3] @ wrench[:3]
    return np.abs(sum(f[k] for f in motion.contact_forces.values()) - force).max() / np.abs(force).max()


@pytest.fixture(scope="module")
def creeping():
    """An iiwa that lies on six points, of which two creep: before, 1e-6 s took one step and more."""
    robot = appell.load(shared("robots/iiwa14.urdf"), base="floating")
    points = [appell.Point(f"iiwa_link_{k}") for k in range(8)]
    q = robot.random_configuration(0)
    q[:3] = 0.0
    q[2] = 0.3 - heights(robot, points, q).min()
    contact = appell.ContactOptions(points=points, restitution=0.0)
    return robot, points, appell.simulate(robot, q, np.zeros(robot.nv), 0.8, surfaces=FLOOR, contact=contact)


def test_a_robot_that_creeps_needs_few_steps(creeping):
    robot, points, motion = creeping
    assert motion.status == "finished"
    assert not motion.problems
    assert len(motion) < 1500
    assert np.abs(motion.balance).max() < 1e-6
    assert (motion.energy - np.minimum.accumulate(motion.energy)).max() < 1e-7
    assert heights(robot, points, motion.q).min() > -1e-9


def test_the_times_of_implicit_steps_and_their_forces_are_recorded(creeping, monkeypatch):
    """Every ten steps with closed contacts count as collapsed: which steps really collapse is a matter of rounding."""
    robot, points, motion = creeping
    often = functools.partial(SimulationLoop, pace=PaceMonitor(((10, 0.1),)))
    monkeypatch.setattr(sys.modules["appell.simulation.simulate"], "SimulationLoop", often)
    contact = appell.ContactOptions(points=points, restitution=0.0)
    motion = appell.simulate(robot, motion.q[0], motion.qd[0], 0.8, surfaces=FLOOR, contact=contact)
    intervals = np.array(motion.implicit_intervals)
    assert len(intervals) > 5
    assert (intervals[:, 0] < intervals[:, 1]).all()
    impacts = np.array([impact.time for impact in motion.impacts])
    errors = []
    for start, end in intervals:
        if not ((impacts >= start) & (impacts <= end)).any():
            errors += [force_error(robot, motion, k) for k in np.flatnonzero((motion.t > start) & (motion.t < end))]
    assert len(errors) > 50
    assert np.median(errors) < 2e-2  # those of a step are its mean forces
    assert max(errors) < 0.3


@pytest.mark.parametrize(("count", "span"), COLLAPSED)
def test_steps_collapse_where_many_advance_little(count, span):
    for part, collapsed in ((0.99, True), (1.01, False)):
        pace = PaceMonitor()
        for t in np.linspace(0.0, part * span, count):
            assert not pace.collapsed
            pace.count(float(t), 1)
        assert pace.collapsed is collapsed


def test_implicit_steps_last_longer_where_steps_collapse_again():
    pace, t, lasted = PaceMonitor(), 0.5, []
    for _ in range(5):
        end = pace.implicit_end(t)
        lasted.append(end - t)
        pace.restart(t, end)
        t = end + 1e-4
    assert lasted == pytest.approx([1e-3, 4e-3, 1.6e-2, 5e-2, 5e-2])
    assert pace.implicit_end(t + 10.0) == pytest.approx(t + 10.001)


def test_implicit_steps_that_are_shorter_than_those_of_the_integrator_end():
    """Light fingers at 1000 rad/s need short steps of second order; before, these went on for up to 50 ms."""
    pace = PaceMonitor()
    for t in np.linspace(0.0, 0.019, 300):
        pace.count(float(t), 1)
    assert pace.collapsed  # steps of 6e-5 s
    end = pace.implicit_end(0.019)
    assert pace.keeps_up(19, 19e-9)  # too few to decide
    assert pace.keeps_up(20, 20 * 4e-5)
    assert not pace.keeps_up(20, 20 * 2e-5)
    pace.restart(0.019, 0.019 + 20 * 2e-5, 20)
    assert not pace.collapsed
    assert pace.implicit_end(0.02) > end


def test_implicit_steps_end_where_they_do_not_keep_up(plate):
    plant, pairs, y = plate(0.0)
    phase = Phase(plant, moving_joints(plant.friction, np.zeros(6))[0])
    mu = np.full(len(pairs), 0.6)
    all_of_them = list(creep.creep_steps(phase, pairs, mu, 0.0, y, 2e-3, 1e-9))
    few = list(creep.creep_steps(phase, pairs, mu, 0.0, y, 2e-3, 1e-9, lambda steps, time: steps < 3))
    assert all_of_them[-1].end == 2e-3
    assert [step.end for step in few] == [
        *(step.end for step in all_of_them[:3]),
        all_of_them[2].end,
    ]  # the last one settles


def test_implicit_steps_can_be_repeated_with_an_earlier_end(plate):
    """Interpolated states have another energy."""
    plant, pairs, y = plate(1e-4)
    phase = Phase(plant, moving_joints(plant.friction, np.zeros(6))[0])
    *_, step, _ = creep.creep_steps(phase, pairs, np.full(len(pairs), 0.6), 0.0, y, 2e-3, 1e-9)
    middle = 0.7 * step.start + 0.3 * step.end
    repeated = step.repeat(middle)
    assert repeated.t == middle
    assert plant.balance(plant.join(*repeated[1:])) == pytest.approx(plant.balance(step.initial), abs=1e-14)
    assert_close(repeated.q, step.at(middle).q, tolerance=1e-7)


def test_implicit_steps_go_on_after_an_impact():
    pace = PaceMonitor()
    end = pace.implicit_end(0.0)
    pace.restart(0.0, 0.3 * end)
    assert pace.collapsed
    assert pace.implicit_end(0.3 * end) == end
    pace.restart(0.3 * end, 0.3 * end)  # no progress
    assert not pace.collapsed


@pytest.fixture
def plate():
    """A plate on 12 points that slides, tilted by nanometres, and turns at some rate: plant, pairs and state vector."""
    robot = appell.load(
        '<robot name="plate"><link name="plate"><inertial><mass value="2"/>'
        '<inertia ixx="0.01" iyy="0.02" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>',
        base="floating",
    )
    points = [appell.Point("plate", (x, y, -0.05)) for x in (-0.1, -0.03, 0.04, 0.1) for y in (-0.1, 0.01, 0.1)]

    def at(rate):
        q, qd = np.array([0.0, 0.0, 0.05, 1e-8, 0.7e-8, 0.0, 1.0]), np.array([1e-2, 0.0, 0.0, rate, -rate, 0.0])
        model = robot.simulation_model()
        plant = Plant(model, actuation_of(6, None, None, q, qd))
        pairs = pairs_of(model, q, (FLOOR,), appell.ContactOptions(points=points))
        assert isinstance(pairs, CompiledPairs)
        q[2] += 1e-10 - pairs.gaps(q[None], qd[None])[0].min()
        return plant, pairs, plant.join(q, qd, np.zeros(3))

    return at


@pytest.mark.parametrize("rate", [0.0, 1e-5, 1e-4])
def test_contacts_a_few_nanometres_above_their_surface_do_not_divide_a_step(plate, rate):
    """A plate on 12 points that slides and is tilted: before, each step was divided 30 times, where one of them touched."""
    plant, pairs, y = plate(rate)
    state, native = StateAtTime(0.0, y[:7], y[7:13], np.zeros(3)), pairs.stepper.native
    for k in range(1, 51):
        state, _, _, status = creep._advance(plant, pairs, state, 2e-4, 2, True)
        assert (state.t, status) == (pytest.approx(k * 4e-4), 0)
        assert native.steps + native.splits <= 8
        assert pairs.gaps(state.q[None], state.qd[None])[0].min() > -creep.DEPTH
    assert pairs.gaps(state.q[None], state.qd[None])[0].max() < 2.0 * creep.DEPTH  # they close
