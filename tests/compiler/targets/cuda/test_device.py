"""Kernels on a real GPU against the CPU. On a machine without CasADi, give a folder of saved robots in APPELL_GPU_ROBOTS."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import appell
from appell.algorithms.coordinate_rates import quaternions
from appell.algorithms.laws import LAWS

try:
    import cupy as cp

    cp.cuda.runtime.getDeviceCount()
    MISSING = ""
except ImportError:
    MISSING = "CuPy is not installed"
except cp.cuda.runtime.CUDARuntimeError:
    MISSING = "no GPU on this machine"
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)  # each test is listed

SIZES = (0, 1, 63, 64, 65, 1000)
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
FUNCTIONS = {
    "inverse_dynamics": ("q", "qd", "qdd"), "forward_dynamics": ("q", "qd", "qdd"), "mass_matrix": ("q",),
    "bias": ("q", "qd"), "gravity": ("q",), "coriolis_matrix": ("q", "qd"), "kinetic_energy": ("q", "qd"),
    "potential_energy": ("q",), "center_of_mass": ("q",),
}  # fmt: skip


LONG = {
    "derivatives": (
        "inverse_dynamics_derivatives",
        "forward_dynamics_derivatives",
        "inverse_dynamics_second_derivatives",
        "forward_dynamics_parameter_derivatives",
    ),
    "chain30": (
        "inverse_dynamics_derivatives",
        "forward_dynamics_derivatives",
        "coriolis_matrix",
        "kinetic_energy",
        "gibbs_function",
    ),
    "go2": ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"),
}
"""Saved robots, with their functions: a PUMA, a chain with loops over links, and long straight-line code."""
INPUTS = {"coriolis_matrix": 2, "kinetic_energy": 2}
"""Number of inputs where it is not three."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory) -> Path:
    """Saved robots (`tests/helpers/gpu_robots.py`): those given, or made now."""
    given = os.environ.get("APPELL_GPU_ROBOTS")
    if given:
        return Path(given)
    if find_spec("casadi") is None:
        pytest.skip("neither CasADi nor saved robots (APPELL_GPU_ROBOTS)")
    from helpers.gpu_robots import save

    made = tmp_path_factory.mktemp("robots")
    save(made)
    return made


@pytest.fixture
def pair(folder):
    """A robot on the GPU and on the CPU."""

    def load(dtype: str = "float64", name: str = "puma560"):
        path = folder / f"{name}.appell"
        return appell.load_compiled(path, target="cuda", dtype=dtype), appell.load_compiled(path)

    return load


def state(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(count, 6)) for name in ("q", "qd", "qdd")}


def free_state(dyn, count: int, seed: int = 0) -> list[np.ndarray]:
    """Coordinates, speeds and forces of a robot with joints that turn freely; quaternions are of unit length."""
    rng = np.random.default_rng(seed)
    q, qd, tau = (rng.normal(size=(count, n)) for n in (dyn.robot.nq, dyn.robot.nv, dyn.robot.nv))
    for _, first in quaternions(dyn.quasi_velocity_joints):
        q[:, first : first + 4] /= np.linalg.norm(q[:, first : first + 4], axis=1, keepdims=True)
    return [q, qd, tau]


def worst(actual, expected) -> float:
    assert actual.shape == expected.shape
    assert np.isfinite(actual).all()
    return float(np.abs(actual - expected).max() / np.abs(expected).max()) if expected.size else 0.0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", list(FUNCTIONS))
def test_functions_agree_with_the_cpu_at_odd_sizes(pair, function, dtype):
    gpu, cpu = pair(dtype)
    for count in SIZES:
        given = [state(count)[name].astype(dtype) for name in FUNCTIONS[function]]
        expected = getattr(cpu, function)(*(x.astype("float64") for x in given))
        out = cp.full(expected.shape, cp.nan, dtype)
        result = getattr(gpu, function)(*map(cp.asarray, given), out=out)
        assert result is out
        assert worst(cp.asnumpy(result), expected) < TOLERANCE[dtype]


