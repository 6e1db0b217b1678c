"""Identification inside the controller: parameters converge, errors fall, and nothing implausible reaches the control law."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace

import numpy as np
import pytest
from helpers.control_rigs import PUMA

import appell
from appell.algorithms.runge_kutta import rk4_step
from appell.control import Adaptation, AdaptiveComputedTorque, ComputedTorque

ARM = appell.load("planar2r")
GAINS = {"kp": 100.0, "kd": 20.0, "period": 2e-3}


def reference(t):
    """Two sines for each joint."""
    t = np.asarray(t, dtype=float)
    a, w = np.array([[0.6, 0.5], [0.3, -0.4]]), np.array([[2.0, 2.6], [4.1, 5.3]])
    phase = t[..., None, None] * w
    return tuple((a * part).sum(axis=-2) for part in (np.sin(phase), w * np.cos(phase), -(w**2) * np.sin(phase)))


def loaded(robot, factor):
    """The robot with a heavier last body."""
    last = robot.bodies[-1]
    heavy = replace(last, mass=factor * last.mass, inertia=tuple(factor * x for x in last.inertia))
    return replace(robot, bodies=(*robot.bodies[:-1], heavy))


def run(controller, plants, steps, noise=0.0):
    """Errors (steps, n), torques and the memory of a run; the plant is `plants(k)`."""
    rng = np.random.default_rng(0)
    T, (q, qd, _) = controller.period, reference(0.0)
    memory, errors, torques = controller.initial_memory(0.0, q, qd), [], []
    for k in range(steps):
        plant = plants(k)
        seen = qd + noise * rng.normal(size=len(qd))
        tau, memory = controller.step(k * T, q, seen, memory)

        def rate(c, y, plant=plant, tau=tau):
            return np.stack([y[1], plant.forward_dynamics(y[0], y[1], tau, check=False)])

        errors.append(q - reference(k * T)[0])
        torques.append(tau)
        q, qd = rk4_step(rate, np.stack([q, qd]), T)
    return np.array(errors), np.array(torques), memory


NOMINAL, HEAVY = appell.compile(ARM, threads=1), appell.compile(loaded(ARM, 1.8), threads=1)


def payload(k):
    """Taken up after two seconds."""
    return NOMINAL if k < 1000 else HEAVY


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_payload_is_identified_and_compensated(noise):
    fixed, _, _ = run(ComputedTorque(ARM, reference, **GAINS), payload, 3500, noise)
    controller = AdaptiveComputedTorque(ARM, reference, **GAINS)
    adapted, torques, memory = run(controller, payload, 3500, noise)
    assert np.abs(adapted[:1000]).max() <= 1.05 * np.abs(fixed[:1000]).max() + 1e-4
    assert np.abs(adapted[-500:]).max() < 0.1 * np.abs(fixed[-500:]).max()
    true = controller.base.of(loaded(ARM, 1.8).parameters)
    start = controller.base.of(ARM.parameters)
    assert np.linalg.norm(controller.parameters(memory) - true) < 0.05 * np.linalg.norm(start - true)
    assert (controller.standard_errors(memory) < 0.1 * controller.scales[1]).all()
    jumps = np.abs(np.diff(torques[1100:], axis=0)).max(axis=0)
    assert (jumps < 0.1 * np.abs(torques).max(axis=0)).all()  # blended in


def test_without_change_the_model_stays():
    """With the right model nothing is handed over, and torques are those of computed torque to the last digit."""
    controller = AdaptiveComputedTorque(ARM, reference, **GAINS)
    _, torques, memory = run(controller, lambda k: NOMINAL, 600)
    _, expected, _ = run(ComputedTorque(ARM, reference, **GAINS), lambda k: NOMINAL, 600)
    assert not controller.state(memory).used.any()
    np.testing.assert_array_equal(torques, expected)


def test_implausible_parameters_are_not_handed_over():
    """Mass matrices that are not positive definite or far too large; and hand-over by errors and time."""
    controller = AdaptiveComputedTorque(ARM, reference, **GAINS, effort_limit=200.0)
    state = controller.state(controller.initial_memory(0.0, *map(np.zeros, (2, 2))))
    q = np.array([0.3, 0.8])
    start = controller.base.of(ARM.parameters)
    assert controller.plausible(q, 0.5 * start)
    for change in (-1.1 * start, 5.0 * start, np.array([0.0, 0.0, 0.0, 0.0, 0.0, -5.0])):
        assert not controller.plausible(q, change)
        warm = state._replace(periods=np.array([1e4]), change=change, errors=np.array([0.0, 1.0]))
        assert not controller.handed_over(warm, q).target.any()
        in_use = warm._replace(used=change, target=change)
        assert not controller.handed_over(in_use, q).used.any()
    good = state._replace(periods=np.array([1e4]), change=0.5 * start, errors=np.array([0.4, 1.0]))
    assert controller.handed_over(good, q).target.tolist() == good.change.tolist()
    assert not controller.handed_over(good._replace(errors=np.array([0.6, 1.0])), q).target.any()
    assert not controller.handed_over(good._replace(periods=np.array([100.0])), q).target.any()  # warm-up, 0.3 s


def test_little_excitation_forgets_nothing():
    """At rest the covariance does not grow beyond its start, and the parameters stay."""
    controller = AdaptiveComputedTorque(ARM, [0.4, 0.2], **GAINS, adaptation=Adaptation(memory=0.05))
    q, qd = np.array([0.4, 0.2]), np.zeros(2)
    memory = controller.initial_memory(0.0, q, qd)
    for k in range(3000):
        _, memory = controller.step(k * 2e-3, q, qd, memory)
    state = controller.state(memory)
    relative = state.P / np.outer(controller.scales[1], controller.scales[1])
    assert np.trace(relative) <= len(relative) * (1 + 1e-9)
    assert np.linalg.eigvalsh(relative)[0] > -1e-9


def test_values_that_are_not_finite_do_not_reach_the_estimate():
    controller = AdaptiveComputedTorque(ARM, reference, **GAINS)
    _, _, memory = run(controller, payload, 100)
    state = controller.state(memory)
    spoiled = controller.updated(state._replace(y=np.array([np.nan, 0.0])))
    assert np.isfinite(spoiled.change).all()
    assert spoiled.change.tolist() == state.change.tolist()


def test_the_step_of_a_puma_fits_into_a_period_of_a_millisecond():
    """36 base parameters; the least of some steps, since the computer has other work."""
    q = np.array([0.0, -1.2, 2.9, 2.3, 1.0, -0.9])
    controller = AdaptiveComputedTorque(PUMA, q, kp=400.0, kd=40.0, period=1e-3)
    memory, times = controller.initial_memory(0.0, q, np.zeros(6)), []
    for k in range(60):
        begun = time.process_time()
        _, memory = controller.step(k * 1e-3, q, 1e-3 * np.sin(k + np.arange(6)), memory)
        times.append(time.process_time() - begun)
    assert len(controller.base) == 36
    assert sorted(times)[len(times) // 2] < 1e-3


def test_it_travels_and_refuses_what_does_not_fit():
    controller = AdaptiveComputedTorque(ARM, [0.5, 0.25], **GAINS)
    q, qd = np.array([0.1, 0.2]), np.zeros(2)
    tau, _ = controller.step(0.0, q, qd, controller.initial_memory(0.0, q, qd))
    copy = pickle.loads(pickle.dumps(controller))
    np.testing.assert_array_equal(copy.step(0.0, q, qd, copy.initial_memory(0.0, q, qd))[0], tau)
    with pytest.raises(appell.ArgumentError, match="give it a period"):
        AdaptiveComputedTorque(ARM, [0.5, 0.25], kp=1.0, kd=1.0, period=None)
    with pytest.raises(appell.ArgumentError, match="mass_ratio"):
        Adaptation(mass_ratio=1.0)


def test_the_defaults_of_the_adaptation():
    assert Adaptation() == Adaptation(0.5, 60.0, 1e-3, 0.5, 5, 0.3, 0.5, 0.1, 4.0)
    assert Adaptation(improvement=1.0, warm_up=0.0, every=1, mass_ratio=1.1).mass_ratio == 1.1
    for wrong in ({"improvement": 1.1}, {"every": 0}, {"blend": 0.0}, {"warm_up": -1.0}):
        with pytest.raises(appell.ArgumentError, match=next(iter(wrong))):
            Adaptation(**wrong)


def test_scales_are_forces_of_gravity_and_columns_relative_to_them():
    controller = AdaptiveComputedTorque(ARM, [0.4, 0.2], **GAINS, adaptation=Adaptation(spread=0.7))
    forces, spread = controller.scales
    rng = np.random.default_rng(0)
    q = ARM.random_configurations(100, rng)
    gravity = np.abs(ARM.gravity(q)).max(axis=0)
    expected = gravity if gravity.any() else np.ones(2)
    np.testing.assert_allclose(forces, expected, rtol=1e-12)
    qd, qdd = rng.uniform(-1.0, 1.0, (2, 100, 2))
    K = ARM.regressor(q, qd, qdd)[..., list(controller.base.independent)] / forces[:, None]
    np.testing.assert_allclose(spread, 0.7 / np.sqrt((K**2).mean(axis=(0, 1))), rtol=1e-12)
    flat = AdaptiveComputedTorque(ARM.with_gravity((0.0, 0.0, 0.0)), [0.4, 0.2], **GAINS)
    np.testing.assert_array_equal(flat.scales[0], np.ones(2))


def random_state(controller, seed=0):
    rng = np.random.default_rng(seed)
    n, b = 2, len(controller.base)
    start = controller.state(controller.initial_memory(0.0, *map(np.zeros, (2, 2))))
    P = start.P * 0.2
    changes = {name: rng.normal(size=b) for name in ("change", "target", "used")}
    measured = {name: rng.normal(size=n) for name in ("q", "qd", "tau", "y")}
    return start._replace(
        periods=np.array([7.0]), K=rng.normal(size=(n, b)), P=P, errors=np.array([0.3, 0.6]), **changes, **measured
    )


def test_one_step_of_recursive_least_squares():
    """The information form: P⁻¹ grows by K^T K / noise² after forgetting, the change solves the normal equations."""
    controller = AdaptiveComputedTorque(ARM, [0.4, 0.2], **GAINS)
    state, options = random_state(controller), controller.adaptation
    found = controller.updated(state)
    forces, _ = controller.scales
    K, y = state.K / forces[:, None], state.y / forces
    forgetting = np.exp(-5 * 2e-3 / 0.5)
    before = forgetting * np.linalg.inv(state.P)
    information = before + K.T @ K / options.noise**2
    np.testing.assert_allclose(found.P @ information, np.eye(len(state.P)), atol=1e-5)
    expected = np.linalg.solve(information, before @ state.change + K.T @ y / options.noise**2)
    np.testing.assert_allclose(found.change, expected, rtol=1e-5)
    share = 1.0 - forgetting
    squares = [np.sum((y - K @ each) ** 2) for each in (found.change, state.used)]
    np.testing.assert_allclose(found.errors, state.errors + share * (np.array(squares) - state.errors), rtol=1e-9)
    full = state._replace(P=controller.state(controller.initial_memory(0.0, *map(np.zeros, (2, 2)))).P)
    kept = np.linalg.inv(full.P) + K.T @ K / options.noise**2  # does not forget beyond the start
    np.testing.assert_allclose(controller.updated(full).P @ kept, np.eye(len(kept)), atol=1e-4)


def test_measurements_are_filtered_and_changes_blended_in():
    """At the middle of the period, with the forces that were applied in it."""
    controller = AdaptiveComputedTorque(ARM, [0.4, 0.2], **GAINS)
    state = random_state(controller)
    q, qd = state.q + 0.01, state.qd + 0.02
    found = controller.identified(state, q, qd)  # the seventh period is no fifth one: no update
    middle = 0.5 * (q + state.q), 0.5 * (qd + state.qd), (qd - state.qd) / 2e-3
    y = state.tau + ARM.passive_forces(middle[1]) - ARM.inverse_dynamics(*middle)
    share = 1.0 - np.exp(-60.0 * 2e-3)
    np.testing.assert_allclose(found.y, state.y + share * (y - state.y), rtol=1e-9)
    K = controller.regressor(*middle)
    np.testing.assert_allclose(found.K, state.K + share * (K - state.K), rtol=1e-9)
    blend = 1.0 - np.exp(-2e-3 / 0.1)
    np.testing.assert_allclose(found.used, state.used + blend * (state.target - state.used), rtol=1e-9)
    np.testing.assert_array_equal(found.change, state.change)
    fifth = controller.identified(state._replace(periods=np.array([10.0])), q, qd)
    assert (fifth.change != state.change).all()
    untouched = state._replace(periods=np.zeros(1))
    assert controller.identified(untouched, q, qd) is untouched


def test_plausible_ratios_of_mass_matrices():
    """All parameters times a factor: the mass matrix is, too; between 1/4 and 4 of the start."""
    controller = AdaptiveComputedTorque(ARM, [0.4, 0.2], **GAINS)
    start, q = controller.base.of(ARM.parameters), np.array([0.3, 0.8])
    for factor, good in ((3.9, True), (4.1, False), (0.26, True), (0.24, False)):
        assert controller.plausible(q, (factor - 1.0) * start) == good
    noise = random_state(controller)._replace(
        change=0.5 * start, used=np.zeros(len(start)), target=np.zeros(len(start))
    )
    for errors, taken in (
        ((0.0, 1.9e-6), False),
        ((0.0, 2.1e-6), True),
    ):  # the noise of 1e-3, squared, is the least error
        late = noise._replace(periods=np.array([150.0]), errors=np.array(errors))
        assert controller.handed_over(late, q).target.any() == taken
    assert not controller.handed_over(late._replace(periods=np.array([149.0])), q).target.any()


def test_the_law_with_a_change_in_use_is_that_of_the_changed_robot():
    heavy = loaded(ARM, 1.5)
    controller = AdaptiveComputedTorque(ARM, reference, **GAINS, effort_limit=[1e3, 4.0])
    change = controller.base.of(heavy.parameters) - controller.base.of(ARM.parameters)
    q, qd = np.array([0.3, 0.8]), np.array([0.4, -0.2])
    state = controller.state(controller.initial_memory(0.0, q, qd))
    tau, memory = controller.step(0.1, q, qd, state._replace(used=change, target=change).packed())
    expected, _ = ComputedTorque(heavy, reference, **GAINS).step(0.1, q, qd, np.zeros(0))
    np.testing.assert_allclose(tau, np.clip(expected, [-1e3, -4.0], [1e3, 4.0]), rtol=1e-9)
    after = controller.state(memory)
    assert after.periods[0] == 1.0
    np.testing.assert_array_equal(after.q, q)
    np.testing.assert_array_equal(after.tau, tau)
    np.testing.assert_allclose(controller.parameters(memory), controller.base.of(ARM.parameters))
    np.testing.assert_allclose(controller.standard_errors(memory), controller.scales[1])
