"""Points that bounce, come to rest, slide, stick and leave: closed forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import ball, particle, quaternion_about_y, quietly_built, rod, smallest_gap
from helpers.shared_data import SHARED

import appell
from appell.simulation import loop as loops
from appell.simulation.contact.phase import LEFT_GAPS, PROJECTION_TOL

G = 9.81
FLOOR = appell.surfaces.Plane((0, 0, 1))


def bounce_times(height: float, e: float, count: int) -> np.ndarray:
    """t_k of a ball dropped from rest: t_0 = √(2h/g), then flights of 2 e^k v/g."""
    first = np.sqrt(2 * height / G)
    return first * (1 + 2 * np.cumsum([0.0, *(e**k for k in range(1, count))]))


@pytest.mark.parametrize("e", [0.5, 0.8, 1.0])
def test_bouncing_ball_has_its_closed_form_times(e):
    motion = appell.simulate(ball(), [1.0], [0.0], 1.3, surfaces=[FLOOR], contact=appell.ContactOptions(restitution=e))
    times = np.array([impact.time for impact in motion.impacts])
    assert_close(times, bounce_times(1.0, e, len(times)), tolerance=1e-12, scale=1.0)
    assert_close(
        np.array([impact.impulses[0] for impact in motion.impacts]),
        2.0 * (1 + e) * np.sqrt(2 * G) * e ** np.arange(len(times)), tolerance=1e-10,
    )  # fmt: skip
    assert all(impact.energy_after <= impact.energy_before + 1e-12 for impact in motion.impacts)


@pytest.mark.parametrize("e", [0.0, 0.3, 0.5, 0.9])
def test_ball_comes_to_rest_at_the_end_of_its_bounces(e):
    """The bounces end at t = √(2h/g) (1 + e)/(1 - e): the last ones are too small to be told from rest."""
    end = np.sqrt(2 / G) * (1 + e) / (1 - e)
    motion = appell.simulate(
        ball(), [1.0], [0.0], end + 0.5, surfaces=[FLOOR], contact=appell.ContactOptions(restitution=e)
    )
    assert motion.status == "finished"
    (contact,) = motion.contacts
    assert contact.point == "ball"
    assert end - 5e-4 / (1 - e) < contact.start <= end + 1e-9
    assert contact.end == end + 0.5
    assert_close(motion.q[-1], np.zeros(1), scale=1.0, tolerance=1e-12)
    assert motion.qd[-1].item() == motion.qdd[-1].item() == 0.0
    assert motion.q.min() > -1e-12
    assert (np.diff(motion.energy) < 1e-9).all()


def test_each_wall_has_its_own_restitution():
    ceiling = appell.surfaces.Plane((0, 0, -1), point=(0, 0, 1), restitution=1.0)
    motion = appell.simulate(
        ball(),
        [0.5],
        [5.0],
        0.5,
        surfaces=[ceiling, appell.surfaces.Plane(restitution=0.5)],
        contact=appell.ContactOptions(restitution=0.25),
    )
    first, second = motion.impacts[:2]
    assert (first.surfaces, second.surfaces) == ((0,), (1,))
    assert first.qd_after == pytest.approx(-first.qd_before)
    assert second.qd_after == pytest.approx(-0.5 * second.qd_before)


def test_ball_at_rest_on_the_floor_stays():
    motion = appell.simulate(ball(), [0.0], [0.0], 1.0, surfaces=[FLOOR], t_eval=0.1)
    assert not motion.impacts
    assert not motion.q.any()
    assert motion.contacts[0].start == 0.0


def test_an_impact_at_the_start():
    motion = appell.simulate(
        ball(), [0.0], [-2.0], 0.1, surfaces=[FLOOR], contact=appell.ContactOptions(restitution=0.5)
    )
    assert motion.impacts[0].time == 0.0
    assert motion.t[:2].tolist() == [0.0, 0.0]
    assert motion.qd[:2, 0] == pytest.approx([-2.0, 1.0], abs=1e-15)
    assert motion.work.contact[:2] == pytest.approx([0.0, motion.energy[1] - motion.energy[0]], abs=1e-15)


def test_a_start_behind_the_wall_is_an_error_that_says_where():
    with pytest.raises(
        appell.SimulationError, match=r"point 'ball' is 0.1 m behind the surface Plane.* at the start"
    ) as caught:
        appell.simulate(ball(), [-0.1], [0.0], 1.0, surfaces=[FLOOR])
    assert caught.value.time == 0.0
    assert_close(caught.value.state, np.array([-0.1, 0.0]))
    assert caught.value.quantity == "gap of ball"
    assert appell.simulate(ball(), [-5.5e-10], [0.0], 0.1, surfaces=[FLOOR]).q[-1].item() == LEFT_GAPS[0]


def test_lifted_by_its_drive_the_ball_leaves():
    """The floor's force is what the drive leaves of the weight; the ball leaves when the drive carries all of it."""
    motion = appell.simulate(ball(), [0.0], [0.0], 1.0, tau=lambda t, q, qd: [2.0 * G * 2 * t], surfaces=[FLOOR])
    (contact,) = motion.contacts
    assert contact.end == pytest.approx(0.5, abs=1e-9)
    assert motion.q[-1].item() == pytest.approx(2 * G * 0.5**3 / 6, rel=1e-6)


