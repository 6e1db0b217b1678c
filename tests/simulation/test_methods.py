"""Every integrator: its order, what it keeps, and how it ends where it cannot go on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.simulation.integrators import METHODS

ARM = appell.load("planar2r")
START = [0.5, -0.3], [0.0, 1.0]
ORDERED = [name for name, method in METHODS.items() if method.order is not None]
STEPS = {1: (1e-2, 2.5e-3), 2: (2e-2, 5e-3), 3: (5e-2, 2.5e-2), 4: (1e-2, 2.5e-3), 5: (5e-2, 2.5e-2), 8: (0.1, 0.05)}
"""Two steps for each order at which the errors are neither rounding nor large. [s]"""


def pendulum():
    """A bar that swings, and a state of it."""
    robot = appell.RobotBuilder("pendulum", gravity=(0, -9.81, 0)).body("base")
    robot = robot.body("bar", mass=1.0, com=(0, -0.5, 0), inertia=(1 / 12, 1e-3, 1 / 12))
    return robot.continuous("hinge", parent="base", child="bar", axis="z").build(), ([1.2], [0.3])


def puma():
    """Six joints, and a state of them."""
    return appell.load("puma560"), (np.zeros(6), np.linspace(-1, 1, 6))


def body():
    """A body that flies and turns, whose speeds are not rates of coordinates."""
    builder = appell.RobotBuilder("body").body("world").body("body", mass=1.0, com=(0.1, 0, 0), inertia=(1.0, 2.0, 2.5))
    robot = builder.joint("floating", "free", parent="world", child="body").build()
    return robot, (robot.neutral_configuration(), [0.2, 0.0, 1.0, 1.0, 2.0, -1.5])


def last_state(robot, start, method) -> np.ndarray:
    motion = appell.simulate(robot, *start, 1.6 if robot.nv == 1 else 0.8, method=method)
    return np.concatenate([motion.q[-1], motion.qd[-1]])


CASES = [(pendulum, name) for name in ORDERED]
CASES += [(make, name) for make in (puma, body) for name in ("semi_implicit_euler", "rk4", "midpoint")]


@pytest.mark.parametrize(("make", "method"), CASES, ids=[f"{make.__name__}-{name}" for make, name in CASES])
def test_the_error_falls_with_the_declared_order(make, method):
    """An adaptive method is given tolerances that are always met, so that all its steps are the longest."""
    robot, start = make()
    order, fixed = METHODS[method].order, METHODS[method].fixed
    exact = last_state(robot, start, appell.Integration(rtol=1e-13, atol=1e-14))
    long, short = STEPS[order]
    errors = []
    for h in (long, short):
        options = {"dt": h} if fixed else {"max_step": h, "rtol": 1e3, "atol": 1e3}
        errors.append(np.abs(last_state(robot, start, appell.Integration(method, **options)) - exact).max())
    measured = math.log(errors[0] / errors[1]) / math.log(long / short)
    assert measured == pytest.approx(order, abs=0.1 if fixed else 0.7), errors


def test_the_symplectic_one_does_not_lose_energy_where_others_do():
    drift = {}
    for method in ("rk4", "midpoint"):
        motion = appell.simulate(ARM, [1.0, 0.3], [0.0, 0.0], 12.0, method=appell.Integration(method, dt=0.012))
        parts = [np.mean(part) for part in np.array_split(motion.energy, 4)]
        drift[method] = abs(parts[-1] - parts[0])
    assert drift["midpoint"] < 0.2 * drift["rk4"]


def test_the_symplectic_one_keeps_the_area_in_phase_space():
    """det ∂(q⁺, p⁺)/∂(q, p) = 1 and ω(a, b) = Σ dq ∧ dp is kept, for one step of a robot whose M depends on q."""
    h, eps = 0.05, 1e-5
    mass = ARM.mass_matrix

    def step(x: np.ndarray) -> np.ndarray:
        q, p = x[:2], x[2:]
        motion = appell.simulate(ARM, q, np.linalg.solve(mass(q), p), h, method=appell.Integration("midpoint", dt=h))
        return np.concatenate([motion.q[-1], mass(motion.q[-1]) @ motion.qd[-1]])

    x = np.concatenate([START[0], mass(START[0]) @ START[1]])
    slope = np.stack([(step(x + eps * e) - step(x - eps * e)) / (2 * eps) for e in np.eye(4)], axis=1)
    omega = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    assert_close(slope.T @ omega @ slope, omega, tolerance=1e-7, scale=1.0)


def test_fixed_steps_are_the_multiples_of_dt():
    motion = appell.simulate(ARM, *START, 0.35, method=appell.Integration("rk4", dt=0.1))
    assert motion.t.tolist() == [0.0, 1 * 0.1, 2 * 0.1, 3 * 0.1, 0.35]
    assert appell.simulate(ARM, *START, 0.01, method="RK4").t.size == 11, "1e-3 by default, in any case of letters"


def test_samples_between_fixed_steps_lie_on_the_motion():
    exact = appell.simulate(ARM, *START, 0.5, method=appell.Integration(rtol=1e-12), t_eval=0.03)
    motion = appell.simulate(ARM, *START, 0.5, method=appell.Integration("rk4", dt=0.01), t_eval=0.03)
    assert_close(motion.q, exact.q, tolerance=1e-6)


def test_impacts_with_fixed_steps():
    tree, wall = appell.load("shafei_tree"), appell.surfaces.Circle(radius=2.5)
    motion = appell.simulate(
        tree,
        *tree.initial_state,
        0.6,
        surfaces=[wall],
        method=appell.Integration("rk4", dt=2e-3),
        contact=appell.ContactOptions(simultaneity_gap=1e-6),
    )
    assert [impact.points for impact in motion.impacts] == [("O1", "O5"), ("O2", "O4")]
    assert [impact.time for impact in motion.impacts] == pytest.approx([0.385192, 0.569731], abs=1e-6)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "midpoint"])
def test_a_step_too_long_ends_with_an_error_and_not_with_nan(method):
    with pytest.raises(appell.SimulationError, match="cannot be continued beyond t = ") as caught:
        appell.simulate(
            ARM, *START, 100.0, method=appell.Integration(method, dt=0.5), tau=lambda t, q, qd: 5.0 * np.abs(qd) * qd
        )
    assert 0.0 <= caught.value.time < 100.0
    assert np.isfinite(caught.value.state).all()
    assert caught.value.quantity


def test_dt_belongs_to_fixed_steps():
    with pytest.raises(
        appell.ArgumentError, match=r"DOP853 chooses its steps itself.*semi_implicit_euler, rk4, midpoint"
    ):
        appell.simulate(ARM, *START, 1.0, method=appell.Integration(dt=1e-3))
    with pytest.raises(appell.ArgumentError, match="dt is -1"):
        appell.simulate(ARM, *START, 1.0, method=appell.Integration("rk4", dt=-1))


@pytest.mark.parametrize("method", ["DOP853", "Radau", "rk4"])
def test_a_start_without_accelerations_is_refused_at_once(method):
    with pytest.raises(appell.SimulationError, match=r"beyond t = 0 s.*: tau\[1\] = nan at t = 0 s"):
        appell.simulate(ARM, *START, 1.0, tau=[0.0, math.nan], method=method)
