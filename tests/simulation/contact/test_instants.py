"""Instants and phases of contact on particles whose motion is known: who takes part, what follows, and each limit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.particles import FLOOR, MASS, ROUGH, G, particles_on, state_of

import appell
from appell.simulation.contact import environment as environments
from appell.simulation.contact.impact import ImpactResult
from appell.simulation.contact.mode import FORCE_TOL, NO_CONTACT, ContactMode
from appell.simulation.contact.phase import LEFT_GAPS, ContactPhase
from appell.simulation.joint_friction import frictionless

# --- impacts ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gap", "rate", "takes_part"),
    [
        (0.0, -1.0, True),
        (5e-7, -1.0, True),
        (5e-7, -0.06, True),  # arrives within 10 s/m of the simultaneity gap, 1e-5 s
        (5e-7, -0.04, False),
        (1.1e-6, -1.0, False),
        (1e-6, -1.0, True),
        (0.0, 0.0, True),  # rests
        (0.0, 0.9e-9, True),
        (0.0, -0.9e-9, True),
        (0.0, 1.1e-9, False),
        (0.9e-9, 0.0, True),
        (1.1e-9, 0.0, False),
        (0.9e-9, -1.1e-9, True),
        (1.1e-9, -1.1e-9, False),
        (5e-7, 1.0, False),
    ],
)
def test_points_that_take_part_in_an_impact(gap, rate, takes_part):
    environment = particles_on(FLOOR, count=2, gap=1e-6)
    assert environment._involved(state_of(environment, [0.0, gap], [-1.0, rate])[2]).tolist() == [True, takes_part]


def test_an_impact_needs_a_closed_gap():
    environment = particles_on(FLOOR, count=2, gap=1e-6)
    for gap, rate in ((1.1e-9, -1.0), (0.0, -0.9e-9), (0.0, 1.0)):
        assert not environment._involved(state_of(environment, [gap, 0.0], [rate, 0.0])[2]).any()
    assert environment._involved(state_of(environment, [0.9e-9, 5.0], [-1.1e-9, 0.0])[2]).tolist() == [True, False]
    assert particles_on(FLOOR, gap=1e-12).simultaneity_gap == 1e-9
    assert particles_on(FLOOR, gap=1e-3).simultaneity_gap == 1e-3


@pytest.mark.parametrize("t", [0.0, 0.5])
def test_points_behind_a_surface(t):
    """Up to 1e-6 m, at which time stepping may end."""
    depth = 1e-6
    environment = particles_on(FLOOR, appell.surfaces.Plane(point=(0, 0, -5)), count=2)
    for height in (-0.99 * depth, 0.0, 1.0):
        environment._require_no_penetration(t, *state_of(environment, [1.0, height], [0.0, 0.0]))
    when = "at the start. Start with" if t == 0.0 else "at t = 0.5 s. Choose a smaller"
    with pytest.raises(appell.SimulationError, match=rf"point 'b' is 1\.01e-0\d m behind .* {when}") as caught:
        environment._require_no_penetration(t, *state_of(environment, [1.0, -1.01 * depth], [0.0, 0.0]))
    assert (caught.value.time, caught.value.quantity) == (t, "gap of b")
    assert caught.value.state.shape == (12,)


@pytest.mark.parametrize(("e", "speed", "after"), [
    (0.5, 1.0, 0.5), (0.5, 2.9e-4, 1.45e-4), (0.5, 2.8e-4, 0.0), (1.0, 1e-5, 1e-5), (0.0, 1.0, 0.0), (0.9, 1e-4, 0.0),
])  # fmt: skip
def test_rebounds_of_less_than_a_nanometre_are_none(e, speed, after):
    """(e v)² / (2 g) < 1e-9 m, unless e = 1."""
    environment = particles_on(FLOOR, restitution=(e,))
    q, qd, contacts = state_of(environment, [0.0], [-speed])
    found = environment._collide(0.0, q, qd, contacts, environment.e)
    assert_close(found.qd, np.array([0.0, 0.0, after]), tolerance=1e-12, scale=speed)
    assert found.normal[0] == pytest.approx(MASS * (speed + after))
    assert environment.residual < 1e-9
    environment.residual = 7.0
    environment._collide(0.0, q, qd, contacts, environment.e)
    assert environment.residual == 7.0


def test_an_impulse_stops_slip_with_a_billionth_of_it():
    environment = particles_on(ROUGH, count=2)
    q, qd, contacts = state_of(environment, [0.0, 0.0], [0.0, 0.0], [3.0, -4.0])
    found = environment._stop_slip(q, qd, contacts)
    assert_close(found.normal, MASS * np.array([4e-9, 4e-9]), tolerance=1e-6)
    assert_close(found.friction[:, 0], 0.5 * MASS * np.array([-4e-9, 4e-9]), tolerance=1e-6)


def test_the_record_of_an_impact():
    """Two particles at two planes and one at a stop; the second has no impulse."""
    wall = appell.surfaces.Plane((1, 0, 0), friction=0.5)
    environment = particles_on(FLOOR, wall, count=2, stop=0.0)
    q, qd, contacts = state_of(environment, [0.0, 0.0], [-3.0, 0.0], [-4.0, 0.0])
    after = qd + np.array([9.0, 0.0, 5.0, 0.0, 0.0, 0.0])
    normal, friction = np.array([2.0, 0.0, 3.0, 0.0, 9.0]), np.arange(15.0).reshape(5, 3)
    found = environment._record(0.25, q, qd, contacts, ImpactResult(after, normal, friction, 0.0))
    assert (found.time, found.points, found.surfaces) == (0.25, ("a", "a"), (0, 1))
    assert found.impulses.tolist() == [2.0, 3.0]
    assert found.friction_impulses.tolist() == [[0.0, 1.0, 2.0], [6.0, 7.0, 8.0]]
    assert_close(found.normal_velocity_change, np.array([5.0, 9.0]))
    assert_close(found.incidence, np.arccos([3.0 / 5.0, 4.0 / 5.0]))
    assert_close([found.energy_before, found.energy_after], np.array([25.0, 25.0 + 4.0]))
    assert_close(found.qd_after, after)
    still = environment._record(
        0.0, q, 0.0 * qd, environment.pairs.state(q, 0.0 * qd), ImpactResult(after, normal, friction, 0.0)
    )
    assert_close(still.incidence, np.full(2, np.pi / 2))


# --- instants -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("height", "rate", "slip", "impacts", "mode"),
    [
        (1.0, -1.0, 0.0, 0, ""),
        (0.0, -1.0, 0.0, 1, "stick"),
        (0.0, 0.0, 0.0, 0, "stick"),
        (0.0, 0.0, 1.0, 0, "slip"),
        (0.0, 1.0, 0.0, 0, ""),
        (0.9e-9, 0.0, 0.0, 0, "stick"),
        (1.1e-9, 0.0, 0.0, 0, ""),
    ],
)
def test_what_follows_an_instant(height, rate, slip, impacts, mode):
    environment = particles_on(ROUGH)
    q, qd, _ = state_of(environment, [height], [rate], [slip])
    found = environment.resolve_instant(0.0, q, qd)
    assert len(found.impacts) == impacts
    assert found.phase.mode.index.tolist() == ([0] if mode else [])
    assert found.phase.mode.sticking.tolist() == ([mode == "stick"] if mode else [])
    assert found.qd[2] == pytest.approx(0.0 if mode else rate, abs=1e-15)
    assert found.q[2] == pytest.approx(height, abs=1e-9)
    assert found.qd[0] == pytest.approx(slip)
    assert found.work.tolist() == pytest.approx([0.0, 0.0, MASS * G * (found.q[2] - height)], abs=1e-15)
    assert environment.residual < 1e-8


@pytest.mark.parametrize(("rate", "stays"), [(1e-4, True), (2e-4, False)])  # 5e-10 m, 2e-9 m
def test_points_that_others_push_off_by_less_than_1e_9_m_stay(rate, stays):
    environment = particles_on(ROUGH, count=2)
    found = environment.resolve_instant(0.0, *state_of(environment, [0.0, 0.0], [0.0, rate])[:2])
    assert found.phase.mode.index.tolist() == [0, 1][: 1 + stays]
    assert found.qd[5] == pytest.approx(0.0 if stays else rate, abs=1e-15)
    assert found.work == pytest.approx([0.0, 0.0, -0.5 * MASS * rate**2 * stays], rel=1e-5, abs=1e-15)


@pytest.mark.parametrize(("push", "mode"), [(9.9, "stick"), (10.1, "slip"), (-10.1, "slip")])
def test_friction_holds_up_to_its_cone(push, mode):
    """20 N of weight and μ = 0.5."""
    environment = particles_on(ROUGH, tau=[push, 0.0, 0.0])
    found = environment.resolve_instant(0.0, np.zeros(3), np.zeros(3))
    assert found.phase.mode.sticking.tolist() == [mode == "stick"]
    qdd, forces = found.phase.forces(0.0, found.q, found.qd)
    moved = np.sign(push) * (abs(push) - 10.0) / MASS if mode == "slip" else 0.0
    assert_close(qdd, np.array([moved, 0.0, 0.0]), tolerance=1e-9, scale=1.0)
    assert_close(forces, np.array([[MASS * moved - push, 0.0, MASS * G]]), tolerance=1e-9)
    assert environment.resolve_instant(0.0, np.zeros(3), np.zeros(3)).impacts == ()
    lifted = particles_on(ROUGH, tau=[0.0, 0.0, 20.1]).resolve_instant(0.0, np.zeros(3), np.zeros(3))
    assert not lifted.phase.mode.index.any()
    assert not len(lifted.phase.mode.index)


def test_a_small_penetration_is_removed():
    environment = particles_on(FLOOR)
    found = environment.resolve_instant(0.5, np.array([1.0, 0.0, -5e-7]), np.zeros(3))
    assert_close(found.q, np.array([1.0, 0.0, LEFT_GAPS[0]]), tolerance=1e-12)
    kept = environment.resolve_instant(0.75, np.array([0.0, 0.0, -4.9e-10]), np.zeros(3))
    assert kept.q[2] == -4.9e-10
    flying = particles_on(FLOOR, count=2)  # one leaves the floor fast, from behind it
    q, qd, _ = state_of(flying, [-5e-7, 0.5e-10], [1.0, 1.0])
    left = flying.resolve_instant(0.5, q, qd)
    assert left.q[2] == pytest.approx(LEFT_GAPS[0], abs=1e-12)
    assert left.q[5] == 0.5e-10


def test_accelerations_that_are_not_finite_have_no_contact():
    environment = particles_on(FLOOR, tau=lambda t, q, qd: [np.nan, 0.0, 0.0])
    found = environment.resolve_instant(0.0, np.zeros(3), np.zeros(3))
    assert not len(found.phase.mode.index)
    assert found.phase.pairs is environment.pairs


def endless(monkeypatch, calls):
    """Impacts after which the particle always hits the floor again; coefficients of restitution are noted."""

    def collide(self, t, q, qd, contacts, e):
        calls.append(e.tolist())
        return ImpactResult(qd, np.ones(len(e)), np.zeros((len(e), 3)), 0.0)

    monkeypatch.setattr(environments.ContactEnvironment, "_collide", collide)


def test_a_gap_that_is_not_finite_is_no_depth():
    with pytest.raises(appell.SimulationError, match=r"gap of a is not finite, with velocities up to 3, at t = 0\.5 s"):
        particles_on(FLOOR).resolve_instant(0.5, np.array([0.0, 0.0, np.nan]), np.array([0.0, 0.0, -3.0]))


def test_impacts_without_end(monkeypatch):
    """They lose their rebound after 100 at one instant and are an error after 200."""
    calls: list = []
    endless(monkeypatch, calls)
    environment = particles_on(FLOOR, restitution=(0.75,))
    with pytest.raises(
        appell.SimulationError, match=r"at t = 0.5 s impacts of a follow each other without end \(200"
    ) as caught:
        environment.resolve_instant(0.5, np.zeros(3), np.array([0.0, 0.0, -1.0]))
    assert calls == [[0.75]] * 100 + [[0.0]] * 100
    assert "lower friction" not in str(caught.value)
    with pytest.raises(appell.SimulationError, match=r"impacts of a follow .* Choose a lower friction, or give"):
        particles_on(ROUGH).resolve_instant(0.5, np.zeros(3), np.array([0.0, 0.0, -1.0]))
    assert caught.value.time == 0.5
    assert caught.value.state.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, -1.0]


@pytest.mark.parametrize(("ends", "resolved"), [(1, 2), (1000, 101)])
def test_an_instant_is_resolved_again_where_slip_has_ended(monkeypatch, ends, resolved):
    """Up to 100 times."""
    environment, calls = particles_on(ROUGH), []
    found = environments.next_phase

    def phase(*arguments):
        calls.append(arguments)
        return found(*arguments)

    monkeypatch.setattr(environments, "next_phase", phase)
    monkeypatch.setattr(ContactPhase, "slip_has_ended", lambda *_: len(calls) <= ends)
    environment.resolve_instant(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0]))
    assert len(calls) == resolved


def test_an_instant_is_resolved_again_where_a_projection_stops_a_joint(monkeypatch):
    """Its friction would act against a motion that there is no more."""
    environment = particles_on(FLOOR, friction=[3.0, 0.0, 0.0], tau=[-40.0, 0.0, 0.0])
    project = environment._projected
    monkeypatch.setattr(environment, "_projected", lambda phase, q, qd: project(phase, q, qd * [0.1, 1.0, 1.0]))
    found = environment.resolve_instant(0.0, np.zeros(3), np.array([2e-9, 0.0, 0.0]))
    assert found.phase.joints.slip_direction.tolist() == [-1.0, 0.0, 0.0]


def test_slip_is_stopped_five_times_at_one_instant(monkeypatch):
    environment = particles_on(ROUGH)
    stopped = []
    phase = environment.resolve_instant(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0])).phase
    monkeypatch.setattr(environments, "next_phase", lambda *_: (phase, np.array([0]), 0.0))

    def stop(q, qd, contacts):
        stopped.append(contacts.index.tolist())
        return ImpactResult(0.5 * qd, np.ones(1), np.zeros((1, 3)), 0.0)

    monkeypatch.setattr(environment, "_stop_slip", stop)
    found = environment.resolve_instant(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0]))
    assert stopped == [[0]] * 5
    assert len(found.impacts) == 5
    assert found.qd[0] == pytest.approx(0.5**5)


def test_slip_that_jams_without_contacts_at_rest_is_not_stopped(monkeypatch):
    """There is nothing that an impulse could act on: the phase that was found follows."""
    environment = particles_on(ROUGH)
    exact = environments.next_phase
    monkeypatch.setattr(environments, "next_phase", lambda *given: exact(*given)._replace(jams=np.array([0])))
    found = environment.resolve_instant(0.0, np.array([0.0, 0.0, 1.0]), np.array([0.1, 0.0, 0.0]))
    assert found.impacts == ()
    assert found.qd.tolist() == [0.1, 0.0, 0.0]


@pytest.mark.parametrize(("left", "resolved"), [(0.98, True), (1.0, False)])
def test_an_impulse_that_does_not_slow_slip_down_is_not_used(monkeypatch, left, resolved):
    """The phase does not obey the law of contact then."""
    environment = particles_on(ROUGH)
    phase, calls = environment.resolve_instant(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0])).phase, []
    monkeypatch.setattr(environments, "next_phase", lambda *_: (phase, np.array([0])[: 1 - len(calls)], 0.0))

    def stop(q, qd, contacts):
        calls.append(qd)
        return ImpactResult(left * qd, np.ones(1), np.zeros((1, 3)), 0.0)

    monkeypatch.setattr(environment, "_stop_slip", stop)
    found = environment.resolve_instant(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0]))
    assert found.resolved is resolved
    assert len(found.impacts) == resolved
    assert found.qd[0] == pytest.approx(left if resolved else 1.0, rel=1e-12)


@pytest.mark.parametrize(
    ("tolerance", "holds", "resolved"), [(1e-6, False, False), (1e-7, False, True), (1e-6, True, True)]
)
def test_a_mode_that_repeats_without_holding_does_not_obey_the_law(monkeypatch, tolerance, holds, resolved):
    environment = particles_on(ROUGH)
    monkeypatch.setattr(environment, "_with_tolerance", lambda t, phase: replace(phase, force_tol=tolerance))
    monkeypatch.setattr(ContactPhase, "holds_at_start", lambda *_: holds)
    assert environment.resolve_instant(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0])).resolved is resolved


def test_forces_may_leave_their_bounds_the_more_the_less_changes():
    """Ten times as far after each instant that changes nothing, or follows at once, up to 1e-2."""
    environment = particles_on(ROUGH)
    slip, stick = (ContactPhase(environment.plant, frictionless(3), environment.pairs, ContactMode(
        np.zeros(1, dtype=int), np.array([sticks]), np.ones(1, dtype=bool), np.zeros((1, 3)), np.full(1, 0.5)
    )) for sticks in (False, True))  # fmt: skip
    assert environment._with_tolerance(0.0, slip).force_tol == FORCE_TOL == 1e-9
    assert environment._with_tolerance(1.0, stick).force_tol == 1e-9
    assert environment._with_tolerance(2.0, stick).force_tol == pytest.approx(1e-8)
    assert environment._with_tolerance(2.0 + 0.9e-12, slip).force_tol == pytest.approx(1e-7)
    assert environment._with_tolerance(2.0 + 3e-12, stick).force_tol == 1e-9
    held = replace(stick, joints=replace(stick.joints, sticking=np.array([True, False, False])))
    assert environment._with_tolerance(3.0, held).force_tol == 1e-9
    tolerances = [environment._with_tolerance(4.0 + k, held).force_tol for k in range(8)]
    assert_close(tolerances, np.array([1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-2]), tolerance=1e-9)


def test_contacts_that_others_drive_into_the_floor_lose_their_velocity():
    """A projection to the stop of x drives the particle on an incline into it; both velocities go."""
    slope = appell.surfaces.Plane((-0.6, 0.0, 0.8))
    environment = particles_on(slope, stop=0.0)
    stop = replace(NO_CONTACT, index=np.array([1]), sticking=np.zeros(1, dtype=bool), starts_at_rest=np.zeros(1, dtype=bool),
                   slip_direction=np.zeros((1, 3)), mu=np.zeros(1))  # fmt: skip
    phase = ContactPhase(environment.plant, frictionless(3), environment.pairs, stop)
    q, qd = environment._projected(phase, np.zeros(3), np.array([-4.0, 5.0, -3.0]))
    assert_close(qd, np.array([0.0, 5.0, 0.0]), scale=1.0, tolerance=1e-12)
    for up in (1.0, 0.9e-9 / 0.8, -0.9e-9 / 0.8):
        _, free = environment._projected(phase, np.zeros(3), np.array([-4.0, 5.0, up]))
        assert free[2] == pytest.approx(up, rel=1e-6)
        assert free[0] == pytest.approx(0.0, abs=1e-15)
    high = np.array([0.0, 0.0, 1.1e-9 / 0.8])
    assert_close(
        environment._projected(phase, high, np.array([-4.0, 5.0, -3.0]))[1], np.array([0.0, 5.0, -3.0]), tolerance=1e-12
    )
    assert not q.any()
