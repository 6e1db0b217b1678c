"""The impact law on random robots and contacts: momentum, Newton's law, unilateral impulses, energy, friction."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from hypothesis import given
from hypothesis import strategies as st

from appell.simulation.contact.impact import solve_impact
from appell.simulation.contact.mode import tangents
from appell.simulation.contact.pairs import ContactState

seeds = st.integers(0, 10**6)


def random_impact(seed: int, nv: int = 6, m: int = 3, all_approach: bool = True):
    """A mass matrix, speeds, and contacts of any direction."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(nv, nv))
    M = A @ A.T + 0.1 * np.eye(nv)
    qd = rng.normal(size=nv)
    J = rng.normal(size=(m, 3, nv))
    normal = rng.normal(size=(m, 3))
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    velocity = J @ qd
    if all_approach:
        normal *= -np.sign(np.sum(normal * velocity, axis=-1, keepdims=True))
    zeros = np.zeros(m)
    return M, qd, ContactState(np.arange(m), zeros, normal, velocity, J, np.zeros((m, 3)), zeros), rng


def energy(M, qd):
    return 0.5 * qd @ M @ qd


@given(seeds, st.integers(1, 5), st.floats(0.0, 1.0))
def test_momentum_newton_and_energy(seed, m, e):
    M, qd, contacts, _ = random_impact(seed, m=m)
    outcome = solve_impact(M, qd, contacts, np.full(m, e), np.zeros(m))
    scale = float(np.abs(M @ qd).max())
    assert_close(M @ (outcome.qd - qd), contacts.J_n.T @ outcome.normal, tolerance=1e-11, scale=scale)
    assert outcome.normal.min() >= 0.0
    before, after = contacts.gap_rate, contacts.J_n @ outcome.qd
    assert (after + e * before >= -1e-9).all()
    pushed = outcome.normal > 0.0
    assert_close(after[pushed], -e * before[pushed], tolerance=1e-8, scale=1.0 + float(np.abs(before).max()))
    assert not outcome.friction.any()
    loss = 0.5 * (1 - e) * outcome.normal @ before
    assert_close(energy(M, outcome.qd) - energy(M, qd), loss, tolerance=1e-9, scale=energy(M, qd))
    assert loss <= 0.0


@given(seeds, st.integers(1, 4))
def test_every_wall_keeps_its_own_restitution(seed, m):
    M, qd, contacts, rng = random_impact(seed, nv=8, m=m)
    e = rng.uniform(0.0, 1.0, m)
    outcome = solve_impact(M, qd, contacts, e, np.zeros(m))
    pushed = outcome.normal > 0.0
    assert_close((contacts.J_n @ outcome.qd)[pushed], (-e * contacts.gap_rate)[pushed], tolerance=1e-8, scale=5.0)


def test_one_contact_is_equation_47():
    M, qd, contacts, _ = random_impact(3, m=1)
    e, n_J = 0.7, contacts.J_n[0]
    system = np.block([[M, -n_J[:, None]], [n_J[None], np.zeros((1, 1))]])
    expected = np.linalg.solve(system, np.concatenate([M @ qd, [-e * (n_J @ qd)]]))
    outcome = solve_impact(M, qd, contacts, np.array([e]), np.zeros(1))
    assert_close(np.concatenate([outcome.qd, outcome.normal]), expected, tolerance=1e-12)


def test_a_contact_at_rest_is_not_driven_into_its_wall():
    """A hit at one end of a free rod would push the other end into the wall."""
    M = np.diag([2.0, 2.0 / 12])  # height and angle of a rod of 1 m
    J = np.zeros((2, 3, 2))
    J[0, 2], J[1, 2] = (1.0, 0.5), (1.0, -0.5)
    qd = np.array([-0.5, -1.0])  # the second end rests, the first approaches with 1 m/s
    up = np.tile([0.0, 0.0, 1.0], (2, 1))
    contacts = ContactState(np.arange(2), np.zeros(2), up, J @ qd, J, np.zeros((2, 3)), np.zeros(2))
    assert_close(contacts.gap_rate, np.array([-1.0, 0.0]))
    outcome = solve_impact(M, qd, contacts, np.array([0.5, 0.5]), np.zeros(2))
    assert_close(contacts.J_n @ outcome.qd, np.array([0.5, 0.0]), tolerance=1e-14, scale=1.0)
    assert outcome.normal.min() > 0.0


