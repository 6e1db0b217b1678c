"""Problems of impact and friction with closed forms: Housner's block, Newton's cradle, Painlevé's rod, rolling balls."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import rod

import appell
from appell.simulation.contact.impact import solve_impact
from appell.simulation.contact.pairs import ContactState
from appell.simulation.contact.solver import ContactBlocks, solve_contacts

G = 9.81
MOREAU = appell.Integration("moreau", dt=2e-4)
PRECISE = appell.Integration("DOP853", rtol=1e-11)
METHODS = pytest.mark.parametrize(("method", "tolerance"), [(PRECISE, 1e-9), (MOREAU, 2e-5)], ids=["events", "moreau"])


def free_body(mass: float, inertia):
    builder = appell.RobotBuilder("body").body("world").body("body", mass=mass, inertia=inertia)
    return builder.joint("floating", "free", parent="world", child="body").build()


# --- Housner's rocking block ------------------------------------------------------------------------------------------


def rocking_block(b: float, h: float, method, angle: float = 0.1, mass: float = 3.0):
    """A uniform block of half width b and half height h, released on two corners of its base."""
    inertia = mass / 3.0 * np.array([0.04 + h * h, b * b + h * h, b * b + 0.04])
    corners = [appell.Point("body", (x, y, -h)) for x in (-b, b) for y in (-0.2, 0.2)]
    height = b * np.sin(angle) + h * np.cos(angle)
    motion = appell.simulate(
        free_body(mass, inertia), [0, 0, height, 0, np.sin(angle / 2), 0, np.cos(angle / 2)], np.zeros(6), 1.2,
        surfaces=appell.surfaces.Plane(friction=2.0), contact=appell.ContactOptions(points=corners, restitution=0.0),
        method=method,
    )  # fmt: skip
    about_edge = inertia[1] + mass * (b * b + h * h)
    falls_at = -np.sqrt(2.0 * mass * G * (height - h) / about_edge)
    return motion, falls_at, (about_edge - 2.0 * mass * b * b) / about_edge


@METHODS
def test_a_slender_block_rocks_with_housners_ratio(method, tolerance):
    """e = 0: the corners that it turned about lift off without impulse; angular momentum about the others is kept."""
    motion, falls_at, ratio = rocking_block(0.2, 0.5, method)
    first, second = motion.impacts[:2]
    assert ratio == pytest.approx(1.0 - 1.5 * 0.2**2 / (0.2**2 + 0.5**2), rel=1e-12)  # 1 - 3/2 sin²α of a uniform block
    assert first.qd_before[4] == pytest.approx(falls_at, rel=tolerance)
    for impact in (first, second):
        assert len(impact.points) == 2
        assert impact.qd_after[4] / impact.qd_before[4] == pytest.approx(ratio, rel=tolerance)
        assert_close(impact.impulses[0], impact.impulses[1], tolerance=1e-9)
    assert second.qd_before[4] == pytest.approx(
        -ratio * falls_at, rel=10 * tolerance
    )  # it comes back as fast as it left


@METHODS
def test_a_stocky_block_stops_at_once(method, tolerance):
    """Where Housner's ratio is negative (h < b/√2), all four corners push and the block stays at rest."""
    motion, falls_at, ratio = rocking_block(0.5, 0.2, method)
    assert ratio < 0.0
    impact = motion.impacts[0]
    assert impact.qd_before[4] == pytest.approx(falls_at, rel=tolerance)
    assert len(impact.points) == 4
    assert np.abs(motion.qd[-1]).max() < 1e-6
    push = impact.impulses.sum()  # stops the fall of the centre
    assert push == pytest.approx(-3.0 * 0.5 * falls_at, rel=10 * tolerance)


# --- Newton's cradle --------------------------------------------------------------------------------------------------


