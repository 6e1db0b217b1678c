"""Control laws: their formulas, the motion of the error they promise, and the misprint of table 4."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.states import random_states

import appell
from appell.algorithms.laws import LAWS
from appell.control.controller import CONTROLLERS

PUMA = appell.load("puma560")
GAINS = {
    "kp": np.array([100.0, 90, 80, 70, 60, 50]),
    "kd": np.array([20.0, 19, 18, 17, 16, 15]),
    "ki": np.full(6, 30.0),
}
RNG = np.random.default_rng(7)
Q_D, QD_D, QDD_D = RNG.normal(size=(3, 6))


def moving(t):
    return np.broadcast_to(Q_D, (*np.shape(t), 6)), QD_D, QDD_D


def made(law: str, robot=PUMA, reference=moving, **options):
    gains = {name: GAINS[name][: robot.nv] for name in LAWS[law].gains}
    return CONTROLLERS[law](robot, reference, **{**gains, **options})


def table_4(law: str, q, qd, integral):
    """The torque of each law, written out with the robot's matrices."""
    e, ed = q - Q_D, qd - QD_D
    kp, kd, ki = GAINS.values()
    M, h, g = PUMA.mass_matrix(q), PUMA.bias(q, qd), PUMA.gravity(q)
    return {
        "pd": -kp * e - kd * ed,
        "pd_gravity": g - kp * e - kd * ed,
        "point_to_point": M @ (-kd * qd - kp * e) + h,
        "computed_torque": M @ (QDD_D - kd * ed - kp * e) + h,
        "integral_tracking": M @ (QDD_D - kd * ed - kp * e - ki * integral) + h,
    }[law]


@pytest.mark.parametrize("law", list(CONTROLLERS))
def test_torques_are_those_of_the_formula(law):
    controller = made(law)
    q, qd, _ = random_states(PUMA, 4)
    for k in range(4):
        memory = controller.initial_memory(0.0, q[k], qd[k])
        integral = RNG.normal(size=6) if memory.size else np.zeros(6)
        tau, after = controller.step(0.3, q[k], qd[k], integral if memory.size else memory)
        assert_close(tau, table_4(law, q[k], qd[k], integral), scale=float(np.abs(tau).max()))
        if memory.size:
            assert_close(after, integral + 1e-3 * (q[k] - Q_D))


def test_every_law_but_open_loop_is_a_controller():
    assert set(CONTROLLERS) == set(LAWS) - {"torque"}


def test_the_error_of_an_exact_model_is_a_damped_oscillation():
    """ë + Kd ė + Kp e = 0, for a reference that moves: its closed form against an integration of the robot."""
    kp, kd, e0 = 30.0, 4.0, np.array([0.3, -0.2])
    arm = appell.load("planar2r")

    def swing(t):
        return np.array([np.sin(t), 0.5 * t]), np.array([np.cos(t), 0.5]), np.array([-np.sin(t), 0.0])

    controller = appell.control.ComputedTorque(arm, swing, kp=kp, kd=kd, period=None)
    q, qd, _ = swing(0.0)
    motion = appell.simulate(arm, q + e0, qd, 1.5, controller=controller, t_eval=0.25)
    omega = np.sqrt(kp - kd**2 / 4)
    for t, here in zip(motion.t, motion.q, strict=True):
        error = e0 * np.exp(-kd / 2 * t) * (np.cos(omega * t) + kd / 2 / omega * np.sin(omega * t))
        assert_close(here - swing(t)[0], error, tolerance=1e-8, scale=1.0)


def test_table_4_as_printed_stays_behind_a_moving_reference():
    """-Kd q̇ instead of -Kd ė leaves the error -Kp⁻¹ Kd q̇_d: point to point along a ramp is that law."""
    arm, rate = appell.load("planar2r"), np.array([0.2, -0.1])

    def ramp(t):
        return rate * t, rate, np.zeros(2)

    printed = appell.control.PointToPoint(arm, ramp, kp=100.0, kd=20.0, period=None)
    right = appell.control.ComputedTorque(arm, ramp, kp=100.0, kd=20.0, period=None)
    for controller, left in ((printed, -20.0 / 100.0 * rate), (right, np.zeros(2))):
        motion = appell.simulate(arm, np.zeros(2), np.zeros(2), 3.0, controller=controller, t_eval=3.0)
        assert_close(motion.q[-1] - 3.0 * rate, left, tolerance=1e-7, scale=1.0)
