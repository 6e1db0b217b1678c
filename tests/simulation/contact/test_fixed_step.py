"""Methods of fixed step: they stop at impacts, lift-offs and changes between sticking and slipping, and keep their order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.contact_robots import particle
from helpers.shared_data import shared

import appell

FLOOR = appell.surfaces.Plane(friction=0.4, restitution=0.3)


def pulled(t, q, qd):
    """A spring and a periodic force that let the particle fly, bounce, slide, stick, slide back and lift off."""
    return np.array([-40.0 * np.sin(q[0]) + 3.0 * np.cos(9.0 * t), 12.0 * np.sin(4.0 * t) * np.cos(q[0])])


def last_state(method) -> np.ndarray:
    motion = appell.simulate(particle(), [0.4, 0.1], [1.0, 0.0], 1.2, tau=pulled, surfaces=[FLOOR], method=method)
    assert len(motion.impacts) >= 3
    assert motion.problems == ()
    return np.concatenate([motion.q[-1], motion.qd[-1], [motion.balance[-1]]])


@pytest.mark.parametrize(("method", "order"), [("rk4", 4), ("midpoint", 2)])
def test_order_with_impacts_and_friction(method, order):
    exact = last_state(appell.Integration(rtol=1e-12, atol=1e-13))
    steps = (4e-3, 1e-3)
    errors = [np.abs(last_state(appell.Integration(method, dt=h)) - exact).max() for h in steps]
    measured = math.log(errors[0] / errors[-1]) / math.log(steps[0] / steps[-1])
    assert measured > order - 0.5, errors
    assert errors[-1] < (1e-8 if order == 4 else 1e-3)


@pytest.mark.filterwarnings("ignore::appell.ModelWarning")
def test_order_where_the_slip_of_light_feet_turns_within_a_step():
    """A Go2 lands on feet that its controller moves: they slip, stick and lift off, and slow slip turns within microseconds."""
    robot = appell.load(shared("robots/go2.urdf"), base="floating")
    feet = [appell.Point(body) for body in ("FL_foot", "FR_foot", "RL_foot", "RR_foot")]
    q = robot.neutral_configuration()
    q[7:] = np.tile([0.0, 0.8, -1.5], 4)
    q[2] += 0.02 - min(robot.pose(q, foot.body)[2, 3] for foot in feet)
    reference, phases = q[7:].copy(), 0.7 * np.arange(12)

    def tau(t, q, qd):
        return np.append(np.zeros(6), 40.0 * (reference + 0.3 * np.sin(12.0 * t + phases) - q[7:]) - qd[6:])

    def landed(method):
        motion = appell.simulate(
            robot, q, np.zeros(robot.nv), 0.25, tau=tau, method=method, t_eval=0.05,
            surfaces=appell.surfaces.Plane(friction=0.6), contact=appell.ContactOptions(feet, restitution=0.0),
        )  # fmt: skip
        assert motion.problems == ()
        return motion

    exact = landed(appell.Integration(rtol=1e-9))
    runs = [landed(appell.Integration("rk4", dt=dt)) for dt in (1e-3, 5e-4)]
    errors = [float(np.abs(run.q - exact.q).max()) for run in runs]
    balances = [float(np.abs(run.balance).max()) for run in runs]
    assert errors[0] < 1e-5
    assert errors[0] > 2.0**3.5 * errors[1]
    assert balances[0] > 2.0**3.5 * balances[1]