def row_of_balls(speeds, mass: float = 0.3) -> tuple[np.ndarray, ContactState]:
    """Equal balls in a row that touch: M, and the contacts between neighbours with gap rates v_{k+1} - v_k."""
    n, speeds = len(speeds), np.asarray(speeds, dtype=float)
    J = np.zeros((n - 1, 3, n))
    J[np.arange(n - 1), 0, np.arange(n - 1)], J[np.arange(n - 1), 0, np.arange(1, n)] = -1.0, 1.0
    normal, zeros = np.tile([1.0, 0.0, 0.0], (n - 1, 1)), np.zeros(n - 1)
    state = ContactState(np.arange(n - 1), zeros, normal, J @ speeds, J, np.zeros((n - 1, 3)), zeros)
    return mass * np.eye(n), state


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_newtons_cradle_as_one_impact_of_all_balls(e):
    """Newton's law for all contacts at once: p_k = (1 + e) m v (n - k)/n, and all but the first ball leave together."""
    n, v, mass = 5, 2.0, 0.3
    speeds = np.array([v, 0.0, 0.0, 0.0, 0.0])
    M, contacts = row_of_balls(speeds, mass)
    expected = (1.0 + e) * mass * v * (n - np.arange(1, n)) / n
    Gm = contacts.J_n @ np.linalg.solve(M, contacts.J_n.T)
    c = contacts.gap_rate - e * np.maximum(-contacts.gap_rate, 0.0)
    solution = solve_contacts(Gm, c, ContactBlocks.unilateral(n - 1), tolerance=1e-13)
    assert_close(solution.impulses, expected, tolerance=1e-12)
    result = solve_impact(M, speeds, contacts, np.full(n - 1, e), np.zeros(n - 1))
    assert_close(result.normal, expected, tolerance=1e-12)
    after = np.full(n, (1.0 + e) * v / n)
    after[0] = v - (1.0 + e) * v * (n - 1) / n
    assert_close(result.qd, after, tolerance=1e-12)
    assert result.qd.sum() == pytest.approx(v, rel=1e-12)
    change = 0.5 * mass * (result.qd @ result.qd - v * v)
    assert change == pytest.approx(-0.5 * (1.0 - e) * expected[0] * v, abs=1e-12)  # none for e = 1


def test_newtons_cradle_as_impacts_one_after_the_other():
    """With e = 1 and one contact at a time, the last ball leaves with the whole velocity."""
    speeds = np.array([2.0, 0.0, 0.0, 0.0, 0.0])
    for k in range(4):
        M, contacts = row_of_balls(speeds)
        result = solve_impact(M, speeds, contacts.select(np.array([k])), np.ones(1), np.zeros(1))
        speeds = result.qd
    assert_close(speeds, np.array([0.0, 0.0, 0.0, 0.0, 2.0]), tolerance=1e-14, scale=1.0)


# --- Painlevé's rod ---------------------------------------------------------------------------------------------------

ANGLE = 1.0
CRITICAL = (1.0 + 3.0 * np.cos(ANGLE) ** 2) / (3.0 * np.sin(ANGLE) * np.cos(ANGLE))
"""Coefficient of friction above which a sliding rod at this angle has no finite contact force, 1.375."""


def sliding_rod(mu: float, method):
    """A uniform rod of 1 m and 2 kg whose lower end is pushed along the floor at 1 m/s, towards its lean."""
    q = [0.0, 0.0, 0.5 * np.sin(ANGLE), 0.0, np.sin(-ANGLE / 2), 0.0, np.cos(-ANGLE / 2)]
    qd = [-np.cos(ANGLE), 0.0, np.sin(ANGLE), 0.0, 0.0, 0.0]
    return appell.simulate(
        rod(), q, qd, 0.02, surfaces=appell.surfaces.Plane(friction=mu),
        contact=appell.ContactOptions(points=["P0"], restitution=0.0), method=method,
    )  # fmt: skip


@pytest.mark.parametrize("part", [0.5, 0.99])
def test_below_painleves_limit_the_rod_slides_with_its_closed_form_force(part):
    """N = m g / (1 + 3 cos² - 3 μ sin cos): it grows without bounds towards the limit."""
    mu = part * CRITICAL
    motion = sliding_rod(mu, "DOP853")
    normal = 2.0 * G / (3.0 * np.sin(ANGLE) * np.cos(ANGLE) * (CRITICAL - mu))
    assert_close(motion.contact_forces["P0"][0], np.array([mu * normal, 0.0, normal]), tolerance=1e-8, scale=normal)
    assert not motion.impacts


