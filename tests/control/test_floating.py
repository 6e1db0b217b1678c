"""Control laws of robots with a floating base act on the other joints: in simulations, rollouts, C, on the command line."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.states import random_states

import appell
from appell.algorithms.laws import LAWS
from appell.cli import main
from appell.control.controller import CONTROLLERS, default_gains
from appell.rollouts import native

GAINS = {"kp": np.array([90.0, 100.0, 110.0]), "kd": np.array([18.0, 20.0, 22.0]), "ki": np.array([40.0, 50.0, 60.0])}


def legged(effort: float = np.inf) -> appell.Robot:
    """A trunk on a floating base, which is not the first joint in the file, with a leg of two joints and an arm."""
    builder = (
        appell.RobotBuilder("legged").body("world").body("trunk", 3.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.2, 0.3))
    )
    limits = (-3.0, 3.0, 5.0, effort)
    for name in ("thigh", "shank", "arm"):
        builder.body(name, 1.0, com=(0.0, 0.05, -0.2), inertia=(0.02, 0.02, 0.01))
    builder.revolute("hip", "trunk", "thigh", "y", xyz=(0.0, 0.1, -0.1), limits=limits)
    builder.floating("base", "world", "trunk")
    builder.revolute("knee", "thigh", "shank", "y", xyz=(0.0, 0.0, -0.4), limits=limits)
    return builder.revolute("elbow", "trunk", "arm", "x", xyz=(0.0, -0.1, 0.2), limits=limits).build()


ROBOT = legged()
OWN_Q, OWN_V = [0, 8, 9], [0, 7, 8]
BASE = [1, 2, 3, 4, 5, 6]


def made(law: str, reference=(0.1, -0.2, 0.3), **options):
    return CONTROLLERS[law](ROBOT, reference, **{name: GAINS[name] for name in LAWS[law].gains}, **options)


def test_pd_laws() -> None:
    q, qd, _ = (x[0] for x in random_states(ROBOT, 1))
    expected = -GAINS["kp"] * (q[OWN_Q] - [0.1, -0.2, 0.3]) - GAINS["kd"] * qd[OWN_V]
    for law, extra in (("pd", 0.0), ("pd_gravity", ROBOT.gravity(q)[OWN_V])):
        tau, _ = made(law).step(0.0, q, qd, np.zeros(0))
        assert not tau[BASE].any()
        assert_close(tau[OWN_V], expected + extra, tolerance=1e-13)


@pytest.mark.parametrize("law", ["computed_torque", "point_to_point", "integral_tracking"])
def test_free_flight_is_linear_and_decoupled(law: str) -> None:
    """qdd of the actuated joints is what the law prescribes, without forces on the base."""
    q, qd, _ = (x[0] for x in random_states(ROBOT, 1, seed=2))
    controller = made(law)
    memory = np.array([0.1, 0.2, 0.3])[: len(controller.initial_memory(0.0, q, qd))]
    tau, _ = controller.step(0.0, q, qd, memory)
    assert not tau[BASE].any()
    expected = -GAINS["kp"] * (q[OWN_Q] - [0.1, -0.2, 0.3]) - GAINS["kd"] * qd[OWN_V]
    if len(memory):
        expected = expected - GAINS["ki"] * memory
    assert_close(ROBOT.forward_dynamics(q, qd, tau)[OWN_V], expected, tolerance=1e-11)


def test_simulation_follows_a_line_of_the_actuated_joints() -> None:
    line = appell.trajectories.joint_line(ROBOT, [0.0, 0.0, 0.0], [0.5, -0.5, 0.2], duration=0.5)
    assert line.joint_names == ("hip", "knee", "elbow")
    q0 = ROBOT.neutral_configuration()
    motion = appell.simulate(
        ROBOT, q0, np.zeros(9), 0.5, controller=made("computed_torque", line, period=1e-3), method="RK45"
    )
    assert_close(motion.q[-1, OWN_Q], [0.5, -0.5, 0.2], tolerance=1e-3)
    assert not motion.tau[:, BASE].any()
    with pytest.raises(appell.ArgumentError, match=r"points has shape \(2, 10\), expected \(\.\.\., 3\)"):
        appell.trajectories.joint_line(ROBOT, q0, q0, duration=0.5)


def test_saturation_and_memory_have_the_entries_of_the_actuated_joints() -> None:
    controller = made("integral_tracking", effort_limit=[1.0, 2.0, 3.0])
    assert controller.effort_limits[BASE].min() == np.inf
    q, qd, _ = (x[0] for x in random_states(ROBOT, 1))
    tau, memory = controller.step(0.0, q, qd, controller.initial_memory(0.0, q, qd))
    assert_close(np.abs(tau[OWN_V]), [1.0, 2.0, 3.0], tolerance=1e-15)
    assert memory.shape == (3,)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_rollouts(law: str, layout: str, monkeypatch) -> None:
    """The compiled loop and batch calls of every step agree, and both with the controller in a simulation."""
    rule, dyn = LAWS[law], appell.compile(ROBOT, layout=layout)
    q0, qd0, signal = random_states(ROBOT, 3)
    qd0 = 0.1 * qd0
    controls = dict.fromkeys(rule.signals, signal if law == "torque" else 0.1 * signal[:, :3])
    arrays = [q0, qd0, *controls.values()]
    if layout == "columns":
        arrays = [x.T for x in arrays]
    options: dict[str, Any] = {
        "law": law,
        "gains": {name: GAINS[name] for name in rule.gains},
        "steps": 20,
        "dt": 1e-3,
        "save_every": 20,
    }
    controls = dict(zip(rule.signals, arrays[2:], strict=True))
    compiled = appell.rollout(dyn, arrays[0], arrays[1], controls, **options)
    monkeypatch.setattr(native, "_library", lambda *_: None)
    stepped = appell.rollout(dyn, arrays[0], arrays[1], controls, **options)
    assert_close(compiled.q, stepped.q, tolerance=1e-12)
    assert_close(compiled.qd, stepped.qd, tolerance=1e-10)
    if law == "pd" and layout == "rows":
        reference = controls["q"][0], controls["qd"][0], np.zeros(3)
        controller = made("pd", lambda t: reference, period=None)
        method = appell.Integration("rk4", dt=1e-3)
        motion = appell.simulate(ROBOT, q0[0], qd0[0], 0.02, controller=controller, method=method)
        assert_close(compiled.q[0, -1], motion.q[-1], tolerance=1e-10)


def test_exported_controller(tmp_path) -> None:
    """The C code gives the torques of all velocities and keeps the memory of the actuated joints."""
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler")
    controller = made("integral_tracking", effort_limit=50.0)
    _, source = appell.control.export(controller, tmp_path, prefix="law")
    library = tmp_path / "law.so"
    flags = ["-std=c99", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    step = ctypes.CDLL(str(library)).law_step
    settings = ctypes.byref(ctypes.c_char.in_dll(ctypes.CDLL(str(library)), "law_default"))
    rng = np.random.default_rng(0)
    q, qd, _ = (x[0] for x in random_states(ROBOT, 1))
    reference, memory, tau = rng.normal(size=(3, 3)), np.array([0.01, 0.02, 0.03]), np.empty(9)
    expected, kept = controller.torque(q, qd, reference.ravel(), memory)
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (q, qd, *reference, memory, tau)]
    step(settings, *pointers)
    assert_close(tau, expected, tolerance=1e-13)
    assert_close(memory, kept, tolerance=1e-13)


def test_default_gains() -> None:
    """By the effort limits where there are any, else by the inertia."""
    q = ROBOT.neutral_configuration()
    moved = ROBOT.mass_matrix(q).diagonal()[OWN_V]
    assert_close(default_gains(ROBOT)["kp"], 100.0 * moved)
    limited = default_gains(legged(effort=40.0), period=1e-3)
    assert limited["kp"].tolist() == [80.0] * 3
    effective = 1.0 / np.linalg.inv(ROBOT.mass_matrix(q)).diagonal()[OWN_V]
    assert (limited["kd"] <= effective / 2e-3 + 1e-12).all()
    assert default_gains(ROBOT, "integral_tracking")["ki"].tolist() == [100.0] * 3


def test_command_line(tmp_path, capsys) -> None:
    path = tmp_path / "legged.urdf"
    ROBOT.to_urdf(path)
    arguments = ["simulate", str(path), "--law", "pd", "--duration", "0.05", "--target", "knee=0.1", "--json"]
    assert main([*arguments, "--out", str(tmp_path / "motion.npz")]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "finished"
    motion = appell.Trajectory.load(tmp_path / "motion.npz")
    assert not motion.tau[:, BASE].any()
    assert np.abs(motion.tau[:, 7]).max() > 0.0
    assert main(["control", "export", str(path), "--law", "pd", "--out", str(tmp_path)]) == 0
    assert "double kp[3]" in (tmp_path / "legged_pd.h").read_text()


def test_a_robot_without_actuated_joints() -> None:
    """Its controller has nothing to do."""
    builder = appell.RobotBuilder("block").body("world").body("block", 1.0, inertia=(1, 1, 1))
    block = builder.floating("base", "world", "block").build()
    tau, _ = CONTROLLERS["pd"](block, [], kp=1.0, kd=1.0).step(
        0.0, block.neutral_configuration(), np.ones(6), np.zeros(0)
    )
    assert tau.tolist() == [0.0] * 6
