"""The parts of contact with known answers: modes, projections, frames, impacts, and the NumPy twins of compiled code."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import pairs_of, rod
from helpers.particles import contacts_of, positive

import appell
from appell import _native
from appell.simulation.contact import impact, mode, solver
from appell.simulation.contact.mode import OPEN, SLIP, STICK, ContactMode, ContactProblem, ModeRows
from appell.simulation.contact.pairs import (
    ContactOptions,
    ContactPoints,
    InterpretedPairs,
    contact_points_of,
)
from appell.simulation.contact.solver import ContactBlocks
from appell.simulation.contact.surfaces.surface import norm_curvature

# --- modes --------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def rows():
    """Four points, sticking, slipping, open and slipping without friction, then one sticking scalar, of seven velocities."""
    rng = np.random.default_rng(0)
    blocks = ContactBlocks.points([0.6, 0.3, 0.5, 0.0]) + ContactBlocks.bilateral(1)
    states = np.array([STICK, SLIP, OPEN, SLIP, STICK], dtype=np.int32)
    directions = np.array([[1.0, 0.0], [0.6, -0.8], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    return ModeRows(rng.normal(size=(13, 7)), rng.normal(size=13), blocks, states, directions)


@pytest.mark.parametrize("twin", [False, True])
def test_forces_of_a_mode(rows, twin, monkeypatch):
    """M qdd = F + J^T f, no acceleration of what sticks and of the normals of what slips, friction μ f_n along its direction."""
    if twin:
        monkeypatch.setattr(_native, "mode_accelerations", None)
    rng = np.random.default_rng(1)
    M, F = positive(rng, 7), rng.normal(size=7)
    qdd, f = rows.accelerations(M, F)
    assert_close(M @ qdd, F + rows.J.T @ f, tolerance=1e-11)
    a = rows.J @ qdd + rows.bias
    assert_close(a[[0, 1, 2, 5, 11, 12]], np.zeros(6), scale=1.0, tolerance=1e-11)
    assert not f[6:9].any()
    assert_close(f[3:5], 0.3 * f[5] * np.array([0.6, -0.8]), tolerance=1e-12)
    assert_close(f[9:11], np.zeros(2), scale=1.0)
    assert f[[0, 1, 2, 5, 11, 12]].all()
    other, _ = rows.accelerations(M, F, np.zeros(13))
    assert_close((rows.J @ other)[[0, 1, 2, 5, 11, 12]], np.zeros(6), scale=1.0, tolerance=1e-11)
    _, smooth = rows.without_friction().accelerations(M, F)
    assert not smooth[3:5].any()


@pytest.mark.parametrize("twin", [False, True])
def test_dependent_rows_share_their_force(twin, monkeypatch):
    if twin:
        monkeypatch.setattr(_native, "mode_accelerations", None)
    J = np.array([[1.0, 0.0], [1.0, 0.0]])
    qdd, f = ModeRows.of_scalars(J, np.zeros(2)).accelerations(np.eye(2), np.array([-3.0, 1.0]))
    assert_close(qdd, np.array([0.0, 1.0]), tolerance=1e-12)
    assert_close(f, np.array([1.5, 1.5]), tolerance=1e-12)
    free, none = ModeRows.of_scalars(J[:0], np.zeros(0)).accelerations(2.0 * np.eye(2), np.array([-3.0, 1.0]))
    assert_close(free, np.array([-1.5, 0.5]))
    assert none.shape == (0,)
    bad, _ = ModeRows.of_scalars(J, np.zeros(2)).accelerations(np.eye(2), np.array([np.nan, 1.0]))
    assert np.isnan(bad).all()


@pytest.mark.parametrize("twin", [False, True])
def test_rows_that_contradict_each_other_get_no_forces_for_that(twin, monkeypatch):
    """No force changes the difference of equal rows; a regularization of 1e-9 would answer 1e-5 m/s² by 1e4 N."""
    if twin:
        monkeypatch.setattr(_native, "mode_accelerations", None)
    J = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    rows = ModeRows.of_scalars(J, np.array([1e-5, -1e-5, 0.0]))
    qdd, f = rows.accelerations(np.diag([1.0, 4.0]), np.array([-3.0, 2.0]))
    assert_close(qdd, np.zeros(2), scale=1.0, tolerance=1e-12)
    assert_close(f, np.array([1.5, 1.5, -2.0]), tolerance=1e-9)


@pytest.mark.parametrize("mass", [1.0, 1e4, 1e7, 1e9])
def test_heavy_coordinates_are_held_beside_rows_that_contradict_each_other(mass):
    """The force of a row whose accelerations are small is found; those of the others stay small, too."""
    J = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    rows = ModeRows.of_scalars(J, np.array([1e-12, -1e-12, 0.0]))
    qdd, f = rows.accelerations(np.diag([1.0, mass]), np.array([-3.0, 2.0]))
    assert_close(f, np.array([1.5, 1.5, -2.0]), tolerance=2e-3)
    assert_close(qdd * [1.0, mass], np.zeros(2), scale=1.0, tolerance=4e-3)


def test_frames_are_orthonormal():
    rng = np.random.default_rng(0)
    normal = np.concatenate([np.eye(3), -np.eye(3), rng.normal(size=(5, 3))])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    found = mode.tangents(normal)
    frames = np.concatenate([found, normal[:, None]], axis=1)
    assert_close(frames @ frames.transpose(0, 2, 1), np.broadcast_to(np.eye(3), (11, 3, 3)).copy(), tolerance=1e-14)
    assert_close(np.linalg.det(frames), np.ones(11), tolerance=1e-14)
    assert mode.tangents(np.zeros((0, 3))).shape == (0, 2, 3)


def test_directions_of_slip():
    """Slip that starts at rest is greater by 1e-6 m/s along its direction; backwards it counts as negative."""
    velocity = [[2e-6, 0, 0], [-5e-6, 0, 0], [0, 0, 7.0], [2e-9, 0, 0], [0, 0, 7.0], [0, 3.0, 4.0], [-1.0, -1.0, 0]]
    rest = np.array([1, 1, 1, 0, 0, 0, 0], dtype=bool)
    given = np.tile([0.6, 0.8, 0.0], (7, 1))
    state = ContactMode(np.arange(7), ~rest, rest, given, np.ones(7))
    x, y, back = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [np.sqrt(0.5), np.sqrt(0.5), 0.0]
    slow = np.array([[2.6, 0.8, 0.0], [4.4, -0.8, 0.0]])
    slow /= np.linalg.norm(slow, axis=1, keepdims=True)
    expected = np.array([*slow, given[0], x, given[0], y, back])
    assert_close(mode.slip_direction(contacts_of(velocity), state), expected, tolerance=1e-12)
    assert_close(state.slack, np.where(rest, 1e-6, -5e-7))


def test_slow_slip_in_another_direction_than_its_start_stops():
    """Contacts that stick, that start at rest (along their direction, and 40 degrees off it), and that slip."""
    slip = 1e-7 * np.array([[1.0, 0, 0], [1.0, 0, 0], [np.cos(0.7), np.sin(0.7), 0], [0, 1.0, 0]])
    rest, sticking = np.array([1, 1, 1, 0], dtype=bool), np.array([1, 0, 0, 0], dtype=bool)
    state = ContactMode(np.arange(4), sticking, rest, np.tile([1.0, 0, 0], (4, 1)), np.ones(4))
    assert state.at_start(slip).sticking.tolist() == [True, False, True, False]
    assert state.at_start(np.zeros((4, 3))).sticking.tolist() == sticking.tolist()


def test_rows_of_a_mode():
    contacts = contacts_of(
        [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]],
        bias=np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
        curvature=np.array([10.0, 20.0]),
    )
    state = ContactMode(
        np.arange(2),
        np.array([True, False]),
        np.array([True, False]),
        np.tile([0.0, 1.0, 0.0], (2, 1)),
        np.array([0.5, 0.7]),
    )
    found = mode.mode_rows(contacts, state, np.array([1]))
    assert found.states.tolist() == [STICK, SLIP, STICK]
    frames = mode.contact_frames(contacts)
    assert_close(found.J[:6].reshape(2, 3, 3), frames)
    assert_close(found.J[6], np.array([0.0, 1.0, 0.0]))
    assert_close(
        found.bias,
        np.concatenate([frames[0] @ [1.0, 2.0, 3.0] + [0, 0, 10.0], frames[1] @ [4.0, 5.0, 6.0] + [0, 0, 20.0], [0.0]]),
    )
    assert_close(found.friction_direction[1] @ frames[1, :2], np.array([0.0, -1.0, 0.0]), tolerance=1e-12)
    assert found.blocks.limits.tolist() == [0.5, 0.7, np.inf]
    assert len(mode.mode_rows(contacts, state, np.zeros(0, dtype=int)).states) == 2


@pytest.mark.parametrize(
    ("forces", "friction", "expected"),
    [
        ([0.3, 0.4, 1.0, 9.0, 0.0, 2.0, 0.5], 1.0, 0.1),  # friction of the sticking one: 0.6 - 0.5
        ([0.0, 0.0, 1.0, 0.0, 0.0, -0.2, 0.0], 1.0, -0.2),  # the slipping one pulls
        ([0.0, 0.0, 9.0, 0.0, 0.0, 9.0, -1.3], 1.0, -0.3),  # the joint
        ([0.6, 0.8, 1.0, 0.0, 0.0, 9.0, 0.0], 2.0, -0.4),
    ],
)
def test_how_far_forces_are_from_their_bounds(forces, friction, expected):
    blocks = ContactBlocks.points([0.6, 0.6]) + ContactBlocks.bilateral(1)
    states = np.array([STICK, SLIP, STICK], dtype=np.int32)
    rows = ModeRows(np.zeros((7, 2)), np.zeros(7), blocks, states, np.zeros((3, 2)))
    f = np.array(forces)
    assert mode.force_margin(rows, f, np.array([friction]), 0.0) == pytest.approx(expected)
    tolerance = 1e-9 * max(1.0, np.abs(f).max())
    assert mode.force_margin(rows, f, np.array([friction])) == pytest.approx(expected + tolerance, abs=1e-13)
    none = ModeRows.of_scalars(np.zeros((0, 2)), np.zeros(0))
    assert mode.force_margin(none, np.zeros(0), np.zeros(0)) == pytest.approx(2e-9)


def test_problems_leave_out_tangents_without_friction():
    rng = np.random.default_rng(0)
    G, c = positive(rng, 8), rng.normal(size=8)
    problem = ContactProblem.of(G, c, np.array([0.0, 0.4]), np.array([2.0, 3.0]))
    kept = [2, 3, 4, 5, 6, 7]
    assert problem.rows.tolist() == kept
    assert_close(problem.G, G[np.ix_(kept, kept)])
    assert_close(problem.c, c[kept])
    assert problem.blocks.rows.tolist() == [[0, 1, 0], [1, 3, 0], [4, 1, 1], [5, 1, 1]]
    assert problem.blocks.limits.tolist() == [0.0, 0.4, 2.0, 3.0]
    assert problem.expand(np.arange(1.0, 7.0)).tolist() == [0, 0, 1, 2, 3, 4, 5, 6]


def test_joints_at_rest_stick_or_slip():
    """Accelerations 3, -3, 1 of unit inertias against friction 2: two slip, one sticks."""
    found, residual = mode.joint_slip(np.eye(4), np.array([3.0, 9.0, -3.0, 1.0]), np.array([0, 2, 3]), np.full(3, 2.0))
    assert found.tolist() == [1.0, -1.0, 0.0]
    assert residual <= 1e-10
    heavy, _ = mode.joint_slip(
        np.diag([1.0, 1.0, 1.0, 4.0]), np.array([0.0, 0.0, 0.0, 1.0]), np.array([3]), np.array([2.0])
    )
    assert heavy.tolist() == [1.0]


@pytest.mark.parametrize(
    ("velocity", "acceleration", "states"),
    [
        ([0.0, 0.0, 0.0], [3.0, 0.0, -10.0], "stick"),
        ([0.0, 0.0, 0.0], [6.0, 0.0, -10.0], "slip"),
        ([0.0, -2.0, 0.0], [1.0, 0.0, -10.0], "slip"),
        ([0.0, 0.0, 0.0], [3.0, 0.0, 1.0], "open"),
        ([5e-7, 0.0, 0.0], [-3.0, 0.0, -10.0], "stick"),
        ([2e-6, 0.0, 0.0], [-3.0, 0.0, -10.0], "slip"),
    ],
)
def test_the_mode_of_a_particle_on_the_floor(velocity, acceleration, states):
    """Friction 0.5: it holds accelerations up to 5 m/s² under 10 m/s²; points that slip go on slipping."""
    contacts = contacts_of([velocity])
    none = np.zeros(0, dtype=int)
    found = mode.next_mode(2.0 * np.eye(3), np.array(acceleration), contacts, np.array([0.5]), none, np.zeros(0))
    assert len(found.mode.index) == (states != "open")
    assert not found.jams.any()
    assert found.residual < 1e-10
    if states != "open":
        assert found.mode.sticking.tolist() == [states == "stick"]
        speed = np.linalg.norm(velocity)
        assert found.mode.starts_at_rest.tolist() == [speed < 1e-6]
    if states == "slip":
        way = np.array(velocity) / speed if speed else np.array([1.0, 0.0, 0.0])
        assert_close(found.mode.slip_direction[0], way, tolerance=1e-9)


def test_a_slip_that_coulomb_stops_at_once():
    """Painlevé: friction 1.5 against the slip drives the point into the floor, 1 - 1.5 0.9 < 0; to the other side it does not."""
    M = np.linalg.inv(np.array([[1.0, 0.0, 0.9], [0.0, 1.0, 0.0], [0.9, 0.0, 1.0]]))
    falling, none = np.array([0.0, 0.0, -10.0]), np.zeros(0, dtype=int)
    for speed, mu, jams in ((1.0, 1.5, True), (-1.0, 1.5, False), (1.0, 0.5, False)):
        contacts = contacts_of([[speed, 0.0, 0.0]])
        found = mode.next_mode(M, falling, contacts, np.array([mu]), none, np.zeros(0))
        assert found.jams.tolist() == [jams]


def test_a_joint_at_rest_under_a_contact():
    contacts = contacts_of([[0.0, 0.0, 0.0]])
    for push, direction in ((1.0, 0.0), (3.0, 1.0), (-3.0, -1.0)):
        found = mode.next_mode(
            np.eye(3), np.array([push, 0.0, -10.0]), contacts, np.array([0.0]), np.array([0]), np.array([2.0])
        )
        assert found.joint_directions.tolist() == [direction]
        assert found.mode.sticking.tolist() == [False]


# --- the solver ---------------------------------------------------------------------------------------------------------------

BLOCKS = (
    ContactBlocks.points([0.5])
    + ContactBlocks.points([0.5], 1)
    + ContactBlocks.unilateral(1)
    + ContactBlocks.bounded([2.0])
)


@pytest.mark.parametrize(
    ("given", "nearest"),
    [
        ([0.3, 0.4, 1.0, 0.5, 1.0, 3.0, -1.5], [0.3, 0.4, 1.0, 0.5, 1.0, 3.0, -1.5]),
        ([3.0, 4.0, 1.0, 2.0, 1.0, -3.0, 5.0], [0.84, 1.12, 2.8, 0.8, 1.6, 0.0, 2.0]),
        ([0.3, 0.4, -1.0, -2.0, 1.0, 0.0, -5.0], [0.0, 0.0, 0.0, -0.8, 1.6, 0.0, -2.0]),
        ([0.0, 0.0, -1.0, 0.0, -1.0, 1e-3, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 1e-3, 0.0]),
    ],
)
def test_projection_on_cones_and_boxes(given, nearest):
    assert_close(solver.project(np.array(given), BLOCKS), np.array(nearest), tolerance=1e-14)


def test_de_saxce_shift_and_residual():
    w = np.array([3.0, 4.0, 1.0, -2.0, 1.0, 7.0, 9.0])
    assert_close(solver.saxce_shift(w, BLOCKS), np.array([0.0, 0.0, 2.5, 0.0, 1.0, 0.0, 0.0]))
    G = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 9.0, 0.5])
    g = np.array([4.0] * 6 + [0.5])
    assert_close(solver._scales(G, BLOCKS), g)
    p = np.array([0.1, 0.2, 1.0, 0.1, 1.0, 2.0, 1.0])
    expected = np.abs(g * (p - solver.project(p - (w + solver.saxce_shift(w, BLOCKS)) / g, BLOCKS))).max()
    assert solver.contact_residual(p, w, G, BLOCKS) == pytest.approx(expected)
    assert_close(solver._scales(np.zeros((1, 1)), ContactBlocks.unilateral(1)), np.ones(1))
    assert_close(solver._scales(np.zeros((1, 1)), ContactBlocks.bounded([1.0])), np.ones(1))


def test_the_numpy_twin_stops_at_its_limit():
    rng = np.random.default_rng(0)
    G, c = positive(rng, 3) / 10.0, np.array([1.0, 2.0, -3.0])
    blocks = ContactBlocks.points([0.5])
    p, w = np.zeros(3), np.zeros(3)
    residual, iterations, _ = solver._solve_by_admm(G, c, blocks.rows, blocks.limits, p, w, 1e-12, 0.0, 7)
    assert iterations == 7
    assert residual == pytest.approx(solver.contact_residual(p, w, G, blocks))
    assert_close(w, G @ p + c)
    residual, iterations, _ = solver._solve_by_admm(G, c, blocks.rows, blocks.limits, p, w, 1e-10, 0.0, 500)
    assert residual <= 1e-10
    assert iterations < 100
    expected = solver.solve_contacts(G, c, blocks)
    assert_close(p, expected.impulses, tolerance=1e-7)


# --- impacts ------------------------------------------------------------------------------------------------------------------


def test_the_largest_part_of_friction_that_adds_no_energy():
    rng = np.random.default_rng(0)
    M, qd = positive(rng, 4), rng.normal(size=4)
    smooth = -0.5 * qd
    assert impact._energy_change(M, qd, smooth) == pytest.approx(0.5 * (0.25 - 1.0) * qd @ M @ qd)
    rough = rng.normal(size=4) * 4.0
    assert impact._energy_change(M, qd, rough) > 0.0
    part = impact._largest_dissipative_part(M, qd, smooth, rough)
    assert 0.0 < part < 1.0
    scale = qd @ M @ qd
    assert impact._energy_change(M, qd, (1.0 - part) * smooth + part * rough) == pytest.approx(0.0, abs=1e-12 * scale)
    assert impact._largest_dissipative_part(M, qd, smooth, -qd) == 1.0
    assert impact._largest_dissipative_part(M, qd, smooth, smooth) == 1.0


@pytest.mark.parametrize(("e", "approach"), [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (0.0, 0.3)])
def test_an_impact_of_a_particle(e, approach):
    """Normal velocity -e v, friction up to 0.5 of the normal impulse."""
    contacts = contacts_of([[3.0, 0.0, -2.0]])
    found = impact.solve_impact(
        2.0 * np.eye(3), np.array([3.0, 0.0, -2.0]), contacts, np.array([e]), np.array([0.5]), approach
    )
    normal = 2.0 * (2.0 * (1.0 + e) + approach)
    assert found.normal[0] == pytest.approx(normal)
    assert_close(found.friction[0], np.array([-0.5 * normal, 0.0, 0.0]), tolerance=1e-12)
    assert_close(found.qd, np.array([3.0 - 0.25 * normal, 0.0, 2.0 * e + approach]), scale=1.0, tolerance=1e-12)
    leaving = impact.solve_impact(
        2.0 * np.eye(3), np.array([3.0, 0.0, 2.0]), contacts_of([[3.0, 0.0, 2.0]]), np.array([e]), np.array([0.5])
    )
    assert not leaving.normal.any()
    slow = impact.solve_impact(
        2.0 * np.eye(3), np.array([0.1, 0.0, -2.0]), contacts_of([[0.1, 0.0, -2.0]]), np.array([e]), np.array([0.5])
    )
    assert slow.qd[0] == pytest.approx(0.0, abs=1e-13)
    assert slow.friction[0, 0] == pytest.approx(-0.2)


# --- kinematics ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [0.0, 0.2])
def test_interpreted_contacts_are_those_of_compiled_code(radius):
    """Gaps, normals, velocities, Jacobians and accelerations of points and spheres at a floor and in a bowl."""
    robot = rod()
    surfaces = (
        appell.surfaces.Plane(normal=(0.1, 0.2, 1.0), friction=0.3),
        appell.surfaces.Sphere(radius=4.0, center=(0.0, 0.2, 0.1), side="inside", friction=0.2),
        appell.surfaces.Ellipse(semi_axes=(3.0, 2.0), center=(0.0, 0.1, 0.0), side="inside", friction=0.2),
        appell.surfaces.ImplicitSurface(
            lambda p: (p**4).sum() - 90.0, lambda p: 4.0 * p**3, hessian=lambda p: np.diag(12.0 * p**2), friction=0.2
        ),
    )
    points = [appell.Point("P1", (0.1, 0.0, 0.2)), appell.Point("P0", radius=radius)]
    rng = np.random.default_rng(0)
    q, qd = np.array([0.1, 0.2, 1.0, 0.5, 0.5, 0.5, 0.5]), rng.normal(size=6)
    options = ContactOptions(points=points, restitution=0.5)
    compiled = pairs_of(robot.simulation_model(), q, surfaces, options)
    assert compiled.names == tuple(map(str, points))
    twin = InterpretedPairs(compiled.names, surfaces, compiled.restitution, ContactPoints(robot, points))
    other = q.copy()
    other[:3] += 0.1, 0.2, 0.3
    states = np.array([q, other]), rng.normal(size=(2, 6))
    for one, other in zip(twin.gaps(*states), compiled.gaps(*states), strict=True):
        assert_close(one, other, tolerance=1e-11)
    found, expected = twin.state(q, qd), compiled.state(q, qd)
    for name in ("index", "gap", "normal", "velocity", "J", "J_n", "gap_rate", "slip_velocity"):
        assert_close(getattr(found, name), getattr(expected, name), tolerance=1e-11)
    assert_close(found.gap_acceleration_bias, expected.gap_acceleration_bias, tolerance=1e-7)
    h = 1e-5
    for pairs in (twin, compiled):
        now, later, sooner = (pairs.state(robot.integrate(q, step * qd), qd) for step in (0.0, h, -h))
        rates = (later.velocity - sooner.velocity) / (2.0 * h)
        assert_close(np.cross(now.normal, now.acceleration_bias), np.cross(now.normal, rates), tolerance=1e-8)


def test_curvature_of_distances():
    """v^T ∇²|r| v against second differences, also along r."""
    rng = np.random.default_rng(0)
    r, v = rng.normal(size=(6, 3)) * 3.0, rng.normal(size=(6, 3))
    h = 1e-3
    second = (
        np.linalg.norm(r + h * v, axis=1) - 2.0 * np.linalg.norm(r, axis=1) + np.linalg.norm(r - h * v, axis=1)
    ) / h**2
    assert_close(norm_curvature(r, v), second, tolerance=1e-5)


def test_points_that_never_move_are_no_contact_points():
    builder = appell.RobotBuilder("lift").body("base").body("cabin", mass=2.0, inertia=(0.01, 0.01, 0.01))
    builder.prismatic("z", parent="base", child="cabin", axis="z")
    builder.fixed("left", parent="base", child="post", xyz=(1.0, 0.0, 0.0))
    builder.fixed("top", parent="cabin", child="roof", xyz=(0.0, 0.0, 1.0))
    assert contact_points_of(builder.build(), None) == (appell.Point("cabin"), appell.Point("roof"))
