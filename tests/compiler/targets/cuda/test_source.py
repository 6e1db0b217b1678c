"""CUDA kernels where there is no GPU: they compile, and a thread's body computes the right numbers."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from importlib.util import find_spec

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.cuda_as_cpp import compiler, launch, library, pointer, run, strides
from helpers.joint_trees import mixed_tree
from helpers.states import random_states

import appell
from appell.algorithms.coordinate_rates import tangent_map
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.laws import LAWS
from appell.compiler.lowering import lower_function
from appell.compiler.targets.cuda import groups, source, spill
from appell.compiler.targets.cuda.kernel import CudaKernel
from appell.compiler.targets.cuda.source import BLOCK, kernel_source
from appell.rollouts.cuda import source as rollout_source
from appell.rollouts.cuda_adjoint import BLOCK as ADJOINT_BLOCK
from appell.rollouts.cuda_adjoint import source as adjoint_source
from appell.rollouts.integrators import INTEGRATORS
from appell.rollouts.plan import RolloutOptions, RolloutSteps, make_plan

ROBOTS = {
    "puma560": appell.load("puma560"),
    "tree": appell.robots.random_tree(9, seed=4),
    "long chain": appell.robots.random_chain(30, seed=2),
    "chain": appell.robots.random_chain(11, seed=2),
}
REQUESTS = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "kinetic_energy": ("q", "qd"),
    "coriolis_matrix": ("q", "qd"),
    "regressor": ("q", "qd", "qdd"),
    "forward_dynamics_derivatives": ("q", "qd", "tau"),
    "inverse_dynamics_derivatives": ("q", "qd", "qdd"),
    "inverse_dynamics_second_derivatives": ("q", "qd", "qdd"),
}
NOT_OF_PUMA = ("coriolis_matrix", "regressor", "inverse_dynamics_second_derivatives")
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not installed")
needs_cpp = pytest.mark.skipif(compiler() is None, reason="no C++ compiler")


def nvcc(source: str, folder) -> str:
    """What nvcc has to say about a source; machine code for Hopper is made and thrown away."""
    path = folder / "kernel.cu"
    path.write_text(source)
    command = ["nvcc", "-std=c++17", "-arch=sm_90", "-cubin", "-Werror", "all-warnings", "-o", str(folder / "k.cubin")]
    return subprocess.run([*command, str(path)], capture_output=True, text=True, check=False).stderr


@needs_nvcc
@pytest.mark.parametrize(
    ("name", "function", "dtype"),
    [
        ("puma560", "inverse_dynamics", "float32"),
        *(("long chain", name, "float64") for name in ("inverse_dynamics", "regressor")),
    ],
)
def test_kernels_compile_without_a_warning(tmp_path, name, function, dtype):
    form = lower_function(ROBOTS[name].system, FunctionSpec(function))
    assert nvcc(kernel_source(form, dtype, "test"), tmp_path) == ""


@needs_nvcc
@pytest.mark.parametrize(("robot", "law"), [(ROBOTS["puma560"], "integral_tracking"), (mixed_tree(4, 29), "torque")])
def test_rollouts_compile_without_a_warning(tmp_path, robot, law):
    dyn = appell.compile(robot, dtype="float32")
    gains = dict.fromkeys(LAWS[law].gains, 1.0)
    q0, qd0, _ = random_states(robot, 1)
    plan = make_plan(dyn, (q0, qd0), None, law, gains, RolloutSteps(8, 1e-3), None, RolloutOptions())
    assert nvcc(rollout_source(dyn, plan, INTEGRATORS["rk4"]), tmp_path) == ""


CASES = [
    *(("puma560", function, "float64") for function in REQUESTS if function not in NOT_OF_PUMA),
    ("puma560", "inverse_dynamics", "float32"),
    ("puma560", "forward_dynamics_derivatives", "float32"),
    ("tree", "inverse_dynamics_derivatives", "float64"),
    ("tree", "inverse_dynamics_derivatives", "float32"),
    ("tree", "inverse_dynamics", "float64"),
    ("tree", "mass_matrix", "float32"),
    ("long chain", "inverse_dynamics", "float64"),
    ("long chain", "mass_matrix", "float64"),
    ("long chain", "coriolis_matrix", "float32"),
    ("long chain", "regressor", "float64"),
    ("chain", "inverse_dynamics_second_derivatives", "float64"),
]


IN_GROUPS = {
    ("puma560", "forward_dynamics_derivatives", "float64"),
    ("tree", "inverse_dynamics_derivatives", "float64"),
}
"""Code that is split, where 2000 instructions are too many."""
SPILLED = {*IN_GROUPS, ("puma560", "forward_dynamics_derivatives", "float32")}
"""Code with values beyond the registers."""


IN_LOOPS = {("long chain", function) for function in ("mass_matrix", "coriolis_matrix", "regressor")}
"""Matrices in rolled form."""


RESIDENT = {("tree", "inverse_dynamics_derivatives", "float32")}
"""Code whose threads compute one state after the other, where shared memory does not hold the values of more blocks."""


@needs_cpp
@pytest.mark.parametrize(("name", "function", "dtype"), CASES)
def test_a_thread_computes_what_the_library_computes(tmp_path, monkeypatch, name, function, dtype):
    robot, spec = ROBOTS[name], FunctionSpec(function)
    rng = np.random.default_rng(3)
    resident, split = ((name, function, dtype) in chosen for chosen in (RESIDENT, IN_GROUPS))
    monkeypatch.setattr(spill, "PROCESSOR_BYTES", 0 if resident else spill.PROCESSOR_BYTES)
    monkeypatch.setitem(groups.LONGEST, dtype, 2000 if split else groups.LONGEST[dtype])
    inputs = [rng.normal(size=(150 if resident else 11, robot.nv)).astype(dtype) for _ in REQUESTS[function]]
    shape = robot.system.signature(spec).shape
    text = kernel_source(lower_function(robot.system, spec), dtype, "test", shape[-1] if len(shape) > 1 else None)
    computed = appell.compile(robot) if (name, function) in IN_LOOPS else robot
    expected = getattr(computed, function)(*(array.astype("float64") for array in inputs))
    expected = np.concatenate(expected, axis=-1) if isinstance(expected, tuple) else expected
    result = run(text, tmp_path, dtype, BLOCK, inputs, robot.system.signature(spec).entries)
    assert ("thread_climb" in text) == ((name, function) in IN_LOOPS)
    assert ("group0_triples" in text) == (function == "inverse_dynamics_second_derivatives")
    assert ("group1_state" in text) == split
    assert ("appell_resident = 1" in text) == resident
    assert ("fetch(0)" in text) == ((name, function, dtype) in SPILLED)
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    assert_close(result.reshape(expected.shape), expected.astype(dtype), tolerance=tolerance)


@needs_cpp
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_long_code_of_vectors_keeps_values_in_shared_memory_too(tmp_path, monkeypatch, dtype):
    monkeypatch.setattr(source, "LONG", 500)
    monkeypatch.setitem(spill.BUDGETS, dtype, (spill.Budget(25, 1),))
    robot, rng = ROBOTS["puma560"], np.random.default_rng(3)
    inputs = [rng.normal(size=(70, 6)).astype(dtype) for _ in range(3)]
    text = kernel_source(lower_function(robot.system, FunctionSpec("forward_dynamics")), dtype, "test")
    assert "fetch(0)" in text
    result = run(text, tmp_path, dtype, BLOCK, inputs, 6)
    expected = robot.forward_dynamics(*(array.astype("float64") for array in inputs)).astype(dtype)
    assert_close(result, expected, tolerance=1e-12 if dtype == "float64" else 1e-4)


@needs_cpp
@pytest.mark.parametrize("integrator", list(INTEGRATORS))
@pytest.mark.parametrize("law", ["torque", "integral_tracking"])
def test_a_thread_rolls_out_what_the_cpu_rolls_out(tmp_path, law, integrator):
    """Open loop with joints that turn freely in space, and a law with a memory."""
    robot = mixed_tree(4, 29) if law == "torque" else ROBOTS["puma560"]
    dyn = appell.compile(robot)
    q0, qd0, tau = random_states(robot, 5)
    gains = {} if law == "torque" else {"kp": 50.0, "kd": 8.0, "ki": 20.0}
    controls, steps = {"tau" if law == "torque" else "qdd": tau}, RolloutSteps(6, 1e-3, save_every=3)
    plan = make_plan(dyn, (q0, qd0), controls, law, gains, steps, None, RolloutOptions(integrator))
    n, width = robot.nv, robot.nq + robot.nv
    signals = np.concatenate([np.broadcast_to(x, (5, n)) for x in plan.signals.values()], axis=1)[:, None]
    kept = np.concatenate([np.zeros(0), *plan.gains.values()])[None]
    out = np.full((5, 2, width), np.nan)
    arrays = [part for array in (q0, qd0, signals, kept, out) for part in (pointer(array), *strides(array))]
    whole = [ctypes.c_longlong(5), *map(ctypes.c_int, (6, 3, 6)), ctypes.c_double(1e-3)]
    code = library(rollout_source(dyn, plan, INTEGRATORS[integrator]), tmp_path)
    launch(code, "appell_rollout", BLOCK, 5, [*arrays, *whole])
    expected = appell.rollout(
        dyn, q0, qd0, plan.signals, law=law, gains=gains, steps=6, dt=1e-3, save_every=3,
        options=RolloutOptions(integrator),
    )  # fmt: skip
    assert_close(out[..., : robot.nq], expected.q, tolerance=1e-12)
    assert_close(out[..., robot.nq :], expected.qd, tolerance=1e-12)


@needs_cpp
@pytest.mark.parametrize("integrator", list(INTEGRATORS))
@pytest.mark.parametrize("law", ["torque", "integral_tracking"])
def test_the_adjoint_of_a_thread_is_that_of_the_cpu(tmp_path, law, integrator):
    """Quaternions, a law with a memory, controls that change, and steps after the last saved state."""
    robot = mixed_tree(4, 29) if law == "torque" else ROBOTS["puma560"]
    dyn = appell.compile(robot)
    q0, qd0, tau = random_states(robot, 5)
    gains = {} if law == "torque" else {"kp": 50.0, "kd": 8.0, "ki": 20.0}
    rng = np.random.default_rng(0)
    controls = {"tau" if law == "torque" else "qdd": tau[:, None] * rng.uniform(0.5, 1.5, (5, 4, 1))}
    given = {"law": law, "gains": gains, "control_every": 2, "save_every": 3, "options": RolloutOptions(integrator)}
    motion = appell.rollout(dyn, q0, qd0, controls, steps=8, dt=1e-2, **given)
    schedule = RolloutSteps(8, 1e-2, control_every=2, save_every=3)
    plan = make_plan(dyn, (q0, qd0), controls, law, gains, schedule, None, RolloutOptions(integrator))
    signals = np.concatenate([np.broadcast_to(x, (5, 4, robot.nv)) for x in plan.signals.values()], axis=-1)
    constants = np.concatenate([np.zeros(0), *plan.gains.values()])[None]
    weights, state = rng.normal(size=(5, 2, robot.nq + robot.nv)), robot.nq + robot.nv + plan.memory
    points = np.full((6 * INTEGRATORS[integrator].stages + 1) * state * 5, np.nan)
    found = np.full((state, 5), np.nan), np.zeros((4, signals.shape[-1], 5)), np.full((constants.size, 5), np.nan)
    arrays = [part for array in (q0, qd0, signals, constants, weights) for part in (pointer(array), *strides(array))]
    whole = [ctypes.c_longlong(5), *map(ctypes.c_int, (6, 3, 2)), ctypes.c_double(1e-2)]
    code = library(adjoint_source(dyn, plan), tmp_path)
    launch(code, "appell_adjoint", ADJOINT_BLOCK, 5, [*arrays, pointer(points), *map(pointer, found), *whole])
    expected = motion.vjp(weights[..., : robot.nq], weights[..., robot.nq :])
    by_q0 = np.einsum("nij,in->nj", tangent_map(plan.quasi_velocity_joints, q0, robot.nv), found[0][: robot.nq])
    assert_close(by_q0, expected.q0, tolerance=1e-12)
    assert_close(found[0][robot.nq : robot.nq + robot.nv].T, expected.qd0, tolerance=1e-12)
    for k, name in enumerate(plan.signals):
        part = found[1][:, k * robot.nv : (k + 1) * robot.nv].transpose(2, 0, 1)
        shared = expected.controls[name].ndim == 2
        assert_close(part.sum(axis=0) if shared else part, expected.controls[name], tolerance=1e-12)
    for k, name in enumerate(plan.gains):
        part = found[2][k * robot.nv : (k + 1) * robot.nv]
        assert_close(part.sum(axis=1), expected.gains[name], tolerance=1e-12)


@needs_cpp
def test_sine_and_cosine_of_far_angles_and_nan(tmp_path):
    robot = (
        appell.RobotBuilder("pendulum")
        .body("base")
        .body("bob", mass=1.0, com=(1.0, 0.0, 0.0), inertia=(0.1, 0, 0, 0.1, 0, 0.1))
    )
    robot = robot.continuous("pivot", parent="base", child="bob", axis="y").build()
    q = np.array([0.0, -0.0, 1e5, 3e6, -9e7, np.pi / 2, 1e-310, 1.1e8, 1e300, np.nan, np.inf])[:, None]
    source = kernel_source(lower_function(robot.system, FunctionSpec("gravity")), "float64", "test")
    result = run(source, tmp_path, "float64", BLOCK, [q], 1)[:, 0]
    with np.errstate(invalid="ignore"):
        expected = -9.81 * np.cos(q[:, 0])
    assert np.isnan(result[-4:]).all()
    np.testing.assert_allclose(result[:-4], expected[:-4], rtol=1e-14, atol=1e-15)


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_missing_cupy_is_told_with_the_remedy():
    with pytest.raises(appell.CompileError, match=r"needs CuPy .* pip install 'appell\[cuda\]', or use target='cpu'"):
        appell.compile(ROBOTS["puma560"], target="cuda")


def test_arguments_of_a_launch() -> None:
    """Arrays with their strides, in the order of the kernel's parameters."""
    launched: list[tuple] = []
    kernel = CudaKernel.__new__(CudaKernel)
    kernel.groups, kernel.most_blocks, kernel.shared = 0, None, 0
    kernel.batch = kernel.rows = lambda grid, block, arguments, **_: launched.append(arguments)
    q, qd, out = np.zeros((5, 3)), np.zeros((1, 2)), np.zeros((5, 4))
    kernel.run([q, np.broadcast_to(qd, (5, 2))], out)
    kernel.run([q, np.broadcast_to(qd, (5, 2))], np.zeros((5, 8))[:, ::2])
    rows, others = ([argument for argument in each if isinstance(argument, int)] for each in launched)
    assert rows == [3, 0, 5]
    assert others == [3, 1, 0, 1, 8, 2, 5]


