"""How functions of spherical robots are called: batches, precision, layouts, arguments, files."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.spherical_robots import ROBOTS, body, regular_states, wrist
from hypothesis import given, settings
from hypothesis import strategies as st

import appell
from appell.closed_loop.spherical import Axis, Leg, SphericalRobot

FUNCTIONS = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "coriolis_matrix": 2, "actuator_jacobian": 1,
    "kinetic_energy": 2, "joint_angles": 1,
}  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_native_code_agrees_with_the_interpreter(function):
    robot = wrist("plus", (0.003, -0.004, 0.05))
    state = regular_states(robot, 19)[: FUNCTIONS[function]]
    expected = getattr(robot, function)(*state)
    dyn = appell.compile(robot, threads=2)
    out = np.full_like(expected, np.nan)
    assert getattr(dyn, function)(*state, out=out) is out
    assert_close(out, expected, tolerance=1e-12)
    one = getattr(dyn, function)(*(each[3] for each in state))
    assert_close(np.asarray(one), np.asarray(expected[3]), tolerance=1e-12, scale=np.abs(expected).max())


def test_single_precision_and_columns():
    robot = wrist()
    state = regular_states(robot, 33, span=0.5)
    expected = robot.bias(*state[:2])
    single = appell.compile(robot, dtype="float32").bias(*state[:2])
    assert single.dtype == np.float32
    assert_close(single.astype(float), expected, tolerance=2e-5)
    columns = appell.compile(robot, layout="columns").bias(*(each.T for each in state[:2]))
    assert_close(columns, expected.T, tolerance=1e-12)


def test_run_time_parameters():
    """Those of another robot give the other robot's dynamics; what depends on them is linear in them."""
    robot, other = wrist(), wrist("plus", (0.003, -0.004, 0.05))
    q, qd, qdd = regular_states(robot, 5)
    assert robot.parameters.shape == (70,)
    assert robot.parameters[0] == robot.platform.mass
    for dyn in (robot, appell.compile(robot, parameters="runtime")):
        expected = other.inverse_dynamics(q, qd, qdd)
        assert_close(dyn.inverse_dynamics(q, qd, qdd, parameters=other.parameters), expected, tolerance=1e-12)
        assert_close(dyn.mass_matrix(q, parameters=other.parameters), other.mass_matrix(q), tolerance=1e-12)
        assert_close(dyn.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), tolerance=1e-12)


@pytest.mark.parametrize("name", ["wrist", "long legs", "five-bar"])
def test_forces_are_linear_in_the_parameters(name):
    robot = ROBOTS[name]
    q, qd, qdd = regular_states(robot, 3)
    K = robot.generalized_regressor(q, qd, qdd)
    assert K.shape == (3, robot.nv, 10 * len(robot.bodies))
    assert_close(K @ robot.parameters, robot.generalized_forces(q, qd, qdd), tolerance=1e-12)
    unit = np.random.default_rng(0).uniform(0.5, 1.0, len(robot.parameters))
    assert_close(K @ unit, robot.generalized_forces(q, qd, qdd, parameters=unit), tolerance=1e-12)


def test_leading_dimensions_are_a_batch():
    robot = wrist()
    q, qd, qdd = (each.reshape(2, 3, 3) for each in regular_states(robot, 6))
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert tau.shape == (2, 3, 3)
    assert_close(tau[1, 2], robot.inverse_dynamics(q[1, 2], qd[1, 2], qdd[1, 2]), tolerance=1e-12)
    assert robot.mass_matrix(q).shape == (2, 3, 3, 3)
    assert robot.kinetic_energy(q, qd[0, 0]).shape == (2, 3)
    assert robot.joint_angles(q).shape == (2, 3, 9)
    assert robot.pose(q, "leg2_link1").shape == (2, 3, 4, 4)
    assert robot.inverse_dynamics(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w: w.mass_matrix([0.0, 0.0]), r"q has shape \(2,\), expected \(..., 3\)"),
        (lambda w: w.mass_matrix([0.0, np.nan, 0.0]), r"q\[1\] is nan"),
        (lambda w: w.bias([[0.0] * 3] * 2, [[0.0] * 3] * 3), "batch dimensions"),
        (lambda w: w.gravity([0.0] * 3, out=np.empty(4)), "out is"),
        (lambda w: w.gravity([0.0] * 3, method="mata2002"), "unknown method of gravity 'mata2002'"),
        (lambda w: w.pose([0.0] * 3, "hand"), "unknown frame 'hand'"),
        (lambda w: w.singularity([0.0, np.inf, 0.0]), r"q\[1\] is inf"),
        (lambda w: w.bias([0.0] * 3, [0.0] * 3, external_forces={"hand": [0.0] * 6}), "unknown frame 'hand'"),
    ],
)
def test_arguments_are_checked(call, text):
    with pytest.raises(appell.ArgumentError, match=text):
        call(wrist())


