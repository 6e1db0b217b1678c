"""The phase that follows an instant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.particles import FLOOR, MASS, ROUGH, G, particles_on, phase_of, state_of

from appell.simulation.contact import next_phase as next_phases
from appell.simulation.contact.next_phase import next_phase
from appell.simulation.contact.phase import ContactPhase


@pytest.mark.parametrize(
    ("rate", "acceleration", "below"),
    [
        (0.5, -2.0, True),
        (0.51, -2.0, False),
        (-0.5, -2.0, True),
        (0.0, 0.0, False),
        (0.1, 2.0, False),
        (0.0, -1.0, True),
    ],
)
def test_gaps_that_fall_back_before_a_height(rate, acceleration, below):
    """Of 1/16 m: v² / (2 a)."""
    assert next_phases.stays_below(0.0625, np.array([rate]), np.array([acceleration])).tolist() == [below]


@pytest.mark.parametrize(
    ("speed", "deceleration", "stops"),
    [(1.1e-3, 1.2e4, True), (1.1e-3, 1.05e4, False), (0.9e-3, 1e5, False), (1.1e-3, -1.2e4, False), (0.0, 1e9, False)],
)
def test_slip_that_forces_stop_at_once(speed, deceleration, stops):
    """Faster than 1 mm/s, within 1e-7 s."""
    environment = particles_on(ROUGH)
    contacts = state_of(environment, [0.0], [0.0], [-speed])[2]
    found = next_phases._stops_at_once(contacts, np.array([deceleration, 0.0, 0.0]))
    assert found.tolist() == [stops]
    biased = contacts._replace(acceleration_bias=np.array([[deceleration, 0.0, 0.0]]))
    assert next_phases._stops_at_once(biased, np.zeros(3)).tolist() == [stops]


def test_accelerations_of_gaps():
    environment = particles_on(FLOOR)
    contacts = state_of(environment, [0.0], [0.0])[2]
    contacts = contacts._replace(acceleration_bias=np.array([[1.0, 2.0, 3.0]]), curvature_acceleration=np.array([10.0]))
    assert next_phases.gap_acceleration(contacts, np.array([5.0, 6.0, 7.0])).tolist() == [20.0]


def followed(monkeypatch, margins, residual=0.0, slips=(2e-9,), turned=None, at_once=False):
    """The phase after an instant whose mode has these margins one after the other, jams, and the directions tried."""
    environment, tried, margins = particles_on(ROUGH, count=len(slips)), [], list(margins)
    exact = next_phases.next_mode

    def next_mode(M, qdd, contacts, mu, joints, friction, opposed):
        tried.append(np.array(opposed))
        return exact(M, qdd, contacts, mu, joints, friction, opposed)._replace(residual=residual)

    monkeypatch.setattr(next_phases, "next_mode", next_mode)
    monkeypatch.setattr(ContactPhase, "margin", lambda *_: margins.pop(0) if len(margins) > 1 else margins[0])
    monkeypatch.setattr(
        ContactPhase, "opposed_slip", lambda *_: None if turned is None else turned[len(tried) % len(turned)]
    )
    if at_once:
        monkeypatch.setattr(next_phases, "_stops_at_once", lambda contacts, qdd: np.array([False, True]))
    q, qd, contacts = state_of(environment, [0.0] * len(slips), [0.0] * len(slips), slips)
    phase, jams, error = next_phase(environment.plant, environment.pairs, environment.mu, 0.0, q, qd, contacts)
    return phase, jams.tolist(), tried, error


def test_modes_without_forces_are_stopped(monkeypatch):
    """Where Coulomb's law has no solution (residual above 1e-8) and forces leave their bounds: slip above 1e-9 m/s."""
    for residual, margin, jams in ((1.1e-8, -1.0, [1]), (0.9e-8, -1.0, []), (1.1e-8, 0.0, [])):
        phase, found, _, kept = followed(monkeypatch, [margin], residual, (0.9e-9, 1.1e-9))
        assert found == jams
        assert kept == (residual if residual < 1e-8 else 0.0)  # a mode that holds obeys the law
        assert (phase.mode.loads is not None) is (margin < 0.0)
        monkeypatch.undo()


def test_friction_is_turned_four_times(monkeypatch):
    """Or until it does not turn any more."""
    across, along = np.array([[0.0, 1.0, 0.0]]), np.array([[0.6, 0.8, 0.0]])
    _, _, tried, _ = followed(monkeypatch, [-1.0], turned=[across, along], slips=(5.0,))
    assert [each[0, 0] for each in tried] == [1.0, 0.6, 0.0, 0.6, 0.0]
    monkeypatch.undo()
    _, _, tried, _ = followed(monkeypatch, [-1.0], turned=[across], slips=(5.0,))
    assert [each[0, 0] for each in tried] == [1.0, 0.0]
    monkeypatch.undo()
    assert len(followed(monkeypatch, [-1.0, -1.0, 0.0], turned=[across], slips=(5.0,))[2]) == 2
    monkeypatch.undo()
    assert len(followed(monkeypatch, [-1.0, 0.0], turned=[across], slips=(5.0,))[2]) == 1


