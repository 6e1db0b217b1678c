"""Controllers: what they refuse, torque limits, integrals that do not wind up, wrong models."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell.control import PD, ComputedTorque, ComputedTorqueIntegral, PDGravity, scaled_masses

ARM = appell.load("planar2r")
REST = np.zeros(2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kp": [1.0, 2.0, 3.0]}, r"kp has shape \(3,\), expected a number or \(2,\)"),
        ({"kd": -1.0}, "kd is -1.0, expected finite numbers that are not negative"),
        ({"kp": np.nan}, "kp is nan"),
        ({"period": 0.0}, r"period is 0.0, expected a positive number \[s\] or None"),
        ({"effort_limit": [1.0]}, r"effort_limit has shape \(1,\)"),
        ({"reference": [0.0, 0.0, 0.0]}, r"reference has shape \(3,\), expected a point \(2,\)"),
        ({"reference": [0.0, np.inf]}, r"reference\[1\] is inf, expected a finite number"),
    ],
)
def test_bad_settings_are_refused_by_name(options, words):
    with pytest.raises(appell.ArgumentError, match=words):
        PD(**{"robot": ARM, "reference": REST, "kp": 1.0, "kd": 1.0, **options})


def test_an_integral_needs_a_period():
    with pytest.raises(appell.ArgumentError, match="give it a period"):
        ComputedTorqueIntegral(ARM, REST, kp=1.0, kd=1.0, ki=1.0, period=None)


def test_joints_that_turn_in_space_and_loops_are_refused():
    builder = appell.RobotBuilder("ball").body("base").body("ball", mass=1.0, inertia=(1, 0, 0, 1, 0, 1))
    robot = builder.joint("spherical", "s", "base", "ball").build()
    for each in (robot, appell.load("five_bar")):
        with pytest.raises(appell.ArgumentError, match="spherical joints or closed loops"):
            PD(each, [0.0], kp=1.0, kd=1.0)


def test_a_state_that_is_not_finite_is_an_error():
    controller = PD(ARM, REST, kp=1.0, kd=1.0)
    with pytest.raises(appell.SimulationError, match=r"t = 0\.5 s is not finite") as caught:
        controller.step(0.5, np.array([np.nan, 0.0]), REST, controller.initial_memory(0.0, REST, REST))
    assert caught.value.time == 0.5


def test_states_of_any_kind_are_taken_and_wrong_sizes_named():
    controller = ComputedTorque(ARM, [0.4, 0.1], kp=25.0, kd=10.0)
    memory = controller.initial_memory(0.0, REST, REST)
    expected = controller.step(0.0, np.array([0.5, 0.25]), REST, memory)[0]
    for q in ([0.5, 0.25], np.array([0.5, 0.25], np.float32), np.array([0.5, 9.0, 0.25])[::2]):
        assert (controller.step(0.0, q, REST, memory)[0] == expected).all()
    with pytest.raises(appell.ArgumentError, match=r"qd has shape \(3,\), expected \(2,\)"):
        controller.step(0.0, REST, np.zeros(3), memory)
    with pytest.raises(appell.ArgumentError, match=r"the reference has shape \(9,\), expected \(6,\)"):
        ComputedTorque(ARM, lambda t: (np.zeros(3),) * 3, kp=1.0, kd=1.0).step(0.0, REST, REST, memory)
    with pytest.raises(appell.ArgumentError, match="the reference returns a ndarray, expected the three arrays"):
        ComputedTorque(ARM, lambda t: np.zeros(2), kp=1.0, kd=1.0).step(0.0, REST, REST, memory)


def test_without_a_compiler_the_steps_are_the_same(monkeypatch):
    compiled = ComputedTorqueIntegral(ARM, [0.3, 0.1], kp=9.0, kd=6.0, ki=1.0, effort_limit=5.0)
    monkeypatch.setenv("APPELL_NATIVE", "0")
    interpreted = ComputedTorqueIntegral(ARM, [0.3, 0.1], kp=9.0, kd=6.0, ki=1.0, effort_limit=5.0)
    memory = np.array([0.2, -0.1])
    for mine, theirs in zip(
        compiled.step(0.0, REST, REST, memory), interpreted.step(0.0, [0, 0], REST, memory), strict=True
    ):
        assert_close(mine, theirs)


def test_controllers_are_frozen_and_can_be_sent_elsewhere():
    controller = ComputedTorqueIntegral(ARM, [0.3, 0.1], kp=9.0, kd=6.0, ki=1.0, effort_limit=5.0)
    with pytest.raises(AttributeError):
        controller.kp = 1.0
    before = controller.step(0.0, REST, REST, controller.initial_memory(0.0, REST, REST))
    copy = pickle.loads(pickle.dumps(controller))
    assert copy == controller
    for mine, theirs in zip(before, copy.step(0.0, REST, REST, copy.initial_memory(0.0, REST, REST)), strict=True):
        assert (mine == theirs).all()


def test_torques_stay_within_their_limits():
    free = PD(ARM, [1.0, -1.0], kp=[100.0, 10.0], kd=0.0)
    held = PD(ARM, [1.0, -1.0], kp=[100.0, 10.0], kd=0.0, effort_limit=[30.0, 20.0])
    assert free.step(0.0, REST, REST, free.initial_memory(0.0, REST, REST))[0].tolist() == [100.0, -10.0]
    assert held.step(0.0, REST, REST, held.initial_memory(0.0, REST, REST))[0].tolist() == [30.0, -10.0]


def test_an_integral_stands_still_only_where_it_would_push_further():
    """At a limit with e < 0 the integral would fall and the torque grow: it is kept. With e > 0 it comes back."""
    controller = ComputedTorqueIntegral(
        ARM.with_gravity((0, 0, 0)), [1.0, 0.0], kp=50.0, kd=10.0, ki=20.0, effort_limit=2.0, period=0.01
    )
    tau, after = controller.step(0.0, REST, REST, np.array([0.5, 0.25]))
    assert tau[0] == 2.0
    assert after[0] == 0.5
    beyond = np.array([1.5, 0.0])
    tau, after = controller.step(0.0, beyond, REST, np.array([-20.0, 0.0]))
    assert tau[0] == 2.0
    assert after[0] == pytest.approx(-20.0 + 0.01 * 0.5, abs=1e-12)


def test_a_saturated_arm_overshoots_less_than_one_that_winds_up():
    """A joint whose torque carries it only slowly: with conditional integration there is little to unwind."""
    arm = ARM.with_gravity((0, 0, 0))
    controller = ComputedTorqueIntegral(
        arm, [1.5, 0.0], kp=60.0, kd=15.0, ki=60.0, effort_limit=[3.0, 3.0], period=5e-3
    )

    def overshoot(wind_up: bool) -> float:
        """A small loop of our own: semi-implicit Euler, with the integral of a controller without limits if asked for."""
        q, qd, memory, most = REST, REST, controller.initial_memory(0.0, REST, REST), 0.0
        for k in range(1600):
            tau, kept = controller.step(5e-3 * k, q, qd, memory)
            memory = memory + 5e-3 * (q - np.array([1.5, 0.0])) if wind_up else kept
            qd = qd + 5e-3 * arm.forward_dynamics(q, qd, tau)
            q = q + 5e-3 * qd
            most = max(most, float(q[0]) - 1.5)
        return most

    assert overshoot(False) < 0.5 * overshoot(True)


def test_gravity_alone_holds_an_arm_at_its_point():
    controller = PDGravity(ARM, [0.7, -0.4], kp=80.0, kd=20.0)
    motion = appell.simulate(
        ARM, [0.2, 0.2], REST, 4.0, controller=controller, method=appell.Integration("rk4", dt=1e-3), t_eval=1.0
    )
    assert_close(motion.q[-1], np.array([0.7, -0.4]), tolerance=1e-4, scale=1.0)
    without = PD(ARM, [0.7, -0.4], kp=80.0, kd=20.0)
    sagged = appell.simulate(
        ARM, [0.2, 0.2], REST, 4.0, controller=without, method=appell.Integration("rk4", dt=1e-3), t_eval=1.0
    )
    weight = ARM.gravity(sagged.q[-1])
    assert_close(sagged.q[-1] - [0.7, -0.4], -weight / 80.0, tolerance=1e-3, scale=1.0)


def test_a_wrong_model_has_wrong_masses_and_nothing_else():
    heavy = scaled_masses(ARM, 1.2)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 2))
    assert_close(heavy.inverse_dynamics(q, qd, qdd), 1.2 * ARM.inverse_dynamics(q, qd, qdd))
    one = scaled_masses(ARM, [1.0, *([2.0] * (len(ARM.bodies) - 1))])
    assert one.bodies[-1].mass == 2.0 * ARM.bodies[-1].mass
    with pytest.raises(appell.ArgumentError, match="expected positive numbers"):
        scaled_masses(ARM, -1.0)


def test_a_reference_in_a_table_is_the_reference():
    """Signals at the multiples of the period come from one batch, others from a call: both are the reference's."""
    move = appell.trajectories.joint_line(ARM, [0.0, 1.0], [1.0, -1.0], duration=0.2)
    controller = ComputedTorque(ARM, move, kp=1.0, kd=1.0, period=0.01)
    for t in (0.0, 0.07, 0.0731, 0.2, 0.21, 5.0):
        assert_close(controller.signals(t), np.concatenate(move(t)), scale=100.0)


def test_laws_are_the_ones_of_rollouts():
    """A controller without a memory, sampled at every step, is the law inside `appell.rollout`."""
    controller = ComputedTorque(ARM, [0.4, 0.1], kp=25.0, kd=10.0, period=2e-3)
    options = {"steps": 200, "dt": 2e-3, "options": appell.RolloutOptions("semi_implicit_euler")}
    reference = {"q": [0.4, 0.1]}
    law = {"law": controller.law.name, "gains": controller.gains}
    rolled = appell.rollout(appell.compile(ARM), REST, REST, reference, **law, **options)
    run = appell.simulate(
        ARM, REST, REST, 0.4, controller=controller, method=appell.Integration("semi_implicit_euler", dt=2e-3), t_eval=2e-3
    )  # fmt: skip
    assert_close(run.q[1:], rolled.q, tolerance=1e-10, scale=1.0)