def two_guides() -> tuple[Leg, ...]:
    return tuple(Leg(name, Axis(0.0, 1.0), (1.0,), Axis(0.0, 1.0)) for name in "ab")


def test_descriptions_are_values():
    robot = wrist()
    assert robot == appell.robots.agile_wrist() == appell.load("agile_wrist") == pickle.loads(pickle.dumps(robot))
    assert robot != robot.with_working_modes("minus")
    assert robot.with_working_modes("minus").with_working_modes("plus") == robot
    assert appell.compile(robot).robot is robot
    assert repr(appell.compile(robot, threads=1)) == "CompiledRobot('agile_wrist', nq=3, nv=3, threads=1)"
    assert robot.joint_names == ("yaw", "pitch", "roll")
    assert len(robot.leg_joint_names) == 9
    assert [robot.leg_joint_names[k] for k in robot.actuated] == list(robot.actuator_names)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Leg("a", Axis(0, 1), (1.0, 1.0), Axis(0, 1), (body("b", np.random.default_rng(0)),)), "1 bodies for 2 arcs"),
        (lambda: Leg("a", Axis(0, 1), (1.0, 0.0), Axis(0, 1)), "arc 2 is 0 rad"),
        (lambda: Leg("a", Axis(0, np.inf), (1.0, 1.0), Axis(0, 1)), "finite"),
        (lambda: Leg("a", Axis(0, 1), (1.0, 1.0), Axis(0, 1), working_mode="left"), "unknown working mode 'left'"),
        (lambda: Leg("a", Axis(0, 1), (1.0, 1.0), Axis(0, 1), actuated=(3,)), "no joint 3"),
        (lambda: Leg("a", Axis(0, 1), (1.0, 1.0), Axis(0, 1), actuated=(0, 0)), "twice"),
        (lambda: SphericalRobot("r", (wrist().legs[0],) * 2, wrist().platform), "two bodies are named 'leg1_link1'"),
        (lambda: SphericalRobot("r", two_guides(), wrist().platform), "one leg may guide"),
        (lambda: wrist().with_working_modes(("plus",)), "1 working modes for 3 legs"),
        (lambda: wrist().with_working_modes("left"), "unknown working mode"),
        (lambda: appell.robots.agile_wrist(arc_radius=0.0), "arc_radius"),
        (lambda: appell.robots.agile_wrist(platform_com=(0.0, np.nan, 0.0)), "platform_com"),
        (lambda: appell.robots.agile_wrist(platform_com="abc"), "platform_com is 'abc', expected three finite numbers"),
        (lambda: appell.load("agile_wrist", base="floating"), "closed loops"),
        (lambda: ROBOTS["driven anywhere"].as_closed_loop(), "Actuate another joint"),
    ],
)  # fmt: skip
def test_descriptions_without_meaning_are_refused(make, text):
    with pytest.raises((appell.ModelError, appell.ArgumentError), match=text):
        make()


def test_a_mass_centre_that_does_not_fit_the_inertia_is_told():
    with pytest.warns(appell.ModelWarning, match="so little inertia"):
        appell.robots.agile_wrist(platform_com=(0.01, 0.02, 0.03))