@pytest.mark.parametrize("rtol", [1e-7, 1e-10])
def test_a_particle_slides_off_a_round_hill_at_two_thirds_of_its_height(rtol):
    """It leaves where g cos φ = v²/R, with v from the energy: cos φ = (2/3)(z_0 + v_0²/2g)/R."""
    hill = appell.surfaces.Circle(1.0, axis=(0, 1, 0), side="outside")
    tilt = 0.05
    q0, direction = np.array([np.sin(tilt), np.cos(tilt)]), np.array([np.cos(tilt), -np.sin(tilt)])
    motion = appell.simulate(
        particle(), q0, 0.1 * direction, 1.2, surfaces=[hill], method=appell.Integration(rtol=rtol)
    )
    (contact,) = motion.contacts
    left = motion.q[np.searchsorted(motion.t, contact.end)]
    assert left[1] == pytest.approx(2 / 3 * (q0[1] + 0.1**2 / (2 * G)), abs=30 * rtol)
    assert not motion.impacts
    assert smallest_gap(particle(), motion, [hill]) > LEFT_GAPS[0] - PROJECTION_TOL


def test_a_particle_runs_through_a_loop_or_falls_from_it():
    """In a loop of radius R a particle stays at the top for v² >= 5 g R at the bottom."""
    loop = appell.surfaces.Circle(1.0, axis=(0, 1, 0))
    fast = appell.simulate(
        particle(),
        [0.0, -1.0],
        [np.sqrt(5.01 * G), 0.0],
        2.0,
        surfaces=[loop],
        contact=appell.ContactOptions(restitution=0.0),
    )
    assert [contact.end for contact in fast.contacts] == [2.0]
    assert not fast.impacts
    assert np.abs(fast.energy - fast.energy[0]).max() < 1e-6
    slow = appell.simulate(
        particle(),
        [0.0, -1.0],
        [np.sqrt(4.0 * G), 0.0],
        2.0,
        surfaces=[loop],
        contact=appell.ContactOptions(restitution=0.0),
    )
    left = slow.q[np.searchsorted(slow.t, slow.contacts[0].end)]
    assert left[1] == pytest.approx((4.0 - 2.0) / 3.0, abs=1e-7)  # cos of the angle from the top, (v²/gR - 2)/3
    assert slow.impacts


def test_a_particle_slides_in_an_ellipse_and_along_any_function():
    """The same wall given twice: force and curvature of the implicit one come from differences."""
    a, b = 2.0, 1.0
    implicit = appell.surfaces.ImplicitSurface(
        lambda p: p[0] ** 2 / a**2 + p[2] ** 2 / b**2 - 1.0, lambda p: np.array([2 * p[0] / a**2, 0.0, 2 * p[2] / b**2])
    )
    ellipse = appell.surfaces.Ellipse((a, b), axis=(0, 1, 0))
    ends = []
    for wall in (ellipse, implicit):
        motion = appell.simulate(
            particle(),
            [0.0, -1.0],
            [3.0, 0.0],
            1.0,
            surfaces=[wall],
            contact=appell.ContactOptions(restitution=0.0),
            method=appell.Integration(rtol=1e-10),
        )
        assert not motion.impacts
        assert np.abs(motion.energy - motion.energy[0]).max() < 1e-7
        assert smallest_gap(particle(), motion, [ellipse]) > -1e-9
        ends.append(motion.q[-1])
    assert_close(ends[1], ends[0], tolerance=1e-7)


# --- friction ------------------------------------------------------------------------------------------------------------


def test_a_sliding_particle_stops_where_coulomb_says():
    mu, v = 0.3, 2.0
    motion = appell.simulate(
        particle(), [0.0, 0.0], [v, 0.0], 1.0, surfaces=[appell.surfaces.Plane(friction=mu)], t_eval=0.01
    )
    assert motion.q[-1, 0] == pytest.approx(v**2 / (2 * mu * G), abs=1e-9)
    stopped = motion.t > v / (mu * G) + 1e-6
    assert np.abs(motion.qd[stopped]).max() < 1e-15
    assert (np.diff(motion.energy) <= 1e-12).all()


