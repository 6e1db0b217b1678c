"""Steps and samples that are too long for the motion are named, with the limit by the fastest eigenvalue."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.contact_robots import ball

import appell
from appell.robot.simulation_model import simulation_model_of
from appell.simulation.actuation import actuation_of
from appell.simulation.plant import Plant
from appell.simulation.stability import STABILITY_LIMITS, fastest_rate, instability_reason

DAMPING = 400.0  # of the ball of 2 kg: λ = -200 1/s


def damped(t, q, qd):
    return 2.0 * 9.81 - DAMPING * qd


def run(method, part: float):
    """The damped ball with a step of this part of the limit."""
    dt = part * STABILITY_LIMITS[method] * 2.0 / DAMPING
    return appell.simulate(ball(), [1.0], [0.01], 200 * dt, tau=damped, method=appell.Integration(method, dt=dt))


@pytest.mark.filterwarnings("ignore::appell.SimulationWarning")  # long steps: their energy balance
@pytest.mark.parametrize("method", sorted(STABILITY_LIMITS))
def test_steps_beyond_the_limit_of_stability_are_named(method):
    assert abs(run(method, 0.98).qd[-1, 0]) < 1e-3
    limit = STABILITY_LIMITS[method] * 2.0 / DAMPING
    text = f"its fastest eigenvalue is 200 1/s, for which the step dt of {method} is unstable above {limit:.2g} s"
    with pytest.raises(appell.SimulationError, match=re.escape(text)):
        appell.simulate(
            ball(), [1.0], [0.01], 4000 * limit, tau=damped, method=appell.Integration(method, dt=1.5 * limit)
        )


def test_runs_with_a_wrong_balance_name_the_step():
    with pytest.warns(appell.SimulationWarning, match="the step dt of rk4 is unstable above"):
        motion = run("rk4", 1.1)
    assert len(motion.problems) == 2


def test_samples_of_a_controller_that_are_too_long_are_named():
    controller = appell.control.PD(ball(), [0.0], kp=0.0, kd=DAMPING, period=0.02)
    text = r"200 1/s, for which the controller's period is unstable above 0\.01 s"
    with pytest.warns(appell.SimulationWarning, match=text):
        appell.simulate(ball(), [1.0], [0.01], 0.4, controller=controller, t_eval=0.4)
    with pytest.raises(appell.SimulationError, match=text):
        appell.simulate(ball(), [1.0], [0.01], 1.0, controller=controller, method="moreau")


def test_errors_of_other_reasons_name_no_step():
    with pytest.raises(appell.SimulationError) as caught:
        appell.simulate(ball(), [1.0], [1.0], 50.0, tau=lambda t, q, qd: 500 * abs(qd) * qd, method="rk4")
    assert "eigenvalue" not in str(caught.value)


def test_the_fastest_rate_of_a_spring_and_of_an_actuator_at_its_limit():
    q, qd = np.array([0.1]), np.zeros(1)
    spring = actuation_of(1, lambda t, q, qd: -5000.0 * q, None, q, qd)
    model = simulation_model_of(ball())
    assert fastest_rate(Plant(model, spring), q, qd) == pytest.approx(50.0, rel=1e-6)
    assert fastest_rate(Plant(model, spring, np.array([1.0])), q, qd) == pytest.approx(0.0, abs=1e-6)


def test_damping_of_joints_does_not_limit_time_stepping():
    joints = tuple(replace(joint, damping=1e6) for joint in ball().joints)
    robot = replace(ball(), joints=joints)
    model, passive = simulation_model_of(robot), actuation_of(1, None, None, np.zeros(1), np.zeros(1))
    assert fastest_rate(Plant(model, passive), np.zeros(1), np.zeros(1)) == pytest.approx(5e5)
    assert instability_reason(Plant(model, passive), appell.Integration("rk4"), np.zeros(1), np.zeros(1))
    assert not instability_reason(Plant(model, passive), appell.Integration("moreau"), np.zeros(1), np.zeros(1))