@settings(max_examples=12)
@given(st.floats(-0.4, 0.4), st.floats(-0.4, 0.4), st.floats(-0.4, 0.4), st.floats(-np.pi, np.pi))
def test_turning_everything_about_the_vertical_changes_nothing(yaw, pitch, roll, turn):
    """All base axes and the platform turned about gravity: the same torques."""
    robot = wrist()
    legs = tuple(replace(leg, base=Axis(leg.base.azimuth + turn, leg.base.tilt)) for leg in robot.legs)
    turned = replace(robot, legs=legs)
    q, qd, qdd = np.array([yaw, pitch, roll]), np.array([0.3, -0.2, 0.5]), np.array([1.0, 2.0, -1.0])
    expected = robot.inverse_dynamics(q, qd, qdd)
    assert_close(turned.inverse_dynamics(q + turn * np.eye(3)[0], qd, qdd), expected, tolerance=1e-11)


def test_a_simulation_keeps_its_energy_balance():
    """Torques hold the weight and damp; the work of the actuators is the change of energy."""
    robot = wrist()

    def torques(t, q, qd):
        hold = robot.inverse_dynamics(q, 0 * qd, 0 * qd)
        return hold - 0.02 * robot.actuator_jacobian(q) @ qd + 0.02 * np.sin(4.0 * t + np.arange(3))

    motion = appell.simulate(
        robot, [0.1, 0.2, 0.1], [0.5, 0.0, 0.0], 0.4, tau=torques, method=appell.Integration(rtol=1e-10)
    )
    assert motion.status == "finished"
    assert motion.actuator_names == robot.actuator_names
    assert np.abs(motion.balance).max() < 1e-9
    assert np.abs(motion.energy - motion.energy[0]).max() > 1e-3


def test_info_and_counts(capsys):
    from appell.cli import main

    assert main(["info", "agile_wrist"]) == 0
    shown = capsys.readouterr().out
    assert "leg3_joint1" in shown
    assert "platform" in shown
    assert appell.count_operations(wrist(), "inverse_dynamics", compiled=True).mul < 600


def test_cuda_threads_compute_the_same(tmp_path):
    """The CUDA text as ordinary C++; a pose out of reach gives NaN there, too."""
    from helpers.cuda_as_cpp import compiler, run

    from appell.algorithms.function_spec import FunctionSpec
    from appell.compiler.lowering import lower_function
    from appell.compiler.targets.cuda.source import BLOCK, kernel_source

    if compiler() is None:
        pytest.skip("no C++ compiler")
    robot = wrist("plus", (0.003, -0.004, 0.05))
    inputs = [each.copy() for each in regular_states(robot, 9)]
    inputs[0][4] = 0.0, 0.0, -1.5
    expected = robot.inverse_dynamics(*inputs, check=False)
    source = kernel_source(lower_function(robot.system, FunctionSpec("inverse_dynamics")), "float64", "test")
    result = run(source, tmp_path, "float64", BLOCK, inputs, 3)
    assert np.isnan(result[4]).all()
    assert np.isnan(expected[4]).all()
    assert_close(np.delete(result, 4, axis=0), np.delete(expected, 4, axis=0), tolerance=1e-12)


def test_c_for_a_controller_computes_the_same(tmp_path):
    import ctypes
    import shutil
    import subprocess

    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    robot = wrist("plus", (0.003, -0.004, 0.05))
    _, source = appell.export(robot, ["inverse_dynamics"], tmp_path)
    library = tmp_path / "wrist.so"
    flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC")
    subprocess.run(["gcc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).agile_wrist_inverse_dynamics
    states = regular_states(robot, 4)
    found = np.full((4, 3), np.nan)
    for k in range(4):
        arguments = [*(each[k].copy() for each in states), found[k]]
        function(*(array.ctypes.data_as(ctypes.c_void_p) for array in arguments))
    assert_close(found, robot.inverse_dynamics(*states), tolerance=1e-12)


def test_symbolic_equations_are_for_trees_and_closed_loops():
    pytest.importorskip("sympy")
    with pytest.raises(appell.ArgumentError, match="a kinematic tree"):
        appell.equations(appell.load("agile_wrist"))
