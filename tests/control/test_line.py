"""Valera's line of 8.6 s under inverse dynamics control at 1 kHz: exact model, wrong masses."""

from __future__ import annotations

from functools import cache

import numpy as np

import appell

PUMA = appell.load("puma560")
KP, KD, KI = 400.0, 40.0, 2000.0


@cache
def line():
    return appell.trajectories.valera2003_line(PUMA)


def followed(controller) -> np.ndarray:
    """Errors at the controller's samples, with the plant integrated by RK4 between them."""
    start = line()(0.0)
    run = appell.simulate(
        PUMA, start.q, start.qd, line().duration, controller=controller, method=appell.Integration("rk4", dt=1e-3), t_eval=0.02
    )  # fmt: skip
    return run.q - line()(run.t).q


def test_on_the_exact_model_the_error_stays_below_1e_5():
    error = followed(appell.control.ComputedTorque(PUMA, line(), kp=KP, kd=KD))
    assert np.abs(error).max() < 1e-5


def test_with_masses_20_percent_wrong_the_integral_ends_below_1e_3():
    model = appell.control.scaled_masses(PUMA, 1.2)
    plain = followed(appell.control.ComputedTorque(model, line(), kp=KP, kd=KD))
    integral = followed(appell.control.ComputedTorqueIntegral(model, line(), kp=KP, kd=KD, ki=KI))
    assert np.abs(integral[-1]).max() < 1e-3
    assert np.abs(integral[-1]).max() < 0.1 * np.abs(plain[-1]).max()
