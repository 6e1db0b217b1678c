"""Closed loops and spherical robots are identified from the forces of their actuators."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.identification import Recording
from appell.identification.recorded_motion import tangent_velocities


def swing(t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A smooth motion of one coordinate with its derivatives."""
    q = 1.0 + 0.4 * np.sin(2 * t) + 0.2 * np.sin(5 * t)
    return q, 0.8 * np.cos(2 * t) + np.cos(5 * t), -1.6 * np.sin(2 * t) - 5 * np.sin(5 * t)


def four_bar_recording(seed: int = 0) -> tuple[appell.ClosedLoopRobot, Recording]:
    """A crank with friction at 100 Hz, its encoders with noise of 1e-6 rad."""
    robot = appell.load("four_bar")
    t = np.arange(0.0, 12.0, 0.01) + seed
    crank, qd, qdd = swing(t)
    guess = np.tile(robot.solve_loop_closure({"crank": 1.0}).q, (len(t), 1))
    guess[:, 0] = crank
    q = robot.solve_loop_closure(guess, fixed_joints=["crank"]).q
    tau = robot.inverse_dynamics(q, qd[:, None], qdd[:, None]) + 0.3 * qd[:, None] + 0.1 * np.tanh(qd[:, None] / 0.01)
    rng = np.random.default_rng(seed)
    noise = 0.005 * np.sqrt(np.mean(tau**2)) * rng.normal(size=tau.shape)
    return robot, Recording(t, q + 1e-6 * rng.normal(size=q.shape), tau + noise)


def test_a_closed_loop_from_its_actuator_forces(tmp_path):
    robot, recording = four_bar_recording()
    terms = ("viscous", appell.identification.Coulomb(0.01))
    fit = appell.identify(robot, recording, terms=terms)
    assert fit.relative_error.total < 0.01
    assert fit.value("fv[crank]")[0] == pytest.approx(0.3, abs=4.0 * fit.value("fv[crank]")[1])
    _, other = four_bar_recording(3)
    assert fit.validate(other).filtered.total < 0.01
    fit.report(tmp_path / "four_bar.html")
    with pytest.raises(
        appell.IdentificationError, match="is a ClosedLoopRobot: its links are determined in combinations only"
    ):
        fit.to_urdf()
    with pytest.raises(appell.ArgumentError, match=r"robot is a ClosedLoopRobot.*physical=False"):
        appell.identify(robot, recording, physical=True)


def test_a_spherical_robot_from_exact_states():
    """Velocities and accelerations are given."""
    robot = appell.load("agile_wrist")
    rng = np.random.default_rng(0)
    q = robot.random_configurations(300, rng)
    qd, qdd = rng.normal(size=(2, 300, 3))
    tau = robot.inverse_dynamics(q, qd, qdd)
    options = {"terms": (), "filtering": appell.identification.Filtering(None)}
    fit = appell.identify(robot, np.arange(300) * 0.01, q, tau, qd=qd, qdd=qdd, **options)
    assert fit.relative_error.total < 1e-9
    state = robot.random_configurations(5, rng), *rng.normal(size=(2, 5, 3))
    assert_close(fit.predict(*state), robot.inverse_dynamics(*state), tolerance=1e-7)


def platform_motion(t: np.ndarray) -> np.ndarray:
    """Positions of a small motion of three coordinates."""
    first = 0.2 * np.sin(2 * t) + 0.1 * np.sin(5 * t)
    return np.stack([first, 0.15 * np.cos(3 * t), 0.2 * np.sin(1.3 * t) + 0.05 * np.cos(7 * t)], axis=1)


def test_a_spherical_robot_from_positions():
    """Velocities and accelerations follow from the positions, cut-off and lag from cross-validation."""
    robot = appell.load("agile_wrist")
    t = np.arange(0.0, 10.0, 0.005)
    q = robot.neutral_configuration() + platform_motion(t)
    qd, qdd = (np.gradient(x, t, axis=0, edge_order=2) for x in (q, np.gradient(q, t, axis=0, edge_order=2)))
    tau = robot.inverse_dynamics(q, qd, qdd)
    noise = np.random.default_rng(0).normal(size=tau.shape)
    recording = Recording(t, q + 1e-6 * noise, tau + 0.01 * np.abs(tau).mean() * noise)
    fit = appell.identify(robot, recording, terms=())
    assert fit.relative_error.total < 0.01
    assert fit.validate(recording).raw.total < 0.03


def test_a_platform_from_positions():
    """Its velocities are those of a body, and not all of them rates of coordinates."""
    robot = appell.load("planar_3rrr")
    tree = robot.spanning_tree
    t = np.arange(0.0, 10.0, 0.01)
    step = np.zeros((len(t), tree.nv))
    step[:, :3] = [0.1, 0.1, 1.0] * platform_motion(t)
    guess = tree.integrate(np.tile(robot.neutral_configuration(), (len(t), 1)), step)
    q = robot.solve_loop_closure(guess, fixed_joints=["platform"]).q
    qd = tangent_velocities(robot, q, 0.01)
    tau = robot.inverse_dynamics(q, qd, np.gradient(qd, t, axis=0, edge_order=2))
    fit = appell.identify(robot, t[5:-5], q[5:-5], tau[5:-5], terms=())
    assert fit.relative_error.total < 0.005


def test_velocities_of_coordinates_are_of_fourth_order():
    """A free body that turns about a fixed axis and moves: halving the period divides the error by sixteen."""
    body = appell.load("stewart").spanning_tree
    errors = []
    for period in (0.02, 0.01):
        t = np.arange(0.0, 1.0, period)
        step = np.zeros((len(t), body.nv))
        step[:, 5] = np.sin(3 * t)  # about the body's z axis
        q = body.integrate(np.tile(body.neutral_configuration(), (len(t), 1)), step)
        errors.append(np.abs(tangent_velocities(body, q, period)[2:-2, 5] - 3 * np.cos(3 * t[2:-2])).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.1)