def test_friction_is_turned_where_a_contact_has_opened(monkeypatch):
    """A contact without load that lifts off is not in the mode any more."""
    environment, tried = particles_on(ROUGH, count=2, tau=[400.0, 0.0, MASS * (G + 1.5e-8), 400.0, 0.0, 0.0]), []
    exact = next_phases.next_mode

    def next_mode(*arguments):
        tried.append(arguments[-1][:, :2].tolist())
        return exact(*arguments)

    monkeypatch.setattr(next_phases, "next_mode", next_mode)
    monkeypatch.setattr(ContactPhase, "margin", lambda *_: -1.0)
    monkeypatch.setattr(
        ContactPhase, "opposed_slip", lambda phase, *_: np.array([[0.0, 1.0, 0.0]])[: len(phase.mode.index)]
    )
    q, qd, contacts = state_of(environment, [0.0, 0.0], [0.0, 0.0], [1.0, 1.0])
    phase = next_phase(environment.plant, environment.pairs, environment.mu, 0.0, q, qd, contacts).phase
    assert phase.mode.index.tolist() == [1]
    assert tried == [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]


def test_fast_slip_that_ends_at_once_jams(monkeypatch):
    assert followed(monkeypatch, [0.0], slips=(0.0, 1.0), at_once=True)[1] == [1]
    monkeypatch.undo()
    assert followed(monkeypatch, [-1.0], slips=(0.0, 1.0), at_once=True)[1] == []


@pytest.mark.parametrize(
    ("speed", "push", "sticks"), [(1.4e-6, 2.0, True), (-1.4e-6, 2.0, True), (1.6e-6, 2.0, False), (1.4e-6, 5.0, False)]
)
def test_joints_that_friction_stops_within_a_microsecond(speed, push, sticks):
    """3 N stop 2 kg at 1.5e-6 m/s; where another force drives the joint on, it slips."""
    environment = particles_on(FLOOR, friction=[3.0, 0.0, 0.0], tau=[push, 0.0, 0.0])
    found = environment.resolve_instant(0.0, np.array([0.0, 0.0, 1.0]), np.array([speed, 1.0, 0.0]))
    assert found.phase.joints.sticking.tolist() == [sticks, False, False]
    assert found.phase.joints.slip_direction.tolist() == [0.0 if sticks else 1.0, 0.0, 0.0]
    assert found.qd[0] == (0.0 if sticks else speed)
    assert_close(
        found.work,
        np.array([0.0, -0.5 * MASS * speed**2 * sticks, 0.0]),
        tolerance=64 * np.finfo(float).eps,
        scale=MASS * G,
    )
    assert not sticks or found.work[1] < 0.0


def test_small_gaps_of_contacts_are_left():
    """A particle 0.8e-9 m above the floor is in contact, and its energy does not change."""
    environment = particles_on(FLOOR)
    found = environment.resolve_instant(0.0, np.array([0.0, 0.0, 0.8e-9]), np.array([1.0, 0.0, 0.0]))
    assert found.phase.mode.index.tolist() == [0]
    assert found.q[2] == 0.8e-9
    assert np.abs(found.work).max() < 1e-15


def test_joints_that_stick_beside_flying_points():
    environment = particles_on(FLOOR, friction=[3.0, 0.0, 0.0], tau=[2.0, 0.0, 0.0])
    found = environment.resolve_instant(0.0, np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]))
    assert found.phase.joints.sticking.tolist() == [True, False, False]
    moving = environment.resolve_instant(0.0, np.array([0.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0]))
    assert moving.phase.joints.slip_direction.tolist() == [1.0, 0.0, 0.0]
    resting = environment.resolve_instant(0.0, np.zeros(3), np.array([-1.0, 1.0, 0.0]))
    assert resting.phase.joints.slip_direction.tolist() == [-1.0, 0.0, 0.0]
    assert resting.phase.mode.index.tolist() == [0]
    qdd, forces = resting.phase.forces(0.0, resting.q, resting.qd)
    assert_close(qdd, np.array([2.5, 0.0, 0.0]), tolerance=1e-12)
    assert_close(forces, np.array([[0.0, 0.0, 20.0]]), tolerance=1e-12)


@pytest.mark.parametrize(("lift", "closed"), [(0.0, [0]), (0.4e-9, [0]), (2e-9, []), (1.5e-8, []), (1e-7, [])])
def test_contacts_without_load_that_lift_off_are_open(lift, closed):
    """The contact problem has them closed, as their acceleration is small beside that of their slip: 1e-10 of 200 m/s²."""
    environment = particles_on(ROUGH, tau=[400.0, 0.0, MASS * (G + lift)])
    phase = environment.resolve_instant(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0])).phase
    assert phase.mode.index.tolist() == closed
    assert phase.holds_at_start(0.0, np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]))


@pytest.mark.parametrize(
    ("push", "direction", "holds"), [(4.0, 1.0, True), (2.0, 1.0, False), (-4.0, 1.0, False), (-4.0, -1.0, True)]
)
def test_joints_that_begin_to_slip_move_in_their_direction(push, direction, holds):
    environment = particles_on(FLOOR, friction=[3.0, 0.0, 0.0], tau=[push, 0.0, 0.0])
    phase, y = phase_of(environment, [0]), np.zeros(9)
    phase = replace(phase, joints=replace(phase.joints, slip_direction=np.array([direction, 0.0, 0.0])))
    assert phase.holds_at_start(0.0, y) is holds
    y[3] = -2e-9  # it moves
    assert phase.holds_at_start(0.0, y)
    assert phase_of(environment, []).holds_at_start(0.0, np.zeros(9))
