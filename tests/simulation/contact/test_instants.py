"""Instants and phases of contact on particles whose motion is known: who takes part, what follows, and each limit."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.particles import FLOOR, MASS, G, particles_on

import appell
from appell.simulation.contact import environment as environments
from appell.simulation.contact.impact import ImpactResult
from appell.simulation.contact.mode import FORCE_TOL, NO_CONTACT, ContactMode
from appell.simulation.contact.phase import LEFT_GAPS, ContactPhase, project_to_surfaces
from appell.simulation.joint_friction import frictionless

ROUGH = appell.surfaces.Plane(friction=0.5, restitution=0.0)


def state_of(environment, heights, rates, slips=None):
    """The contacts of particles with these heights, vertical velocities and velocities along x."""
    n = len(heights)
    q, qd = np.zeros((n, 3)), np.zeros((n, 3))
    q[:, 2], qd[:, 2] = heights, rates
    qd[:, 0] = 0.0 if slips is None else slips
    return q.ravel(), qd.ravel(), environment.pairs.state(q.ravel(), qd.ravel())


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


@pytest.mark.parametrize(("t", "depth"), [(0.0, 1e-9), (0.5, 1e-6)])
def test_points_behind_a_surface(t, depth):
    """At the start up to 1e-9 m, later up to 1e-6 m."""
    environment = particles_on(FLOOR, appell.surfaces.Plane(point=(0, 0, -5)), count=2)
    for height in (-0.99 * depth, 0.0, 1.0):
        environment._require_no_penetration(t, *state_of(environment, [1.0, height], [0.0, 0.0]))
    when = "at the start. Start with" if t == 0.0 else "at t = 0.5 s. Choose a smaller"
    with pytest.raises(appell.SimulationError, match=rf"point 'b' is 1\.01e-0\d m behind .* {when}") as caught:
        environment._require_no_penetration(t, *state_of(environment, [1.0, -1.01 * depth], [0.0, 0.0]))
    assert (caught.value.time, caught.value.quantity) == (t, "gap of b")
    assert caught.value.state.shape == (12,)


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
    assert environments._stays_below(0.0625, np.array([rate]), np.array([acceleration])).tolist() == [below]


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
    assert caught.value.time == 0.5
    assert caught.value.state.tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, -1.0]


@pytest.mark.parametrize(("ends", "resolved"), [(1, 2), (1000, 101)])
def test_an_instant_is_resolved_again_where_slip_has_ended(monkeypatch, ends, resolved):
    """Up to 100 times."""
    environment, calls = particles_on(ROUGH), []
    found = environment._phase

    def phase(*arguments):
        calls.append(arguments)
        return found(*arguments)

    monkeypatch.setattr(environment, "_phase", phase)
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
    monkeypatch.setattr(environment, "_phase", lambda *_: (phase, np.array([0])))

    def stop(q, qd, contacts):
        stopped.append(contacts.index.tolist())
        return ImpactResult(0.5 * qd, np.ones(1), np.zeros((1, 3)), 0.0)

    monkeypatch.setattr(environment, "_stop_slip", stop)
    found = environment.resolve_instant(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0]))
    assert stopped == [[0]] * 5
    assert len(found.impacts) == 5
    assert found.qd[0] == pytest.approx(0.5**5)


@pytest.mark.parametrize(("left", "resolved"), [(0.98, True), (1.0, False)])
def test_an_impulse_that_does_not_slow_slip_down_is_not_used(monkeypatch, left, resolved):
    """The phase does not obey the law of contact then."""
    environment = particles_on(ROUGH)
    phase, calls = environment.resolve_instant(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0])).phase, []
    monkeypatch.setattr(environment, "_phase", lambda *_: (phase, np.array([0])[: 1 - len(calls)]))

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


@pytest.mark.parametrize(
    ("speed", "deceleration", "stops"),
    [(1.1e-3, 1.2e4, True), (1.1e-3, 1.05e4, False), (0.9e-3, 1e5, False), (1.1e-3, -1.2e4, False), (0.0, 1e9, False)],
)
def test_slip_that_forces_stop_at_once(speed, deceleration, stops):
    """Faster than 1 mm/s, within 1e-7 s."""
    environment = particles_on(ROUGH)
    contacts = state_of(environment, [0.0], [0.0], [-speed])[2]
    found = environments._stops_at_once(contacts, np.array([deceleration, 0.0, 0.0]))
    assert found.tolist() == [stops]
    biased = contacts._replace(acceleration_bias=np.array([[deceleration, 0.0, 0.0]]))
    assert environments._stops_at_once(biased, np.zeros(3)).tolist() == [stops]


def test_accelerations_of_gaps():
    environment = particles_on(FLOOR)
    contacts = state_of(environment, [0.0], [0.0])[2]
    contacts = contacts._replace(acceleration_bias=np.array([[1.0, 2.0, 3.0]]), curvature_acceleration=np.array([10.0]))
    assert environments._gap_acceleration(contacts, np.array([5.0, 6.0, 7.0])).tolist() == [20.0]


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


# --- phases -------------------------------------------------------------------------------------------------------------------


def phase_of(environment, index, sticking=False, mu=0.0):
    m = len(index)
    mode = ContactMode(
        np.array(index, dtype=int),
        np.full(m, sticking),
        np.zeros(m, dtype=bool),
        np.tile([1.0, 0.0, 0.0], (m, 1)),
        np.full(m, mu),
    )
    return ContactPhase(environment.plant, frictionless(environment.plant.model.nv), environment.pairs, mode)


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


# --- the phase that follows, step by step -------------------------------------------------------------------------------------


def followed(monkeypatch, margins, residual=0.0, slips=(2e-9,), turned=None, at_once=False):
    """The phase after an instant whose mode has these margins one after the other, jams, and the directions tried."""
    environment, tried, margins = particles_on(ROUGH, count=len(slips)), [], list(margins)
    exact = environments.next_mode

    def next_mode(M, qdd, contacts, mu, joints, friction, opposed):
        tried.append(np.array(opposed))
        return exact(M, qdd, contacts, mu, joints, friction, opposed)._replace(residual=residual)

    monkeypatch.setattr(environments, "next_mode", next_mode)
    monkeypatch.setattr(ContactPhase, "margin", lambda *_: margins.pop(0) if len(margins) > 1 else margins[0])
    monkeypatch.setattr(
        ContactPhase, "opposed_slip", lambda *_: None if turned is None else turned[len(tried) % len(turned)]
    )
    if at_once:
        monkeypatch.setattr(environments, "_stops_at_once", lambda contacts, qdd: np.array([False, True]))
    q, qd, contacts = state_of(environment, [0.0] * len(slips), [0.0] * len(slips), slips)
    phase, jams = environment._phase(0.0, q, qd, contacts)
    return phase, jams.tolist(), tried, environment._law_error


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
    exact = environments.next_mode

    def next_mode(*arguments):
        tried.append(arguments[-1][:, :2].tolist())
        return exact(*arguments)

    monkeypatch.setattr(environments, "next_mode", next_mode)
    monkeypatch.setattr(ContactPhase, "margin", lambda *_: -1.0)
    monkeypatch.setattr(
        ContactPhase, "opposed_slip", lambda phase, *_: np.array([[0.0, 1.0, 0.0]])[: len(phase.mode.index)]
    )
    q, qd, contacts = state_of(environment, [0.0, 0.0], [0.0, 0.0], [1.0, 1.0])
    phase, _ = environment._phase(0.0, q, qd, contacts)
    assert phase.mode.index.tolist() == [1]
    assert tried == [[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]


def test_fast_slip_that_ends_at_once_jams(monkeypatch):
    assert followed(monkeypatch, [0.0], slips=(0.0, 1.0), at_once=True)[1] == [1]
    monkeypatch.undo()
    assert followed(monkeypatch, [-1.0], slips=(0.0, 1.0), at_once=True)[1] == []


def test_slip_that_jams_without_contacts_at_rest_is_not_stopped(monkeypatch):
    """There is nothing that an impulse could act on: the phase that was found follows."""
    environment = particles_on(ROUGH)
    exact = environment._phase
    monkeypatch.setattr(environment, "_phase", lambda *state: (exact(*state)[0], np.array([0])))
    found = environment.resolve_instant(0.0, np.array([0.0, 0.0, 1.0]), np.array([0.1, 0.0, 0.0]))
    assert found.impacts == ()
    assert found.qd.tolist() == [0.1, 0.0, 0.0]


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


def test_gaps_that_contradict_each_other_are_left():
    """Two planes 3e-9 m apart: a particle cannot be on both, and is not moved back and forth."""
    environment = particles_on(FLOOR, appell.surfaces.Plane(point=(0.0, 0.0, -3e-9)))
    q = np.zeros(3)
    assert project_to_surfaces(environment.plant, environment.pairs, q, np.array([0, 1])) is q
    q[2] = 2e-8
    moved = project_to_surfaces(environment.plant, environment.pairs, q, np.array([0, 1]))
    assert moved[2] == pytest.approx(LEFT_GAPS[1] - 1.5e-9, abs=1e-13)