@pytest.mark.parametrize(("angle", "mu"), [(0.2, 0.3), (0.4, 0.3), (0.29, 0.3)])
def test_on_a_slope_a_particle_sticks_up_to_the_angle_of_friction(angle, mu):
    slope = appell.surfaces.Plane((np.sin(angle), 0, np.cos(angle)), friction=mu)
    motion = appell.simulate(particle(), [0.0, 0.0], [0.0, 0.0], 1.0, surfaces=[slope])
    travelled = 0.5 * max(G * (np.sin(angle) - mu * np.cos(angle)), 0.0)
    assert np.linalg.norm(motion.q[-1]) == pytest.approx(travelled, abs=1e-9)


def test_up_a_slope_and_down_again():
    angle, mu, v, duration = 0.4, 0.3, 2.0, 1.5
    up = np.array([-np.cos(angle), np.sin(angle)])
    slope = appell.surfaces.Plane((np.sin(angle), 0, np.cos(angle)), friction=mu)
    motion = appell.simulate(
        particle(), [0.0, 0.0], v * up, duration, surfaces=[slope], method=appell.Integration(rtol=1e-11)
    )
    rise, fall = (G * (np.sin(angle) + sign * mu * np.cos(angle)) for sign in (1, -1))
    top = v / rise
    assert motion.q[-1] @ up == pytest.approx(v * top / 2 - fall * (duration - top) ** 2 / 2, abs=1e-9)


def test_a_tumbling_rod_with_friction_comes_to_rest():
    robot, wall = rod(3), appell.surfaces.Plane(friction=0.5)
    q0 = np.array([0.0, 0.0, 0.6, *quaternion_about_y(0.3)])
    points = ("P0", "P1", "P2")
    motion = appell.simulate(
        robot,
        q0,
        [1.0, 0, 0, 0, 0, 0.5],
        2.0,
        surfaces=[wall],
        contact=appell.ContactOptions(restitution=0.3, points=points),
    )
    assert {contact.point for contact in motion.contacts if contact.end == 2.0} == set(points)
    assert np.abs(motion.qd[-1]).max() < 1e-9
    assert smallest_gap(robot, motion, [wall], points) > -1e-9
    assert all(impact.energy_after <= impact.energy_before for impact in motion.impacts)


# --- several points --------------------------------------------------------------------------------------------------------


def test_points_in_a_row_share_the_impulse():
    """Five points of a rod that falls flat: more contacts than freedom, and each gets a fifth."""
    robot = rod(5)
    q0 = np.array([0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0])
    motion = appell.simulate(
        robot,
        q0,
        np.zeros(6),
        1.0,
        surfaces=[FLOOR],
        contact=appell.ContactOptions(restitution=0.5, points=[f"P{i}" for i in range(5)]),
    )
    first = motion.impacts[0]
    assert first.points == ("P0", "P1", "P2", "P3", "P4")
    assert_close(first.impulses, np.full(5, 2.0 * 1.5 * np.sqrt(2 * G * 0.3) / 5), tolerance=1e-10)
    assert len(motion.contacts) == 5
    assert np.abs(motion.q[-1, :3]).max() < 1e-9


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_a_slanted_rod_rocks_to_rest(e):
    robot = rod(2)
    q0 = np.array([0.0, 0.0, 0.6, *quaternion_about_y(0.2)])
    motion = appell.simulate(
        robot, q0, np.zeros(6), 3.0, surfaces=[FLOOR], contact=appell.ContactOptions(restitution=e, points=["P0", "P1"])
    )
    assert motion.status == "finished"
    assert {contact.point for contact in motion.contacts if contact.end == 3.0} == {"P0", "P1"}
    assert motion.energy[-1] == pytest.approx(0.0, abs=1e-9)
    assert smallest_gap(robot, motion, [FLOOR], ["P0", "P1"]) > -1e-9
    assert all(impact.energy_after <= impact.energy_before for impact in motion.impacts)


def test_too_many_impacts_is_a_status():
    with pytest.warns(appell.SimulationWarning, match="it stopped at t = 6.77.* s of 100 s: too many impacts. Lower"):
        motion = appell.simulate(
            ball(), [1.0], [0.0], 100.0, surfaces=[FLOOR], contact=appell.ContactOptions(restitution=1.0, max_impacts=7)
        )
    assert len(motion.problems) == 1
    assert motion.status == "too many impacts"
    assert len(motion.impacts) == 8
    assert motion.t[-1] == motion.impacts[-1].time