def test_numpy_arrays_go_there_and_back(pair):
    gpu, cpu = pair()
    given = list(state(100).values())
    result = gpu.inverse_dynamics(*given)
    assert isinstance(result, np.ndarray)
    assert worst(result, cpu.inverse_dynamics(*given)) < 1e-12


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_results_are_arrays_of_the_callers_kind(pair, library):
    gpu, cpu = pair()
    given = list(state(100).values())
    if library == "torch":
        torch = pytest.importorskip("torch")
        arrays = [torch.tensor(x, device="cuda") for x in given]
        result = gpu.inverse_dynamics(*arrays)
        assert isinstance(result, torch.Tensor)
        assert result.is_cuda
        host = result.cpu().numpy()
    else:
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        result = gpu.inverse_dynamics(*map(jax.numpy.asarray, given))
        assert isinstance(result, jax.Array)
        host = np.asarray(result)
    assert worst(host, cpu.inverse_dynamics(*given)) < 1e-12


def test_work_is_queued_on_the_callers_stream(pair):
    torch = pytest.importorskip("torch")
    gpu, _ = pair()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        given = [torch.randn(1 << 21, 6, device="cuda", dtype=torch.float64) for _ in range(3)]
        result = gpu.inverse_dynamics(*given, check=False)
    stream.synchronize()
    assert torch.equal(result, gpu.inverse_dynamics(*given))


def test_strided_and_broadcast_arrays_are_read_right(pair):
    gpu, cpu = pair()
    q, qd, qdd = state(50).values()
    strided = cp.asfortranarray(cp.asarray(q))
    result = gpu.inverse_dynamics(strided, cp.asarray(qd)[::-1][::-1], cp.asarray(qdd[0]))
    assert worst(cp.asnumpy(result), cpu.inverse_dynamics(q, qd, qdd[0])) < 1e-12


def test_bad_input_is_refused_by_name(pair):
    gpu, _ = pair()
    q, qd, qdd = map(cp.asarray, state(5).values())
    q[3, 2] = cp.nan
    with pytest.raises(appell.ArgumentError, match=r"q\[\(3, 2\)\] is nan"):
        gpu.inverse_dynamics(q, qd, qdd)
    with pytest.raises(appell.ArgumentError, match="last dimension must be 6"):
        gpu.inverse_dynamics(q[:, :5], qd, qdd)
    with pytest.raises(appell.ArgumentError, match="broadcast"):
        gpu.inverse_dynamics(q[:3], qd[:4], qdd)
    with pytest.raises(appell.ArgumentError, match="on the host"):
        gpu.inverse_dynamics(qd, qd, qdd, out=np.zeros((5, 6)))


