"""Event-driven contact against closed forms: stops, tables, slopes, discs, cradles, jammed rods, momentum."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import quietly_built, rod

import appell

G = 9.81


def body(mass: float = 2.0, inertia=(0.1, 0.2, 0.25), gravity=(0.0, 0.0, -G)):
    """A free body."""
    builder = appell.RobotBuilder("body", gravity=gravity).body("world").body("body", mass=mass, inertia=inertia)
    return builder.joint("floating", "free", parent="world", child="body").build()


def corners(x: float, y: float, z: float) -> list[appell.Point]:
    return [appell.Point("body", (a * x, b * y, -z)) for a in (-1, 1) for b in (-1, 1)]


@pytest.mark.parametrize("method", ["DOP853", "rk4"])
def test_a_joint_falls_on_its_stop_and_is_lifted_again(method):
    builder = appell.RobotBuilder("slider").body("mass", 2.0, inertia=(0.1, 0.1, 0.1))
    robot = builder.prismatic("z", "base", "mass", axis="z", limits=(-0.2, 0.5)).build()
    lift = lambda t, q, qd: [40.0 * t]  # noqa: E731
    motion = appell.simulate(robot, [0.0], [0.0], 0.7, tau=lift, limits="stop", method=method)
    assert motion.q.min() == pytest.approx(-0.2, abs=1e-10)
    assert (motion.impacts, motion.contacts, motion.problems) == ((), (), ())
    off = 2.0 * G / 40.0  # the force equals the weight
    t = motion.t[-1]
    acceleration = lambda s: 20.0 * s - G  # noqa: E731
    expected = (
        -0.2 + 20.0 * (t**3 - off**3) / 6.0 - G * (t**2 - off**2) / 2.0 - acceleration(off / 2.0) * off * (t - off)
    )
    assert motion.q[-1, 0] == pytest.approx(expected, abs=1e-8)


def test_a_table_stands_on_four_legs_with_equal_forces():
    points = corners(0.4, 0.3, 0.5)
    floor = appell.surfaces.Plane(friction=0.6)
    motion = appell.simulate(
        body(), [0, 0, 0.5, 0, 0, 0, 1], np.zeros(6), 0.2, surfaces=floor,
        contact=appell.ContactOptions(points=points, restitution=0.0),
    )  # fmt: skip
    assert len(motion.contact_forces) == 4
    for force in motion.contact_forces.values():
        assert_close(force[-1], np.array([0.0, 0.0, 2.0 * G / 4.0]), tolerance=1e-8, scale=G)
    assert np.abs(motion.qd).max() < 1e-12


@pytest.mark.parametrize(("mu", "slides"), [(0.3, True), (0.8, False)])
def test_a_block_on_a_slope(mu, slides):
    """At 0.5 rad: a = g (sin - μ cos), or none."""
    angle = 0.5
    normal = (np.sin(angle), 0.0, np.cos(angle))
    half = np.array([np.sin(angle / 2), np.cos(angle / 2)])
    q = np.array([0.1 * normal[0], 0.0, 0.1 * normal[2], 0.0, half[0], 0.0, half[1]])
    slope = appell.surfaces.Plane(normal, friction=mu)
    motion = appell.simulate(
        body(), q, np.zeros(6), 0.5, surfaces=slope,
        contact=appell.ContactOptions(points=corners(0.2, 0.2, 0.1), restitution=0.0),
    )  # fmt: skip
    a = G * (np.sin(angle) - mu * np.cos(angle)) if slides else 0.0
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    assert_close(motion.q[-1, :3] - q[:3], 0.5 * a * 0.25 * down, tolerance=1e-9, scale=1.0)
    total = sum(force[-1] for force in motion.contact_forces.values())
    assert_close(np.array([total @ normal]), np.array([2.0 * G * np.cos(angle)]), tolerance=1e-9)
    assert np.abs(motion.balance).max() < 1e-9


def test_a_spinning_disc_starts_to_roll():
    """Slip ends at t = r ω / (3 μ g) for I = m r²/2, with a third of the rim speed."""
    r, omega, mu, mass = 0.1, 30.0, 0.2, 1.5
    inertia = 0.5 * mass * r * r
    disc = body(mass, (inertia, inertia, inertia))
    motion = appell.simulate(
        disc, [0, 0, r, 0, 0, 0, 1], [0, 0, 0, 0, omega, 0], 0.8, surfaces=appell.surfaces.Plane(friction=mu),
        contact=appell.ContactOptions(points=[appell.Point("body", radius=r)], restitution=0.0),
    )  # fmt: skip
    rolls = r * omega / (3.0 * mu * G)
    x = 0.5 * mu * G * rolls**2 + r * omega / 3.0 * (0.8 - rolls)
    assert motion.q[-1, 0] == pytest.approx(x, abs=1e-9)
    assert np.linalg.norm(motion.qd[-1, :3]) == pytest.approx(r * omega / 3.0, abs=1e-9)


def test_newtons_law_of_a_rod_that_falls_flat_and_momentum():
    """Ends and middle at once (Newton's law for every point): v⁺ = -e v⁻, no turn; momentum across the impact to rounding."""
    motion = appell.simulate(
        rod(), [0, 0, 0.3, 0, 0, 0, 1], [0.4, 0, 0, 0, 0, 0], 0.4, surfaces=appell.surfaces.Plane(friction=0.3),
        contact=appell.ContactOptions(restitution=0.6),
    )  # fmt: skip
    impact = motion.impacts[0]
    assert len(impact.points) == 3
    v = np.sqrt(2 * G * 0.3)
    change = 2.0 * (impact.qd_after - impact.qd_before)[:3]
    given = impact.friction_impulses.sum(axis=0) + np.array([0.0, 0.0, impact.impulses.sum()])
    assert_close(change, given, tolerance=1e-12, scale=2.0 * v)
    assert impact.qd_after[2] == pytest.approx(0.6 * v, abs=1e-12)
    assert np.abs(impact.qd_after[3:]).max() < 1e-12


def test_a_rod_that_jams_is_stopped_by_an_impulse():
    """Painlevé: a slanted rod pushed along a rough floor. The run ends, and no energy is gained."""
    angle, along = 1.0, -1.0
    q = [0.0, 0.0, 0.5 * np.sin(angle), 0.0, np.sin(-angle / 2), 0.0, np.cos(-angle / 2)]
    qd = [along * np.cos(angle), 0.0, -along * np.sin(angle), 0.0, 0.0, 0.0]
    motion = appell.simulate(
        rod(), q, qd, 0.1, surfaces=appell.surfaces.Plane(friction=2.0), contact=appell.ContactOptions(restitution=0.0)
    )
    assert motion.status == "finished"
    assert np.diff(motion.energy).max() < 1e-8


def test_three_masses_in_a_row_hit_a_wall_one_after_the_other():
    """A chain of prismatic joints without gravity: stops transfer all momentum of a plastic impact."""
    builder = appell.RobotBuilder("row", gravity=(0, 0, 0)).body("base")
    for i in range(2):
        builder.body(f"m{i}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        builder.prismatic(
            f"j{i}", parent="base" if i == 0 else f"m{i - 1}", child=f"m{i}", axis="x", limits=(-0.1, 0.1)
        )
    robot = quietly_built(builder)
    motion = appell.simulate(robot, [0.0, 0.0], [0.0, 1.0], 0.15, limits="stop")
    assert_close(motion.qd[-1], np.array([0.5, 0.0]), tolerance=1e-12, scale=1.0)  # together after m1 reaches its stop
    assert motion.work.passive[-1] == pytest.approx(-0.25, abs=1e-12)
