"""Modes, impacts and the contact solver at their limits, from both sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.particles import contacts_of, positive

import appell
from appell.simulation.contact import impact, mode, solver
from appell.simulation.contact.mode import ContactMode
from appell.simulation.contact.solver import ContactBlocks

# --- modes, limit by limit ----------------------------------------------------------------------------------------------------

NONE = np.zeros(0, dtype=int)


def following(acceleration, velocities=((0.0, 0.0, 0.0),), mu=(0.5,), M=None, joints=NONE, friction=(), **options):
    """The mode of points of one body of 2 kg after these accelerations."""
    contacts = contacts_of(velocities)
    mass = 2.0 * np.eye(3) if M is None else M
    return mode.next_mode(
        mass, np.array(acceleration), contacts, np.array(mu), joints, np.array(friction, dtype=float), **options
    )


def test_loads_and_states_of_modes():
    state = ContactMode(
        np.array([3, 5]), np.array([True, False]), np.array([False, True]), np.ones((2, 3)), np.array([0.1, 0.2])
    )
    assert state.carries.tolist() == [True, True]
    for load, small, carried in ((1.0, 0.9e-9, False), (1.0, 1.1e-9, True), (1e3, 0.9e-6, False), (1e3, 1.1e-6, True)):
        loads = np.array([[load, 0.0, 0.0], [0.0, small, 0.0]])
        assert replace(state, loads=loads).carries.tolist() == [True, carried]
    more = state.with_slipping(np.array([7, 8]))
    assert more.index.tolist() == [3, 5, 7, 8]
    assert more.sticking.tolist() == [True, False, False, False]
    assert more.starts_at_rest.tolist() == [False, True, False, False]
    assert more.slip_direction.tolist() == [[1.0] * 3] * 2 + [[0.0] * 3] * 2
    assert more.mu.tolist() == [0.1, 0.2, 0.0, 0.0]
    assert state.same_states(
        ContactMode(state.index, state.sticking, ~state.starts_at_rest, np.zeros((2, 3)), state.mu)
    )
    assert not state.same_states(more)
    assert not state.same_states(ContactMode(state.index, ~state.sticking, state.sticking, np.zeros((2, 3)), state.mu))
    assert len(mode.NO_CONTACT.index) == len(mode.NO_CONTACT.mu) == 0
    assert mode.NO_CONTACT.slip_direction.shape == (0, 3)


def test_forces_that_hold_a_particle():
    """Weight 20 N: friction 0.5 holds 10 N sideways; forces of a slipping one are those of its mode."""
    stuck = following([3.0, 0.0, -10.0])
    assert stuck.mode.sticking.tolist() == [True]
    assert stuck.residual == 0.0
    slips = following([8.0, 0.0, -10.0])
    assert_close(slips.forces, np.array([[-10.0, 0.0, 20.0]]), tolerance=1e-9)
    assert_close(slips.mode.slip_direction, np.array([[1.0, 0.0, 0.0]]), tolerance=1e-9)
    assert slips.mode.mu.tolist() == [0.5]
    sliding = following([1.0, 0.0, -10.0], [[0.0, -2.0, 0.0]])
    assert_close(sliding.forces, np.array([[0.0, 10.0, 20.0]]), tolerance=1e-9)
    turned = following([1.0, 0.0, -10.0], [[0.0, -2.0, 0.0]], opposed=np.array([[0.6, -0.8, 0.0]]))
    assert_close(turned.forces, np.array([[-6.0, 8.0, 20.0]]), tolerance=1e-9)
    assert_close(turned.mode.slip_direction, np.array([[0.0, -1.0, 0.0]]), tolerance=1e-9)
    smooth = following([6.0, 0.0, -10.0], mu=[0.0])
    assert smooth.mode.sticking.tolist() == [False]
    assert smooth.mode.starts_at_rest.tolist() == [True]


def test_accelerations_of_surfaces_are_part_of_the_problem():
    """Points that accelerate by themselves: a surface that bends away opens, one that bends towards the point presses."""
    for bias, curvature, states in (
        ([0.0, 0.0, 20.0], 0.0, []),
        ([0.0, 0.0, 0.0], 20.0, []),
        ([-8.0, 0.0, 0.0], 0.0, [True]),
        ([5.0, 0.0, 0.0], 0.0, [False]),
        ([0.0, 0.0, -10.0], -5.0, [True]),
    ):
        contacts = contacts_of([[0.0, 0.0, 0.0]], bias=np.array([bias]), curvature=np.array([curvature]))
        found = mode.next_mode(
            2.0 * np.eye(3), np.array([8.0, 0.0, -10.0]), contacts, np.array([0.5]), NONE, np.zeros(0)
        )
        assert found.mode.sticking.tolist() == states
        if states == [False]:
            assert_close(found.forces, np.array([[-10.0, 0.0, 20.0]]), tolerance=1e-9)


@pytest.mark.parametrize(("speed", "rests"), [(0.0, True), (1e-6, True), (1.1e-6, False)])
def test_slow_points_may_stick(speed, rests):
    found = following([0.0, 0.0, -10.0], [[speed, 0.0, 0.0]])
    assert found.mode.sticking.tolist() == [rests]
    assert found.mode.starts_at_rest.tolist() == [rests]
    smooth = following([0.0, 0.0, -10.0], [[speed, 0.0, 0.0]], mu=[0.0])
    assert smooth.mode.sticking.tolist() == [False]
    assert smooth.mode.starts_at_rest.tolist() == [rests]
    pulled = following([6.0, 0.0, -10.0], [[0.0, speed, 0.0]])
    assert_close(pulled.mode.slip_direction, np.array([[1.0, 0.0, 0.0] if rests else [0.0, 1.0, 0.0]]), tolerance=1e-9)


@pytest.mark.parametrize(("lift", "closed"), [(-1e-3, True), (0.5e-10, True), (2e-10, False), (1e-3, False)])
def test_contacts_that_accelerate_apart_open(lift, closed):
    """Beyond 1e-10 of the largest acceleration or of 1 m/s²; the other point keeps the solver busy."""
    J = np.zeros((2, 3, 6))
    J[0, :, :3] = J[1, :, 3:] = np.eye(3)
    contacts = contacts_of([[0.0, 0.0, 0.0]] * 2, J)
    qdd = np.array([0.9, 0.0, -1.0, 0.0, 0.0, lift])
    found = mode.next_mode(np.eye(6), qdd, contacts, np.full(2, 0.5), NONE, np.zeros(0))
    assert found.mode.index.tolist() == ([0, 1] if closed else [0])
    assert len(found.forces) == len(found.mode.index)
    large = mode.next_mode(np.eye(6), qdd * [100, 1, 100, 1, 1, 100], contacts, np.full(2, 0.5), NONE, np.zeros(0))
    assert large.mode.index.tolist() == ([0, 1] if closed else [0])


def test_frictionless_joints_do_not_stick_and_strong_ones_do():
    for push, expected in ((1.9, 0.0), (2.1, 1.0), (-2.1, -1.0)):
        directions, residual = mode.joint_slip(np.eye(2), np.array([push, 9.0]), np.array([0]), np.array([2.0]))
        assert directions.tolist() == [expected]
        assert residual < 1e-11
    assert mode._directions(np.array([2.0, -2.0, 1.99, 0.0]), np.full(4, 2.0)).tolist() == [-1.0, 1.0, 0.0, 0.0]
    coupled, _ = mode.joint_slip(
        np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([3.0, 0.0]), np.array([0, 1]), np.array([1.0, 9.0])
    )
    assert coupled.tolist() == [1.0, 0.0]  # forces 6 and 3 without friction; the second joint is held


@pytest.mark.parametrize(("push", "weight", "holds"), [(4.9, 10.0, True), (5.1, 10.0, False), (0.0, -0.1, False)])
def test_contacts_and_joints_that_can_be_held(push, weight, holds):
    friction = np.array([3.0])
    frame = mode.tangents(np.array([[0.0, 0.0, 1.0]]))[0]
    rows = np.concatenate([frame, [[0.0, 0.0, 1.0]]])
    stick = mode._can_stick(np.eye(3), np.array([push, 0.0, -weight]), rows, np.zeros(3), np.array([0.5]), np.zeros(0))
    assert stick is holds
    for force, within in ((2.9, True), (3.1, False)):
        held = mode._can_stick(
            np.eye(3), np.array([0.0, 0.0, -force]), np.array([[0.0, 0.0, 1.0]]), np.zeros(1), np.zeros(0), friction
        )
        assert held is within


# --- impacts, limit by limit --------------------------------------------------------------------------------------------------


def polished(p, w, mu=0.5, tol=1e-9, rebound=0.0):
    """Impulses of a particle of 2 kg that comes with (3, 0, -2) and has this approximate solution."""
    contacts = contacts_of([[3.0, 0.0, -2.0]])
    J, _ = mode.frame_rows(contacts, mode.contact_frames(contacts))
    qd = np.array([3.0, 0.0, -2.0])
    c = J @ qd - np.array([0.0, 0.0, rebound])
    return impact._polished(2.0 * np.eye(3), qd, J, c, np.array([mu]), np.array(p), np.array(w), tol)


def test_impulses_are_made_exact():
    """4 N s carry it; 2 N s of friction against its slip, which keeps 2 m/s, or none without friction."""
    frame = mode.contact_frames(contacts_of([[0.0, 0.0, 0.0]]))[0]
    slip = np.append(frame[:2] @ [1.0, 0.0, 0.0], 0.0)
    exact = np.array([0.0, 0.0, 4.0]) - 2.0 * slip
    rough = exact * (1.0 + 1e-10)
    assert_close(polished(rough, 2.0 * slip), exact, tolerance=1e-14)
    assert_close(polished([0.0, 0.0, 4.0 + 1e-10], 3.0 * slip, mu=0.0), np.array([0.0, 0.0, 4.0]), tolerance=1e-14)
    rebounding = np.array([0.0, 0.0, 6.0]) - 3.0 * slip
    assert_close(polished(rebounding * (1.0 + 1e-10), 1.5 * slip, rebound=1.0), rebounding, tolerance=1e-14)
    sticking = np.array([0.0, 0.0, 4.0]) - 6.0 * slip
    assert_close(polished(sticking * (1.0 + 1e-10), 1e-10 * slip, mu=1.6), sticking, tolerance=1e-14)
    given = sticking * (1.0 + 1e-10)  # friction is too weak to hold it
    assert polished(given, 1e-10 * slip, mu=1.4).tolist() == given.tolist()
    for error, same in ((0.9e-6, True), (1.1e-6, False)):  # velocities of another solution, by 1000 times the tolerance
        found = polished(rough, (2.0 + error) * slip)
        assert_close(found, exact if same else rough, tolerance=1e-15)


def test_impulses_of_several_contacts_are_made_exact():
    """Two particles that slip in different directions, one of which leaves: 4 N s and 2 N s in μ = 0.5, and none."""
    J = np.zeros((3, 3, 9))
    J[0, :, :3] = J[1, :, 3:6] = J[2, :, 6:] = np.eye(3)
    qd = np.array([3.0, 0.0, -2.0, 0.0, 5.0, -1.0, 1.0, 1.0, 1.0])
    contacts = contacts_of(J @ qd, J)
    frames = mode.contact_frames(contacts)
    rows, _ = mode.frame_rows(contacts, frames)
    pushes = np.array([[-2.0, 0.0, 4.0], [0.0, -1.0, 2.0], [0.0, 0.0, 0.0]])
    exact = np.einsum("cti,ci->ct", frames, pushes).ravel()
    w = rows @ (qd + 0.5 * rows.T @ exact)
    found = impact._polished(2.0 * np.eye(9), qd, rows, rows @ qd, np.full(3, 0.5), exact * (1.0 + 1e-10), w, 1e-9)
    assert_close(found, exact, tolerance=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_the_energy_of_jumps(seed):
    """½ (v + Δ)^T M (v + Δ) - ½ v^T M v, and the largest part of friction that keeps it from rising."""
    rng = np.random.default_rng(seed)
    M, qd, smooth, rough = positive(rng, 3), *rng.normal(size=(3, 3))
    after = qd + rough
    assert impact._energy_change(M, qd, rough) == pytest.approx(0.5 * after @ M @ after - 0.5 * qd @ M @ qd)
    smooth = -0.7 * qd
    parts = np.linspace(0.0, 1.0, 501)
    changes = np.array([impact._energy_change(M, qd, (1.0 - s) * smooth + s * 5.0 * rough) for s in parts])
    first = parts[np.flatnonzero(changes > 0.0)[0]] if (changes > 0.0).any() else 1.0
    part = impact._largest_dissipative_part(M, qd, smooth, 5.0 * rough)
    assert part == pytest.approx(first, abs=2.1e-3)
    small = 1e-4 * qd, 1e-4 * smooth, 5e-4 * rough
    assert impact._largest_dissipative_part(M, *small) == pytest.approx(part, rel=1e-9)
    assert impact._largest_dissipative_part(M, qd, 0.0 * qd, -qd) == 1.0
    assert impact._largest_dissipative_part(M, qd, 0.0 * qd, qd) == 0.0


def test_restitution_is_that_of_approaching_points_alone():
    """One comes with 2 m/s and e = 0.5, one leaves with 1 m/s: no impulse, no rebound of it."""
    J = np.zeros((2, 3, 6))
    J[0, :, :3] = J[1, :, 3:] = np.eye(3)
    qd = np.array([0.0, 0.0, -2.0, 0.0, 0.0, 1.0])
    found = impact.solve_impact(np.eye(6), qd, contacts_of(J @ qd, J), np.array([0.5, 0.5]), np.zeros(2))
    assert_close(found.qd, np.array([0.0, 0.0, 1.0, 0.0, 0.0, 1.0]), tolerance=1e-13)
    assert_close(found.normal, np.array([3.0, 0.0]), tolerance=1e-13)
    assert found.residual < 1e-12
    still = impact.solve_impact(np.eye(6), 0.0 * qd, contacts_of(np.zeros((2, 3)), J), np.zeros(2), np.zeros(2))
    assert not still.qd.any()
    assert still.residual == 0.0


# --- the solver, limit by limit -----------------------------------------------------------------------------------------------


def test_blocks_and_their_limits():
    points = ContactBlocks.points([0.5, 0.25], 1)
    assert points.rows.tolist() == [[0, 2, 0], [2, 2, 0]]
    assert points.rows.dtype == np.int32
    assert ContactBlocks.points([0.5]).rows.tolist() == [[0, 3, 0]]
    assert ContactBlocks.unilateral(2).rows.tolist() == [[0, 1, 0], [1, 1, 0]]
    assert ContactBlocks.unilateral(2).limits.tolist() == [0.0, 0.0]
    assert ContactBlocks.bilateral(1).limits.tolist() == [np.inf]
    assert (points + ContactBlocks.bounded([0.0])).rows.tolist() == [[0, 2, 0], [2, 2, 0], [4, 1, 1]]
    assert (points + ContactBlocks.bounded([0.0])).size == 5
    for kind, *given in (
        ("points", [np.inf]), ("points", [-0.1]), ("bounded", [np.nan]), ("bounded", [[1.0]]), ("points", [0.5], 3),
        ("points", [0.5], -1),
    ):  # fmt: skip
        with pytest.raises(appell.ArgumentError, match="expected"):
            getattr(ContactBlocks, kind)(*given)


def test_arguments_of_the_solver():
    G, c = np.eye(3), np.array([1.0, 0.0, -2.0])
    for change, allowed in ((0.9e-9, True), (1.1e-9, False)):
        lopsided = 5.0 * G
        lopsided[0, 1] = 5.0 * change
        if allowed:
            solver.solve_contacts(lopsided, c, 0.5)
            continue
        with pytest.raises(appell.ArgumentError, match="G is not symmetric"):
            solver.solve_contacts(lopsided, c, 0.5)
        solver.solve_contacts(lopsided, c, ContactBlocks.points([0.5]), check=False)
    starts = {"start": np.zeros(2)}, {"start": [np.nan] * 3}
    for options in ({"tolerance": 0.0}, {"acceptable": -1.0}, {"max_iterations": -1}, *starts):
        with pytest.raises(appell.ArgumentError, match="expected"):
            solver.solve_contacts(G, c, 0.5, **options)
    found = solver.solve_contacts(G, c, [0.5])
    assert_close(found.impulses, np.array([-1.0, 0.0, 2.0]), tolerance=1e-9)
    assert found.residual <= 1e-9
    start = found.impulses.copy()
    assert solver.solve_contacts(G, c, 0.5, start=start).iterations == 0
    assert start is not solver.solve_contacts(G, c, 0.5, start=start).impulses
    cut = solver.solve_contacts(np.eye(3) + 0.9 * np.ones((3, 3)), c, 0.5, tolerance=1e-15, max_iterations=0)
    assert cut.iterations == 0
    assert not cut.converged


def admm(G, c, blocks, p=None, tolerance=1e-12, acceptable=0.0, most=1000):
    p = np.zeros(len(c)) if p is None else np.array(p)
    w = np.zeros(len(c))
    residual, iterations, _ = solver._solve_by_admm(G, c, blocks.rows, blocks.limits, p, w, tolerance, acceptable, most)
    return p, w, residual, iterations


def test_the_numpy_twin_on_known_problems():
    """Diagonal and coupled problems, from their solution, from outside of the cones, and of very different scales."""
    blocks = ContactBlocks.points([0.5]) + ContactBlocks.unilateral(1) + ContactBlocks.bounded([1.0])
    c = np.array([3.0, 4.0, -1.0, 2.0, -5.0])
    exact = np.array([-0.3, -0.4, 1.0, 0.0, 1.0])
    for scale in (1.0, 1e4, 1e-4):
        p, w, residual, iterations = admm(scale * np.eye(5), c, blocks, tolerance=1e-10)
        expected = np.array([*exact[:4] / scale, min(1.0, 5.0 / scale)])
        assert_close(p, expected, tolerance=1e-8)
        assert residual <= 1e-10
        assert_close(w, scale * p + c, tolerance=1e-12)
        assert 0 < iterations < 300
    p, w, residual, iterations = admm(np.eye(5), c, blocks, exact)
    assert (iterations, residual) == (0, pytest.approx(0.0, abs=1e-14))
    assert_close(p, exact, tolerance=1e-15)
    far, *_ = admm(np.eye(5), c, blocks, [90.0, 0.0, -5.0, -5.0, 7.0], tolerance=1e-10)
    assert_close(far, exact, tolerance=1e-8)
    rng = np.random.default_rng(2)
    G, c = positive(rng, 6) / 6.0, rng.normal(size=6) - [0, 0, 2.0, 0, 0, 2.0]
    two = ContactBlocks.points([0.4, 0.4])
    p, w, residual, iterations = admm(G, c, two, tolerance=1e-10)
    assert_close(p, solver.solve_contacts(G, c, two, tolerance=1e-12).impulses, tolerance=1e-8)
    assert residual == pytest.approx(solver.contact_residual(p, w, G, two), abs=1e-14)
    assert 10 < iterations < 120
    best = [admm(G, c, two, most=most)[2] for most in (1, 5, 20, 60)]
    assert best == sorted(best, reverse=True)
    _, _, residual, fewer = admm(G, c, two, tolerance=1e-10, acceptable=1e-4)
    assert fewer < iterations
    assert 1e-10 < residual <= 1e-4
    empty = admm(np.zeros((0, 0)), np.zeros(0), ContactBlocks.unilateral(0))
    assert empty[3] == 0
    unmoved = admm(np.zeros((1, 1)), np.ones(1), ContactBlocks.unilateral(1))
    assert unmoved[0].tolist() == [0.0]


def test_the_penalty_of_the_numpy_twin_adapts():
    """Weights from 1 to 100 take about 130 iterations, with a wrong penalty many more."""
    G, c = np.diag([1.0, 1.0, 1.0, 100.0, 100.0, 100.0]), np.array([3.0, 4.0, -1.0, 3.0, 4.0, -100.0])
    p, _, residual, iterations = admm(G, c, ContactBlocks.points([0.4, 0.4]), tolerance=1e-10)
    assert residual <= 1e-10
    assert iterations < 150
    assert_close(p, np.array([-0.24, -0.32, 1.0, -0.03, -0.04, 1.0]), tolerance=1e-8)  # one slips, one sticks


@pytest.mark.parametrize("part", [5e-8, 1e-6, 1e-4])
def test_dependent_rows_that_pivots_do_not_show(part):
    """A row is a small part of another, to 2e-7: pivots may be above 1e-9, while the least eigenvalue is 4e-14. A velocity that
    the rows allow to 3e-11 stays as it is."""
    J = np.eye(6, 7)
    J[4], J[5] = part * np.eye(7)[4] + 2e-7 * np.eye(7)[5], np.eye(7)[4]
    v = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.5e-4, 1.0])
    after, _ = mode.ModeRows.of_scalars(J, np.zeros(6)).accelerations(np.eye(7), v)
    assert_close(after, v, tolerance=1e-8)