def test_out_of_memory_is_a_clear_error(pair):
    gpu, _ = pair()
    many = cp.broadcast_to(cp.zeros((1, 6)), (1 << 33, 6))
    with pytest.raises(appell.AppellError, match="out of memory"):
        gpu.inverse_dynamics(many, many, many)


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
@pytest.mark.parametrize("law", ["torque", "pd", "computed_torque", "integral_tracking"])
def test_rollouts_agree_with_the_cpu(pair, law, integrator):
    gpu, cpu = pair()
    start = state(70)
    options = {"law": law, "steps": 40, "dt": 1e-3, "options": appell.RolloutOptions(integrator), "save_every": 20}
    if law != "torque":
        options["gains"] = dict.fromkeys(LAWS[law].gains, 20.0)
    expected = appell.rollout(cpu, start["q"], start["qd"], **options)
    result = appell.rollout(gpu, cp.asarray(start["q"]), cp.asarray(start["qd"]), **options)
    assert worst(cp.asnumpy(result.q), expected.q) < 1e-12
    assert worst(cp.asnumpy(result.qd), expected.qd) < 1e-12


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rollouts_of_joints_that_turn_freely_agree_with_the_cpu(folder, dtype, integrator, layout):
    """Floating, planar and spherical joints, held torques."""
    gpu = appell.load_compiled(folder / "free.appell", target="cuda", dtype=dtype, layout=layout)
    cpu = appell.load_compiled(folder / "free.appell", layout=layout)
    q0, qd0, _ = free_state(gpu, 70)
    given = [q0, 0.3 * qd0, np.random.default_rng(1).normal(size=(70, 4, gpu.robot.nv))]
    given = [np.ascontiguousarray(x.T) for x in given] if layout == "columns" else given
    options = {
        "steps": 20,
        "dt": 1e-3,
        "options": appell.RolloutOptions(integrator),
        "save_every": 10,
        "control_every": 5,
    }
    expected = appell.rollout(cpu, *given, **options)
    result = appell.rollout(gpu, *map(cp.asarray, given), **options)
    assert worst(cp.asnumpy(result.q), expected.q) < TOLERANCE[dtype]
    assert worst(cp.asnumpy(result.qd), expected.qd) < TOLERANCE[dtype]


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
@pytest.mark.parametrize("law", ["torque", "integral_tracking"])
def test_gradients_of_rollouts_agree_with_the_cpu(pair, law, integrator, monkeypatch):
    """Controls of every robot that change, gains shared by all, also in pieces that fit the memory, and from the host."""
    gpu, cpu = pair()
    start, rng = state(70), np.random.default_rng(3)
    options = {"law": law, "steps": 20, "dt": 1e-3, "options": appell.RolloutOptions(integrator), "save_every": 6}
    options |= {"control_every": 5, "gains": dict.fromkeys(LAWS[law].gains, 20.0) or None}
    controls = {LAWS[law].signals[-1]: rng.normal(size=(70, 4, 6))}
    expected = appell.rollout(cpu, start["q"], start["qd"], controls, **options)
    weights = rng.normal(size=expected.q.shape)
    gradient = expected.vjp(weights, 2 * weights)
    on_device = {name: cp.asarray(x) for name, x in controls.items()}
    motion = appell.rollout(gpu, cp.asarray(start["q"]), cp.asarray(start["qd"]), on_device, **options)
    for part in (1.0, 3e5 / cp.cuda.Device().mem_info[0]):
        monkeypatch.setattr("appell.rollouts.cuda_adjoint.POINTS", part)
        found = motion.vjp(cp.asarray(weights), cp.asarray(2 * weights))
        assert worst(cp.asnumpy(found.q0), gradient.q0) < 1e-11
        assert worst(cp.asnumpy(found.qd0), gradient.qd0) < 1e-11
        for name, array in gradient.controls.items():
            assert worst(cp.asnumpy(found.controls[name]), array) < 1e-11
        for name, array in gradient.gains.items():
            assert worst(cp.asnumpy(found.gains[name]), array) < 1e-11
    host = appell.rollout(gpu, start["q"], start["qd"], controls, **options).vjp(weights, 2 * weights)
    assert isinstance(host.q0, np.ndarray)
    assert worst(host.q0, gradient.q0) < 1e-11


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_gradients_of_joints_that_turn_freely_agree_with_the_cpu(folder, layout):
    gpu = appell.load_compiled(folder / "free.appell", target="cuda", layout=layout)
    cpu = appell.load_compiled(folder / "free.appell", layout=layout)
    q0, qd0, _ = free_state(gpu, 70)
    given = [np.ascontiguousarray(x.T) for x in (q0, 0.3 * qd0)] if layout == "columns" else [q0, 0.3 * qd0]
    expected = appell.rollout(cpu, *given, steps=12, dt=1e-3)
    weights = np.random.default_rng(2).normal(size=expected.q.shape)
    gradient = expected.vjp(weights)
    found = appell.rollout(gpu, *map(cp.asarray, given), steps=12, dt=1e-3).vjp(cp.asarray(weights))
    assert worst(cp.asnumpy(found.q0), gradient.q0) < 1e-11
    assert worst(cp.asnumpy(found.controls["tau"]), gradient.controls["tau"]) < 1e-11


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("name", ["puma560", "free"])
def test_derivatives_along_directions_agree_with_the_cpu(folder, name, layout):
    """Arrays of CuPy and PyTorch; quaternions."""
    gpu = appell.load_compiled(folder / f"{name}.appell", target="cuda", layout=layout)
    cpu = appell.load_compiled(folder / f"{name}.appell", layout=layout)
    turned = np.transpose if layout == "columns" else np.asarray
    given = [np.ascontiguousarray(turned(x)) for x in free_state(gpu, 70)]
    directions = [np.random.default_rng(k).normal(size=given[1].shape) for k in range(3)]
    expected = appell.jvp(cpu, "inverse_dynamics", given, directions)
    found = appell.jvp(gpu, "inverse_dynamics", list(map(cp.asarray, given)), list(map(cp.asarray, directions)))
    assert worst(cp.asnumpy(found), expected) < 1e-11
    gradients = appell.vjp(cpu, "inverse_dynamics", given, directions[0])
    on_device = appell.vjp(gpu, "inverse_dynamics", list(map(cp.asarray, given)), cp.asarray(directions[0]))
    for a, b in zip(on_device, gradients, strict=True):
        assert worst(cp.asnumpy(a), b) < 1e-11
    for a, b in zip(appell.vjp(gpu, "inverse_dynamics", given, directions[0]), gradients, strict=True):
        assert worst(a, b) < 1e-11