@pytest.mark.parametrize(("speed", "accumulate"), [(5.5, True), (4.5, False)])
def test_elastic_impacts_that_accumulate_end_a_run(speed, accumulate, monkeypatch):
    """Between floor and ceiling 1e-4 m apart; 50 impacts within 1 ms at 5 m/s."""
    monkeypatch.setattr(loops, "ELASTIC_IMPACTS", (50, 1e-3))
    walls = [FLOOR, appell.surfaces.Plane((0, 0, -1), point=(0, 0, 1e-4))]
    contact = appell.ContactOptions(restitution=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        motion = appell.simulate(ball(), [0.0], [speed], 1.2e-3, surfaces=walls, contact=contact)
    assert (motion.status == "too many impacts") is accumulate
    assert any('choose method="auto"' in str(warning.message) for warning in caught) is accumulate
    assert motion.t[-1] == pytest.approx(50 * 1e-4 / speed if accumulate else 1.2e-3, rel=1e-2)


def test_between_two_walls_without_room_impacts_lose_their_rebound():
    """The ball is between floor and ceiling that touch: at e = 1 impacts would follow each other without end."""
    ceiling = appell.surfaces.Plane((0, 0, -1))
    motion = appell.simulate(
        ball(), [0.0], [1.0], 0.1, surfaces=[FLOOR, ceiling], contact=appell.ContactOptions(restitution=1.0)
    )
    assert 100 < len(motion.impacts) < 110
    assert {impact.time for impact in motion.impacts} == {0.0}
    assert motion.qd[0].item() == 1.0
    assert np.abs(motion.qd[1:]).max() < 1e-12


@pytest.mark.parametrize("angle", [0.7, 1.0])
@pytest.mark.parametrize("velocity", [(-1.0, 0.0), (0.0, 1.0)])
def test_strong_friction_without_forces_never_drives_a_rod(angle, velocity):
    """Painlevé's paradox: μ = 2 > 4/3; velocity along the floor [m/s] and angular velocity about x [rad/s]."""
    q = np.array([0.0, 0.0, 0.5 * np.sin(angle), *quaternion_about_y(-angle)])
    along, spin = velocity
    qd = np.array(
        [along * np.cos(angle), 0.0, -along * np.sin(angle), spin * np.cos(angle), 0.0, -spin * np.sin(angle)]
    )
    motion = appell.simulate(
        rod(),
        q,
        qd,
        0.15,
        surfaces=[appell.surfaces.Plane((0, 0, 1), friction=2.0)],
        contact=appell.ContactOptions(restitution=0.0),
    )
    assert (motion.status, len(motion.contacts)) == ("finished", 1)
    assert np.diff(motion.work.contact).max() < 1e-10
    assert np.diff(motion.energy).max() < 1e-8


@pytest.mark.slow
def test_a_quadruped_dropped_on_a_floor_only_loses_energy():
    path = SHARED / "robots" / "go2.urdf"
    if not path.exists():
        pytest.skip("needs the shared robots")
    robot = appell.load(path, base="floating")
    q = np.array([0, 0, 0.6, 0, 0, 0, 1, *np.tile([0, 0.8, -1.5], 4)])
    floor = appell.surfaces.Plane((0, 0, 1), friction=0.5)
    motion = appell.simulate(
        robot,
        q,
        np.zeros(robot.nv),
        0.526,
        surfaces=[floor],
        contact=appell.ContactOptions(restitution=0.3),
        method=appell.Integration(rtol=1e-8),
    )
    assert motion.status == "finished"
    assert max(np.diff(motion.energy).max(), np.diff(motion.work.contact).max()) < 1e-7
    assert abs(motion.balance).max() < 1e-6


@pytest.mark.parametrize(("speed", "together"), [(1.0, True), (1e-4, False)])
def test_a_point_that_is_near_but_slow_takes_no_part_in_the_impact_of_another(speed, together):
    builder = appell.RobotBuilder("two balls").body("base")
    for name in ("a", "b"):
        builder.body(name, mass=1.0, inertia=(0.01, 0.01, 0.01)).prismatic(
            f"z{name}", parent="base", child=name, axis="z"
        )
    robot = quietly_built(builder)
    motion = appell.simulate(
        robot, [0.0, 5e-8], [-1.0, -speed], 1e-8, surfaces=[FLOOR], contact=appell.ContactOptions(points=["a", "b"])
    )
    assert motion.impacts[0].points == (("a", "b") if together else ("a",))