@pytest.mark.parametrize("part", [1.01, 2.0])
def test_beyond_painleves_limit_an_impulse_stops_the_rod(part):
    """No force obeys Coulomb's law there. The impulse that stops the end, p = -G^-1 v, is within the cone exactly there."""
    motion = sliding_rod(part * CRITICAL, "DOP853")
    impact = motion.impacts[0]
    J = np.array([[1.0, -0.5 * np.sin(ANGLE)], [0.0, 0.5 * np.cos(ANGLE)]])  # of x, z: velocity of the end by v, turn
    Gm = np.eye(2) / 2.0 + np.outer(J[:, 1], J[:, 1]) * 12.0 / 2.0
    p = np.linalg.solve(Gm, [1.0, 0.0])
    assert p[0] / p[1] == pytest.approx(CRITICAL, rel=1e-12)
    assert (impact.time, motion.status) == (0.0, "finished")
    given = [impact.friction_impulses[0, 0], impact.impulses[0]]
    assert_close(np.array(given), p, tolerance=1e-7, scale=1.0)
    assert impact.energy_after < impact.energy_before


# --- rolling ----------------------------------------------------------------------------------------------------------


@METHODS
@pytest.mark.parametrize("beta", [0.4, 2.0 / 3.0], ids=["ball", "shell"])
def test_sliding_ends_in_rolling(beta, method, tolerance):
    """I = β m r²: a ball that slides keeps v/(1 + β), 5/7 of a solid one; slip lasts β v / ((1 + β) μ g)."""
    r, v, mu, mass = 0.1, 1.5, 0.25, 1.2
    inertia = beta * mass * r * r
    end = 0.5
    motion = appell.simulate(
        free_body(mass, (inertia,) * 3), [0, 0, r, 0, 0, 0, 1], [v, 0, 0, 0, 0, 0], end,
        surfaces=appell.surfaces.Plane(friction=mu),
        contact=appell.ContactOptions(points=[appell.Point("body", radius=r)], restitution=0.0), method=method,
    )  # fmt: skip
    rolls = beta * v / ((1.0 + beta) * mu * G)
    x = v * rolls - 0.5 * mu * G * rolls**2 + v / (1.0 + beta) * (end - rolls)
    assert motion.q[-1, 0] == pytest.approx(x, abs=tolerance)
    assert np.linalg.norm(motion.qd[-1, :3]) == pytest.approx(v / (1.0 + beta), abs=tolerance)
    assert motion.work.contact[-1] == pytest.approx(-0.5 * mass * v * v * beta / (1.0 + beta), abs=10 * tolerance)


# --- friction that depends on how redundant contacts share the load ----------------------------------------------------


def test_a_plate_is_held_although_its_centre_could_carry_all_of_its_weight():
    """A small moment about the vertical: with equal loads friction holds, with all of the load in the centre it would not."""
    ring = [appell.Point("body", (np.cos(a), np.sin(a), -0.1)) for a in np.arange(6) * np.pi / 3]
    motion = appell.simulate(
        free_body(3.0, (0.3, 0.3, 0.5)), [0, 0, 0.1, 0, 0, 0, 1], np.zeros(6), 0.2, tau=[0, 0, 0, 0, 0, 0.4],
        surfaces=appell.surfaces.Plane(friction=0.6),
        contact=appell.ContactOptions(points=[appell.Point("body", (0, 0, -0.1)), *ring], restitution=0.0),
    )  # fmt: skip
    assert motion.status == "finished"
    assert np.abs(motion.qd).max() < 1e-12
    loads = np.array([force[-1, 2] for force in motion.contact_forces.values()])
    assert_close(loads, np.full(7, 3.0 * G / 7.0), tolerance=1e-9)
