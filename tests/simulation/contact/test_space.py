"""Rods and trees in hollow spheres: impacts in three dimensions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.contact_robots import momentum_error, rod, smallest_gap, stacked_rod

import appell
from appell.loading.load import with_floating_base
from appell.robot.default_points import default_contact_points

SHELL = appell.surfaces.Sphere(1.0)


def angular_momentum(robot, q, qd) -> np.ndarray:
    """About the world's origin, of the free rod: R I ω + p x m v."""
    R, p = robot.pose(q, "rod")[:3, :3], robot.pose(q, "rod")[:3, 3]
    twist = robot.jacobian(q, "rod") @ qd
    inertia = R @ np.diag([1e-3, 2 / 12, 2 / 12]) @ R.T
    return inertia @ twist[3:] + np.cross(p, 2.0 * twist[:3])


def test_a_rod_in_a_sphere_keeps_energy_and_angular_momentum():
    """Walls of a smooth sphere push through its centre, so the moment about it is kept as well."""
    robot = rod(2).with_gravity((0, 0, 0))
    q0, qd0 = np.array([0.1, 0.0, 0.2, 0.0, 0.0, 0.0, 1.0]), np.array([1.0, 2.0, 0.5, 3.0, -4.0, 5.0])
    motion = appell.simulate(robot, q0, qd0, 3.0, surfaces=[SHELL], method=appell.Integration(rtol=1e-11), t_eval=0.05)
    assert len(motion.impacts) >= 5
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-7
    expected = angular_momentum(robot, q0, qd0)
    for q, qd in zip(motion.q, motion.qd, strict=True):
        assert_close(angular_momentum(robot, q, qd), expected, tolerance=1e-8)
    assert_close(np.linalg.norm(motion.q[:, 3:], axis=1), np.ones(len(motion)), tolerance=1e-14)
    assert smallest_gap(robot, motion, [SHELL]) > -1e-9
    assert max(momentum_error(robot, impact, [SHELL]) for impact in motion.impacts) < 1e-12


def test_a_floating_joint_and_six_single_joints_give_the_same_impacts():
    """The rod's linear velocity is along its own axes in one, along the world's in the other; q = 0 in both."""
    free, stack = rod(2).with_gravity((0, 0, 0)), stacked_rod()
    qd0 = 3.0 * np.array([0.4, 1.0, 0.5, 0.3, -2.0, 1.0])
    first = appell.simulate(
        free,
        [0, 0, 0, 0, 0, 0, 1.0],
        qd0,
        2.0,
        surfaces=[SHELL],
        contact=appell.ContactOptions(restitution=0.7),
        method=appell.Integration(rtol=1e-11),
    )
    second = appell.simulate(
        stack,
        np.zeros(6),
        qd0,
        2.0,
        surfaces=[SHELL],
        contact=appell.ContactOptions(restitution=0.7),
        method=appell.Integration(rtol=1e-11),
    )
    assert len(first.impacts) == len(second.impacts) >= 3
    for a, b in zip(first.impacts, second.impacts, strict=True):
        assert a.points == b.points
        assert a.time == pytest.approx(b.time, abs=1e-8)
        assert_close(a.impulses, b.impulses, tolerance=1e-6)
    for name in ("P0", "P1"):
        assert_close(free.pose(first.q[-1], name), stack.pose(second.q[-1], name), tolerance=1e-6)


def flying_tree() -> appell.Robot:
    """A spatial tree of six joints without losses, free to fly."""
    fixed = appell.robots.random_tree(6, seed=4, kinds=("revolute",))
    fixed = replace(fixed, joints=tuple(replace(joint, damping=0.0, friction=0.0) for joint in fixed.joints))
    return with_floating_base(replace(fixed, bodies=(replace(fixed.bodies[1], name="base"), *fixed.bodies[1:])))


@pytest.mark.parametrize(("e", "friction"), [(1.0, 0.0), (0.5, 0.0), (0.5, 0.4)])
def test_a_tree_in_a_sphere(e, friction):
    robot, shell = flying_tree(), appell.surfaces.Sphere(2.0, friction=friction)
    points = default_contact_points(robot)
    assert len(points) >= 6
    q0 = robot.neutral_configuration()
    qd0 = np.concatenate([[2.0, 1.0, 0.5, 1.0, -1.0, 2.0], np.linspace(-2, 2, 6)])
    motion = appell.simulate(
        robot,
        q0,
        qd0,
        1.0,
        surfaces=[shell],
        contact=appell.ContactOptions(restitution=e),
        method=appell.Integration(rtol=1e-9),
    )
    assert motion.status == "finished"
    assert len(motion.impacts) >= 3
    assert smallest_gap(robot, motion, [shell]) > -1e-9
    assert max(momentum_error(robot, impact, [shell]) for impact in motion.impacts) < 1e-11
    for impact in motion.impacts:
        assert impact.impulses.min() > 0.0
        assert (np.linalg.norm(impact.friction_impulses, axis=1) <= friction * impact.impulses * (1 + 1e-9)).all()
        assert impact.energy_after <= impact.energy_before + 1e-10
    if e == 1.0:
        assert np.abs(motion.energy - motion.energy[0]).max() < 1e-6
