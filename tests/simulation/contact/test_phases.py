"""Phases with contact: their states, events and constraints."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.particles import FLOOR, ROUGH, particles_on, phase_of, state_of

import appell
from appell.simulation.contact.phase import LEFT_GAPS, project_to_surfaces


def test_contacts_of_a_phase():
    environment = particles_on(FLOOR, appell.surfaces.Plane((1, 0, 0)), count=2, stop=5.0)
    phase = phase_of(environment, [1, 2, 4])
    assert phase.contacts == (("b", 0), ("a", 1))
    assert phase.has_rows
    assert not phase_of(environment, []).has_rows
    assert len(environment.pairs) == 5
    assert environment.pairs.per_contact([3.0, 7.0]).tolist() == [3.0, 3.0, 7.0, 7.0, 0.0]


def test_contacts_that_may_close_within_a_step():
    """Twice the largest rate of its ends times the step reaches them; closed ones cannot close again."""
    environment = particles_on(FLOOR, count=3)

    def step(heights, rates, later):
        q = np.zeros((3, 3))
        q[:, 2] = heights
        y = [np.concatenate([q.ravel(), np.kron(speeds, [0.0, 0.0, 1.0]), np.zeros(3)]) for speeds in (rates, later)]
        return SimpleNamespace(initial=y[0], final=y[1], start=1.0, end=1.5)

    phase = phase_of(environment, [2])
    assert phase._may_close(step([2.9, 3.1, 0.0], [-1.0, 3.0, 0.0], [3.0, -1.0, 0.0])).tolist() == [True, False, False]
    assert phase._may_close(step([3.0, 9.0, 0.0], [-3.0, 0.0, 0.0], [0.0] * 3)).tolist() == [True, False, False]
    assert phase._may_close(step([3.1, 3.1, 0.0], [-3.0, 3.0, 9.0], [0.0] * 3)) is None


def test_states_of_a_phase_on_its_surfaces():
    environment = particles_on(FLOOR, count=2)
    phase = phase_of(environment, [1])
    q, qd = state_of(environment, [5.0, 1e-3], [-1.0, -2.0], [3.0, 4.0])[:2]
    assert phase.constraint_error(q, qd) == pytest.approx(1e-3 - LEFT_GAPS[1], rel=1e-12)
    assert phase_of(environment, []).constraint_error(q, qd) == 0.0
    environment.plant.model.error = 0.25
    assert phase.constraint_error(q, qd) == 0.25
    q, qd = phase.project_to_constraints(q, qd)
    assert_close(q, np.array([0.0, 0.0, 5.0, 0.0, 0.0, LEFT_GAPS[1]]), scale=1.0, tolerance=1e-12)
    assert_close(qd, np.array([3.0, 0.0, -1.0, 4.0, 0.0, 0.0]), scale=1.0, tolerance=1e-12)


def test_configurations_are_moved_to_surfaces():
    """Named contacts from both sides, others only from behind; depths of 5e-10 m and gaps of 1e-9 m are left."""
    environment = particles_on(FLOOR, count=4)
    q = state_of(environment, [0.5, -0.5, 0.5, 0.8e-9], [0.0] * 4)[0]
    moved = project_to_surfaces(environment.plant, environment.pairs, q, np.array([0, 3]))
    assert_close(moved.reshape(-1, 3)[:, 2], np.array([LEFT_GAPS[1], LEFT_GAPS[0], 0.5, 0.8e-9]), tolerance=1e-12)
    near = state_of(environment, [0.0, -4.9e-10, 0.0, 0.99e-9], [0.0] * 4)[0]
    assert project_to_surfaces(environment.plant, environment.pairs, near, np.array([3])) is near
    ball = particles_on(appell.surfaces.Sphere(1.0))
    found = project_to_surfaces(ball.plant, ball.pairs, np.array([0.3, 0.0, 0.4]), np.array([0]))
    assert np.linalg.norm(found) == pytest.approx(1.0 - LEFT_GAPS[1], abs=1e-12)
    environment.plant.model.mass_matrix = lambda q: np.full((12, 12), np.nan)
    assert project_to_surfaces(environment.plant, environment.pairs, q, np.array([0])) is q


@pytest.mark.parametrize(("part", "moved"), [(0.4, 7), (0.6, 0)])
def test_configurations_are_moved_seven_times_at_most(monkeypatch, part, moved):
    """Gaps that become smaller by a part, and are then not looked at again; none where they are not halved."""
    environment, calls = particles_on(FLOOR), []
    exact = environment.pairs.state

    def state(q, qd):
        calls.append(q[2])
        return exact(q, qd)._replace(gap=np.array([0.5 * part ** (len(calls) - 1)]))

    monkeypatch.setattr(type(environment.pairs), "state", lambda self, q, qd: state(q, qd))
    q = project_to_surfaces(environment.plant, environment.pairs, np.zeros(3), np.array([0]))
    assert len(calls) == (8 if moved else 2)
    assert q[2] == pytest.approx(-sum(0.5 * part**k - LEFT_GAPS[1] for k in range(moved)), rel=1e-12)


def test_slip_that_has_ended():
    environment = particles_on(ROUGH, count=2)
    for speed, ended in ((1.1e-6, False), (0.9e-6, True), (0.0, True)):
        q, qd, _ = state_of(environment, [0.0, 0.0], [0.0, 0.0], [1.0, -speed])
        assert phase_of(environment, [0, 1], mu=0.5).slip_has_ended(q, qd) is ended
        assert phase_of(environment, [0, 1]).slip_has_ended(q, qd) is False
        assert phase_of(environment, [0, 1], sticking=True, mu=0.5).slip_has_ended(q, qd) is False


def test_events_of_a_sliding_particle():
    """It comes to rest after v / (μ g); another falls on the floor, and the first leaves when it is lifted."""
    environment = particles_on(ROUGH, count=2, tau=lambda t, q, qd: [0, 0, 25.0 * t, 0, 0, 0])
    phase = replace(phase_of(environment, [0], mu=0.5), force_tol=1e-9)

    def event(slip, height, end, start=0.0):
        q, qd, _ = state_of(environment, [0.0, height], [0.0, 0.0], [slip, 0.0])

        def state(t):
            t = np.asarray(t) - 0.0
            y = np.multiply.outer(np.concatenate([q, qd, np.zeros(3)]), np.ones(np.shape(t)))
            y[0], y[6] = slip * t - 2.5 * t**2, slip - 5.0 * t
            y[5], y[11] = height - 5.0 * t**2, -10.0 * t
            return y

        return phase.first_event(SimpleNamespace(
            start=start, end=end, initial=state(start), final=state(end), state=state, states=state,
            checks=lambda: np.linspace(start, end, 5).tolist(), end_rates=None,
        ))  # fmt: skip

    assert event(2.0, 9.0, 0.3) is None
    assert event(2.0, 9.0, 0.6) == pytest.approx(0.4, abs=1e-6)
    assert event(2.0, 0.2, 0.3) == pytest.approx(0.2, abs=1e-9)
    assert event(9.0, 9.0, 1.0) == pytest.approx(0.8, abs=1e-6)


def test_a_phase_continues_while_its_forces_do():
    environment = particles_on(FLOOR, tau=lambda t, q, qd: [0.0, 0.0, 25.0 * t])
    y = np.zeros(9)
    phase = phase_of(environment, [0])
    assert phase.continues(0.79, y)
    assert not phase.continues(0.81, y)
    assert phase_of(environment, []).continues(9.0, y)
    assert phase.margin(0.4, y) == pytest.approx(10.0, abs=1e-6)


def test_gaps_that_contradict_each_other_are_left():
    """Two planes 3e-9 m apart: a particle cannot be on both, and is not moved back and forth."""
    environment = particles_on(FLOOR, appell.surfaces.Plane(point=(0.0, 0.0, -3e-9)))
    q = np.zeros(3)
    assert project_to_surfaces(environment.plant, environment.pairs, q, np.array([0, 1])) is q
    q[2] = 2e-8
    moved = project_to_surfaces(environment.plant, environment.pairs, q, np.array([0, 1]))
    assert moved[2] == pytest.approx(LEFT_GAPS[1] - 1.5e-9, abs=1e-13)


# --- slip within a step -------------------------------------------------------------------------------------------------------


def slipping_phase(rest, count=1, **options):
    environment = particles_on(ROUGH, count=count, **options)
    phase = phase_of(environment, range(count), mu=0.5)
    return environment, replace(phase, mode=replace(phase.mode, starts_at_rest=np.full(count, rest)))


@pytest.mark.parametrize(("slip", "rest", "kept"), [(3.9e-6, True, True), (4.1e-6, True, False), (1e-7, False, False)])
def test_the_direction_of_slip_at_the_start_of_a_step(slip, rest, kept):
    """That of the mode while slip from rest is below 4e-6 m/s, afterwards that of the slip."""
    _, phase = slipping_phase(rest)
    y = np.zeros(9)
    y[4] = slip
    phase.begin_step(0.0, y)
    found = phase._step_mode
    assert found.starts_at_rest.tolist() == [kept]
    expected = np.array([1e-6 * rest, slip, 0.0])
    expected = np.array([1.0, 0.0, 0.0]) if kept else expected / np.linalg.norm(expected)
    assert_close(found.slip_direction, expected[None], tolerance=1e-12)
    smooth = replace(phase, mode=replace(phase.mode, mu=np.zeros(1)))
    smooth.begin_step(0.0, y)
    assert smooth._step_mode is smooth.mode


def test_the_least_slip_of_contacts_with_friction():
    _, phase = slipping_phase(True, 3)
    y = np.zeros(21)
    y[[9, 12, 15]] = 2.0, 1.0, -3.0
    phase = replace(phase, mode=replace(phase.mode, mu=np.array([0.5, 0.5, 0.0])))
    assert phase._least_slip(0.0, y) == pytest.approx(1.0 + 1e-6, abs=1e-12)
    later = replace(phase, mode=replace(phase.mode, starts_at_rest=np.zeros(3, dtype=bool)))
    assert later._least_slip(0.0, y) == pytest.approx(1.0 - 5e-7, abs=1e-12)
    held = replace(phase, mode=replace(phase.mode, sticking=np.array([False, True, True])))
    assert held._least_slip(0.0, y) == pytest.approx(2.0 + 1e-6, abs=1e-12)
    assert phase.slips
    assert not replace(phase, mode=replace(phase.mode, mu=np.zeros(3))).slips
    assert not replace(phase, mode=replace(phase.mode, sticking=np.ones(3, dtype=bool))).slips


def test_modes_that_still_hold_with_other_forces():
    """A sticking particle up to its cone; a slipping one while it slips; a lifted one does not."""
    for push, lift, sticking, holds in (
        (9.9, 0.0, True, True),
        (10.1, 0.0, True, False),
        (0.0, 20.1, True, False),
        (10.1, 0.0, False, True),
        (9.9, 0.0, False, False),
        (np.nan, 0.0, True, True),
    ):
        environment = particles_on(ROUGH, tau=lambda t, q, qd, push=push, lift=lift: [push, 0.0, lift])
        phase = phase_of(environment, [0], sticking, 0.5)
        assert phase._still_holds(0.0, np.zeros(3), np.zeros(3)) is holds