@pytest.mark.parametrize(("states", "blocks"), [(64, 1), (65, 2), (1000, 2)])
def test_no_more_blocks_than_are_resident(states, blocks) -> None:
    launched: list[tuple] = []
    kernel = CudaKernel.__new__(CudaKernel)
    kernel.groups, kernel.most_blocks, kernel.shared = 1, 2, 512
    kernel.batch = lambda grid, block, arguments, shared_mem: launched.append((grid, shared_mem))
    kernel.run([np.zeros((3, states)).T], np.zeros((4, states)).T)
    assert launched == [((blocks, 1), 512)]


@pytest.mark.parametrize("other", [np.ascontiguousarray, lambda out: np.zeros((150, 10))[:, ::2]])
def test_results_of_groups_are_turned_columns(monkeypatch, other) -> None:
    """In portions; the last one is not full. One input is shared by all states."""
    monkeypatch.setattr("appell.compiler.targets.cuda.kernel.cupy", lambda: np)
    monkeypatch.setattr("appell.compiler.targets.cuda.kernel.COLUMNS_BYTES", 1)
    kernel = CudaKernel.__new__(CudaKernel)
    kernel.groups, kernel.most_blocks, kernel.rows, kernel.turn, kernel.shared = 1, None, None, None, 0

    def batch(grid, block, arguments, shared_mem) -> None:
        q, *step_of_q, shared, step, pitch, columns, step_of_columns, pitch_of_columns, count = arguments
        assert (step_of_q, step, pitch, step_of_columns, pitch_of_columns) == ([3, 1], 0, 1, 1, columns.shape[1])
        columns[:, :count] = np.concatenate([q[:count].T, np.tile(shared[:1].T, (1, count))])

    kernel.batch = batch
    q, shared, out = np.arange(450.0).reshape(150, 3), np.array([[7.0, 8.0]]), other(np.full((150, 5), np.nan))
    kernel.run([q, np.broadcast_to(shared, (150, 2))], out)
    np.testing.assert_array_equal(out, np.concatenate([q, np.tile(shared, (150, 1))], axis=1))
