"""Rollouts of robots with joints of every kind: against `appell.simulate`, against the plain loop, and by their order."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import mixed_tree
from helpers.states import random_states

import appell
from appell.rollouts import native
from appell.rollouts.integrators import INTEGRATORS

TREES = {"five": (5, 268), "six": (6, 16), "small": (4, 29)}
"""Numbers of joints and seeds: each tree has floating, planar and spherical joints, together they have all kinds but one."""

QUATERNION_KINDS = {"floating": 3, "spherical": 0}


@cache
def smooth(name: str) -> appell.Robot:
    """A tree of several joint kinds with damping, which keeps motions tame, and without dry friction."""
    robot = mixed_tree(*TREES[name])
    return replace(robot, joints=tuple(replace(joint, damping=0.4, friction=0.0) for joint in robot.joints))


def one_joint(kind: str) -> appell.Robot:
    builder = appell.RobotBuilder(kind).body("base")
    builder = builder.body("body", mass=1.5, com=(0.1, -0.2, 0.15), inertia=(0.4, 0.01, 0.02, 0.3, -0.03, 0.5))
    return builder.joint(kind, "joint", "base", "body").build()


@pytest.fixture
def plainly(monkeypatch):
    """Rollouts without a compiled loop."""
    monkeypatch.setattr(native, "_library", lambda dyn, plan: None)


@pytest.mark.parametrize("name", list(TREES))
def test_rollouts_follow_simulate(name):
    robot = smooth(name)
    q0, qd0, tau = (array[0] for array in random_states(robot, 1, 6))
    path = appell.rollout(appell.compile(robot), q0, 0.3 * qd0, tau, steps=400, dt=5e-4, save_every=100)
    motion = appell.simulate(
        robot,
        q0,
        0.3 * qd0,
        0.2,
        tau=tau,
        method=appell.Integration(rtol=1e-11),
        t_eval=np.concatenate([[0.0], path.t]),
    )
    assert_close(path.q, motion.q[1:], tolerance=1e-10)
    assert_close(path.qd, motion.qd[1:], tolerance=1e-10)


@pytest.mark.parametrize("name", list(INTEGRATORS))
@pytest.mark.parametrize("kind", ["floating", "planar", "spherical"])
def test_error_falls_with_the_declared_order_for_joints_that_turn_freely(kind, name):
    robot = one_joint(kind)
    dyn = appell.compile(robot)
    q0, qd0, tau = (array[0] for array in random_states(robot, 1, 4))

    def end(steps: int, integrator: str = name) -> np.ndarray:
        path = appell.rollout(
            dyn,
            q0,
            qd0,
            tau,
            steps=steps,
            dt=0.5 / steps,
            save_every=steps,
            options=appell.RolloutOptions(integrator=integrator),
        )
        return np.concatenate([path.q[0], path.qd[0]])

    fine = end(4000, "rk4")
    errors = [np.abs(end(steps) - fine).max() for steps in (50, 100, 200)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(orders - INTEGRATORS[name].order).max() < 0.25


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("name", list(INTEGRATORS))
def test_compiled_loops_do_what_the_plain_one_does(name, layout, request):
    robot = smooth("small")
    dyn = appell.compile(robot, layout=layout)
    q0, qd0, _ = random_states(robot, 11, 5)  # fills no whole number of lanes
    torques = np.random.default_rng(1).normal(size=(11, 3, robot.nv))
    given = [np.ascontiguousarray(x.T) for x in (q0, qd0, torques)] if layout == "columns" else [q0, qd0, torques]
    options = {"steps": 14, "dt": 2e-3, "control_every": 5, "save_every": 2, "options": appell.RolloutOptions(name)}
    fast = appell.rollout(dyn, *given, **options)
    request.getfixturevalue("plainly")
    slow = appell.rollout(dyn, *given, **options)
    assert_close(fast.q, slow.q, tolerance=1e-12)
    assert_close(fast.qd, slow.qd, tolerance=1e-12)


def test_quaternions_keep_their_length():
    robot = smooth("small")
    q0, qd0, _ = random_states(robot, 6, 2)
    path = appell.rollout(appell.compile(robot), q0, 3 * qd0, steps=100, dt=1e-2, save_every=10)
    for joint in robot.moving_joints:
        if joint.kind in QUATERNION_KINDS:
            begin = robot.first_coordinates[joint.name][0] + QUATERNION_KINDS[joint.kind]
            length = np.linalg.norm(path.q[..., begin : begin + 4], axis=-1)
            assert_close(length, np.ones_like(length))


def test_a_free_body_keeps_its_energy_and_its_mass_centre_falls():
    robot = one_joint("floating")
    q0, qd0, _ = random_states(robot, 5, 1)
    path = appell.rollout(appell.compile(robot), q0, qd0, steps=1000, dt=1e-3, save_every=250)
    energy = robot.kinetic_energy(path.q, path.qd) + robot.potential_energy(path.q)
    start = robot.kinetic_energy(q0, qd0) + robot.potential_energy(q0)
    assert_close(energy, np.broadcast_to(start[:, None], energy.shape), tolerance=1e-9)
    velocity = np.einsum("nij,nj->ni", robot.center_of_mass_jacobian(q0), qd0)
    fallen = robot.center_of_mass(q0)[:, None] + velocity[:, None] * path.t[:, None]
    fallen = fallen + 0.5 * np.array(robot.gravity_vector) * path.t[:, None] ** 2
    assert_close(robot.center_of_mass(path.q), fallen, tolerance=1e-9)


def test_single_precision_follows_double():
    robot = smooth("small")
    q0, qd0, _ = random_states(robot, 9, 2)
    double, single = (
        appell.rollout(appell.compile(robot, dtype=dtype), q0, 0.3 * qd0, steps=20, dt=1e-3, save_every=10)
        for dtype in ("float64", "float32")
    )
    assert single.q.dtype == np.float32
    assert_close(single.q, double.q.astype(np.float32), tolerance=1e-5)


def test_threads_do_not_change_a_bit():
    robot = smooth("small")
    q0, qd0, _ = random_states(robot, 500, 2)
    one, two = (
        appell.rollout(appell.compile(robot, threads=threads), q0, qd0, steps=30, dt=1e-3, save_every=30)
        for threads in (1, 2)
    )
    assert np.array_equal(one.q, two.q)
    assert np.array_equal(one.qd, two.qd)


@pytest.mark.parametrize("law", ["pd", "pd_gravity", "computed_torque", "integral_tracking", "point_to_point"])
def test_laws_on_coordinates_are_refused_where_a_joint_turns_freely(law):
    dyn = appell.compile(one_joint("planar"))
    still = np.zeros(3)
    with pytest.raises(
        appell.ArgumentError, match=rf"law '{law}' subtracts coordinates, which joint 'joint' \(planar\)"
    ):
        appell.rollout(dyn, still, still, law=law, gains={"kp": 1.0, "kd": 1.0}, steps=1, dt=1e-3)


def test_inputs_that_are_no_states_are_refused_by_name():
    dyn = appell.compile(one_joint("floating"))
    q0 = np.zeros((4, 7))
    q0[:, 6] = 1.0
    q0[2, 6] = 1.1
    with pytest.raises(appell.ArgumentError, match=r"q0\[2, 3:7\], the quaternion of joint 'joint', has length 1\.1"):
        appell.rollout(dyn, q0, np.zeros(6), steps=1, dt=1e-3)
    q0[2] = np.nan
    with pytest.raises(appell.ArgumentError, match=r"q0\[\(2, 0\)\] is nan"):
        appell.rollout(dyn, q0, np.zeros(6), steps=1, dt=1e-3)
    with pytest.raises(appell.ArgumentError, match=r"Pass appell\.compile"):
        appell.rollout(one_joint("floating"), q0, np.zeros(6), steps=1, dt=1e-3)