def test_gradients_reach_run_time_parameters(pair):
    gpu, cpu = pair(name="puma560-runtime")
    q0, qd0, _ = state(30).values()
    parameters = cpu.parameters * np.linspace(0.5, 1.5, 30)[:, None]
    expected = appell.rollout(cpu, q0, qd0, parameters=parameters, steps=10, dt=1e-3)
    found = appell.rollout(gpu, *map(cp.asarray, (q0, qd0)), parameters=cp.asarray(parameters), steps=10, dt=1e-3)
    ones = np.ones(expected.q.shape)
    assert worst(cp.asnumpy(found.vjp(cp.asarray(ones)).parameters), expected.vjp(ones).parameters) < 1e-11


@pytest.mark.parametrize("on_host", [True, False])
def test_quaternions_of_other_than_unit_length_are_refused(pair, on_host):
    gpu, cpu = pair(name="free")
    given = free_state(gpu, 5)
    put = np.asarray if on_host else cp.asarray
    result = gpu.forward_dynamics(*map(put, given))
    assert worst(result if on_host else cp.asnumpy(result), cpu.forward_dynamics(*given)) < 1e-12
    given[0][3] *= 1.1
    with pytest.raises(appell.ArgumentError, match=r"q\[3, \d+:\d+\], the quaternion of joint"):
        gpu.forward_dynamics(*map(put, given))
    with pytest.raises(appell.ArgumentError, match=r"q0\[3, \d+:\d+\], the quaternion of joint"):
        appell.rollout(gpu, *map(put, given), steps=1, dt=1e-3)
    assert np.isfinite(cp.asnumpy(gpu.forward_dynamics(*map(put, given), check=False))).all()


def test_batches_from_the_host_are_processed_in_pieces_that_fit(pair, monkeypatch):
    gpu, cpu = pair()
    given = list(state(5000).values())
    monkeypatch.setattr("appell.compiler.targets.cuda.target.PIECE", 2.5e5 / cp.cuda.Device().mem_info[0])
    assert worst(gpu.inverse_dynamics(*given), cpu.inverse_dynamics(*given)) < 1e-12


def test_run_time_parameters_of_every_state(pair):
    gpu, cpu = pair(name="puma560-runtime")
    given = list(state(50).values())
    parameters = cpu.parameters * np.linspace(0.5, 1.5, 50)[:, None]
    result = gpu.inverse_dynamics(*map(cp.asarray, given), parameters=cp.asarray(parameters))
    assert worst(cp.asnumpy(result), cpu.inverse_dynamics(*given, parameters=parameters)) < 1e-12
    options = {"steps": 10, "dt": 1e-3, "save_every": 5}
    expected = appell.rollout(cpu, *given[:2], parameters=parameters, **options)
    path = appell.rollout(gpu, *map(cp.asarray, given[:2]), parameters=cp.asarray(parameters), **options)
    assert worst(cp.asnumpy(path.q), expected.q) < 1e-12


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("name", "function"), [(name, each) for name, own in LONG.items() for each in own])
def test_long_functions_agree_with_the_cpu(folder, pair, name, function, dtype):
    if not (folder / f"{name}.appell").exists():
        pytest.skip(f"{name} is not among the saved robots")
    gpu, cpu = pair(dtype, name)
    rng, robot = np.random.default_rng(4), cpu.robot
    q = rng.normal(size=(333, robot.nq))
    for _, first in quaternions(cpu.quasi_velocity_joints):
        q[:, first : first + 4] /= np.linalg.norm(q[:, first : first + 4], axis=1, keepdims=True)
    given = [x.astype(dtype) for x in (q, *rng.normal(size=(2, 333, robot.nv)))][: INPUTS.get(function, 3)]
    expected = getattr(cpu, function)(*(x.astype("float64") for x in given), check=False)
    found = getattr(gpu, function)(*given, check=False)
    for a, b in zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]:
        scale = np.abs(b).reshape(333, -1).max(axis=1).reshape(-1, *[1] * (b.ndim - 1))  # of each state
        conditioned = 1e3 if "forward" in function else 1.0
        assert (np.abs(a - b) <= 10 * conditioned * TOLERANCE[dtype] * scale).all()


def test_angles_beyond_the_bound_raise(pair):
    gpu, _ = pair("float64")
    states = state(70)
    states["q"][66, 2] = 1e9
    for arrays in (states.values(), [cp.asarray(x) for x in states.values()]):
        with pytest.raises(appell.ArgumentError, match=r"q\[66, 2\] is 1e\+09, expected angles"):
            gpu.inverse_dynamics(*arrays)
