"""Kernels on a real GPU against the CPU. On a machine without CasADi, give a folder of saved robots in APPELL_GPU_ROBOTS."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import appell

cp = pytest.importorskip("cupy", reason="CuPy is not installed")
try:
    cp.cuda.runtime.getDeviceCount()
except cp.cuda.runtime.CUDARuntimeError:
    pytest.skip("no GPU on this machine", allow_module_level=True)

SIZES = (0, 1, 63, 64, 65, 1000)
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
FUNCTIONS = {
    "inverse_dynamics": ("q", "qd", "qdd"), "forward_dynamics": ("q", "qd", "qdd"), "mass_matrix": ("q",),
    "bias": ("q", "qd"), "gravity": ("q",), "coriolis_matrix": ("q", "qd"), "kinetic_energy": ("q", "qd"),
    "potential_energy": ("q",), "center_of_mass": ("q",),
}  # fmt: skip


def pair(dtype: str = "float64"):
    """The PUMA on the GPU and on the CPU."""
    folder = os.environ.get("APPELL_GPU_ROBOTS")
    if folder:
        path = Path(folder) / "puma560.appell"
        return appell.load_compiled(path, target="cuda", dtype=dtype), appell.load_compiled(path)
    if find_spec("casadi") is None:
        pytest.skip("neither CasADi nor saved robots (APPELL_GPU_ROBOTS)")
    robot = appell.load("puma560")
    return appell.compile(robot, target="cuda", dtype=dtype), appell.compile(robot)


def state(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=(count, 6)) for name in ("q", "qd", "qdd")}


def worst(actual, expected) -> float:
    assert actual.shape == expected.shape
    assert np.isfinite(actual).all()
    return float(np.abs(actual - expected).max() / np.abs(expected).max()) if expected.size else 0.0


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", list(FUNCTIONS))
def test_functions_agree_with_the_cpu_at_odd_sizes(function, dtype):
    gpu, cpu = pair(dtype)
    for count in SIZES:
        given = [state(count)[name].astype(dtype) for name in FUNCTIONS[function]]
        expected = getattr(cpu, function)(*(x.astype("float64") for x in given))
        out = cp.full(expected.shape, cp.nan, dtype)
        result = getattr(gpu, function)(*map(cp.asarray, given), out=out)
        assert result is out
        assert worst(cp.asnumpy(result), expected) < TOLERANCE[dtype]


def test_numpy_arrays_go_there_and_back():
    gpu, cpu = pair()
    given = list(state(100).values())
    result = gpu.inverse_dynamics(*given)
    assert isinstance(result, np.ndarray)
    assert worst(result, cpu.inverse_dynamics(*given)) < 1e-12


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_results_are_arrays_of_the_callers_kind(library):
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


def test_work_is_queued_on_the_callers_stream():
    torch = pytest.importorskip("torch")
    gpu, _ = pair()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        given = [torch.randn(1 << 21, 6, device="cuda", dtype=torch.float64) for _ in range(3)]
        result = gpu.inverse_dynamics(*given, check=False)
    stream.synchronize()
    assert torch.equal(result, gpu.inverse_dynamics(*given))


def test_strided_and_broadcast_arrays_are_read_right():
    gpu, cpu = pair()
    q, qd, qdd = state(50).values()
    strided = cp.asfortranarray(cp.asarray(q))
    result = gpu.inverse_dynamics(strided, cp.asarray(qd)[::-1][::-1], cp.asarray(qdd[0]))
    assert worst(cp.asnumpy(result), cpu.inverse_dynamics(q, qd, qdd[0])) < 1e-12


def test_bad_input_is_refused_by_name():
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


def test_out_of_memory_is_a_clear_error():
    gpu, _ = pair()
    many = cp.broadcast_to(cp.zeros((1, 6)), (1 << 33, 6))
    with pytest.raises(appell.AppellError, match="out of memory"):
        gpu.inverse_dynamics(many, many, many)


@pytest.mark.parametrize("integrator", ["rk4", "semi_implicit_euler"])
@pytest.mark.parametrize("law", ["torque", "pd", "computed_torque"])
def test_rollouts_agree_with_the_plain_loop(law, integrator):
    gpu, cpu = pair()
    if os.environ.get("APPELL_GPU_ROBOTS") and law != "torque":
        pytest.skip("the saved robot holds the law 'torque' only")
    start = state(70)
    options = {"law": law, "steps": 40, "dt": 1e-3, "integrator": integrator, "every": 20}
    if law != "torque":
        options["gains"] = {"kp": 50.0, "kd": 8.0}
    expected = appell.rollout(cpu, start["q"], start["qd"], **options)
    result = appell.rollout(gpu, cp.asarray(start["q"]), cp.asarray(start["qd"]), **options)
    assert worst(cp.asnumpy(result.q), expected.q) < 1e-12
    assert worst(cp.asnumpy(result.qd), expected.qd) < 1e-12


def test_batches_from_the_host_are_processed_in_pieces_that_fit(monkeypatch):
    gpu, cpu = pair()
    given = list(state(5000).values())
    monkeypatch.setattr("appell.gpu.evaluate.PIECE", 2.5e5 / cp.cuda.Device().mem_info[0])
    assert worst(gpu.inverse_dynamics(*given), cpu.inverse_dynamics(*given)) < 1e-12


def test_run_time_parameters_of_every_state():
    if os.environ.get("APPELL_GPU_ROBOTS"):
        pytest.skip("the saved robot has its parameters baked in")
    robot = appell.load("puma560")
    gpu = appell.compile(robot, target="cuda", parameters="runtime")
    given = list(state(50).values())
    parameters = robot.parameters * np.linspace(0.5, 1.5, 50)[:, None]
    result = gpu.inverse_dynamics(*map(cp.asarray, given), parameters=cp.asarray(parameters))
    assert worst(cp.asnumpy(result), robot.inverse_dynamics(*given, parameters=parameters)) < 1e-12
