"""Springs of joints: a closed form, energy, mimic joints and closed loops, rollouts, linear models and files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.model.joint import Mimic
from appell.rollouts import native


def slider(**options) -> appell.Robot:
    """A mass of 2 kg on a spring of 8 N/m along x, at rest at 0.5 m."""
    builder = appell.RobotBuilder("slider", gravity=(0.0, 0.0, 0.0)).body("base").body("mass", 2.0, inertia=(1, 1, 1))
    return builder.prismatic("x", "base", "mass", axis="x", stiffness=8.0, springref=0.5, **options).build()


def sprung(robot, stiffness: float = 5.0, springref: float = 0.3):
    return replace(robot, joints=tuple(replace(j, stiffness=stiffness, springref=springref) for j in robot.joints))


def test_oscillation_in_closed_form() -> None:
    motion = appell.simulate(slider(), [1.5], [0.0], 2.0, t_eval=0.1)
    assert_close(motion.q[:, 0], 0.5 + np.cos(2.0 * motion.t), tolerance=1e-8)
    assert_close(motion.energy, np.full(len(motion.t), 4.0), tolerance=1e-8)


@pytest.mark.parametrize("method", ["DOP853", "rk4", "moreau"])
def test_impacts_between_oscillations(method: str) -> None:
    """A wall at x = 0 in the way of 0.5 + cos 2t: without losses the motion is mirrored in time at each impact."""
    wall = appell.surfaces.Plane(normal=(1.0, 0.0, 0.0), restitution=1.0)
    contact = appell.ContactOptions([appell.Point("mass")])
    motion = appell.simulate(slider(), [1.5], [0.0], 4.0, surfaces=wall, contact=contact, method=method)
    first = np.arccos(-0.5) / 2
    assert_close([impact.time for impact in motion.impacts], [first, 3 * first], tolerance=1e-5)
    assert_close(motion.energy, np.full(len(motion.t), 4.0), tolerance=1e-7)


def test_time_stepping_with_springs() -> None:
    """Errors of the step shrink with its square, and the energy with that of springs is kept."""
    errors = []
    for dt in (2e-3, 1e-3):
        motion = appell.simulate(slider(), [1.5], [0.0], 2.0, method=appell.Integration("moreau", dt=dt))
        errors.append(np.abs(motion.q[:, 0] - 0.5 - np.cos(2.0 * motion.t)).max())
        assert_close(motion.energy, np.full(len(motion.t), 4.0), tolerance=1e-9)
    assert errors[1] < 0.3 * errors[0] < 1e-5


def test_damping_takes_the_energy_of_springs() -> None:
    """Energy, with that of springs, less what damping dissipates is constant."""
    motion = appell.simulate(slider(damping=0.7), [1.5], [0.0], 2.0)
    assert motion.energy[-1] < 0.9 * motion.energy[0]
    assert np.abs(motion.balance).max() < 1e-8


def test_passive_forces_need_q_where_there_are_springs() -> None:
    robot = slider(damping=0.5)
    assert robot.passive_forces([1.0], [2.0]).tolist() == [-5.0]
    assert robot.passive_forces(np.ones((3, 1)), np.zeros(1)).shape == (3, 1)
    with pytest.raises(appell.ArgumentError, match="'slider' has springs: passive_forces needs q and qd"):
        robot.passive_forces([2.0])


def test_springs_of_mimic_joints_act_on_the_leader() -> None:
    """Forces are minus the gradient of the energy of the springs."""
    robot = sprung(appell.robots.random_chain(3, seed=2))
    joints = list(robot.joints)
    joints[2] = replace(joints[2], mimic=Mimic(joints[0].name, -0.7, 0.2))
    robot = replace(robot, joints=tuple(joints))
    model, q, h = robot.simulation_model(), np.array([0.4, -0.8]), 1e-6
    bare = replace(robot, joints=tuple(replace(j, stiffness=0.0) for j in joints)).simulation_model()

    def energy(q: np.ndarray) -> float:
        return float(model.energy(q, np.zeros(2)) - bare.energy(q, np.zeros(2)))

    gradient = [(energy(q + h * e) - energy(q - h * e)) / (2 * h) for e in np.eye(2)]
    assert_close(robot.passive_forces(q, np.zeros(2)), -np.array(gradient), tolerance=1e-8)


def test_closed_loops() -> None:
    """A four-bar linkage with springs keeps its energy."""
    bar = appell.load("four_bar")
    bar = replace(bar, spanning_tree=sprung(bar.spanning_tree, 20.0))
    model, q = bar.simulation_model(), np.array(bar.initial_state[0])
    motion = appell.simulate(bar, q, [0.0], 0.5)
    G, springs = bar.joint_velocity_jacobian(q), np.array([-20.0 * (x - 0.3) for x in q])
    assert_close(bar.passive_forces(q, [0.0]), G.T @ springs, tolerance=1e-12)
    assert np.ptp(motion.energy) < 1e-7 * np.abs(motion.energy).max()
    assert abs(model.energy(q, np.zeros(1)) - motion.energy[0]) < 1e-12


def test_rollouts_and_files(tmp_path, monkeypatch) -> None:
    """Compiled loops, batch calls and a saved robot add the same forces as a simulation."""
    robot = sprung(appell.load("planar2r"))
    dyn, options = appell.compile(robot), {"steps": 50, "dt": 1e-3, "save_every": 50}
    compiled = appell.rollout(dyn, [0.1, 0.2], [0.0, 0.0], **options)
    motion = appell.simulate(robot, [0.1, 0.2], [0.0, 0.0], 0.05, method=appell.Integration("rk4", dt=1e-3))
    assert_close(compiled.q[-1], motion.q[-1], tolerance=1e-12)
    dyn.save(tmp_path / "arm.appell")
    loaded = appell.load_compiled(tmp_path / "arm.appell")
    assert loaded.friction == dyn.friction
    assert_close(appell.rollout(loaded, [0.1, 0.2], [0.0, 0.0], **options).q, compiled.q, tolerance=1e-12)
    monkeypatch.setattr(native, "_library", lambda *_: None)
    assert_close(appell.rollout(dyn, [0.1, 0.2], [0.0, 0.0], **options).q, compiled.q, tolerance=1e-12)


def test_linear_model_with_springs_and_damping() -> None:
    """A and B of the rate are derivatives of the acceleration under passive forces."""
    robot = sprung(appell.load("planar2r"))
    robot = replace(robot, joints=tuple(replace(j, damping=0.4) for j in robot.joints))
    q, qd, tau, h = np.array([0.3, 0.2]), np.array([0.5, -0.4]), np.array([1.0, 2.0]), 1e-6

    def rate(x: np.ndarray) -> np.ndarray:
        return robot.forward_dynamics(x[:2], x[2:], tau + robot.passive_forces(x[:2], x[2:]))

    A, _ = robot.linearize(q, qd, tau, passive_forces=True)
    x = np.concatenate([q, qd])
    expected = np.stack([(rate(x + h * e) - rate(x - h * e)) / (2 * h) for e in np.eye(4)], axis=-1)
    assert_close(A[2:], expected, tolerance=1e-8)


def test_negative_stiffness_is_a_defect() -> None:
    problems = appell.check(sprung(appell.load("planar2r"), -1.0))
    assert any("stiffness is -1, expected >= 0" in str(problem) for problem in problems)
