"""Joints that damping stops within microseconds: closed forms, in few steps."""

import numpy as np
import pytest

import appell
from appell.simulation.extrapolation import ExtrapolationSolver


def damped_spring(method, duration=0.5):
    """I q̈ + D q̇ + k q = 0 with D / I = 1e6 1/s."""
    joint = {"damping": 1.0, "stiffness": 3.0}
    builder = appell.RobotBuilder("spring", gravity=(0.0, 0.0, 0.0)).body("base").body("arm", 1e-3, inertia=(1e-6,) * 3)
    robot = builder.revolute("hinge", "base", "arm", **joint).build()
    return appell.simulate(robot, [0.5], [20.0], duration, method=method)


@pytest.mark.parametrize("method", ["DOP853", "RK45"])
def test_an_overdamped_spring_follows_its_closed_form(method):
    motion = damped_spring(appell.Integration(method, rtol=1e-9))
    slow, fast = np.roots([1e-6, 1.0, 3.0])[::-1]
    a, b = np.linalg.solve([[1.0, 1.0], [slow, fast]], [0.5, 20.0])
    exact = a * np.exp(slow * motion.t) + b * np.exp(fast * motion.t)
    assert np.abs(motion.q[:, 0] - exact).max() < 1e-7
    assert np.abs(motion.balance).max() < 1e-8
    assert len(motion) < 200  # explicit ones of DOP853: more than 8e4


class Decay:
    """y' = -l y + cos t, damping l."""

    def __init__(self, rate):
        self.rate = rate

    def implicit_step(self, t, y, h):
        return y + h * (np.cos(t) - self.rate * y) / (1.0 + h * self.rate)

    def damped(self, y, change, h):
        return change / (1.0 + h * self.rate)


def solver(rate, end, h):
    settings = {"rtol": 1e9, "atol": 1e9, "max_step": h, "first_step": h}
    return ExtrapolationSolver(Decay(rate), 0.0, np.array([1.0]), end, **settings)


def exact(rate, t):
    forced = (rate * np.cos(t) + np.sin(t)) / (1.0 + rate**2)
    return forced + (1.0 - rate / (1.0 + rate**2)) * np.exp(-rate * t)


def end_error(h):
    run = solver(1.0, 1.0, h)
    while run.status == "running":
        run.step()
    return abs(run.y[0] - exact(1.0, 1.0))


def test_the_order_is_six():
    order = np.log2(end_error(0.125) / end_error(0.0625))
    assert 5.4 < order < 6.6


def test_a_long_step_ends_on_the_slow_solution():
    run = solver(1e8, 1.0, 0.1)
    run.step()
    assert abs(run.y[0] - exact(1e8, 0.1)) < 1e-9


def test_the_interpolant_is_accurate():
    run = solver(1.0, 1.0, 0.1)
    run.step()
    states = run.dense_output()(np.array([0.0, 0.03, 0.06, 0.1]))
    assert states.shape == (1, 4)
    assert np.abs(states[0] - exact(1.0, np.array([0.0, 0.03, 0.06, 0.1]))).max() < 1e-8


def test_steps_are_rejected_until_their_error_is_small():
    run = ExtrapolationSolver(
        Decay(1.0), 0.0, np.array([1.0]), 10.0, rtol=1e-9, atol=1e-9, max_step=10.0, first_step=10.0
    )
    assert run.step() is None
    assert run.attempts > 1
    assert abs(run.y[0] - exact(1.0, run.t)) < 1e-8


def dropped_block(damping):
    """A block with a light body on a damped hinge falls on its corners; of infinite damping the light one is fixed."""
    builder = appell.RobotBuilder("block").body("world").body("block", 2.0, inertia=(0.01, 0.02, 0.03))
    builder = builder.body("light", 1e-3, com=(0.0, 1e-3, 0.0), inertia=(1e-9,) * 3).floating("base", "world", "block")
    if np.isfinite(damping):
        builder = builder.revolute("hinge", "block", "light", xyz=(0.1, 0.0, 0.05), axis="x", damping=damping)
    else:
        builder = builder.fixed("hinge", "block", "light", xyz=(0.1, 0.0, 0.05))
    robot = builder.build()
    corners = [appell.Point("block", (x, y, -0.1)) for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    q0 = [0.0, 0.0, 0.15, 0.05, 0.03, 0.0, np.sqrt(1.0 - 0.05**2 - 0.03**2), *np.zeros(robot.nq - 7)]
    contact = appell.ContactOptions(points=corners, restitution=0.0)
    floor = appell.surfaces.Plane(friction=0.6)
    return appell.simulate(robot, q0, np.zeros(robot.nv), 0.2, surfaces=floor, contact=contact)


def test_a_light_damped_body_does_not_hold_up_a_drop():
    motion, fixed = dropped_block(1.0), dropped_block(np.inf)
    assert motion.status == "finished"
    assert np.abs(motion.balance).max() < 1e-8
    assert len(motion) < 300
    assert np.abs(motion.q[-1, :7] - fixed.q[-1]).max() < 1e-5
