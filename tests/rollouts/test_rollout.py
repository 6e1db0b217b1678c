"""Rollouts on the CPU: orders of the integrators, laws with known solutions, held controls, layouts, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from scipy.linalg import expm

import appell
from appell.model.body import Body
from appell.rollouts.integrators import INTEGRATORS

ARM = appell.load("planar2r")
DYN = appell.compile(ARM)
STILL = np.zeros(2)


def end(steps: int, duration: float = 0.5, **options) -> np.ndarray:
    """Coordinates after a fall from rest."""
    start = np.array([0.3, -0.4])
    return appell.rollout(DYN, start, STILL, steps=steps, dt=duration / steps, save_every=steps, **options).q[0]


@pytest.mark.parametrize("name", list(INTEGRATORS))
def test_error_falls_with_the_declared_order(name):
    fine = end(6400)
    errors = [np.abs(end(steps, options=appell.RolloutOptions(name)) - fine).max() for steps in (160, 320, 640)]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.abs(orders - INTEGRATORS[name].order).max() < 0.15


def test_energy_is_kept_without_friction():
    q0 = np.random.default_rng(1).normal(size=(4, 2))
    path = appell.rollout(DYN, q0, 0 * q0, steps=1000, dt=1e-3, save_every=100)
    energy = ARM.kinetic_energy(path.q, path.qd) + ARM.potential_energy(path.q)
    start = ARM.potential_energy(q0)[:, None]
    assert_close(energy, np.broadcast_to(start, energy.shape), tolerance=1e-8)


def test_damping_takes_energy_and_can_be_left_out():
    damped = replace(ARM, joints=tuple(replace(joint, damping=0.5, friction=0.1) for joint in ARM.joints))
    dyn = appell.compile(damped)
    start = np.array([0.3, -0.4])
    lossy = appell.rollout(dyn, start, STILL, steps=200, dt=1e-3, save_every=200)
    free = appell.rollout(
        dyn, start, STILL, steps=200, dt=1e-3, save_every=200, options=appell.RolloutOptions(passive_forces=False)
    )
    assert_close(free.q[0], end(200, 0.2))
    energy = [ARM.kinetic_energy(x.q[0], x.qd[0]) + ARM.potential_energy(x.q[0]) for x in (lossy, free)]
    assert energy[0] < energy[1] - 1e-4


def test_computed_torque_makes_errors_decay_as_a_linear_oscillator():
    q0 = np.array([[0.5, -0.3], [1.0, 2.0]])
    options = {"law": "computed_torque", "gains": {"kp": 100.0, "kd": 20.0}}
    path = appell.rollout(DYN, q0, 0 * q0, {"q": STILL}, steps=1000, dt=1e-3, save_every=500, **options)
    exact = q0[:, None] * ((1 + 10 * path.t) * np.exp(-10 * path.t))[:, None]
    assert_close(path.q, exact, tolerance=1e-8)


def test_pd_with_gravity_settles_at_its_reference():
    path = appell.rollout(
        DYN, STILL, STILL, {"q": [0.4, 0.2]}, law="pd_gravity", gains={"kp": [80.0, 40.0], "kd": 15.0},
        steps=6000, dt=1e-3, save_every=6000,
    )  # fmt: skip
    assert_close(path.q[0], np.array([0.4, 0.2]), tolerance=1e-6)


def test_gains_and_signals_go_by_their_names_in_any_order():
    q0, speeds = np.array([0.5, -0.3]), np.array([0.2, 0.1])
    options = {"law": "computed_torque", "steps": 100, "dt": 1e-3, "save_every": 100}
    one = appell.rollout(DYN, q0, STILL, {"q": q0, "qd": speeds}, gains={"kp": 100.0, "kd": 20.0}, **options)
    other = appell.rollout(DYN, q0, STILL, {"qd": speeds, "q": q0}, gains={"kd": 20.0, "kp": 100.0}, **options)
    assert np.array_equal(one.q, other.q)
    assert np.array_equal(one.qd, other.qd)


def test_held_controls_change_when_they_should():
    torques = np.random.default_rng(0).normal(size=(3, 4, 2))
    q0 = np.zeros((3, 2))
    held = appell.rollout(DYN, q0, q0, torques, control_every=5, steps=18, dt=1e-3, save_every=18)
    q, qd = q0, q0
    for k, steps in enumerate((5, 5, 5, 3)):
        piece = appell.rollout(DYN, q, qd, torques[:, k], steps=steps, dt=1e-3, save_every=steps)
        q, qd = piece.q[:, 0], piece.qd[:, 0]
    assert_close(held.q[:, 0], q)
    assert_close(held.qd[:, 0], qd)


def test_columns_are_the_transposed_rows():
    columns = appell.compile(ARM, layout="columns")
    rng = np.random.default_rng(2)
    q0, torques = rng.normal(size=(5, 2)), rng.normal(size=(4, 2))
    rows = appell.rollout(DYN, q0, 0 * q0, torques, control_every=3, steps=12, dt=1e-3, save_every=4)
    turned = appell.rollout(columns, q0.T, 0 * q0.T, torques.T, control_every=3, steps=12, dt=1e-3, save_every=4)
    assert_close(turned.q, np.ascontiguousarray(rows.q.T))


def test_arrays_of_any_kind_are_read_right():
    q0 = np.random.default_rng(0).normal(size=(6, 2))
    expected = appell.rollout(DYN, q0, 0 * q0, steps=5, dt=1e-3)
    packed = np.zeros(6, dtype=[("skip", "i1"), ("q", "f8", 2)])
    packed["q"] = q0  # not aligned
    for given in (q0.tolist(), np.asfortranarray(q0), q0[::-1][::-1], q0.astype(">f8"), packed["q"]):
        assert np.array_equal(appell.rollout(DYN, given, 0 * q0, steps=5, dt=1e-3).q, expected.q)


def test_same_input_same_bits():
    assert np.array_equal(end(100), end(100))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"law": "pid"}, "unknown control law 'pid'"),
        ({"law": "pd"}, "needs the gains kp, kd"),
        ({"steps": 0}, "steps is 0"),
        ({"dt": -1.0}, "dt is -1.0"),
        ({"save_every": 20}, "no state would be saved"),
        ({"controls": np.zeros(3)}, r"tau has shape \(3,\), expected \(..., 2\)"),
        (
            {"controls": np.zeros((3, 2)), "control_every": 5},
            r"expected \(..., 2, 2\), one value per control_every steps",
        ),
        ({"controls": {"torque": STILL}}, "unknown control signal 'torque'"),
        ({"q0": np.zeros((3, 2)), "qd0": np.zeros((4, 2))}, "do not fit together"),
    ],
)
def test_bad_arguments_are_refused_by_name(options, words):
    given = {"q0": STILL, "qd0": STILL, "steps": 10, "dt": 1e-3, **options}
    with pytest.raises(appell.ArgumentError, match=words):
        appell.rollout(DYN, **given)


def test_unknown_integrators_are_refused_by_name():
    with pytest.raises(appell.ArgumentError, match="unknown integrator 'rk5'"):
        appell.RolloutOptions("rk5")


def test_former_arguments_work_and_warn():
    torques, q0 = np.ones((2, 2)), np.zeros((3, 2))
    expected = appell.rollout(
        DYN, q0, q0, torques, steps=6, dt=1e-3, control_every=3, save_every=2,
        options=appell.RolloutOptions("semi_implicit_euler", passive_forces=False),
    )  # fmt: skip
    with pytest.warns(DeprecationWarning, match="is now called") as warned:
        path = appell.rollout(
            DYN, q0, q0, torques, steps=6, dt=1e-3, hold=3, every=2, integrator="semi_implicit_euler", passive=False
        )
    assert np.array_equal(path.q, expected.q)
    assert {warning.filename for warning in warned} == {__file__}
    assert len(warned) == 4


def test_divergence_names_its_time():
    with pytest.raises(appell.SimulationError, match=r"not finite at t = 0\.\d+ s"):
        appell.rollout(DYN, STILL, STILL, {"q": STILL + 1}, law="pd", gains={"kp": 1e9, "kd": 1e9}, steps=500, dt=1e-3)


def test_integral_tracking_makes_errors_decay_as_a_linear_system_of_third_order():
    q0 = np.array([[0.5, -0.3], [1.0, 2.0]])
    options = {"law": "integral_tracking", "gains": {"kp": 100.0, "kd": 20.0, "ki": 60.0}}
    path = appell.rollout(DYN, q0, 0 * q0, {"q": STILL}, steps=1000, dt=1e-3, save_every=500, **options)
    slope = np.array([[0.0, 1.0, 0.0], [-100.0, -20.0, -60.0], [1.0, 0.0, 0.0]])  # of e, its rate and its integral
    shares = np.array([expm(slope * t)[0, 0] for t in path.t])
    assert_close(path.q, q0[:, None] * shares[:, None], tolerance=1e-8)


def test_without_a_compiler_the_plain_loop_does_the_work(monkeypatch):
    monkeypatch.setenv("APPELL_NATIVE", "0")
    dyn = appell.compile(ARM)
    start = np.array([0.3, -0.4])
    slow = appell.rollout(dyn, start, STILL, steps=20, dt=1e-3, save_every=20)
    assert dyn.functions.target.builder is None
    assert_close(slow.q[0], end(20, 0.02))


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("compiled", [True, False])
def test_inertial_parameters_may_differ_from_robot_to_robot(monkeypatch, layout, compiled):
    if not compiled:
        monkeypatch.setattr("appell.rollouts.native._library", lambda dyn, plan: None)
    scales = np.array([0.5, 1.0, 1.7])
    own = ARM.parameters * scales[:, None]
    dyn = appell.compile(ARM, parameters="runtime", layout=layout)
    start = np.array([[0.3, -0.4], [0.1, 0.2], [1.0, 0.4]])
    torque = np.array([0.5, -0.2])
    options = {"steps": 50, "dt": 1e-3, "save_every": 25}
    given = (start, 0 * start, own) if layout == "rows" else (start.T, 0 * start.T, own.T)
    path = appell.rollout(dyn, *given[:2], torque, parameters=given[2], **options)
    for i, scale in enumerate(scales):  # all inertia scaled moves as the same robot does under a scaled torque
        alone = appell.rollout(DYN, start[i], STILL, torque / scale, **options)
        assert_close(path.q[i] if layout == "rows" else path.q[..., i].T, alone.q, tolerance=1e-12)


def test_inertial_parameters_are_the_descriptions_own_where_none_are_given():
    dyn = appell.compile(ARM, parameters="runtime")
    start = np.array([0.3, -0.4])
    assert_close(
        appell.rollout(dyn, start, STILL, steps=20, dt=1e-3, save_every=20).q[0], end(20, 0.02), tolerance=1e-13
    )
    with pytest.raises(appell.ArgumentError, match=r"parameters has shape \(3,\), expected \(..., 20\)"):
        appell.rollout(DYN, start, STILL, steps=1, dt=1e-3, parameters=[1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", ["four_bar", "agile_wrist"])
def test_closed_loops_are_sent_to_simulate(name):
    robot = appell.load(name)
    with pytest.raises(appell.ArgumentError, match=r"Use appell\.simulate"):
        appell.rollout(appell.compile(robot), np.zeros(robot.nq), np.zeros(robot.nv), steps=1, dt=0.1)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_a_robot_without_joints_stays(layout):
    dyn = appell.compile(appell.Robot("rock", (Body("base"),), ()), layout=layout)
    still = np.zeros((4, 0) if layout == "rows" else (0, 4))
    path = appell.rollout(dyn, still, still, steps=6, dt=0.1, save_every=2)
    assert path.q.shape == path.qd.shape == ((4, 3, 0) if layout == "rows" else (0, 3, 4))
    assert_close(path.t, np.array([0.2, 0.4, 0.6]))
    assert path.vjp(q=path.q).q0.shape == still.shape
    assert path.jvp(still).q.shape == path.q.shape


def test_starts_that_are_no_arrays_are_named():
    for q0 in (0.5, [[0.0], [0.0, 1.0]], None):
        with pytest.raises(appell.ArgumentError, match="q0 "):
            appell.rollout(DYN, q0, STILL, steps=1, dt=0.1)
