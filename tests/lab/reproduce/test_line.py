"""The straight lines of the papers: printed numbers, replay, growth of errors, and the controlled robot."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.shared_data import shared
from helpers.states import random_states

import appell
from appell_lab.reproduce import (
    mata2002_figures,
    mata2002_growth,
    mata2002_methods,
    mata2002_simulation,
    valera2003_control,
)
from appell_lab.reproduce.mata2002_replay import Replay, replay, run

CASE = replay()
PUMA = CASE.robot


@pytest.mark.parametrize("paper", ["000_mata2002_serial_gibbs_appell", "004_provenzano2002_dinamica_directa"])
def test_printed_errors_and_efforts_stand_in_the_papers(paper):
    text = re.sub(r"[\s${}^\\]|times|×", "", shared(f"papers/{paper}.txt").read_text())
    for row in mata2002_simulation.ERRORS:
        for value in row:
            mantissa, exponent = f"{value:.8e}".split("e")
            assert f"{mantissa}10{int(exponent)}" in text, value
    for seconds, evaluations in mata2002_simulation.EFFORT.values():
        assert str(seconds) in text
        assert str(evaluations) in text


def test_printed_times_of_the_control_law_stand_in_the_paper():
    text = shared("papers/001_valera2003_inverse_dynamic_control.txt").read_text()
    assert all(f"{1e3 * seconds:g} ms" in text for seconds in valera2003_control.COMPUTERS.values())


@pytest.mark.parametrize("method", mata2002_methods.METHODS)
def test_the_three_methods_agree_with_the_library(method):
    q, qd, tau = random_states(PUMA, 20)
    forward = mata2002_methods.ForwardDynamics(PUMA, method)
    expected = PUMA.forward_dynamics(q, qd, 10 * tau)
    assert_close(forward(q, qd, 10 * tau), expected, tolerance=1e-11)


def test_torques_between_the_instants():
    assert_close(CASE.straight(0.3), CASE.torques[3], tolerance=1e-12)
    assert_close(CASE.straight(5.0), CASE.torques[-1], tolerance=1e-12)
    assert_close(CASE.straight(0.25), 0.5 * (CASE.torques[2] + CASE.torques[3]), tolerance=1e-12)
    assert_close(CASE.exact(0.3), CASE.torques[3], tolerance=1e-12)


def test_replay_equals_a_simulation_with_the_same_torques():
    """Another integrator, another loop, a much smaller tolerance: the same motion until growth has its way."""
    got = mata2002_simulation.outcome()
    q, qd, _ = CASE.reference
    motion = appell.simulate(
        PUMA, q[0], qd[0], 2.0, tau=lambda t, q, qd: CASE.straight(t),
        method=appell.Integration(rtol=1e-11, max_step=0.05), t_eval=0.1,
    )  # fmt: skip
    apart = np.abs(motion.q - got.q[:21]).max(axis=1)
    assert apart.max() < 1e-6
    assert got.away[20] > 100 * apart.max()  # while the replay is already far from the line by its torques
    assert got.evaluations == mata2002_simulation.outcome(method="ABA").evaluations


def test_linearised_equations_of_a_pendulum_held_upright():
    """One link with its mass above the axis: λ² = m g r / (J + m r²)."""
    m, r, J = 2.0, 0.3, 0.05
    robot = appell.Robot.from_dh(
        [-np.pi / 2], [0.0], [0.0], mass=[m], com=[[r, 0.0, 0.0]], inertia=[np.diag([0.01, J, J])], name="pendulum"
    )  # fmt: skip
    up = -np.pi / 2
    assert robot.pose([up], "link1")[2, 0] == pytest.approx(1.0)
    hold = appell.trajectories.joint_line(robot, [up - 1e-9], [up + 1e-9], duration=2.0)
    case = Replay(robot, hold)  # type: ignore[arg-type]
    result = mata2002_growth.growth(case)
    rate = np.sqrt(m * 9.81 * r / (J + m * r**2))
    assert_close(result.eigenvalues, np.full(251, rate), tolerance=1e-6)
    assert result.rate == pytest.approx(rate, rel=1e-3)
    exact = np.linalg.norm(
        [[np.cosh(2 * rate), np.sinh(2 * rate) / rate], [rate * np.sinh(2 * rate), np.cosh(2 * rate)]], 2
    )
    assert result.amplification[-1] == pytest.approx(exact, rel=1e-4)


def test_growth_along_the_line_is_that_of_the_simulations():
    """Rate of the linearised equations, and of two replays whose errors differ by five orders of magnitude."""
    linear = mata2002_growth.growth(CASE)
    rates = [linear.rate, mata2002_simulation.outcome().rate, mata2002_simulation.exact_outcome().rate]
    assert max(rates) - min(rates) < 0.05
    assert 2.1 < min(rates) < max(rates) < 2.4
    assert linear.eigenvalues.min() > 2.0
    branch = replay("right/below/no_flip")
    assert run(branch, "GA").rate == pytest.approx(2.27, abs=0.02)


def test_disturbed_start_grows_by_the_amplification():
    """The worst direction of the linearised equations, tried on the nonlinear ones."""
    linear = mata2002_growth.growth(CASE)
    q, qd, _ = CASE.reference
    end = 2.0
    at = int(np.argmin(np.abs(linear.t - end)))

    def final(dq: np.ndarray) -> np.ndarray:
        motion = appell.simulate(
            PUMA, q[0] + dq, qd[0], end, tau=lambda t, q, qd: CASE.exact(t),
            method=appell.Integration("DOP853", rtol=1e-10), t_eval=[end],
        )  # fmt: skip
        return np.concatenate([motion.q[-1], motion.qd[-1]])

    step = 1e-6
    rest = final(np.zeros(6))
    columns = np.array([(final(step * unit) - rest) / step for unit in np.eye(6)[1:3]])
    assert np.linalg.norm(columns, axis=1).max() <= 1.001 * linear.amplification[at]
    assert np.linalg.norm(columns, 2) > 0.2 * linear.amplification[at]


def test_controlled_robot_follows_ramp_and_spline():
    ramp, spline = valera2003_control.tracking_table().rows
    assert 1e-3 < ramp[2] < 5e-3
    assert spline[2] < 1e-5
    assert max(ramp[3], spline[3]) < 1e-5
    assert mata2002_simulation.controlled_error() < 1e-5


def test_control_law_is_faster_than_printed():
    times = valera2003_control.computing_times()
    assert len(times) == 3
    assert all(0.0 < seconds < min(valera2003_control.COMPUTERS.values()) for seconds in times.values())


def test_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    for figure in (*valera2003_control.figures(), mata2002_figures.figure_2(), *mata2002_figures.figures(3)):
        path = tmp_path / f"{figure.name}.png"
        figure.draw(path)
        assert path.stat().st_size > 20_000