@given(seeds, st.integers(1, 3), st.floats(0.0, 1.0), st.floats(0.01, 2.0))
def test_friction_stays_in_its_cone_and_never_adds_energy(seed, m, e, mu):
    M, qd, contacts, _ = random_impact(seed, nv=9, m=m)
    outcome = solve_impact(M, qd, contacts, np.full(m, e), np.full(m, mu))
    length = np.linalg.norm(outcome.friction, axis=-1)
    assert (length <= mu * outcome.normal * (1 + 1e-9) + 1e-12).all()
    assert_close(np.sum(outcome.friction * contacts.normal, axis=-1), np.zeros(m), scale=1.0 + float(length.max()))
    assert outcome.normal.min() >= 0.0
    assert energy(M, outcome.qd) <= energy(M, qd) * (1 + 1e-12)
    given_ = contacts.J_n.T @ outcome.normal + np.einsum("cij,ci->j", contacts.J, outcome.friction)
    assert_close(M @ (outcome.qd - qd), given_, tolerance=1e-11, scale=float(np.abs(M @ qd).max()))
    assert (contacts.J_n @ outcome.qd + e * contacts.gap_rate).min() >= -1e-9


def particle_contact(qd):
    J = np.eye(3)[None]
    up = np.array([[0.0, 0.0, 1.0]])
    return ContactState(np.arange(1), np.zeros(1), up, (J @ qd), J, np.zeros((1, 3)), np.zeros(1))


@pytest.mark.parametrize(("seed", "m", "mu"), [(5, 4, 1e3), (7, 4, 1e3), (15, 3, 100.0), (32, 3, 10.0)])
def test_impacts_end_the_approach_where_large_friction_has_no_impulses(seed, m, mu):
    """Those of a part of the friction are taken; the residual says so."""
    M, qd, contacts, _ = random_impact(seed, m=m)
    outcome = solve_impact(M, qd, contacts, np.zeros(m), np.full(m, mu))
    assert (contacts.J_n @ outcome.qd).min() >= -1e-9
    assert energy(M, outcome.qd) <= energy(M, qd)
    assert (np.linalg.norm(outcome.friction, axis=1) <= mu * outcome.normal * (1.0 + 1e-12)).all()
    assert 1e-6 < outcome.residual < 1.0


@pytest.mark.parametrize(("slide", "mu"), [(2.0, 0.3), (0.2, 0.3), (0.45, 0.3), (5.0, 0.0)])
def test_a_particle_slides_or_sticks(slide, mu):
    """Closed form: the impulse (1 + e) m v along the normal, and μ times it against sliding, but never reversing it."""
    mass, e = 2.0, 0.5
    qd = np.array([0.6 * slide, 0.8 * slide, -1.0])
    outcome = solve_impact(mass * np.eye(3), qd, particle_contact(qd), np.array([e]), np.array([mu]))
    assert_close(outcome.normal, np.array([mass * (1 + e)]))
    kept = max(slide - mu * (1 + e), 0.0)
    assert_close(outcome.qd, np.array([0.6 * kept, 0.8 * kept, e]), tolerance=1e-12, scale=1.0)


def test_friction_that_newtons_law_would_turn_into_energy_is_bounded():
    """Kane's case: a slanted rod with friction and e = 1, where Newton's law and Coulomb's together add energy."""
    rises = 0
    for seed in range(30):
        M, qd, contacts, _ = random_impact(seed, nv=3, m=2)
        outcome = solve_impact(M, qd, contacts, np.ones(2), np.full(2, 1.5))
        assert energy(M, outcome.qd) <= energy(M, qd) * (1 + 1e-12)
        rises += abs(energy(M, outcome.qd) / energy(M, qd) - 1) < 1e-12 and outcome.friction.any()
    assert rises > 0, "no case in which the share of friction had to be reduced"


def test_tangents_are_an_orthonormal_frame():
    normal = np.random.default_rng(0).normal(size=(20, 3))
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    frame = np.concatenate([normal[:, None], tangents(normal)], axis=1)
    assert_close(frame @ frame.transpose(0, 2, 1), np.tile(np.eye(3), (20, 1, 1)))


def test_two_points_of_one_rod_that_cannot_slide_apart_stick_exactly():
    """Dependent tangential rows: the accelerations that are left are zero to rounding, not to a share of the iteration."""
    M = np.diag([2.0, 2.0, 2.0 / 12])
    J = np.zeros((2, 3, 3))
    J[0, 0], J[1, 0] = (1.0, 0.0, 0.0), (1.0, 0.0, 0.0)
    J[0, 2], J[1, 2] = (0.0, 1.0, 0.5), (0.0, 1.0, -0.5)
    qd = np.array([0.3, -1.0, 0.2])
    up = np.tile([0.0, 0.0, 1.0], (2, 1))
    contacts = ContactState(np.arange(2), np.zeros(2), up, J @ qd, J, np.zeros((2, 3)), np.zeros(2))
    outcome = solve_impact(M, qd, contacts, np.zeros(2), np.full(2, 0.5))
    assert_close(outcome.qd, np.zeros(3), scale=1.0, tolerance=1e-14)
    assert_close(outcome.friction.sum(axis=0), np.array([-0.6, 0.0, 0.0]), tolerance=1e-12)
