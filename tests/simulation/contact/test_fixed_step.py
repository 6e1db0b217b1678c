"""Methods of fixed step: they stop at impacts, lift-offs and changes between sticking and slipping, and keep their order."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.contact_robots import particle

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
